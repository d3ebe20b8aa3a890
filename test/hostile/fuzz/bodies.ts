import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ConfigOptions, Dispatcher } from '../../../src/index.ts';
import { post, type RawClient } from '../../http/raw-client.ts';
import { body, mutate, randomOf } from '../../jsonrpc/bodies.ts';
import { settled } from '../../protocol/case.ts';
import { servers } from '../../servers.ts';
import { type Expected, plainProcedures, referenceOf, withoutHints } from '../reference.ts';
import { startDispatcher, startTarget, type Target } from '../target.ts';
import { assertProperty, type Fuzzer } from './run.ts';

/** One way in for a body. */
interface Way {
  readonly name: string;
  send(body: Uint8Array): Promise<string | undefined>;
}

function overHttp(target: Target): Way {
  let client: RawClient | undefined;
  const send = async (bytes: Uint8Array): Promise<string | undefined> => {
    // One connection for all: whatever is answered as JSON-RPC leaves it open.
    if (client === undefined || client.closed) client = target.client();
    const { status, body } = await client.ask(post(bytes));
    assert.equal(client.received.length, 0, 'one answer and no other');
    if (status === 204 && body.length === 0) return undefined;
    assert.equal(status, 200);
    return body.toString();
  };
  return { name: target.transport, send };
}

function asText(name: string, dispatcher: Dispatcher): Way {
  return { name, send: (bytes) => dispatcher.dispatchText(bytes) };
}

/** Many small changes of each body; at times of its bytes, so that it is no UTF-8. */
const changes = 20;

function changed(text: string, n: number, start: number): Buffer {
  const random = randomOf(start + n);
  const bytes = Buffer.from(n === 0 ? text : mutate(text, random));
  if (n > 0 && bytes.length > 0 && random(12) === 0) bytes[random(bytes.length)] = random(256);
  return bytes;
}

function assertReply(reply: string | undefined, expected: Expected, name: string): void {
  const got = reply === undefined ? undefined : withoutHints(settled(reply));
  assert.equal(got, expected.reply, name);
}

/**
 * Bodies mutated from valid ones. Each has exactly the answer of the reference, by every way: through the quick
 * reader where it may, through the exact one as the only element of a batch; inline, pooled, over HTTP.
 */
export class BodyFuzzer implements Fuzzer {
  readonly #ways: readonly Way[];
  readonly #parts: readonly { close(): Promise<void> }[];

  private constructor(ways: readonly Way[], parts: readonly { close(): Promise<void> }[]) {
    this.#ways = ways;
    this.#parts = parts;
  }

  static async start(options: ConfigOptions = {}): Promise<BodyFuzzer> {
    const inline = await startDispatcher('inline', options);
    const pooled = await startDispatcher('worker', options);
    const targets = [];
    for (const transport of servers) targets.push(await startTarget(transport, 'auto', options));
    const ways = [asText('inline', inline), asText('pooled', pooled), ...targets.map(overHttp)];
    return new BodyFuzzer(ways, [inline, pooled, ...targets]);
  }

  /** By one way alone. */
  static async startInline(options: ConfigOptions): Promise<BodyFuzzer> {
    const inline = await startDispatcher('inline', options);
    return new BodyFuzzer([asText('inline', inline)], [inline]);
  }

  async run(parameters: Parameters<Fuzzer['run']>[0]): Promise<void> {
    const property = fc.asyncProperty(body, fc.integer(), async (text, start) => {
      for (let n = 0; n <= changes; n++) {
        const bytes = changed(text, n, start);
        try {
          await this.#check(bytes);
        } catch (error) {
          throw new Error(`${String(error)}\nbody ${JSON.stringify(bytes.toString())}`, {
            cause: error,
          });
        }
      }
    });
    await assertProperty(property, parameters);
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.close()));
  }

  async #check(bytes: Buffer): Promise<void> {
    const expected = referenceOf(bytes, plainProcedures);
    const wrapped = Buffer.concat([Buffer.from('['), bytes, Buffer.from(']')]);
    const inBatch = referenceOf(wrapped, plainProcedures);
    for (const way of this.#ways) {
      assertReply(await way.send(bytes), expected, way.name);
      assertReply(await way.send(wrapped), inBatch, `${way.name}, in a batch`);
    }
  }
}

import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { post, type RawClient } from '../../http/raw-client.ts';
import { mutate, randomOf, value } from '../../jsonrpc/bodies.ts';
import { parseModel } from '../../jsonrpc/model.ts';
import { orHang } from '../../or-hang.ts';
import { servers } from '../../servers.ts';
import { placedProcedures, referenceOf } from '../reference.ts';
import { Target } from '../target.ts';
import { assertProperty, type Fuzzer } from './run.ts';

/** One request to the URL of a procedure. As data, so that a failure shrinks to what matters. */
interface UrlCase {
  readonly method: string;
  readonly name: string;
  readonly query: string;
  readonly body: string;
  /** Seed of the changes to the body; undefined: none. */
  readonly changes: number | undefined;
}

const name = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('in.any', 'out.any', 'in.add', 'out.math.add') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'in%2Eany',
      'in.any/',
      'in.an',
      'IN.any',
      'in.any%00',
      '..%2frpc',
      '%zz',
      '%C0%AE',
      'in%252Eany',
      '',
    ),
  },
);

const member = value.map((text) => `{"value":${text}}`);

const urlCase: fc.Arbitrary<UrlCase> = fc.record({
  method: fc.oneof(
    { weight: 9, arbitrary: fc.constant('POST') },
    { weight: 1, arbitrary: fc.constantFrom('GET', 'PUT', 'DELETE') },
  ),
  name,
  query: fc.oneof(
    { weight: 9, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom('a=1', '%', '=') },
  ),
  body: fc.oneof(
    { weight: 5, arbitrary: member },
    { weight: 2, arbitrary: value },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        '',
        '{"value":1},"method":"in.any"',
        '{"value":1},"id":2',
        '{"value":1}}',
        '{"value":1}{}',
      ),
    },
  ),
  changes: fc.option(fc.integer(), { nil: undefined, freq: 2 }),
});

function bytesOf({ body, changes }: UrlCase): Buffer {
  if (changes === undefined) return Buffer.from(body);
  const random = randomOf(changes);
  const bytes = Buffer.from(mutate(body, random));
  if (bytes.length > 0 && random(12) === 0) bytes[random(bytes.length)] = random(256);
  return bytes;
}

/** What docs/http-api.md gives a request: the status, and the code of the problem or the JSON of the result. */
type Answer = readonly [status: number, content: number | string];

/** Most levels of the params: those of a request without its own. */
const maxDepth = 63;

const statuses: ReadonlyMap<number, number> = new Map([
  [-32602, 400],
  [-32603, 500],
]);

/** By readers that were written apart. */
function answerOf({ method, name: sent, query }: UrlCase, body: Buffer): Answer {
  let called: string;
  try {
    called = decodeURIComponent(sent);
  } catch {
    return [400, -32600];
  }
  if (!placedProcedures.has(called)) return [404, -32601];
  if (method !== 'POST') return [405, -32600];
  if (query !== '') return [400, -32600];
  const text = body.length === 0 ? '{}' : body.toString();
  const params = isUtf8(body) ? parseModel(text) : undefined;
  if (params === undefined || params.depth > maxDepth) return [400, -32700];
  if (params.kind !== 'object') return [400, -32600];
  const call = `{"jsonrpc":"2.0","id":1,"method":"${called}","params":${text}}`;
  const { reply } = referenceOf(Buffer.from(call), placedProcedures);
  const [, result] = /^\{"jsonrpc":"2\.0","id":1,"result":(.*)\}$/s.exec(reply ?? '') ?? [];
  if (result !== undefined) return [200, result];
  const [, code] = /"error":\{"code":(-?\d+)/.exec(reply ?? '') ?? [];
  return [statuses.get(Number(code)) ?? assert.fail(reply), Number(code)];
}

/** Requests to the URLs of procedures, over both servers: each has exactly the answer of the model. */
export class UrlFuzzer implements Fuzzer {
  readonly #targets: readonly Target[];
  readonly #clients = new Map<Target, RawClient>();

  private constructor(targets: readonly Target[]) {
    this.#targets = targets;
  }

  static async start(): Promise<UrlFuzzer> {
    const targets = [];
    for (const transport of servers)
      targets.push(await Target.start(transport, 'frames', { httpPath: '/api' }));
    return new UrlFuzzer(targets);
  }

  async run(parameters: Parameters<Fuzzer['run']>[0]): Promise<void> {
    const property = fc.asyncProperty(fc.array(urlCase, { minLength: 1, maxLength: 4 }), (some) =>
      this.#check(some),
    );
    await assertProperty(property, parameters);
  }

  async close(): Promise<void> {
    await Promise.all(this.#targets.map((target) => target.close()));
  }

  async #check(some: readonly UrlCase[]): Promise<void> {
    for (const target of this.#targets) {
      for (const one of some) {
        const body = bytesOf(one);
        try {
          assert.deepEqual(await this.#ask(target, one, body), answerOf(one, body));
        } catch (error) {
          const message = `on ${target.transport}: ${String(error)}\nbody ${JSON.stringify(body.toString('latin1'))}`;
          throw new Error(message, { cause: error });
        }
      }
    }
  }

  async #ask(target: Target, one: UrlCase, body: Buffer): Promise<Answer> {
    let client = this.#clients.get(target);
    if (client === undefined || client.closed) client = target.client();
    this.#clients.set(target, client);
    const url = `/api/${one.name}${one.query === '' ? '' : `?${one.query}`}`;
    const bytes = post(body, {}, url).toString('latin1').replace(/^POST/, one.method);
    const asked = client.ask(Buffer.from(bytes, 'latin1'));
    const response = await orHang('an answer', asked, 60_000);
    assert.equal(client.received.length, 0, 'one answer and no other');
    const text = response.body.toString();
    if (response.status === 200) return [200, text];
    return [response.status, (JSON.parse(text) as { readonly code: number }).code];
  }
}

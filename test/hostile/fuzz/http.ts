import assert from 'node:assert/strict';
import fc from 'fast-check';
import { header, post, type RawClient, type RawResponse } from '../../http/raw-client.ts';
import { orHang } from '../../or-hang.ts';
import { settled } from '../../protocol/case.ts';
import { servers } from '../../servers.ts';
import { turns } from '../../turns.ts';
import { placedProcedures, referenceOf, withoutHints } from '../reference.ts';
import { startTarget, type Target } from '../target.ts';
import { bytesOf, type HttpCase, httpCase, writesOf } from './edits.ts';
import { assertProperty, type Fuzzer } from './run.ts';
import { type StrictRequest, strictRequest } from './strict-request.ts';

/** All that docs/protocol.md names, and 417, which is node:http's own. 505 is the parser's. */
const statuses = new Set([
  200, 204, 304, 307, 400, 403, 404, 405, 411, 413, 415, 417, 426, 431, 501, 505,
]);

const probe = post('[{"method":"in.runs","id":0},{"method":"out.runs","id":1}]');

/** Until a hang is told. */
const hangMs = 60_000;

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** Calls that were sent so far: the main threads of one process share the module of procedures, and its count. */
interface Sent {
  calls: number;
}

/** One server, and how many calls may have run on it. */
class Bombarded {
  readonly #target: Target;
  readonly #before: number;
  readonly #sent: Sent;

  private constructor(target: Target, before: number, sent: Sent) {
    this.#target = target;
    this.#before = before;
    this.#sent = sent;
  }

  static async start(target: Target, sent: Sent): Promise<Bombarded> {
    return new Bombarded(target, await askRuns(target), sent);
  }

  async check(one: HttpCase): Promise<void> {
    const bytes = bytesOf(one);
    const text = bytes.toString('latin1');
    const strict = strictRequest(bytes);
    this.#sent.calls += count(text, /\.any"/g);
    const client = this.#target.client();
    for (const part of writesOf(bytes, one.cuts)) {
      await client.write(part);
      await turns();
    }
    const first = strict === undefined ? undefined : await firstOf(client);
    await orHang('a good call', askRuns(this.#target), hangMs);
    client.socket.end();
    await orHang('the end of the connection', client.untilClosed(), hangMs);
    const responses = [...(first === undefined ? [] : [first]), ...(await restOf(client))];
    assertResponses(responses, text);
    if (strict !== undefined && !this.#mayLose(strict, first)) assertAnswer(strict, first);
    const ran = await orHang('a good call', askRuns(this.#target), hangMs);
    const most = this.#before + this.#sent.calls;
    assert.ok(ran <= most, `${ran} calls ran, of ${most} that were sent`);
  }

  /**
   * What is no HTTP behind a request, in the same packet, takes its answer away: the parser complains and closes.
   * uWebSockets.js closes on whatever is pipelined behind a call that waits (docs/protocol.md, "What the transport
   * decides").
   */
  #mayLose({ isFollowed }: StrictRequest, first: RawResponse | undefined): boolean {
    if (!isFollowed) return false;
    if (first === undefined) return this.#target.transport === 'uws';
    return header(first, 'content-type') !== 'application/json';
  }
}

/** A good call on a fresh connection. */
async function askRuns(target: Target): Promise<number> {
  const client = target.client();
  const { status, body } = await client.ask(probe);
  client.destroy();
  const replies = JSON.parse(body.toString()) as { id: number; result: number }[];
  assert.deepEqual([status, ...replies.map(({ id }) => id)], [200, 0, 1]);
  return replies.reduce((sum, { result }) => sum + result, 0);
}

/** The first answer; undefined where the connection ends without one. */
async function firstOf(client: RawClient): Promise<RawResponse | undefined> {
  return orHang(
    'an answer',
    client.response().catch(() => undefined),
    hangMs,
  );
}

/** What came before the end, which must be whole answers. */
async function restOf(client: RawClient): Promise<RawResponse[]> {
  const responses: RawResponse[] = [];
  while (client.received.length > 0) responses.push(await client.response());
  return responses.filter(({ status }) => status !== 100);
}

function assertResponses(responses: readonly RawResponse[], sent: string): void {
  for (const { status } of responses) assert.ok(statuses.has(status), `status ${status}`);
  // Each request has its version; a parser may add one complaint before it closes.
  assert.ok(responses.length <= count(sent, /HTTP\/\d/g) + 1, `${responses.length} answers`);
  const answered = responses.map(({ body }) => body.toString()).join('');
  for (const id of ['one', 'two', 'long']) {
    const given = count(answered, new RegExp(`"id":"${id}"`, 'g'));
    const asked = count(sent, new RegExp(`"${id}"`, 'g'));
    assert.ok(given <= asked, `${given} answers to ${asked} calls with the id ${id}`);
  }
}

/** A request that can be read in one way only has the answer that the protocol gives it. */
function assertAnswer(request: StrictRequest, response: RawResponse | undefined): void {
  assert.ok(response !== undefined, 'no answer');
  const { method, path, headers, body, hasHost } = request;
  if (method !== 'POST' || path !== '/rpc') return;
  if (!hasHost) {
    assert.equal(response.status, 400);
  } else if (!headers.has('content-length') && !headers.has('transfer-encoding')) {
    assert.equal(response.status, 411);
  } else if (headers.get('content-type') !== 'application/json') {
    assert.ok([200, 204, 415].includes(response.status), String(response.status));
  } else if (!headers.has('content-encoding') && !headers.has('rpc-timeout-ms')) {
    const { reply } = referenceOf(body, placedProcedures);
    const got = withoutHints(settled(response.body.toString()));
    assert.deepEqual([response.status, got], reply === undefined ? [204, ''] : [200, reply]);
  }
}

/**
 * Requests mutated below HTTP, over sockets and in several writes. The server never crashes, hangs or answers twice,
 * runs nothing that was not sent, and answers what is still a good request.
 */
export class HttpFuzzer implements Fuzzer {
  readonly #targets: readonly Target[];
  readonly #bombarded: readonly Bombarded[];

  private constructor(targets: readonly Target[], bombarded: readonly Bombarded[]) {
    this.#targets = targets;
    this.#bombarded = bombarded;
  }

  static async start(): Promise<HttpFuzzer> {
    const targets = [];
    for (const transport of servers) targets.push(await startTarget(transport, 'both'));
    const sent: Sent = { calls: 0 };
    const bombarded = [];
    for (const target of targets) bombarded.push(await Bombarded.start(target, sent));
    return new HttpFuzzer(targets, bombarded);
  }

  async run(parameters: Parameters<Fuzzer['run']>[0]): Promise<void> {
    const property = fc.asyncProperty(httpCase, async (one) => {
      for (const [i, bombarded] of this.#bombarded.entries()) {
        try {
          await bombarded.check(one);
        } catch (error) {
          const bytes = JSON.stringify(bytesOf(one).toString('latin1'));
          const message = `on ${servers[i]}: ${String(error)}\nbytes: ${bytes}`;
          throw new Error(message, { cause: error });
        }
      }
    });
    await assertProperty(property, parameters);
  }

  async close(): Promise<void> {
    await Promise.all(this.#targets.map((target) => target.close()));
  }
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createClient, RpcError, RpcTransportError } from '../../src/client/index.ts';
import { seed } from '../seed.ts';

interface Sent {
  readonly id: number;
  readonly method: string;
}

/** What a server may do to its replies. */
type Fault =
  | { readonly kind: 'none' }
  | { readonly kind: 'drop'; readonly at: number }
  | { readonly kind: 'repeat'; readonly at: number }
  | { readonly kind: 'rename'; readonly at: number; readonly id: unknown };

const position = fc.nat({ max: 20 });
const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constant('none' as const) }),
  fc.record({ kind: fc.constant('drop' as const), at: position }),
  fc.record({ kind: fc.constant('repeat' as const), at: position }),
  fc.record({
    kind: fc.constant('rename' as const),
    at: position,
    id: fc.oneof(
      fc.nat(),
      fc.double({ noNaN: true }),
      fc.string(),
      fc.constantFrom(undefined, null),
      fc.json(),
    ),
  }),
);

interface Exchange {
  readonly sent: Sent[];
  readonly replies: Record<string, unknown>[];
}

/** A fetch whose replies to a batch are in any order, each naming its own method, and then spoilt. */
function spoiltFetch(order: readonly number[], faults: readonly Fault[], exchanges: Exchange[]) {
  return async (_url: string, { body }: { body: string }): Promise<Response> => {
    const parsed = JSON.parse(body) as Sent | Sent[];
    const sent = Array.isArray(parsed) ? parsed : [parsed];
    let replies = sent
      .map(({ id, method }, i): [number, Record<string, unknown>] => [
        order[i] ?? 0,
        // Every third call fails.
        method.endsWith('3') ? { id, error: { code: 3, message: method } } : { id, result: method },
      ])
      .toSorted(([a], [b]) => a - b)
      .map(([, reply]) => reply);
    for (const one of faults) {
      if (one.kind === 'none' || replies.length === 0) continue;
      const at = one.at % replies.length;
      if (one.kind === 'rename') replies = replies.with(at, { ...replies[at], id: one.id });
      else if (one.kind === 'drop') replies = replies.toSpliced(at, 1);
      else replies = [...replies, { ...replies[at] }];
    }
    // A call alone is answered by one object.
    if (!Array.isArray(parsed)) replies = replies.slice(0, 1);
    exchanges.push({ sent, replies });
    return new Response(JSON.stringify(Array.isArray(parsed) ? replies : (replies[0] ?? null)));
  };
}

describe('ids', () => {
  it('give each call its own reply or an error, whatever the server makes of them', async () => {
    const inputs = [
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.integer(), { minLength: 9, maxLength: 9 }),
      fc.array(fault, { maxLength: 3 }),
      fc.boolean(),
    ] as const;
    await fc.assert(
      fc.asyncProperty(...inputs, async (count, order, faults, automatic) => {
        const exchanges: Exchange[] = [];
        const fetch = spoiltFetch(order, faults, exchanges);
        const client = createClient({
          url: 'http://x',
          fetch,
          retries: 0,
          batch: automatic ? { max: 4 } : undefined,
        });
        const methods = Array.from({ length: count }, (_, i) => `m${i}`);
        const outcomes = automatic
          ? (await Promise.allSettled(methods.map((method) => client.call(method)))).map((each) =>
              each.status === 'fulfilled'
                ? { ok: true as const, result: each.value }
                : { ok: false as const, error: each.reason as unknown },
            )
          : await client.batch(methods.map((method) => [method] as const));

        for (const [i, outcome] of outcomes.entries()) {
          const method = methods[i] as string;
          const { sent, replies } = exchanges.find((one) =>
            one.sent.some((each) => each.method === method),
          ) as Exchange;
          const ids = sent.map(({ id }) => id);
          const { id } = sent.find((each) => each.method === method) as Sent;
          const answers = replies.filter((reply) => reply.id === id);
          const isSound =
            replies.every((reply) => ids.includes(reply.id as number)) &&
            new Set(replies.map((reply) => reply.id)).size === replies.length;
          // JSON gives -0 and 1.0 another look, never another number: compared as numbers above.
          const [only] = sent.length === 1 ? replies : [];
          if (only?.id === null && 'error' in only) {
            // The server's way to say that it could not read the one request.
            assert.ok(!outcome.ok && outcome.error instanceof RpcError);
          } else if (isSound && answers[0] !== undefined) {
            const [{ result, error }] = answers as [
              { result?: unknown; error?: { message: string } },
            ];
            if (outcome.ok) assert.equal(outcome.result, result);
            else {
              assert.ok(outcome.error instanceof RpcError);
              assert.equal(outcome.error.message, error?.message);
              assert.equal(outcome.error.method, method);
            }
          } else {
            assert.ok(!outcome.ok && outcome.error instanceof RpcTransportError);
          }
          // What was not renamed says whose it is.
          if (outcome.ok && faults.every(({ kind }) => kind !== 'rename')) {
            assert.equal(outcome.result, method);
          }
        }
      }),
      { seed, numRuns: 500 },
    );
  });

  it('never repeat', async () => {
    const seen = new Set<number>();
    const fetch = async (_url: string, { body }: { body: string }): Promise<Response> => {
      const requests = [JSON.parse(body) as Sent | Sent[]].flat();
      for (const { id } of requests) {
        assert.ok(Number.isSafeInteger(id) && !seen.has(id));
        seen.add(id);
      }
      const error = { code: -32000, message: 'x', data: { retryAfterMs: 0, retry: true } };
      const replies = requests.map(({ id }) => ({ id, error }));
      return new Response(JSON.stringify(requests.length > 1 ? replies : replies[0]));
    };
    const clients = [1, 2].map(() => createClient({ url: 'http://x', fetch, retries: 1 }));
    await Promise.all(clients.map((client) => client.batch([['a'], ['b'], ['c']])));
    await assert.rejects(clients[0]!.call('a'));
    assert.equal(seen.size, 2 * 2 * 3 + 2);
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { RpcError } from '../../../src/index.ts';
import { seed } from '../../seed.ts';
import type { Stage } from '../stage.ts';
import type { Connection, SentFacts } from '../subject.ts';
import type { TransportCase } from '../suite.ts';
import { call } from './answers.ts';

interface Facts {
  readonly text: string;
  readonly tenant?: string;
  readonly auth?: unknown;
  readonly traceparent?: string;
}

async function factsOf(stage: Stage, connection: Connection, facts: SentFacts): Promise<Facts> {
  await connection.send(call('facts', { text: 'a', turns: 1 }), facts);
  const reply = JSON.parse((await connection.receive()) ?? '') as { readonly result: Facts };
  await stage.assertSilent(connection, { token: 'sentinel' });
  return reply.result;
}

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** Who has a token is its bearer; nobody else may call. */
function byToken(token: string | undefined): unknown {
  if (token === undefined) throw new RpcError(4010, 'Who are you?');
  return { user: token };
}

/** What one caller sends, one message after the other. */
const messages = fc.array(
  fc.record({
    length: fc.oneof(
      { weight: 4, arbitrary: fc.nat(300) },
      { weight: 2, arbitrary: fc.nat(30_000) },
      { weight: 1, arbitrary: fc.integer({ min: 65_000, max: 200_000 }) },
    ),
    pieces: fc.integer({ min: 1, max: 4 }),
    turns: fc.nat(4),
  }),
  { minLength: 1, maxLength: 6 },
);
const scenario = fc.array(messages, { minLength: 2, maxLength: 6 });

export const callers: readonly TransportCase[] = [
  {
    name: 'metadata, time and trace of a request reach its calls, and none of the next request',
    needs: ['metadata'],
    async run(stage) {
      const connection = await stage.connect();
      const told = await factsOf(stage, connection, { tenant: 'acme', traceparent });
      assert.deepEqual(told, { text: 'a', tenant: 'acme', traceparent });
      assert.deepEqual(await factsOf(stage, connection, {}), { text: 'a' });
    },
  },
  ...(['at once', 'later'] as const).map(
    (when): TransportCase => ({
      name: `who calls is asked once for each request and is its auth, or refuses it: ${when}`,
      needs: ['authenticates'],
      options: {
        askCaller: when === 'at once' ? byToken : async (token) => byToken(token),
      },
      async run(stage) {
        const connection = await stage.connect();
        const told = await factsOf(stage, connection, { token: 'ann' });
        assert.deepEqual(told.auth, { user: 'ann' });
        await connection.send(call('hold', {}, 'x'));
        const refusal = '{"jsonrpc":"2.0","id":"x","error":{"code":4010,"message":"Who are you?"}}';
        assert.equal(await connection.receive(), refusal);
        await stage.assertSilent(connection, { token: 'bob' });
        assert.equal(stage.held.length, 0);
      },
    }),
  ),
  {
    name: 'nothing crosses between callers that call at the same time (generated)',
    options: {
      // Later: a body waits for it.
      askCaller: async (token) => ({ user: token ?? null }),
    },
    async run(stage) {
      const rounds = fc.sample(scenario, { seed, numRuns: 8 });
      for (const [round, callersOf] of rounds.entries()) {
        const one = async (sent: (typeof callersOf)[number], caller: number): Promise<void> => {
          const connection = await stage.connect();
          for (const [i, { length, pieces, turns }] of sent.entries()) {
            const name = `${round}/${caller}/${i}`;
            const text = name + String.fromCharCode(97 + ((caller * 7 + i) % 26)).repeat(length);
            const facts = { tenant: `tenant ${name}`, token: `token ${name}` };
            await connection.send(call('facts', { text, turns }, name), facts, pieces);
            const reply = await connection.receive();
            const { id, result } = JSON.parse(reply ?? '') as { id: string; result: Facts };
            assert.ok(id === name && result.text === text, `seed ${seed}: ${name} got ${id}`);
            if (stage.can('metadata')) assert.equal(result.tenant, facts.tenant, name);
            if (stage.can('authenticates')) assert.deepEqual(result.auth, { user: facts.token });
          }
          connection.leave();
        };
        await Promise.all(callersOf.map(one));
      }
    },
  },
];

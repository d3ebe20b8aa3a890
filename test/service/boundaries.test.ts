import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallEvent } from '../../src/index.ts';
import { until } from '../turns.ts';
import { fixture, Running, resultOf } from './running.ts';

/** docs/protocol.md, "Who may call", and docs/architecture.md, "The failure model". */

const modules = [fixture('boundaries.ts')];
const auth = () => ({ user: 'ann', roles: ['reader'] });

function batch(...methods: string[]): unknown {
  return methods.map((method, id) => ({ method, id }));
}

function resultsOf(text: string | undefined): unknown[] {
  const replies = JSON.parse(text ?? '') as { result?: unknown; error?: unknown }[];
  return replies.map((reply) => ('result' in reply ? reply.result : reply));
}

describe('what a call is told of its request', () => {
  const running = Running.suite({ modules });

  test('is its own: no call sees what another has made of context.auth', async () => {
    for (const spoil of ['in.spoil', 'out.spoil']) {
      const asked = batch(spoil, 'in.auth', 'out.auth', spoil, 'out.auth', 'in.auth');
      const expected = [true, auth(), auth(), true, auth(), auth()];
      assert.deepEqual(resultsOf(await running.ask(asked, { auth: auth() })), expected);
    }
  });

  test('an authorize that changes it changes it for its own call alone', async () => {
    for (const place of ['in', 'out']) {
      const asked = batch(`${place}.spoilFirst`, 'out.auth', 'in.auth', `${place}.spoilFirst`);
      const expected = [3, auth(), auth(), 3];
      assert.deepEqual(resultsOf(await running.ask(asked, { auth: auth() })), expected);
    }
  });

  test('headers are frozen, in both places', async () => {
    const headers = { 'x-a': 'given' };
    for (const place of ['in', 'out']) {
      const asked = batch(`${place}.headers`, `${place}.headers`);
      const expected = { refused: 2, headers };
      assert.deepEqual(resultsOf(await running.ask(asked, { headers })), [expected, expected]);
    }
    assert.ok(!Object.isFrozen(headers), 'the caller keeps his own');
  });

  test('an option that can not be one is refused by the dispatch itself, and costs no other call', async () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    const { dispatcher } = running;
    const refused: readonly [object, RegExp][] = [
      [{ auth: { can: () => true } }, /option auth\.can is a function/],
      [{ auth: () => true }, /option auth is a function/],
      [{ auth: cycle }, /nested more than 64 deep, or in a cycle/],
      [{ auth: new Date() }, /option auth is a Date/],
      [{ auth: [1n] }, /option auth\[0\] is a bigint/],
      [{ headers: { 'x-a': 1 } }, /option headers: x-a must be a string, not number/],
      [{ headers: null }, /option headers must be an object/],
      [{ remoteAddress: () => '' }, /option remoteAddress must be a string, not function/],
      [{ traceparent: 1 }, /option traceparent must be a string/],
      [{ timeoutMs: Number.NaN }, /option timeoutMs must be milliseconds, not NaN/],
    ];
    for (const place of ['in', 'out']) {
      for (const [options, message] of refused) {
        const request = { method: `${place}.auth`, id: 1 };
        await assert.rejects(dispatcher.dispatch(request, options), { name: 'TypeError', message });
        await assert.rejects(dispatcher.dispatchText(JSON.stringify(request), options), TypeError);
        assert.deepEqual(resultOf(await running.ask(request, { auth: auth() })), auth());
      }
    }
  });
});

describe('what a worker tells', () => {
  const events: CallEvent[] = [];
  const running = Running.suite({ modules, onCall: (event) => events.push(event) });

  test('error codes are any integer, to the last digit, and counted as they are', async () => {
    for (const place of ['in', 'out']) {
      for (const code of [4294967296, -4294967296, 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1, 7]) {
        events.length = 0;
        const reply = await running.ask({ method: `${place}.fail`, params: { code }, id: 1 });
        assert.equal(reply, `{"jsonrpc":"2.0","id":1,"error":{"code":${code},"message":"failed"}}`);
        await until(() => events.length === 1);
        assert.equal(events[0]?.code, code);
      }
    }
    const counted = running.dispatcher.metrics
      ?.snapshot()
      .calls.find(({ procedure }) => procedure === 'out.fail');
    assert.deepEqual(Object.keys(counted?.codes ?? {}).length, 6);
    assert.equal(counted?.codes['0'], undefined);
  });
});

for (const message of [null, {}, [1, 2], { type: 'fault', fault: null }]) {
  test(`${JSON.stringify(message)} of a worker: its thread is replaced, one line tells of it, and what had not started runs elsewhere`, async (t) => {
    const running = await Running.start(t, { modules });
    const thread = resultOf(await running.ask({ method: 'babble', params: { message }, id: 1 }));
    await until(() => lostThreads(running).length === 1);
    const replies = await Promise.all([1, 2, 3].map((id) => running.ask({ method: 'echo', id })));
    for (const reply of replies) assert.notEqual(resultOf(reply), thread);
    assert.equal(lostThreads(running).length, 1);
  });
}

function lostThreads({ lines }: Running): unknown[] {
  return lines.filter(({ fields }) => fields.event === 'worker-lost');
}

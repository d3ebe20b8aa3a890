import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallEvent } from '../../src/index.ts';
import { until } from '../turns.ts';
import { fixture, lost, Running, resultOf } from './running.ts';

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

test('a message that no replica posts, on its own port: the thread is replaced, one line tells of it, and what had not started runs elsewhere', async (t) => {
  const running = Running.make(t, { modules });
  await running.dispatcher.ready();
  const thread = resultOf(await running.ask({ method: 'babble', id: 1 }));
  await until(() => lostThreads(running).length === 1);
  const replies = await Promise.all([1, 2, 3].map((id) => running.ask({ method: 'echo', id })));
  for (const reply of replies) assert.notEqual(resultOf(reply), thread);
  assert.equal(lostThreads(running).length, 1);
});

test('shared memory that no replica has written ends its worker: its call is lost, a spare serves on', async (t) => {
  const running = Running.make(t, { modules, spareWorkers: 1 });
  await running.dispatcher.ready();
  await until(() => running.dispatcher.stats().pool?.spares === 1);
  const [thread] = running.threads;
  assert.equal(await running.ask({ method: 'scribble', id: 'a' }), lost('a', 'error'));
  assert.notEqual(resultOf(await running.ask({ method: 'echo', id: 1 })), thread);
  assert.equal(lostThreads(running).length, 1);
});

for (const message of [null, 7, {}, { taskId: 1, error: null, result: 'forged' }]) {
  test(`${JSON.stringify(message)} on piscina's port: the thread is replaced, one line tells of it, and what had not started runs elsewhere`, async (t) => {
    const running = Running.make(t, { modules });
    await running.dispatcher.ready();
    const [thread] = running.threads;
    // The one worker runs both, one after the other.
    const both = running.ask([
      { method: 'seize', params: { message }, id: 'a' },
      { method: 'echo', id: 'b' },
    ]);
    const replies = JSON.parse((await both) ?? '') as { id: string; result?: number }[];
    assert.equal(JSON.stringify(replies[0]), lost('a', 'error'));
    assert.equal(typeof replies[1]?.result, 'number');
    assert.notEqual(replies[1]?.result, thread);
    assert.equal(lostThreads(running).length, 1);
  });
}

for (const message of [null, { type: 'unknown' }, { type: 'stdioPayload', stream: 'none' }]) {
  test(`${JSON.stringify(message)} on Node's own port of a thread: the thread is replaced`, async (t) => {
    const running = Running.make(t, { modules });
    await running.dispatcher.ready();
    const both = running.ask([
      { method: 'seizeOutput', params: { message }, id: 'a' },
      { method: 'echo', id: 'b' },
    ]);
    const replies = JSON.parse((await both) ?? '') as { id: string; result?: number }[];
    assert.equal(JSON.stringify(replies[0]), lost('a', 'error'));
    assert.equal(typeof replies[1]?.result, 'number');
    assert.equal(lostThreads(running).length, 1);
  });
}

test("messages on the parentPort of a thread are nobody's: the thread serves on", async (t) => {
  const running = Running.make(t, { modules });
  await running.dispatcher.ready();
  const thread = resultOf(await running.ask({ method: 'seizeParent', id: 1 }));
  for (let id = 0; id < 20; id++) {
    assert.equal(resultOf(await running.ask({ method: 'echo', id })), thread);
  }
  assert.equal(lostThreads(running).length, 0);
});

for (const how of ['close', 'removeAllListeners']) {
  test(`a thread that reads its port no more (${how}) is replaced, and calls that it was sent run elsewhere`, async (t) => {
    const running = Running.make(t, { modules });
    await running.dispatcher.ready();
    const thread = resultOf(await running.ask({ method: 'deafen', params: { how }, id: 1 }));
    // A port that closes may still read what was on its way.
    for (let id = 2; lostThreads(running).length === 0; id++) {
      const reply = await running.ask({ method: 'echo', id });
      assert.equal(typeof resultOf(reply), 'number');
    }
    const replies = await Promise.all([1, 2, 3].map((id) => running.ask({ method: 'echo', id })));
    for (const reply of replies) assert.notEqual(resultOf(reply), thread);
    assert.equal(lostThreads(running).length, 1);
  });
}

describe('a handler that replaces what every call of its thread needs: each later call is answered, and few are lost', () => {
  // What the replica uses is its own: no thread is replaced.
  const harmless = /^JSON|push|compareExchange/;
  for (const what of [
    'JSON.parse throws',
    'JSON.parse gives another value',
    'JSON.stringify gives nothing',
    'Array.prototype.push throws',
    'Array.prototype.push does nothing',
    'Map.prototype.get gives nothing',
    'Atomics.compareExchange does nothing',
    'Atomics.load throws',
  ]) {
    test(what, async (t) => {
      const running = Running.make(t, { modules });
      await running.dispatcher.ready();
      const thread = resultOf(await running.ask({ method: 'replace', params: { what }, id: 1 }));
      let lost = 0;
      for (let n = 0; n < 20; n++) {
        const text = await running.ask({ method: 'repeat', params: { n }, id: n });
        const { result, error } = JSON.parse(text ?? '') as {
          result?: number[];
          error?: { code: number };
        };
        if (result === undefined) {
          lost++;
          assert.ok(error?.code === -32603 || error?.code === -32002, text);
        } else {
          assert.equal(result[0], n);
          assert.equal(result[1] === thread, harmless.test(what));
        }
      }
      assert.ok(lost <= (harmless.test(what) ? 0 : 2), `${lost} of 20 calls were lost`);
      assert.equal(lostThreads(running).length, harmless.test(what) ? 0 : 1);
    });
  }
});

describe('times that a worker tells', () => {
  for (const us of ['NaN', '-1', 'Infinity', '-Infinity', '1e300']) {
    test(`${us}: its call has its result, the pool goes on, one line tells of it`, async (t) => {
      const events: CallEvent[] = [];
      const running = Running.make(t, { modules, onCall: (event) => events.push(event) });
      await running.dispatcher.ready();
      for (let i = 0; i < 3; i++) {
        const reply = await running.ask({ method: 'mistime', params: { us }, id: 1 });
        assert.equal(resultOf(reply), 'x'.repeat(10_000));
      }
      const [thread] = running.threads;
      const calls = Array.from({ length: 50 }, (_, id) => running.ask({ method: 'echo', id }));
      for (const reply of await Promise.all(calls)) assert.equal(resultOf(reply), thread);
      assert.equal(garbled(running).length, 1);
      for (const { runMs = 0, waitMs } of events) assert.ok(runMs >= 0 && waitMs >= 0);
    });
  }
});

function lostThreads({ lines }: Running): unknown[] {
  return lines.filter(({ fields }) => fields.event === 'worker-lost');
}

function garbled({ lines }: Running): unknown[] {
  return lines.filter(({ fields }) => fields.event === 'worker-garbled');
}

/** Handlers that tamper with the thread they run on: docs/architecture.md, "The failure model". */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallEvent } from '../../src/index.ts';
import { until } from '../turns.ts';
import { fixture, lost, Running, resultOf } from './running.ts';

const modules = [fixture('boundaries.ts')];

test('a handler that overwrites the memory shared with the main thread ends its worker: its call is lost, and a spare serves on', async (t) => {
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

test('messages on the parentPort of a thread are ignored, and the thread serves on', async (t) => {
  const running = Running.make(t, { modules });
  await running.dispatcher.ready();
  const thread = resultOf(await running.ask({ method: 'seizeParent', id: 1 }));
  for (let id = 0; id < 20; id++) {
    assert.equal(resultOf(await running.ask({ method: 'echo', id })), thread);
  }
  assert.equal(lostThreads(running).length, 0);
});

for (const how of ['close', 'removeAllListeners']) {
  test(`a thread that stops reading its port (${how}) is replaced, and calls that it was sent run elsewhere`, async (t) => {
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

describe('a run time that is no time, reported by a worker', () => {
  for (const us of ['NaN', '-1', 'Infinity', '-Infinity', '1e300']) {
    test(`${us}: its call has its result, the pool goes on, and one line tells of it`, async (t) => {
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

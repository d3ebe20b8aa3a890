/** Handlers that tamper with the thread they run on: docs/architecture.md, "The failure model". */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CallEvent } from '../../src/index.ts';
import { until } from '../turns.ts';
import { fixture, lost, Running, resultOf } from './running.ts';

const modules = [fixture('boundaries.ts')];

test('a handler that overwrites the memory shared with the main thread ends its worker: its call is lost, and a spare serves on', async (t) => {
  const running = await Running.start(t, { modules, spareWorkers: 1 });
  await until(() => running.dispatcher.stats().pool?.spares === 1);
  const [thread] = running.threads;
  assert.equal(await running.ask({ method: 'scribble', id: 'a' }), lost('a', 'error'));
  assert.notEqual(resultOf(await running.ask({ method: 'echo', id: 1 })), thread);
  assert.equal(lostThreads(running).length, 1);
});

for (const how of ['close', 'removeAllListeners']) {
  test(`a thread that stops reading its port (${how}) is replaced, and calls that it was sent run elsewhere`, async (t) => {
    const running = await Running.start(t, { modules });
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

describe('a run time that is no time, reported by a worker', () => {
  for (const us of ['NaN', '-1', 'Infinity', '-Infinity', '1e300']) {
    test(`${us}: its call has its result, the pool goes on, and one line tells of it`, async (t) => {
      const events: CallEvent[] = [];
      const running = await Running.start(t, { modules, onCall: (event) => events.push(event) });
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

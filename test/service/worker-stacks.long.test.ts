import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../turns.ts';
import { ok, Running, resultOf } from './running.ts';

describe('what the workers do', () => {
  const running = Running.suite({ workers: 2, spareWorkers: 1 });

  test('stacks() tells of every worker, and of the line that a busy one is in', async () => {
    const held = running.call('hold', 'h');
    const thread = await running.begunOn('h');
    await until(() => running.dispatcher.stats().pool?.spares === 1);
    const stacks = await running.dispatcher.stacks();
    assert.equal(stacks.length, 3);
    for (const { threadId, inFlight, running: now, stack } of stacks) {
      if (threadId !== thread) {
        assert.deepEqual([inFlight, now, stack], [0, undefined, 'no stack: its event loop waits']);
        continue;
      }
      assert.equal(inFlight, 1);
      assert.equal(now?.procedure, 'hold');
      assert.match(stack, /procedures\.[jt]s:\d+:\d+\)?$|no stack: in native code/);
    }
    running.release();
    assert.equal(await held, ok('h', 'h'));
  });

  test('recycle() replaces every worker, and loses no call', async () => {
    const before = new Set(running.threads);
    const slow = running.call('hold', 'slow');
    const thread = await running.begunOn('slow');
    assert.equal(running.dispatcher.recycle(), 3);
    // The worker that has a call goes on until the call has ended.
    const calls = Array.from({ length: 50 }, (_, i) => running.call('out.count', `c${i}`));
    for (const [i, reply] of calls.entries()) assert.equal(await reply, ok(`c${i}`, `c${i}`));
    running.release();
    assert.equal(await slow, ok('slow', 'slow'));
    const { dispatcher } = running;
    await until(
      () =>
        dispatcher.stats().pool?.spares === 1 && running.threads.every((one) => !before.has(one)),
    );
    assert.ok(!running.threads.includes(thread));
    const { kills, deaths } = dispatcher.stats().pool!;
    assert.deepEqual({ kills, deaths }, { kills: 0, deaths: 0 });
    assert.ok(before.has(thread));
    assert.ok(!before.has(Number(resultOf(await running.ask({ method: 'out.thread', id: 1 })))));
  });
});

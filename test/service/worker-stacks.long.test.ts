import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../turns.ts';
import { ok, Running } from './running.ts';

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
});

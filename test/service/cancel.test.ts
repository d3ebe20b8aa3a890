import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../turns.ts';
import { cancelled, isSettled, ok, Running } from './running.ts';

describe('a signal', () => {
  const running = Running.suite();

  test('drops what waits for a worker, and leaves the others their turn', async () => {
    const holding = running.call('hold', 'h');
    await running.begunOn('h');
    const gone = new AbortController();
    const { signal } = gone;
    const dropped = ['a', 'b', 'c'].map((text) => running.call('out.count', text, { signal }));
    const kept = running.call('out.count', 'kept');
    const file = running.journal.file;
    const batch = running.ask(
      ['d', 'e'].map((text) => ({ method: 'out.count', params: { file, text }, id: text })),
      { signal },
    );
    await until(() => running.dispatcher.stats().inFlight === 6);
    gone.abort();
    assert.deepEqual(await Promise.all(dropped), ['a', 'b', 'c'].map(cancelled));
    assert.equal(await batch, `[${cancelled('d')},${cancelled('e')}]`);
    assert.equal(await isSettled(kept), false);
    running.release();
    assert.equal(await holding, ok('h', 'h'));
    assert.equal(await kept, ok('kept', 'kept'));
    assert.equal(await running.call('out.count', 'last'), ok('last', 'last'));
    const counted = running.journal.lines().filter((line) => !line.startsWith('h '));
    assert.deepEqual(counted, ['kept', 'last']);
  });

  test('aborts the signal of an inline handler that is in its synchronous part', async () => {
    const gone = new AbortController();
    // The caller's own code runs inside a handler, on this thread.
    Object.defineProperty(globalThis, 'duringHandler', {
      value: () => gone.abort(),
      configurable: true,
    });
    const reply = running.call('in.untilAbortedFromWithin', 'a', { signal: gone.signal });
    assert.equal(await reply, ok('a', -32003));
  });

  test('stops a batch between its calls', async () => {
    const gone = new AbortController();
    const { file } = running.journal;
    for (const place of ['in', 'out']) {
      running.journal.clear();
      const batch = [`${place}.untilAborted`, 'in.count', 'out.count'].map((method, i) => ({
        method,
        params: { file, text: `${i}` },
        id: `${i}`,
      }));
      const controller = place === 'in' ? gone : new AbortController();
      const reply = running.ask(batch, { signal: controller.signal });
      await running.begunOn('0');
      controller.abort();
      assert.equal(await reply, `[${ok('0', -32003)},${cancelled('1')},${cancelled('2')}]`);
      assert.equal(running.journal.count('1') + running.journal.count('2'), 0);
    }
  });

  test('leaves a synchronous call alone: it costs no thread', async () => {
    const [thread] = running.threads;
    const gone = new AbortController();
    const reply = running.call('hold', 'a', { signal: gone.signal });
    assert.equal(await running.begunOn('a'), thread);
    gone.abort();
    running.release();
    assert.equal(await reply, ok('a', 'a'));
    assert.deepEqual(running.threads, [thread]);
    assert.equal(running.dispatcher.stats().pool?.kills, 0);
  });

  test('that aborts later leaves no listener behind', async () => {
    const { signal } = new AbortController();
    const counted = countListeners(signal);
    for (const place of ['in', 'out']) await running.call(`${place}.count`, 'a', { signal });
    assert.equal(counted.added, 2);
    assert.equal(counted.left, 0);
  });
});

function countListeners(signal: AbortSignal): { added: number; left: number } {
  const counted = { added: 0, left: 0 };
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    counted.added++;
    counted.left++;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    counted.left--;
    remove(...args);
  };
  return counted;
}

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ok, Running } from './running.ts';

describe('while synchronous calls hold every worker', () => {
  const running = Running.suite({ workers: 2 });

  test('an inline call ends first', async () => {
    const order: string[] = [];
    const noted = async (reply: Promise<string | undefined>, name: string): Promise<void> => {
      assert.equal(await reply, ok(name, name));
      order.push(name);
    };
    const holding = ['h1', 'h2'].map((name) => noted(running.call('hold', name), name));
    const threads = await Promise.all([running.begunOn('h1'), running.begunOn('h2')]);
    assert.deepEqual(new Set(threads), new Set(running.threads));
    const pooled = noted(running.call('out.count', 'pooled'), 'pooled');
    for (const name of ['i1', 'i2', 'i3']) await noted(running.call('in.count', name), name);
    const batch = await running.ask([
      { method: 'in.thread', id: 1 },
      { method: 'nowhere', id: 2 },
    ]);
    assert.match(batch ?? '', /"result":0.*-32601/);
    // All of this without a word from a worker, which can't speak before the gate opens.
    assert.deepEqual(order, ['i1', 'i2', 'i3']);
    running.release();
    await Promise.all([...holding, pooled]);
    assert.deepEqual(order.slice(0, 3), ['i1', 'i2', 'i3']);
    assert.equal(order.length, 6);
  });
});

describe('one worker', () => {
  const running = Running.suite();

  test('calls that only wait leave it free for others', async () => {
    const waiting = Array.from({ length: 100 }, (_, i) => running.call('out.hangForLong', `w${i}`));
    await running.begunOn('w99');
    assert.equal(await running.call('out.count', 'a'), ok('a', 'a'));
    assert.equal(running.dispatcher.stats().pool?.workers[0]?.inFlight, waiting.length);
  });

  test('a call that waits does not keep a heavy one out, whatever ran before', async () => {
    void running.call('out.hangForLong', 'w');
    await running.begunOn('w');
    for (let round = 0; round < 25; round++) {
      await Promise.all(
        Array.from({ length: round % 7 }, (_, i) =>
          running.ask({
            method: 'out.repeat',
            params: { text: 'a'.repeat(i * 37), times: 1 },
            id: i,
          }),
        ),
      );
      // Expected to take more than a worker's share together: sent only where nothing else runs.
      const calls = Array.from({ length: 60 }, (_, i) => ({
        method: 'out.repeat',
        params: { text: 's'.repeat(round * 11 + i), times: 7 },
      }));
      const batch = [...calls, { method: 'out.thread', id: 'last' }];
      const reply = await running.ask(batch);
      assert.equal(reply, `[${ok('last', running.threads[0])}]`);
    }
  });
});

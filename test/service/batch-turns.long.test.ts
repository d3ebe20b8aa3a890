import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all, results, started } from './batching.ts';

test('a caller of one call waits for two runs at most beside a caller of many', async (t) => {
  const running = await started(t);
  const { journal } = running;
  // What a call costs is known then.
  for (let i = 0; i < 10; i++) await all(running, 'together', 1);
  journal.clear();
  const held = running.call('hold', 'held');
  await running.begunOn('held');
  const many = Array.from({ length: 200 }, (_, i) =>
    running.call('together', `many ${i}`, { remoteAddress: '192.0.2.1' }),
  );
  const one = running.call('together', 'one', { remoteAddress: '192.0.2.2' });
  running.release();
  await Promise.all([held, one, ...many]);
  const lines = journal.lines().filter((line) => !line.startsWith('held'));
  assert.ok(lines.indexOf('one') < 16, `it ran after ${lines.indexOf('one')} calls`);
  assert.equal(lines.length, 201);
});

test('the express worker takes handler batches of 8 ms at most', async (t) => {
  const running = await started(t, { spareWorkers: 1 });
  const { dispatcher } = running;
  for (let i = 0; i < 10; i++) await all(running, 'manyTogether', 1);
  const held = running.call('hold', 'held');
  await running.begunOn('held');
  // What holds a worker for longer than a short call may take, opens the express worker.
  while ((dispatcher.stats().pool?.workers[0]?.running?.ms ?? 0) <= 8) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (dispatcher.stats().pool?.express === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const sizes = results(await all(running, 'manyTogether', 40)).map(Number);
  assert.equal(dispatcher.metrics?.snapshot().counters.expressCalls, 40);
  // Each call takes a millisecond or more.
  assert.ok(Math.max(...sizes) <= 8, sizes.join());
  running.release();
  await held;
});

test('callers of a batch procedure that runs inline take turns', async (t) => {
  const running = await started(t);
  const many = Array.from({ length: 20 }, (_, i) =>
    running.call('pairs', `many ${i}`, { remoteAddress: '192.0.2.1' }),
  );
  const one = running.call('pairs', 'one', { remoteAddress: '192.0.2.2' });
  const left = running.call('pairs', 'left', {
    remoteAddress: '192.0.2.3',
    signal: AbortSignal.abort(),
  });
  await Promise.all([one, left, ...many]);
  const lines = running.journal.lines();
  assert.ok(lines.indexOf('one') < 2, lines.join());
  const order = lines.filter((line) => line !== 'one');
  assert.deepEqual(
    order,
    Array.from({ length: 20 }, (_, i) => `many ${i}`),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../turns.ts';
import { type Answer, comesBeforeGreedy, HeldServer, resultsOf } from './held-server.ts';

comesBeforeGreedy({ what: 'by who has logged in' });

test('where the queue is full the newest call of who has most of it is refused, and says when to come back', async (t) => {
  const server = await HeldServer.start(t, { maxQueue: 50 });
  const { reply: held } = await server.holdWorker();
  // One after another, so that the oldest are known.
  const greedy: Promise<Answer>[] = [];
  while (server.queued < 50) {
    const { inFlight } = server;
    greedy.push(server.call('greedy', `greedy${greedy.length}`));
    await until(() => server.inFlight > inFlight);
  }
  const polite = Array.from({ length: 10 }, (_, i) => server.call('polite', `polite${i}`));
  const refused = await Promise.all(greedy.slice(-10));
  for (const { error } of refused) {
    assert.equal(error?.code, -32000);
    assert.ok((error?.data?.retryAfterMs ?? 0) > 0);
  }
  server.release();
  assert.deepEqual(
    resultsOf(await Promise.all(polite)),
    Array.from({ length: 10 }, (_, i) => `polite${i}`),
  );
  const others = greedy.slice(0, -10);
  assert.deepEqual(
    resultsOf(await Promise.all(others)),
    others.map((_, i) => `greedy${i}`),
  );
  await held;
});

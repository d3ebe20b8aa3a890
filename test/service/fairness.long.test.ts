import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../turns.ts';
import {
  type Answer,
  comesBeforeGreedy,
  greedyBefore,
  HeldServer,
  resultsOf,
  type Way,
} from './held-server.ts';

const proxied = { trustedProxies: '127.0.0.1' };
const ways: readonly Way[] = [
  { what: 'by who has logged in' },
  { what: 'at the gate of maxConcurrency', method: 'oneAtATime' },
  {
    what: 'by a header of a proxy',
    options: { ...proxied, fairBy: 'header:x-tenant' },
    header: 'x-tenant',
  },
  {
    what: 'by address',
    options: { ...proxied, fairBy: 'address' },
    header: 'x-forwarded-for',
  },
];
for (const way of ways) comesBeforeGreedy(way);

test('if the queue is full, the newest call of the caller with the most is refused, and told when to come back', async (t) => {
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

test('three callers take turns, each in its own order, and a batch runs in its order', async (t) => {
  const server = await HeldServer.start(t);
  const { reply: held } = await server.holdWorker();
  const greedy = await server.crowd('greedy', 60);
  const one = Array.from({ length: 20 }, (_, i) => server.request(`one${i}`));
  const others = [server.send('one', one)];
  for (let i = 0; i < 20; i++) {
    const { queued } = server;
    others.push(server.call('two', `two${i}`));
    await until(() => server.queued > queued);
  }
  server.release();
  const [batch] = (await Promise.all([...others, ...greedy, held])) as Answer[][];
  const texts = one.map(({ id }) => id);
  assert.deepEqual(resultsOf(batch ?? []), texts);
  const { ran } = server;
  assert.equal(ran.length, 100);
  const ofCaller = (name: string) => ran.filter((text) => text.startsWith(name));
  assert.deepEqual(ofCaller('one'), texts);
  assert.deepEqual(
    ofCaller('two'),
    Array.from({ length: 20 }, (_, i) => `two${i}`),
  );
  // While all three wait each gets a third: when the last of `two` runs, no more than that of the greedy ones has run.
  const ended = greedyBefore(ran, 'two19');
  assert.ok(ended <= 30, `${ended} before: ${ran.join(' ')}`);
});

test('when to come back is told by what the refused caller itself has waiting, and by its share', async (t) => {
  const weightOf = ({ auth }: { auth: unknown }) =>
    (auth as { sub: string }).sub === 'gold' ? 4 : 1;
  const server = await HeldServer.start(t, { maxQueue: 50, weightOf });
  const { reply: held } = await server.holdWorker();
  const plain = await server.crowd('plain', 24);
  const gold = await server.crowd('gold', 26);
  const retryMsOf = ({ error }: Answer): number => {
    assert.equal(error?.code, -32000);
    return error.data?.retryAfterMs ?? 0;
  };
  // Who has most of what waits has its own 27 calls before it, and a quarter of them by others'; not all 51.
  const goldMs = retryMsOf(await server.call('gold', 'gold too many'));
  plain.push(server.call('plain', 'plain24'));
  retryMsOf(await Promise.race(gold));
  const plainMs = retryMsOf(await server.call('plain', 'plain too many'));
  assert.ok(goldMs > 0.5 * plainMs && goldMs < 0.8 * plainMs, `${goldMs} and ${plainMs}`);
  server.release();
  await Promise.all([...plain, ...gold, held]);
});

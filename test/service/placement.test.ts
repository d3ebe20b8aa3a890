import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadId } from 'node:worker_threads';
import { patience } from '../patience.ts';
import { startDispatcher } from '../protocol/subjects.ts';

// A machine that is busy elsewhere starves threads of a lower priority.
const patient = { workers: 1, niceIncrement: 0, ...patience };

const calls = Array.from({ length: 1000 }, (_, id) => ({ method: 'thread', id }));

test('by default a synchronous procedure stays in the workers, however cheap its calls were', async (t) => {
  const dispatcher = await startDispatcher('auto', patient);
  t.after(() => dispatcher.close());
  for (let round = 0; round < 3; round++) {
    const replies = (await dispatcher.dispatch(calls)) as { result: number }[];
    assert.ok(replies.every(({ result }) => result !== threadId));
  }
  const why = 'synchronous';
  const expected = { place: 'worker', reason: why, cause: why };
  assert.deepEqual(dispatcher.placementOf('thread'), expected);
});

test('with inlineBelowUs it is moved by what it took', async (t) => {
  const limits = { ...patient, inlineBelowUs: 1_000_000, demoteAboveUs: 60_000_000 };
  const dispatcher = await startDispatcher('auto', limits);
  t.after(() => dispatcher.close());
  await dispatcher.dispatch(calls);
  const { place, reason, cause } = dispatcher.placementOf('thread') ?? {};
  assert.deepEqual([place, cause], ['inline', 'measured']);
  assert.match(reason ?? '', /^measured: p99 of \d+ runs below 1000000 us$/);
  const [reply] = (await dispatcher.dispatch(calls.slice(0, 1))) as { result: number }[];
  assert.equal(reply?.result, threadId);
});

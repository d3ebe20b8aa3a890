import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadId } from 'node:worker_threads';
import { patience } from '../patience.ts';
import { startDispatcher } from '../protocol/subjects.ts';

// A machine that is busy elsewhere starves threads of a lower priority.
const patient = { workers: 1, niceIncrement: 0, ...patience };

const calls = Array.from({ length: 1000 }, (_, id) => ({ method: 'thread', id }));

test('a synchronous procedure stays in the workers, however cheap its calls were', async (t) => {
  const dispatcher = await startDispatcher('auto', patient);
  t.after(() => dispatcher.close());
  for (let round = 0; round < 3; round++) {
    const replies = (await dispatcher.dispatch(calls)) as { result: number }[];
    assert.ok(replies.every(({ result }) => result > 0 && result !== threadId));
  }
  const why = 'synchronous';
  const expected = { place: 'worker', reason: why, cause: why };
  assert.deepEqual(dispatcher.placementOf('thread'), expected);
});

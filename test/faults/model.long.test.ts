import { describe, test } from 'node:test';
import fc from 'fast-check';
import { interleavings, interleavingsWithClose } from './interleavings.ts';
import { seed } from './random.ts';

/** A failure prints its seed and path: FAULT_SEED=... FAULT_PATH=... repeats and shrinks it. */
const path = process.env.FAULT_PATH;
const replay = {
  seed,
  // Shrinking takes minutes: only when a failure is looked into.
  endOnFailure: path === undefined,
  includeErrorInReport: true,
  ...(path !== undefined && { path }),
};

describe(`random interleavings against a model (FAULT_SEED=${seed})`, () => {
  test('every id has exactly one answer, an allowed one; nothing crosses, nothing runs twice, batches keep their order', async (t) => {
    await fc.assert(await interleavings(t), { ...replay, numRuns: 10 });
  });

  test('the same with a close() at some point', async (t) => {
    await fc.assert(interleavingsWithClose(t), { ...replay, numRuns: 2 });
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RunSize } from '../../../src/core/procedures/batch-run.ts';
import { seed } from '../../seed.ts';

const max = 64;

/** Runs as many calls at a time as may run, of those that wait. @returns how many the last runs had */
function sizesOf(
  size: RunSize,
  waiting: readonly number[],
  usOf: (calls: number) => number,
): number[] {
  return waiting.map((count) => {
    const calls = Math.min(max, count, size.calls);
    assert.ok(calls >= 1);
    size.record(calls, usOf(calls));
    return calls;
  });
}

const counts = fc.array(fc.integer({ min: 1, max }), { maxLength: 30 });
const many = Array<number>(60).fill(max);
const noise = fc.infiniteStream(fc.double({ min: 0.9, max: 1.1, noNaN: true }));

test('whatever has run before, runs of what takes so long for each call come to few calls', () => {
  fc.assert(
    fc.property(counts, fc.integer({ min: 20_000, max: 200_000 }), noise, (before, us, by) => {
      const size = new RunSize();
      sizesOf(size, before, () => 50);
      const sizes = sizesOf(size, many, (calls) => calls * us * (by.next().value as number));
      const sum = sizes.slice(20).reduce((total, calls) => total + calls, 0);
      assert.ok(sum <= 40 * 2, sizes.join());
    }),
    { seed, numRuns: 200 },
  );
});

test('whatever has run before, runs of what takes as long for many calls as for one come to max', () => {
  fc.assert(
    fc.property(counts, fc.integer({ min: 1000, max: 100_000 }), noise, (before, us, by) => {
      const size = new RunSize();
      sizesOf(size, before, (calls) => calls * 20_000);
      const usOf = (calls: number) => us + calls * 50 * (by.next().value as number);
      const last = sizesOf(size, Array<number>(400).fill(max), usOf).slice(300);
      assert.ok(last.filter((calls) => calls === max).length > 80, last.join());
    }),
    { seed, numRuns: 200 },
  );
});

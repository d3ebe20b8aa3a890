import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frameBudgetUs } from '../../../src/core/dispatch/queue/cost.ts';
import { chooseWorker } from '../../../src/core/workers/pool.ts';

const worker = (name: string, loadUs: number, freeSlots = 100, streamCount = 0) => ({
  name,
  loadUs,
  freeSlots,
  streamCount,
});
const heavy = frameBudgetUs * 1000;

test('which worker takes a call', () => {
  for (const [title, workers, costUs, slots, wanted] of [
    ['none there', [], 1, 1, undefined],
    ['the only one', [worker('a', 0)], 1, 1, 'a'],
    ['the least loaded', [worker('a', 20), worker('b', 10), worker('c', 30)], 1, 1, 'b'],
    ['the first of equals', [worker('a', 10), worker('b', 10)], 1, 1, 'a'],
    [
      'of equals the one with the fewest streams',
      [worker('a', 9, 9, 2), worker('b', 9, 9, 1)],
      1,
      1,
      'b',
    ],
    ['load before streams', [worker('a', 9, 9, 2), worker('b', 10, 9, 0)], 1, 1, 'a'],
    ['a heavy one goes to an idle worker', [worker('a', 1), worker('b', 0)], heavy, 1, 'b'],
    ['a heavy one waits where none is idle', [worker('a', 1), worker('b', 1)], heavy, 1, undefined],
    ['what fills the budget', [worker('a', frameBudgetUs - 10)], 10, 1, 'a'],
    ['what breaks the budget', [worker('a', frameBudgetUs - 10)], 11, 1, undefined],
    ['one that has overrun', [worker('a', Number.POSITIVE_INFINITY)], 1, 1, undefined],
    [
      'an overrun one beside another',
      [worker('a', Number.POSITIVE_INFINITY), worker('b', 9)],
      1,
      1,
      'b',
    ],
    ['no slots', [worker('a', 0, 0)], 1, 1, undefined],
    ['too few slots', [worker('a', 0, 63), worker('b', 500, 64)], 1, 64, 'b'],
    ['a free call to a full worker', [worker('a', frameBudgetUs)], 0, 1, 'a'],
  ] as const) {
    assert.equal(chooseWorker(workers, costUs, slots)?.name, wanted, title);
  }
});

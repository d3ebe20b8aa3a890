import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { median, noise, quantile, ratios, slope } from '../../bench/statistics.ts';

describe('the statistics of the benchmark', () => {
  it('take the middle value, or what lies between the two', () => {
    assert.equal(median([5, 1, 3]), 3);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    assert.equal(quantile([0, 10], 0.25), 2.5);
    assert.ok(Number.isNaN(median([])));
  });

  it('take ratios within rounds: what slowed a whole round cancels out', () => {
    const quiet = [200, 200, 200];
    const disturbed = [100, 50, 10];
    const slowedAlike = [200, 100, 20];
    assert.deepEqual(ratios(slowedAlike, disturbed), [2, 2, 2]);
    assert.notDeepEqual(ratios(quiet, disturbed), [2, 2, 2]);
    assert.throws(() => ratios([1, 2], [1]), /2 rounds beside 1/);
  });

  it('call half of the range noise, relative to the median', () => {
    assert.equal(noise([90, 100, 110]), 0.1);
    assert.equal(noise([100]), 0);
  });

  it('fit a slope', () => {
    assert.equal(
      slope([
        [0, 1],
        [1, 3],
        [2, 5],
      ]),
      2,
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { quantile, since } from '../../src/cli/tools/top/server.ts';

describe('the buckets of a histogram', () => {
  it('give quantiles as Prometheus estimates them', () => {
    const bounds = [0.125, 0.25, 0.5, Number.POSITIVE_INFINITY];
    const counts = [10, 20, 20, 25];
    assert.equal(quantile({ bounds, counts }, 0.2), 0.0625);
    assert.equal(quantile({ bounds, counts }, 0.6), 0.1875);
    assert.equal(quantile({ bounds, counts }, 0.8), 0.25);
    assert.equal(quantile({ bounds, counts }, 0.99), Number.POSITIVE_INFINITY);
    assert.equal(quantile({ bounds, counts: [0, 0, 0, 0] }, 0.5), undefined);
    const later = { bounds, counts: [10, 20, 30, 35] };
    assert.deepEqual(since(later, { bounds, counts }).counts, [0, 0, 10, 10]);
    // It has begun anew meanwhile.
    assert.deepEqual(since({ bounds, counts }, later).counts, counts);
  });
});

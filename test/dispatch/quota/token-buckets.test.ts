import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { TokenBuckets } from '../../../src/core/dispatch/rate-limit.ts';

function bucketsOf(limit: { calls?: number; costMs?: number; burstSeconds?: number }, keys = 100) {
  const clock = { ms: 5000 };
  const full = { calls: 0, costMs: 0, burstSeconds: 1, ...limit };
  return { clock, buckets: new TokenBuckets(full, () => clock.ms, keys) };
}

/** How many requests pass, one after another. */
function passing(buckets: TokenBuckets, key = 'a'): number {
  let count = 0;
  while (buckets.admit(key).retryAfterMs === 0) count++;
  return count;
}

describe('token buckets', () => {
  test('let the burst through at once, then the rate', () => {
    const { clock, buckets } = bucketsOf({ calls: 10, burstSeconds: 3 });
    assert.equal(passing(buckets), 30);
    clock.ms += 99;
    assert.equal(passing(buckets), 0);
    clock.ms += 1;
    assert.equal(passing(buckets), 1);
    clock.ms += 1000;
    assert.equal(passing(buckets), 10);
    clock.ms += 3_600_000;
    assert.equal(passing(buckets), 30);
  });

  test('say when something is left again, and then it is', () => {
    const { clock, buckets } = bucketsOf({ calls: 3 });
    passing(buckets);
    buckets.charge('a', 4, 0);
    const { retryAfterMs, left } = buckets.admit('a');
    assert.deepEqual([retryAfterMs, left], [Math.ceil(5000 / 3), 0]);
    clock.ms += retryAfterMs - 1;
    assert.equal(buckets.admit('a').retryAfterMs, 1);
    clock.ms += 1;
    assert.equal(buckets.admit('a').retryAfterMs, 0);
  });

  test('say what is left, and when all of it will be', () => {
    const { clock, buckets } = bucketsOf({ calls: 10, burstSeconds: 2 });
    assert.deepEqual(buckets.admit('a'), { retryAfterMs: 0, left: 19, resetMs: 100 });
    buckets.charge('a', 9, 0);
    assert.deepEqual(buckets.admit('a'), { retryAfterMs: 0, left: 9, resetMs: 1100 });
    clock.ms += 50;
    assert.deepEqual(buckets.admit('a'), { retryAfterMs: 0, left: 8, resetMs: 1150 });
  });

  test('count what calls cost, once it is known: the next request waits until it is paid back', () => {
    const { clock, buckets } = bucketsOf({ costMs: 100 });
    assert.equal(buckets.admit('a').retryAfterMs, 0);
    buckets.charge('a', 0, 350_000);
    const { retryAfterMs } = buckets.admit('a');
    assert.ok(retryAfterMs >= 2500 && retryAfterMs <= 2501, `${retryAfterMs}`);
    clock.ms += retryAfterMs;
    assert.equal(buckets.admit('a').retryAfterMs, 0);
  });

  test('keep callers apart', () => {
    const { buckets } = bucketsOf({ calls: 5 });
    assert.equal(passing(buckets, 'a'), 5);
    assert.equal(passing(buckets, 'b'), 5);
    assert.equal(passing(buckets, '__proto__'), 5);
  });

  test('keep no more keys than they may, and those in use longest', () => {
    const { buckets } = bucketsOf({ calls: 1 }, 50);
    assert.equal(passing(buckets, 'in use'), 1);
    for (let i = 0; i < 10_000; i++) {
      buckets.admit(`key ${i}`);
      assert.equal(passing(buckets, 'in use'), 0);
      assert.ok(buckets.size <= 100);
    }
  });

  test('never let more through than burst and rate, whatever comes when', () => {
    const arrivals = fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 1, max: 5 })), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(
        arrivals,
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 4 }),
        (list, calls, burstSeconds) => {
          const { clock, buckets } = bucketsOf({ calls, burstSeconds });
          const passed: { at: number; calls: number }[] = [];
          for (const [ms, batch] of list) {
            clock.ms += ms;
            if (buckets.admit('a').retryAfterMs > 0) continue;
            buckets.charge('a', batch - 1, 0);
            passed.push({ at: clock.ms, calls: batch });
          }
          // In any stretch of time: the burst, what the time brings, and one batch that overdraws.
          for (const [i, first] of passed.entries()) {
            let sum = 0;
            for (const { at, calls: taken } of passed.slice(i)) {
              sum += taken;
              const most = calls * burstSeconds + ((at - first.at) * calls) / 1000 + 5;
              assert.ok(sum <= most + 1e-6, `${sum} in ${at - first.at} ms`);
            }
          }
        },
      ),
      { seed: 20_261_122, numRuns: 200 },
    );
  });

  test('all networks of one /48 of IPv6 together may take what eight callers may', () => {
    const { clock, buckets } = bucketsOf({ calls: 10 }, 1000);
    const networks = Array.from({ length: 200 }, (_, i) => `a2001:db8:1:${i.toString(16)}`);
    const passed = networks.map((key) => passing(buckets, key));
    assert.deepEqual(passed.slice(0, 9), [...Array(8).fill(10), 0]);
    assert.deepEqual([passing(buckets, 'a2001:db8:2:1'), passing(buckets, 'a192.0.2.1')], [10, 10]);
    const { retryAfterMs } = buckets.admit('a2001:db8:1:c8');
    assert.equal(retryAfterMs, 13);
    clock.ms += retryAfterMs;
    assert.equal(
      passing(buckets, 'a2001:db8:1:c8'),
      1,
      'what was refused for its network is not counted',
    );
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AckTimeout } from '../../src/nats/member/ack-timeout.ts';

describe('a gateway that is to acknowledge replies', () => {
  test('is asked when the oldest of them stays the same, and again after as long', () => {
    const timeout = new AckTimeout(1000);
    const asked = [];
    for (let now = 0; now <= 4000; now += 50) if (timeout.isOver(7, now)) asked.push(now);
    assert.deepEqual(asked, [1050, 2100, 3150]);
  });

  test('is not asked while it goes on, though there is always one that it has not acknowledged', () => {
    const timeout = new AckTimeout(1000);
    for (let now = 0; now <= 10_000; now += 50) {
      assert.equal(timeout.isOver(Math.floor(now / 100), now), false);
    }
  });

  test('is not asked for what it has', () => {
    const timeout = new AckTimeout(1000);
    for (const [oldest, now] of [
      [1, 0],
      [undefined, 900],
      [undefined, 5000],
      [2, 5000],
      [2, 6000],
    ] as const) {
      assert.equal(timeout.isOver(oldest, now), false);
    }
    assert.equal(timeout.isOver(2, 6001), true);
  });
});

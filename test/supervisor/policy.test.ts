import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RestartDelay } from '../../src/core/base/restart-delay.ts';
import { Watchdog } from '../../src/server/process/server-process.ts';
import { excessOf } from '../../src/server/process/supervisor.ts';

describe('the delay of a restart', () => {
  const policy = { free: 3, firstMs: 100, longestMs: 500, forgetsMs: 1000 };

  test('is none for the first, then doubles up to its bound', () => {
    const delay = new RestartDelay(policy);
    const delays = Array.from({ length: 8 }, (_, i) => delay.next(i * 1000));
    assert.deepEqual(delays, [0, 0, 0, 100, 200, 400, 500, 500]);
  });

  test('is forgotten when one comes long after the one before', () => {
    const delay = new RestartDelay(policy);
    const at = [0, 1, 2, 3, 1003, 2004, 2005, 2006, 2007];
    assert.deepEqual(
      at.map((now) => delay.next(now)),
      [0, 0, 0, 100, 200, 0, 0, 0, 100],
    );
  });

  test('may have no free one', () => {
    assert.equal(new RestartDelay({ ...policy, free: 0 }).next(0), 100);
  });
});

test('what a process has too much of', () => {
  const mb = 1024 ** 2;
  const cases = [
    [7, 9999 * mb, 0, undefined],
    [8, 0, 0, 'zombies'],
    [0, 100 * mb, 100, undefined],
    [0, 100 * mb + 1, 100, 'memory'],
    [8, 101 * mb, 100, 'zombies'],
  ] as const;
  for (const [zombies, rssBytes, maxProcessMb, expected] of cases) {
    assert.equal(excessOf({ zombies, rssBytes }, { maxProcessMb }), expected);
  }
});

describe('the watchdog', () => {
  test('fires once, when nothing was heard for its limit', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    let fired = 0;
    const watchdog = new Watchdog(1000, () => fired++);
    t.mock.timers.tick(1000);
    assert.equal(fired, 0);
    watchdog.heard();
    t.mock.timers.tick(1000);
    assert.equal(fired, 0);
    t.mock.timers.tick(250);
    assert.equal(fired, 1);
    t.mock.timers.tick(10_000);
    assert.equal(fired, 1);
  });

  test('is still for one that is heard in time, and when it was stopped', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    let fired = 0;
    const watchdog = new Watchdog(1000, () => fired++);
    for (let i = 0; i < 10; i++) {
      t.mock.timers.tick(1000);
      watchdog.heard();
    }
    watchdog.stop();
    t.mock.timers.tick(10_000);
    assert.equal(fired, 0);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { maxDelayMs } from '../../../src/core/base/timer.ts';
import { transferTimeoutMs } from '../../../src/server/http/edge/answer.ts';
import { BodyDeadlines } from '../../../src/server/http/exchange.ts';

describe('the deadlines of bodies', () => {
  const clock = { ms: 0 };
  const make = (deadlines: BodyDeadlines, dueAt: number) => {
    const body = { dueAt, late: 0, onLate: () => void body.late++ };
    deadlines.add(body);
    return body;
  };

  test('each is told once when its time is over, and none before or after it is there', () => {
    const deadlines = new BodyDeadlines(() => clock.ms);
    const bodies = [100, 300, 200, 400].map((dueAt) => make(deadlines, dueAt));
    const [gone] = bodies;
    assert.equal(deadlines.size, 4);
    if (gone !== undefined) deadlines.delete(gone);
    for (const ms of [99, 199, 200, 350, 1000, 2000]) {
      clock.ms = ms;
      deadlines.look();
      assert.deepEqual(
        bodies.map(({ late }) => late),
        [0, ms >= 300 ? 1 : 0, ms >= 200 ? 1 : 0, ms >= 400 ? 1 : 0],
      );
    }
    assert.equal(deadlines.size, 0);
  });

  test('one that is there at once leaves nothing behind', () => {
    const deadlines = new BodyDeadlines(() => clock.ms);
    for (let i = 0; i < 1000; i++) {
      deadlines.delete(make(deadlines, 100));
      assert.equal(deadlines.size, 0);
    }
    deadlines.look();
  });

  test('are longer by a second for each 64 KiB', () => {
    assert.equal(transferTimeoutMs(0, 10_000), 10_000);
    assert.equal(transferTimeoutMs(64 * 1024, 10_000), 11_000);
    assert.equal(transferTimeoutMs(10 * 1024 ** 2, 10_000), 170_000);
  });

  test('are never longer than a timer can be, which would fire at once', () => {
    assert.equal(transferTimeoutMs(10 * 1024 ** 2, maxDelayMs), maxDelayMs);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDoneWithin, maxDelayMs, startTimer, Vacancy } from '../../src/core/base/timer.ts';
import { shortTimersHaveFired } from '../short-timers.ts';

/** Delays that setTimeout makes 1 ms. */
for (const ms of [maxDelayMs + 1, Number.POSITIVE_INFINITY]) {
  describe(`a time of ${ms} ms`, () => {
    test('is no short one', async () => {
      let fired = 0;
      const timer = startTimer(ms, () => fired++);
      await shortTimersHaveFired();
      assert.equal(timer.hasRef(), true);
      clearTimeout(timer);
      assert.equal(fired, 0);
    });

    test('a promise is waited for', async () => {
      assert.equal(await isDoneWithin(shortTimersHaveFired(), ms), true);
      const failed = shortTimersHaveFired().then(() => assert.fail('it failed'));
      await assert.rejects(isDoneWithin(failed, ms), { message: 'it failed' });
    });

    test('a vacancy is waited for', async () => {
      const vacancy = new Vacancy();
      let isVacant = false;
      const waited = vacancy.within(ms).then(() => assert.equal(isVacant, true));
      await shortTimersHaveFired();
      isVacant = true;
      vacancy.tell();
      await waited;
    });
  });
}

test('a shorter time passes as it is', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const late = isDoneWithin(new Promise(() => {}), maxDelayMs);
  t.mock.timers.tick(maxDelayMs);
  assert.equal(await late, false);
});

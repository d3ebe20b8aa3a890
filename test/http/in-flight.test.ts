import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InFlight } from '../../src/server/http/exchange.ts';
import { shortTimersHaveFired } from '../short-timers.ts';
import { turns } from '../turns.ts';

test('a request that comes in the turn of the last reply is waited for, too', async () => {
  const inFlight = new InFlight();
  inFlight.enter();
  let over = false;
  const drained = inFlight.drain(300_000).then(() => {
    over = true;
  });
  assert.equal(inFlight.draining, true);
  inFlight.leave();
  inFlight.enter();
  await turns();
  assert.equal(over, false);
  inFlight.leave();
  await drained;
});

test('nothing in flight: a drain ends at once', async () => {
  await new InFlight().drain(300_000);
});

test('a grace longer than a timer can be, or without an end, is no grace of 1 ms', async () => {
  for (const graceMs of [2 ** 31, Number.POSITIVE_INFINITY]) {
    const inFlight = new InFlight();
    inFlight.enter();
    const drained = inFlight.drain(graceMs).then(() => 'drained');
    await shortTimersHaveFired();
    assert.equal(await Promise.race([drained, turns().then(() => 'waits')]), 'waits');
    inFlight.leave();
    await drained;
  }
});

test('the grace ends a drain', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const inFlight = new InFlight();
  inFlight.enter();
  const drained = inFlight.drain(10_000);
  t.mock.timers.tick(10_000);
  await drained;
});

/** docs/console.md, "Watching the service": who is refused because of too much. */

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  joinThrottled,
  maxThrottled,
  type ThrottledCaller,
  ThrottledCallers,
} from '../../src/core/observe/throttled-callers.ts';
import { type AppOptions, Router } from '../../src/index.ts';
import { startApp } from '../harness.ts';
import { callAt, postJson } from '../post-json.ts';
import { Running } from '../service/running.ts';
import { until } from '../turns.ts';
import { get } from './get.ts';

const none = { rate: 0, inFlight: 0, queue: 0, full: 0 };

function kept(list: readonly ThrottledCaller[]): (readonly [string, number])[] {
  return list.map(({ key, refused }) => [key, refused.rate]);
}

describe('throttled callers', () => {
  test('are counted from the first refusal of a spell on, and forgotten after five minutes', () => {
    let now = 1_000_000;
    const callers = new ThrottledCallers(
      () => now,
      (at) => at,
    );
    callers.note('sann', 'rate');
    now += 59_000;
    callers.note('sann', 'rate');
    callers.note('sann', 'queue');
    const [ann] = callers.list();
    const refused = { ...none, rate: 2, queue: 1 };
    assert.deepEqual(ann, { key: 'sann', refused, since: 1_000_000, last: 1_059_000 });
    now += 61_000;
    callers.note('sann', 'full');
    assert.deepEqual(callers.list(), [
      { key: 'sann', refused: { ...none, full: 1 }, since: now, last: now },
    ]);
    now += 300_001;
    assert.deepEqual(callers.list(), []);
  });

  test('are the last hundred, whoever comes', () => {
    const callers = new ThrottledCallers(
      () => 1,
      (at) => at,
    );
    callers.note('steady', 'rate');
    for (let i = 0; i < 10 * maxThrottled; i++) {
      callers.note(`a10.0.${i >> 8}.${i & 255}`, 'rate');
      // Who is refused again and again stays.
      callers.note('steady', 'rate');
    }
    const list = callers.list();
    assert.equal(list.length, maxThrottled);
    assert.deepEqual(kept(list).at(-1), ['steady', 10 * maxThrottled + 1]);
  });

  test('of several processes are one list', () => {
    const of = (key: string, rate: number, since: number, last: number): ThrottledCaller => ({
      key,
      refused: { ...none, rate },
      since,
      last,
    });
    const joined = joinThrottled([
      [of('sann', 2, 5, 10), of('sbob', 1, 1, 2)],
      [of('sann', 3, 4, 7)],
    ]);
    assert.deepEqual(joined, [of('sbob', 1, 1, 2), of('sann', 5, 4, 10)]);
  });
});

function routerOf(): { readonly router: Router; readonly answerAll: () => void } {
  const router = new Router();
  let answers: (() => void)[] = [];
  router.rpc({ name: 'now', placement: 'inline' }, () => 1);
  router.rpc(
    { name: 'wait', placement: 'inline', async: true },
    () => new Promise<null>((resolve) => answers.push(() => resolve(null))),
  );
  return {
    router,
    answerAll() {
      for (const answer of answers) answer();
      answers = [];
    },
  };
}

async function serve(t: TestContext, options: AppOptions) {
  const { app, url } = await startApp(t, options);
  const at = (path: string): string => new URL(path, url).href;
  return {
    app,
    at,
    /** @returns the code of the error; undefined: there is none */
    call: async (method: string, name?: string): Promise<number | undefined> =>
      (await callAt(url, method, {}, name === undefined ? {} : { name })).error?.code,
    callers: async (): Promise<readonly ThrottledCaller[]> => {
      const { body } = await get(at('/console/figures'), { name: 'operator' });
      return (JSON.parse(body.toString()) as { callers: readonly ThrottledCaller[] }).callers;
    },
  };
}

describe('the figures of a service', () => {
  test('name who was refused, how often and by which limit, in the figures alone', async (t) => {
    const { router, answerAll } = routerOf();
    const { app, call, callers, at } = await serve(t, {
      router,
      console: true,
      authenticate: ({ headers }) => headers.name,
      rateLimit: { calls: 1, burstSeconds: 3600 },
      maxInFlightPerCaller: 1,
    });
    const waits = call('wait', 'bob');
    await until(() => app.dispatcher.stats().inFlight > 0);
    assert.equal(await call('now', 'bob'), -32000);
    answerAll();
    assert.equal(await waits, undefined);
    // What ann may take is used up by one batch, which is charged when it has been read.
    const batch = Array(1000).fill({ jsonrpc: '2.0', method: 'now' });
    for (let i = 0; i < 4; i++) await postJson(at('/rpc'), batch, { name: 'ann' });
    assert.equal(await call('now', 'ann'), -32000);
    assert.equal(await call('now', 'ann'), -32000);
    const [bob, ann, ...others] = await callers();
    assert.deepEqual(others, []);
    assert.deepEqual([bob?.key, bob?.refused], ['sbob', { ...none, inFlight: 1 }]);
    assert.deepEqual([ann?.key, ann?.refused], ['sann', { ...none, rate: 2 }]);
    assert.ok(ann !== undefined && ann.since <= ann.last);
    const metrics = (await get(at('/metrics'))).body.toString();
    assert.ok(!metrics.includes('ann') && !metrics.includes('bob'));
  });

  test('name callers for whom the service was full, by their addresses where nobody has logged in', async (t) => {
    const { router, answerAll } = routerOf();
    const { app, call, callers } = await serve(t, { router, console: true, maxInFlight: 1 });
    const waits = call('wait');
    await until(() => app.dispatcher.stats().inFlight > 0);
    assert.equal(await call('now'), -32000);
    const [only, ...others] = await callers();
    assert.deepEqual(others, []);
    assert.deepEqual([only?.key, only?.refused], ['a127.0.0.1', { ...none, full: 1 }]);
    answerAll();
    assert.equal(await waits, undefined);
  });

  test('name callers whose calls found no room in the queue', async (t) => {
    const running = Running.make(t, { maxQueue: 1, console: true });
    await running.dispatcher.ready();
    const held = running.call('hold', 'held');
    await running.begunOn('held');
    const calls = Array.from({ length: 6 }, (_, i) => running.call('hold', `more ${i}`));
    const metrics = running.dispatcher.metrics ?? assert.fail();
    const refused = (): number =>
      metrics.snapshot().callers.reduce((sum, one) => sum + one.refused.queue, 0);
    await until(() => refused() > 0);
    const [only, ...others] = metrics.snapshot().callers;
    assert.deepEqual(others, []);
    assert.equal(only?.key, 'a');
    running.release();
    await Promise.all([held, ...calls]);
    assert.equal(metrics.snapshot().callers[0]?.refused.queue, refused());
  });

  test('are not kept where the console is off', async (t) => {
    const { router, answerAll } = routerOf();
    const { app, call } = await serve(t, { router, console: false, maxInFlight: 1 });
    const waits = call('wait');
    await until(() => app.dispatcher.stats().inFlight > 0);
    assert.equal(await call('now'), -32000);
    assert.deepEqual(app.dispatcher.metrics?.snapshot().callers, []);
    answerAll();
    await waits;
  });
});

import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { carriers, serve } from '../app/hooks/serve.ts';
import { json, post, rpc } from '../http/raw-client.ts';
import { until } from '../turns.ts';
import { expired, fixture, isSettled, ok, Running, resultOf } from './running.ts';

/** The wall clock is set, in all threads, while calls run: docs/protocol.md, "Deadlines". */

const hour = 3_600_000;
/** Long enough for a call to begin on a busy machine: the tests wait for it to pass. */
const limitMs = 2000;
const modules = [fixture('procedures.ts'), fixture('boundaries.ts')];
const { now } = Date;
afterEach(() => {
  Date.now = now;
});

async function setClock(running: Running, byMs: number): Promise<void> {
  for (const place of ['in', 'out']) {
    await running.ask({ method: `${place}.setClock`, params: { byMs }, id: 1 });
  }
}

for (const [name, byMs] of [
  ['an hour back', -hour],
  ['an hour ahead', hour],
] as const) {
  describe(`the wall clock is set ${name}`, () => {
    const running = Running.suite({ modules, maxQueueMs: 60_000 });

    test('what runs keeps its deadline, in both places', async () => {
      const waiting = ['in.hangForLong', 'out.hangForLong'].map((method, i) =>
        running.call(method, `${i}`, { timeoutMs: limitMs }),
      );
      await Promise.all(['0', '1'].map((text) => running.begunOn(text)));
      await setClock(running, byMs);
      assert.deepEqual(await Promise.all(waiting), [expired('0', limitMs), expired('1', limitMs)]);
      const [thread] = running.threads;
      const loop = running.call('spinLater', 'loop');
      assert.equal(await running.begunOn('loop', 'spins'), thread);
      assert.equal(await loop, expired('loop', 200));
      // Its thread does not answer for half a second, by the clock that nobody sets.
      await until(() => running.dispatcher.stats().pool?.kills === 1);
    });

    test('a thread that runs is not killed, what waits for it is not given up', async () => {
      const kills = running.dispatcher.stats().pool?.kills;
      const held = running.call('hold', 'held');
      await running.begunOn('held');
      const behind = running.call('out.count', 'behind');
      Date.now = () => now() + byMs;
      // Many looks of the pool at what is overdue, one each 10 ms.
      for (let i = 0; i < 40; i++) await new Promise((resolve) => setTimeout(resolve, 1));
      assert.equal(await isSettled(behind), false);
      running.release();
      assert.equal(await held, ok('held', 'held'));
      assert.equal(await behind, ok('behind', 'behind'));
      assert.equal(running.dispatcher.stats().pool?.kills, kills);
    });

    test('context.deadline is as far away as it was', async () => {
      await setClock(running, byMs);
      for (const place of ['in', 'out']) {
        const left = resultOf(await running.ask({ method: `${place}.left`, id: 1 })) as number;
        assert.ok(left > 0 && left <= 10_001, `${left}`);
      }
    });

    test('the end waits as long as it was told to, and no longer', async (t) => {
      const other = await Running.start(t, { modules });
      const hanging = other.call('out.hangForLong', 'h');
      await other.begunOn('h');
      const ended = other.dispatcher.close(100);
      Date.now = () => now() + byMs;
      await ended;
      assert.match((await hanging) ?? '', /"code":-32002.*shutdown/);
    });

    for (const carrier of carriers) {
      test(`over HTTP on ${carrier}`, async (t) => {
        const { client } = await serve(t, carrier, { modules });
        const ask = async (body: string, headers = {}) =>
          json(await client().ask(post(body, headers)));
        for (const place of ['in', 'out']) {
          const params = { file: running.journal.file, text: place };
          const body = rpc(`${place}.hangForLong`, params);
          const hanging = ask(body, { 'rpc-timeout-ms': `${limitMs}` });
          await running.begunOn(place);
          await ask(rpc('in.setClock', { byMs }));
          await ask(rpc('out.setClock', { byMs }));
          const left = Number((await ask(rpc(`${place}.left`))).result);
          assert.ok(left > 0 && left <= 10_001, `${left}`);
          assert.deepEqual((await hanging).error, {
            code: -32001,
            message: 'Deadline exceeded',
            data: { timeoutMs: limitMs },
          });
        }
      });
    }
  });
}

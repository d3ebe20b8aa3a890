import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { threadId } from 'node:worker_threads';
import { DeadlineSweep } from '../../src/dispatch/deadline.ts';
import { patience } from '../patience.ts';
import { ok, Running, resultOf } from './harness.ts';

describe('while synchronous calls hold every worker', () => {
  const running = Running.suite({ workers: 2 });

  test('an inline call ends first', async () => {
    const order: string[] = [];
    const noted = async (reply: Promise<string | undefined>, name: string): Promise<void> => {
      assert.equal(await reply, ok(name, name));
      order.push(name);
    };
    const holding = ['h1', 'h2'].map((name) => noted(running.call('hold', name), name));
    const threads = await Promise.all([running.begunOn('h1'), running.begunOn('h2')]);
    assert.deepEqual(new Set(threads), new Set(running.threads));
    const pooled = noted(running.call('out.count', 'pooled'), 'pooled');
    for (const name of ['i1', 'i2', 'i3']) await noted(running.call('in.count', name), name);
    const batch = await running.ask([
      { method: 'in.thread', id: 1 },
      { method: 'nowhere', id: 2 },
    ]);
    assert.match(batch ?? '', /"result":0.*-32601/);
    // All of this without a word from a worker, which can't speak before the gate opens.
    assert.deepEqual(order, ['i1', 'i2', 'i3']);
    running.release();
    await Promise.all([...holding, pooled]);
    assert.deepEqual(order.slice(0, 3), ['i1', 'i2', 'i3']);
    assert.equal(order.length, 6);
  });
});

describe('one worker', () => {
  const running = Running.suite();

  test('calls that only wait leave it free for others', async () => {
    const waiting = Array.from({ length: 100 }, (_, i) => running.call('out.hangForLong', `w${i}`));
    await running.begunOn('w99');
    assert.equal(await running.call('out.count', 'a'), ok('a', 'a'));
    assert.equal(running.dispatcher.stats().pool?.workers[0]?.inFlight, waiting.length);
  });

  test('a call that waits does not keep a heavy one out, whatever ran before', async () => {
    void running.call('out.hangForLong', 'w');
    await running.begunOn('w');
    for (let round = 0; round < 100; round++) {
      await Promise.all(
        Array.from({ length: round % 7 }, (_, i) =>
          running.ask({
            method: 'out.repeat',
            params: { text: 'a'.repeat(i * 37), times: 1 },
            id: i,
          }),
        ),
      );
      // Expected to take more than a worker's share together: sent only where nothing else runs.
      const calls = Array.from({ length: 60 }, (_, i) => ({
        method: 'out.repeat',
        params: { text: 's'.repeat(round * 11 + i), times: 7 },
      }));
      const batch = [...calls, { method: 'out.thread', id: 'last' }];
      const reply = await running.ask(batch);
      assert.equal(reply, `[${ok('last', running.threads[0])}]`);
    }
  });
});

describe('piscina', () => {
  test('its threads are the ones that pooled procedures run on', async (t) => {
    const { resolveConfig } = await import('../../src/config/config.ts');
    const { GenerationLoad } = await import('../../src/service/load-generation.ts');
    const { Kernel } = await import('../../src/dispatch/kernel.ts');
    const { Observation } = await import('../../src/service/observation.ts');
    const { CountersByGroup } = await import('../../src/pool/stats.ts');
    const { RequestScope } = await import('../../src/dispatch/scope.ts');
    const { fixture, recorder } = await import('./harness.ts');
    const config = resolveConfig({ ...patience, workers: 2, spareWorkers: 0 });
    const deadlines = new DeadlineSweep();
    const { log } = recorder();
    const observation = new Observation({ ...config, log, onCall: [] });
    const poolCounters = new CountersByGroup();
    const { BodyMemory } = await import('../../src/dispatch/body-memory.ts');
    const bodies = new BodyMemory(config.maxBodyMemory, config.maxBodyBytes);
    const onOutdated = (): void => {};
    const { FrontEndWatch } = await import('../../src/dispatch/front-end-watch.ts');
    const { FrontEndBlockers } = await import('../../src/service/front-end-blockers.ts');
    const found = { watch: new FrontEndWatch(), blockers: new FrontEndBlockers(log) };
    const shared = { config, log, deadlines, observation, poolCounters, bodies, onOutdated };
    const shares = { keyOf: () => '', weightOf: () => 1 };
    const own = { shares, cluster: undefined, streamCount: { open: 0 } };
    const context = { ...shared, ...found, ...own };
    const generation = await new GenerationLoad(
      [fixture('procedures.ts')],
      context,
      new AbortController().signal,
    ).first();
    t.after(() => generation.close(0));
    const kernel = new Kernel(config, () => generation);
    const seen = new Set<unknown>();
    const ask = async (id: number): Promise<void> => {
      const reply = await kernel.handle(`{"method":"out.thread","id":${id}}`, new RequestScope());
      seen.add(resultOf(reply?.toString()));
    };
    // Again and again: a busy machine may hold up one of the threads for as long as the other one takes for all.
    while (seen.size < 2) {
      await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i)));
    }
    assert.ok(!seen.has(threadId), 'no call ran on this thread');
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusalOf } from '../refusal.ts';
import { until } from '../turns.ts';
import { fixture, lost, Running, resultOf } from './running.ts';

const modules = [fixture('groups.ts')];

/** A group that the procedures of the fixture name, and no more threads than the test needs. */
const heavy = { workers: 1, spareWorkers: 0 };

function statsOf(running: Running) {
  const { pool, groups } = running.dispatcher.stats();
  assert.ok(pool !== undefined && groups.heavy !== undefined);
  return { pool, heavy: groups.heavy };
}

/** The messages of the log's lines with a field `group`. */
function told(running: Running, event: string): unknown[] {
  return running.lines
    .filter(({ fields }) => fields.event === event)
    .map((line) => line.fields.group);
}

describe('a group of workers', () => {
  const running = Running.suite({ modules, groups: { heavy } });

  test('runs what names it, asynchronous procedures too, and nothing else', async () => {
    const { dispatcher } = running;
    const methods = ['thread', 'heavy.thread', 'waits', 'heavy.waits', 'here', 'heavy.note'];
    const [own, grouped, waits, groupWaits, here, note] = methods.map((name) =>
      dispatcher.placementOf(name),
    );
    assert.deepEqual(
      [own, grouped, waits, groupWaits, here, note].map((decision) => decision?.place),
      ['worker', 'worker:heavy', 'inline', 'worker:heavy', 'inline', 'worker:heavy'],
    );
    assert.match(grouped?.reason ?? '', /group: 'heavy'/);
    const { pool, heavy: group } = statsOf(running);
    const threads = [pool, group].map(({ workers }) => workers[0]?.threadId);
    assert.notEqual(threads[0], threads[1]);
    for (const [method, thread] of [
      ['thread', threads[0]],
      ['heavy.thread', threads[1]],
      ['waits', 0],
      ['heavy.waits', threads[1]],
    ] as const) {
      assert.equal(resultOf(await running.ask({ method, id: method })), thread, method);
    }
  });

  test('is waited for by its own calls alone, and has its own figures', async () => {
    const first = running.call('heavy.hold', 'first');
    await running.begunOn('first');
    const waiting = running.call('heavy.hold', 'second');
    await until(() => statsOf(running).heavy.queued === 1);
    const { pool } = statsOf(running);
    assert.equal(
      resultOf(await running.ask({ method: 'thread', id: 1 })),
      pool.workers[0]?.threadId,
    );
    assert.equal(statsOf(running).pool.queued, 0);
    const text = (await running.dispatcher.metrics?.text()) ?? '';
    assert.match(text, /^tandem_queue_calls\{process="0"\} 0$/m);
    assert.match(text, /^tandem_queue_calls\{group="heavy",process="0"\} 1$/m);
    assert.match(text, /^tandem_workers\{state="active",process="0"\} 1$/m);
    assert.match(text, /^tandem_workers\{state="active",group="heavy",process="0"\} 1$/m);
    assert.match(text, /^tandem_calls_in_flight\{place="worker:heavy",process="0"\} 1$/m);
    running.release();
    assert.equal(resultOf(await first), resultOf(await waiting));
  });

  test('loses a worker for itself: the others go on, and the log says which group it was', async () => {
    const before = statsOf(running);
    const dying = running.ask({ method: 'heavy.die', id: 'd' });
    assert.equal(await dying, lost('d', 'exit'));
    await until(() => statsOf(running).heavy.workers.length === 1);
    const { pool, heavy: group } = statsOf(running);
    assert.notEqual(group.workers[0]?.threadId, before.heavy.workers[0]?.threadId);
    assert.deepEqual([group.deaths, pool.deaths], [1, 0]);
    assert.equal(pool.workers[0]?.threadId, before.pool.workers[0]?.threadId);
    assert.deepEqual(told(running, 'worker-lost'), ['heavy']);
    const thread = resultOf(await running.ask({ method: 'heavy.thread', id: 1 }));
    assert.equal(thread, group.workers[0]?.threadId);
    const figures = running.dispatcher.metrics?.snapshot();
    const [grouped] = figures?.groups ?? [];
    assert.deepEqual([grouped?.group, grouped?.counters.deathsByExit], ['heavy', 1]);
    assert.equal(figures?.counters.deathsByExit, 0);
  });
});

test('a group has limits of its own', async (t) => {
  const limits = { ...heavy, workerMemoryMb: 48, maxQueue: 0 };
  const running = await Running.start(t, { modules, groups: { heavy: limits } });
  const fill = (method: string, mb: number): Promise<string | undefined> =>
    running.ask({ method, params: { mb }, id: 1 });
  assert.equal(resultOf(await fill('fill', 128)), 128);
  assert.equal(await fill('heavy.fill', 128), lost('1', 'memory').replace('"1"', '1'));
  assert.equal(statsOf(running).pool.deaths, 0);
  await until(() => statsOf(running).heavy.workers.length === 1);
  const held = [running.call('heavy.hold', 'group'), running.call('hold', 'others')];
  await Promise.all([running.begunOn('group'), running.begunOn('others')]);
  const refused = JSON.parse((await running.ask({ method: 'heavy.thread', id: 1 })) ?? '');
  assert.equal(refused.error.code, -32000);
  const waits = running.ask({ method: 'thread', id: 2 });
  await until(() => statsOf(running).pool.queued === 1);
  running.release();
  await Promise.all([...held, waits]);
});

test('a group has an express worker where it has a spare', async (t) => {
  const running = await Running.start(t, {
    modules,
    groups: { heavy: { ...heavy, spareWorkers: 1 } },
  });
  await until(() => statsOf(running).heavy.express !== undefined);
  // More than one: the machine may hold up the first ones for longer than short calls take.
  for (let i = 0; i < 30; i++) await running.ask({ method: 'heavy.thread', id: i });
  const held = running.call('heavy.hold', 'long');
  const worker = await running.begunOn('long');
  const express = resultOf(await running.ask({ method: 'heavy.thread', id: 1 }));
  assert.equal(express, statsOf(running).heavy.express?.threadId);
  assert.notEqual(express, worker);
  assert.equal(statsOf(running).pool.express, undefined);
  running.release();
  await held;
});

describe('what is wrong with groups is told at the start, in one line', () => {
  for (const [what, groups, says] of [
    [
      'a group that is not configured',
      {},
      /^procedure heavy\.thread is declared group: 'heavy', which is not configured: give the option groups: \{ heavy: \{ workers: 1 \} \}, or --group heavy:workers=1$/,
    ],
    [
      'a misspelt one',
      { heayv: heavy },
      /which is not configured: .*workers=1; did you mean heayv\?$/,
    ],
  ] as const) {
    test(what, async (t) => {
      const running = Running.make(t, { modules, groups });
      assert.match(await refusalOf(running.dispatcher.ready()), says);
    });
  }

  test('a group that no procedure names gets no workers, and a warning', async (t) => {
    const groups = { heavy, idle: { workers: 3 } };
    const running = await Running.start(t, { modules, groups });
    assert.deepEqual(Object.keys(running.dispatcher.stats().groups), ['heavy']);
    assert.deepEqual(told(running, 'group-unused'), ['idle']);
  });

  test('a group in a router without modules, which has no workers', async (t) => {
    const { Router } = await import('../../src/index.ts');
    const router = new Router();
    router.rpc({ name: 'far', group: 'heavy' }, () => 1);
    const running = Running.make(t, { modules: undefined, router, groups: { heavy } });
    await assert.rejects(
      running.dispatcher.ready(),
      /far is declared group: 'heavy', but a router given as an object has no workers/,
    );
  });
});

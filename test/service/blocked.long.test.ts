import assert from 'node:assert/strict';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { threadId } from 'node:worker_threads';
import { Router } from '../../src/index.ts';
import router from '../fixtures/service/blocking.ts';
import { TestService } from '../harness.ts';
import { turns } from '../turns.ts';
import { callUntilNamed, modules, named, started, threadOf, timesNamed } from './main-thread.ts';
import { fixture } from './running.ts';

test('a generator that blocks the main thread piece by piece is named by the sum, and one with many values is not', async (t) => {
  const { dispatcher, lines } = await started(t);
  for await (const _ of dispatcher.stream({ method: 'values', id: 1 }));
  let pieces = 0;
  for await (const _ of dispatcher.stream({ method: 'pieces', id: 2 })) {
    if (timesNamed(dispatcher, 'pieces') > 0) break;
    assert.ok(pieces++ < 5000, 'not named');
  }
  assert.deepEqual(named(lines), ['pieces']);
});

test('a reload forgets that a procedure blocked the main thread', async (t) => {
  const [source = ''] = modules;
  const copy = new URL(source.replace('blocking.', `blocking-${process.pid}.`));
  copyFileSync(new URL(source), copy);
  t.after(() => rmSync(copy));
  const { dispatcher } = await started(t, { modules: [copy.href] });
  await callUntilNamed(dispatcher, 'atOnce', 3);
  assert.equal(dispatcher.placementOf('atOnce')?.place, 'worker');
  writeFileSync(copy, '\n// changed\n', { flag: 'a' });
  assert.ok(await dispatcher.reload());
  assert.equal(dispatcher.placementOf('atOnce')?.place, 'inline');
  assert.equal(await threadOf(dispatcher, 'atOnce'), threadId);
});

test('a handler that ran while the process was stopped, or paused by the garbage collector, is not named', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const ballast = Array.from({ length: 1_000_000 }, (_, i) => ({ i }));
  const pauses: number[] = [];
  const others = new Router();
  others.rpc({ name: 'stands' }, async () => {
    // Without CPU time, as in a process that is stopped.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  });
  others.rpc({ name: 'collects' }, async () => {
    const began = performance.now();
    while (performance.now() - began < 60) collect();
    pauses.push(performance.now() - began);
  });
  const { dispatcher, lines } = TestService.make(t, { router: others });
  for (const method of ['stands', 'collects']) {
    for (let time = 0; time < 3; time++) await dispatcher.dispatch({ method, id: time });
  }
  await turns();
  assert.equal(ballast.length, 1_000_000);
  assert.equal(pauses.length, 3);
  assert.deepEqual(named(lines), []);
});

test('in a batch the calls after the one that blocks the main thread are not named', async (t) => {
  const { dispatcher, lines } = await started(t);
  const methods = ['waits', 'quick', 'atOnce', 'quick', 'waits'];
  const batch = methods.map((method, id) => ({ method, id }));
  for (let sent = 1; timesNamed(dispatcher, 'atOnce') < 3; sent++) {
    assert.ok(sent <= 30, `named in ${sent - 1} batches: ${named(lines).join()}`);
    await dispatcher.dispatch(batch);
    await turns();
  }
  assert.deepEqual(named(lines), ['atOnce']);
});

test('a procedure declared inline that blocks the main thread is named and stays inline', async (t) => {
  const { dispatcher, lines } = await started(t);
  for (const method of ['declared', 'synchronous']) {
    await callUntilNamed(dispatcher, method, 4);
    assert.deepEqual(dispatcher.placementOf(method), {
      place: 'inline',
      reason: 'declared inline',
      cause: 'declared',
    });
    assert.equal(await threadOf(dispatcher, method), threadId);
  }
  assert.deepEqual(named(lines), ['declared', 'synchronous']);
  assert.ok(lines.some(({ message }) => /it stays inline, as it is declared/.test(message)));
});

test('without modules a procedure that blocks the main thread is named and stays inline', async (t) => {
  const { dispatcher, lines } = TestService.make(t, { router });
  await callUntilNamed(dispatcher, 'atOnce', 4);
  assert.equal(dispatcher.placementOf('atOnce')?.place, 'inline');
  assert.deepEqual(named(lines), ['atOnce']);
});

test('2000 quick asynchronous calls name no procedure', async (t) => {
  const { dispatcher, lines } = await started(t);
  for (let i = 0; i < 2000; i++) {
    await dispatcher.dispatch({ method: i % 100 === 0 ? 'waits' : 'quick', id: i });
  }
  assert.deepEqual(named(lines), []);
  assert.deepEqual(dispatcher.stats().blocked, {});
});

test('where topics are used, a procedure that holds the main thread stays there, and the log says why', async (t) => {
  const { dispatcher, lines } = await started(t, { modules: [fixture('topics.ts')] });
  await dispatcher.dispatch({ method: 'publish', params: { n: 7 }, id: 1 });
  await callUntilNamed(dispatcher, 'heavy', 5);
  const told = lines.filter(({ fields }) => fields.event === 'placement');
  assert.deepEqual(
    told.map(({ level, fields, message }) => [level, fields.method, fields.place, message]),
    [
      [
        'warn',
        'heavy',
        'inline',
        "not moved: it stays on the main thread, where the topics of this process live; declare placement: 'worker' if it uses none",
      ],
    ],
  );
  assert.equal(dispatcher.placementOf('heavy')?.reason, 'asynchronous');
});

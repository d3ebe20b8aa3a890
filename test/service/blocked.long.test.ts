import assert from 'node:assert/strict';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { threadId } from 'node:worker_threads';
import { Router } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { turn } from '../turns.ts';
import { callUntilNamed, modules, named, started, threadOf, timesNamed } from './front-end.ts';

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
  await turn();
  assert.equal(ballast.length, 1_000_000);
  assert.equal(pauses.length, 3);
  assert.deepEqual(named(lines), []);
});

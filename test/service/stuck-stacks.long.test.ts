import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { inspectedWorkers } from '../../src/core/workers/inspected-threads.ts';
import { modulePath } from '../files.ts';
import { until } from '../turns.ts';
import { expired, fixture, Running, resultOf } from './running.ts';

/** What `worker-killed` tells of the thread: docs/operations.md, "A stuck thread". */

const file = modulePath('test/fixtures/service/stuck.ts');

/** The line of the fixture, counted from 1, that holds `text`. */
function lineOf(text: string): number {
  const lines = readFileSync(file, 'utf8').split('\n');
  const index = lines.findIndex((line) => line.includes(text));
  assert.notEqual(index, -1, text);
  return index + 1;
}

async function killed(running: Running, method: string): Promise<string> {
  const { lines } = running;
  const before = lines.length;
  const reply = await running.ask({ method, id: 'a' });
  assert.equal(reply, expired('a', 200));
  const isKill = ({ fields }: (typeof lines)[number]): boolean => fields.event === 'worker-killed';
  await until(() => lines.slice(before).some(isKill));
  const fields = lines.slice(before).find(isKill)?.fields;
  assert.equal(fields?.method, method);
  return String(fields?.detail);
}

/** For code that gives a stack. On a busy machine its thread may get no processor while it is asked, as if it slept in native code. */
async function stackOf(running: Running, method: string): Promise<string> {
  for (;;) {
    const detail = await killed(running, method);
    if (!detail.endsWith('native code, waiting')) return detail;
  }
}

describe('the stack of a thread that is ended at a deadline', () => {
  const running = Running.suite({ modules: [fixture('stuck.ts')] });
  const at = (text: string): RegExp => new RegExp(`stuck\\.[jt]s:${lineOf(text)}:`);

  test('names the function and the line of a loop, and nothing below the handler', async () => {
    const detail = await stackOf(running, 'loop');
    assert.match(detail, /^at .*countForEver/);
    assert.match(detail, at('let n = 0'));
    assert.equal(detail.split('\n').length, 1);
  });

  test('names a pattern, a lock, a recursion, a loop behind an await', async () => {
    assert.match(await stackOf(running, 'pattern'), /^at RegExp\.test .*\n.*stuck\.[jt]s:/);
    assert.match(await stackOf(running, 'lock'), /^at Atomics\.wait .*\n.*stuck\.[jt]s:/);
    const recursion = await stackOf(running, 'recursion');
    assert.match(recursion, /^at deep /);
    assert.ok(recursion.split('\n').length <= 30);
    assert.match(await stackOf(running, 'loopLater'), /^at .*loopLater .*stuck\.[jt]s:/);
  });

  test('says so of an endless chain of microtasks', async () => {
    assert.match(await stackOf(running, 'microtasks'), /endless chain of microtasks|stuck\.[jt]s:/);
    assert.match(await stackOf(running, 'ticks'), /endless chain of microtasks|stuck\.[jt]s:/);
  });

  test('tells native code that computes from native code that waits', async () => {
    const isLinux = process.platform === 'linux';
    for (const method of ['parse', 'hash'])
      assert.equal(
        await killed(running, method),
        `no stack: in native code${isLinux ? ', computing' : ''}`,
      );
    let detail: string;
    // On a busy machine its thread may wait for a processor, which counts as computing, before it has begun to sleep.
    do detail = await killed(running, 'sleep');
    while (detail.endsWith('computing'));
    assert.equal(detail, `no stack: in native code${isLinux ? ', waiting' : ''}`);
  });

  test('runs no code of the thread', async () => {
    assert.match(await stackOf(running, 'ownTrace'), /^at .*stuck\.[jt]s:/);
    assert.match(await killed(running, 'ownError'), /^no stack/);
    assert.equal(resultOf(await running.ask({ method: 'ok', id: 1 })), 'ok');
  });
});

test('a spare takes the calls before the stack is asked for', async (t) => {
  const running = await Running.start(t, { modules: [fixture('stuck.ts')], spareWorkers: 1 });
  await until(() => running.dispatcher.stats().pool?.spares === 1);
  const [stuck] = running.threads;
  // Its thread gives no stack, so that it is asked for as long as may be.
  assert.equal(await running.ask({ method: 'sleep', id: 'a' }), expired('a', 200));
  assert.equal(running.threads.length, 1);
  assert.notEqual(running.threads[0], stuck);
  const isTold = (): boolean =>
    running.lines.some(({ fields }) => fields.event === 'worker-killed');
  assert.ok(!isTold());
  assert.equal(resultOf(await running.ask({ method: 'ok', id: 1 })), 'ok');
  await until(isTold);
});

test('a thread that is asked for its stack while it is terminated ends all the same', async (t) => {
  const running = await Running.start(t, { modules: [fixture('stuck.ts')], workers: 1 });
  for (let round = 0; round < 10; round++) {
    const { threads } = running;
    let left = 400;
    const ask = (): void => {
      if (left-- <= 0) return;
      for (const one of inspectedWorkers(threads))
        one.ask('Runtime.evaluate', { expression: 'new Error().stack' }).catch(() => {});
    };
    const asking = setInterval(ask, 1);
    assert.equal(await running.ask({ method: 'loop', id: 'a' }), expired('a', 200));
    await until(() => inspectedWorkers(threads).length === 0);
    clearInterval(asking);
    await until(() => running.threads.length === 1);
  }
});

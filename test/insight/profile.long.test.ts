/** docs/operations.md, "A CPU profile": what is in one, and what does not disturb it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  byFunction,
  joinThreads,
  type Profile,
  type ProfileRow,
  type ThreadProfile,
} from '../../src/extras/insight/analysis.ts';
import { type AppOptions, RpcApp } from '../../src/index.ts';
import { fixture, modulePath, nodeFlags } from '../files.ts';
import { recorder } from '../harness.ts';
import { isSettled } from '../service/running.ts';
import { until } from '../turns.ts';

const burning = fixture('insight/burning.ts');

async function serve(t: TestContext, options: AppOptions = {}) {
  const { log, lines } = recorder();
  const app = new RpcApp({
    modules: [burning],
    workers: 2,
    spareWorkers: 0,
    niceIncrement: 0,
    port: 0,
    log,
    ...options,
  });
  t.after(() => app.close());
  const { url } = await app.listen();
  const profile = async (query: string, signal?: AbortSignal): Promise<Profile> => {
    const response = await fetch(new URL(`/console/profile?${query}`, url), {
      method: 'POST',
      ...(signal && { signal }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text) as Profile;
  };
  const call = (method: string, ms = 20): Promise<unknown> =>
    app.dispatcher.dispatch({ jsonrpc: '2.0', id: 1, method, params: { ms } });
  return { app, lines, profile, call };
}

/** Calls all the time until the test has ended. */
function keepCalling(t: TestContext, call: (method: string) => Promise<unknown>, names: string[]) {
  let isOver = false;
  const done = (async () => {
    while (!isOver) {
      const replies = await Promise.all(names.map((name) => call(name)));
      assert.doesNotMatch(JSON.stringify(replies), /"error"/);
      // Inline calls alone would be an endless chain of microtasks.
      await nextTurn();
    }
  })();
  const stop = async (): Promise<void> => {
    isOver = true;
    await done;
  };
  t.after(stop);
  return stop;
}

function hitsOf(thread: ThreadProfile): number {
  assert.ok(!('error' in thread), `${thread.name}: ${'error' in thread && thread.error}`);
  const { nodes, samples } = JSON.parse(thread.profile) as {
    nodes: { hitCount: number }[];
    samples: number[];
  };
  const hits = nodes.reduce((sum, { hitCount }) => sum + hitCount, 0);
  // Since Node 24 V8 also notes when a thread begins to wait. That is no tick of its clock.
  assert.ok(hits > 0 && hits <= samples.length, `${hits} of ${samples.length}`);
  return hits;
}

/** What is told of the function that computes; undefined: nobody saw it. */
const burnIn = (threads: readonly ThreadProfile[]): ProfileRow | undefined =>
  byFunction(joinThreads(threads)).find(({ name }) => name === 'burn');

const failureOf = (thread: ThreadProfile | undefined): string | undefined =>
  thread !== undefined && 'error' in thread ? thread.error : undefined;

describe('a profile', () => {
  test('adds up by function, over the main thread and all workers', async (t) => {
    const { profile, call, lines } = await serve(t);
    const names = ['direct', 'later', 'inline'];
    const stop = keepCalling(t, call, names);
    const { threads, ms, intervalMs } = await profile('seconds=2&intervalMs=5');
    await stop();
    assert.ok(ms >= 2000 && intervalMs === 5);
    assert.deepEqual(
      threads.map(({ name, threadId }) => name.replace(String(threadId), 'N')),
      ['main', 'worker-N', 'worker-N'],
    );
    const all = threads.reduce((sum, thread) => sum + hitsOf(thread), 0);
    const rows = byFunction(joinThreads(threads));
    assert.equal(
      rows.reduce((sum, { self }) => sum + self, 0),
      all,
    );
    const places = [burnIn(threads.slice(0, 1)), burnIn(threads.slice(1)), burnIn(threads)].map(
      (burn) => burn?.place,
    );
    assert.match(places[0] ?? '', /^insight\/burning\.[jt]s:\d+:\d+$/);
    assert.equal(new Set(places).size, 1);
    // The stop at the beginning is nobody's.
    const blamed = lines.filter(({ fields }) => fields.event === 'main-thread-blocked');
    for (const { fields } of blamed) assert.ok(names.includes(String(fields.method)));
  });

  test('has a worker that computes without end, and one that was ended by its deadline is named', async (t) => {
    const { profile, call, lines } = await serve(t);
    const taken = profile('seconds=4');
    // Until another one is refused, it may not have begun.
    while (typeof (await profile('seconds=0.05').catch(String)) !== 'string');
    const loop = call('loop');
    const { threads } = await taken;
    await loop;
    const failures = threads.map(failureOf);
    assert.deepEqual(
      failures.filter((failure) => failure !== undefined),
      ['it has ended meanwhile'],
    );
    assert.equal(failures[0], undefined);
    const killed = lines.find(({ fields }) => fields.event === 'worker-killed');
    assert.match(String(killed?.fields.detail), /endless/);
  });

  test('begins in a worker that computes', async (t) => {
    const { app, profile, call } = await serve(t, { workers: 1 });
    // On a busy machine a profile may take longer to begin than the worker computes.
    for (let ms = 1500, isOver = true; isOver; ms *= 2) {
      const direct = call('direct', ms);
      await until(() => app.dispatcher.stats().pool?.workers[0]?.running !== undefined);
      const { threads } = await profile('seconds=0.3&intervalMs=5');
      isOver = await isSettled(direct);
      await direct;
      if (isOver) continue;
      // It may count for its caller: V8 looks at code that was running before only when that is left.
      const [first] = byFunction(joinThreads(threads.slice(1)));
      assert.match(first?.place ?? '', /^insight\/burning\./);
    }
  });

  test('outlives a reload, and the next one has the new threads', async (t) => {
    const folder = mkdtempSync(join(dirname(burning), 'reloaded-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const copy = join(folder, burning.replace(/^.*[\\/]/, ''));
    copyFileSync(burning, copy);
    const source = readFileSync(burning, 'utf8').replaceAll('../../../src', '../../../../src');
    writeFileSync(copy, source);
    const { app, profile, call } = await serve(t, { modules: [copy] });
    const taken = profile('seconds=6');
    writeFileSync(copy, source.replaceAll("'direct'", "'renamed'"));
    assert.equal(await app.reload(), true);
    const { threads } = await taken;
    assert.equal(failureOf(threads[0]), undefined);
    assert.equal(threads.length, 3);
    const stop = keepCalling(t, call, ['renamed', 'inline']);
    for (;;) {
      const next = await profile('seconds=1');
      // The main thread has loaded the file under another URL than the workers.
      const [main, workers] = [burnIn(next.threads.slice(0, 1)), burnIn(next.threads.slice(1))];
      // On a busy machine a second is not enough for each of them to run.
      if (main === undefined || workers === undefined) continue;
      assert.equal(burnIn(next.threads)?.self, main.self + workers.self);
      assert.doesNotMatch(main.place, /\?/);
      break;
    }
    await stop();
  });

  test('stops if the service ends, and leaves nothing behind if a client leaves', async (t) => {
    const { app, profile } = await serve(t);
    for (let i = 0; i < 20; i++) {
      const left = new AbortController();
      const taken = profile('seconds=60', left.signal);
      setImmediate(() => left.abort());
      await assert.rejects(taken, /abort/i);
    }
    // The last of them may not have been heard of yet.
    let next = await profile('seconds=0.05').catch(String);
    while (typeof next === 'string') next = await profile('seconds=0.05').catch(String);
    assert.deepEqual(next.threads.map(failureOf), [undefined, undefined, undefined]);
    const last = profile('seconds=60');
    last.catch(() => {});
    while (typeof (await profile('seconds=0.05').catch(String)) !== 'string');
    await app.close();
    await assert.rejects(last, /503|the service ends|fetch failed/);
  });
});

const run = promisify(execFile);

interface Answered {
  readonly status: number;
  readonly answer: Profile & { readonly error?: { readonly data: { readonly reason: string } } };
}

async function program(flags: readonly string[]): Promise<Answered> {
  const path = modulePath('test/fixtures/insight/profile-program.ts');
  const { stdout } = await run(process.execPath, [...flags, ...nodeFlags, path], {
    maxBuffer: 64 * 1024 ** 2,
  });
  return JSON.parse(stdout) as Answered;
}

test('--inspect changes nothing', async () => {
  const { status, answer } = await program(['--inspect=127.0.0.1:0']);
  assert.equal(status, 200);
  assert.deepEqual(answer.threads.map(failureOf), [undefined, undefined]);
});

test('without the right to use the inspector a profile is refused in one line', async () => {
  const isStable = process.allowedNodeEnvironmentFlags.has('--permission');
  const { status, answer } = await program([
    isStable ? '--permission' : '--experimental-permission',
    '--allow-worker',
    '--allow-addons',
    '--allow-child-process',
    '--allow-fs-read=*',
    '--allow-fs-write=*',
    ...(process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : []),
  ]);
  assert.equal(status, 503);
  assert.match(answer.error?.data.reason ?? '', /^this process may not use the inspector: /);
});

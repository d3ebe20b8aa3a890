import assert from 'node:assert/strict';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { threadId } from 'node:worker_threads';
import { Dispatcher, type DispatcherOptions, Router, RpcApp } from '../../src/index.ts';
import router, { heldMs } from '../fixtures/service/blocking.ts';
import { callUntilNamed, threadOf, timesNamed, turn } from './front-end.ts';
import { fixture, type LogLine, Running, recorder } from './harness.ts';

const modules = [fixture('blocking.ts')];

async function started(
  t: Parameters<typeof Running.make>[0],
  options: DispatcherOptions = {},
): Promise<Running> {
  const running = Running.make(t, { modules, ...options });
  await running.dispatcher.ready();
  return running;
}

function named(lines: readonly LogLine[]): string[] {
  return lines
    .filter(({ fields }) => fields.event === 'front-end-blocked')
    .map(({ fields }) => String(fields.method));
}

test('a handler that holds the front end before its first await is named, and from its third time on runs in a worker', async (t) => {
  const { dispatcher, lines } = await started(t);
  await callUntilNamed(dispatcher, 'atOnce', 3);
  assert.notEqual(await threadOf(dispatcher, 'atOnce'), threadId);
  assert.deepEqual(named(lines), ['atOnce'], 'once an episode');
  const decision = dispatcher.placementOf('atOnce');
  assert.equal(decision?.place, 'worker');
  assert.match(decision.reason, /^it held the front end 3 times, the longest \d+ ms$/);
  const move = lines.find(({ fields }) => fields.event === 'placement');
  assert.match(move?.message ?? '', /no longer shares the memory of its module/);
  assert.deepEqual([move?.fields.method, move?.fields.reason], ['atOnce', decision.reason]);
  // One word of few, however often it was and however long: a label must not grow with either.
  const text = await dispatcher.metrics?.text();
  const series = 'procedure="atOnce",place="worker",reason="held the front end",process="0"';
  assert.ok(text?.includes(`\ntandem_procedure_place{${series}} 1\n`), text);
  assert.equal(decision.cause, 'held the front end');
});

test('a generator that holds the front end piece by piece is named by the sum, and one with many values is not', async (t) => {
  const { dispatcher, lines } = await started(t);
  for await (const _ of dispatcher.stream({ method: 'values', id: 1 }));
  let pieces = 0;
  for await (const _ of dispatcher.stream({ method: 'pieces', id: 2 })) {
    if (timesNamed(dispatcher, 'pieces') > 0) break;
    assert.ok(pieces++ < 5000, 'not named');
  }
  assert.deepEqual(named(lines), ['pieces']);
});

test('a schema of another library that holds the front end is named by its procedure, and moves with it', async (t) => {
  const { dispatcher, lines } = await started(t);
  await callUntilNamed(dispatcher, 'heavySchema', 3);
  assert.notEqual(await threadOf(dispatcher, 'heavySchema'), threadId);
  assert.deepEqual(named(lines), ['heavySchema']);
});

test('inside a batch the calls behind the one that holds the front end are not named', async (t) => {
  const { dispatcher, lines } = await started(t);
  const methods = ['waits', 'quick', 'atOnce', 'quick', 'waits'];
  const batch = methods.map((method, id) => ({ method, id }));
  for (let sent = 1; timesNamed(dispatcher, 'atOnce') < 3; sent++) {
    assert.ok(sent <= 30, `named in ${sent - 1} batches: ${named(lines).join()}`);
    await dispatcher.dispatch(batch);
    await turn();
  }
  assert.deepEqual(named(lines), ['atOnce']);
});

test('what is declared inline is named and stays', async (t) => {
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

test('a router without modules has its procedures named, and no place to move them to', async (t) => {
  const { log, lines } = recorder();
  const dispatcher = new Dispatcher({ router, log });
  t.after(() => dispatcher.close());
  await callUntilNamed(dispatcher, 'atOnce', 4);
  assert.equal(dispatcher.placementOf('atOnce')?.place, 'inline');
  assert.deepEqual(named(lines), ['atOnce']);
});

test('a reload begins anew', async (t) => {
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

test('nobody is named for 2000 quick asynchronous calls', async (t) => {
  const { dispatcher, lines } = await started(t);
  for (let i = 0; i < 2000; i++) {
    await dispatcher.dispatch({ method: i % 100 === 0 ? 'waits' : 'quick', id: i });
  }
  assert.deepEqual(named(lines), []);
  assert.deepEqual(dispatcher.stats().blocked, {});
});

test('who ran when the process stood still, or the garbage collector paused it, is not named', async (t) => {
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
  const { log, lines } = recorder();
  const dispatcher = new Dispatcher({ router: others, log });
  t.after(() => dispatcher.close());
  for (const method of ['stands', 'collects']) {
    for (let time = 0; time < 3; time++) await dispatcher.dispatch({ method, id: time });
  }
  await turn();
  assert.equal(ballast.length, 1_000_000);
  assert.equal(pauses.length, 3);
  assert.deepEqual(named(lines), []);
});

test('over HTTP: the log, the metrics, and the hook authenticate', async (t) => {
  const { log, lines } = recorder();
  const app = new RpcApp({
    router,
    log,
    port: 0,
    authenticate: ({ headers }) => {
      if (headers['x-slow'] !== undefined)
        router.get('synchronous')?.handler({} as never, {} as never);
    },
  });
  const { url, metricsUrl } = await app.listen({ port: 0 });
  t.after(() => app.close());
  const call = async (method: string, headers: Record<string, string> = {}): Promise<void> => {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', method, id: 1 }),
    });
    assert.equal(reply.status, 200);
    await reply.text();
  };
  while (!named(lines).includes('atOnce')) await call('atOnce');
  while (!named(lines).includes('(authenticate)')) await call('quick', { 'x-slow': '1' });
  const names = ['atOnce', '(authenticate)'];
  assert.deepEqual(named(lines), names);
  const metrics = await (await fetch(metricsUrl as string)).text();
  for (const name of names) {
    assert.ok(metrics.includes(`tandem_front_end_blocked_total{procedure="${name}"} 1\n`), metrics);
  }
});

test('a call behind another one that holds the front end is seen to have waited', async (t) => {
  const waits: number[] = [];
  const { dispatcher } = await started(t, {
    onCall: ({ method, waitMs }) => {
      if (method === 'quick') waits.push(waitMs);
    },
  });
  await dispatcher.dispatch([
    { method: 'declared', id: 1 },
    { method: 'quick', id: 2 },
  ]);
  await dispatcher.dispatch({ method: 'quick', id: 3 });
  assert.ok((waits[0] as number) >= heldMs - 10, String(waits[0]));
  const figures = dispatcher.metrics
    ?.snapshot()
    .calls.find(({ procedure }) => procedure === 'quick');
  assert.ok((figures?.wait.sum ?? 0) >= (heldMs - 10) / 1000);
  assert.ok((figures?.duration.sum ?? 0) >= (heldMs - 10) / 1000);
});

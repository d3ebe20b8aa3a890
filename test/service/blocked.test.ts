import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadId } from 'node:worker_threads';
import router from '../fixtures/service/blocking.ts';
import { heldMs } from '../fixtures/service/burn.ts';
import { startApp } from '../harness.ts';
import { postJson } from '../post-json.ts';
import { turns } from '../turns.ts';
import { callUntilNamed, named, started, threadOf } from './main-thread.ts';

test('a handler that blocks the main thread before its first await is named, and runs in a worker from its third time on', async (t) => {
  const { dispatcher, lines } = await started(t);
  await callUntilNamed(dispatcher, 'atOnce', 3);
  assert.notEqual(await threadOf(dispatcher, 'atOnce'), threadId);
  assert.deepEqual(named(lines), ['atOnce'], 'once an episode');
  const decision = dispatcher.placementOf('atOnce');
  assert.equal(decision?.place, 'worker');
  assert.match(decision.reason, /^it held the main thread 3 times, the longest \d+ ms$/);
  const move = lines.find(({ fields }) => fields.event === 'placement');
  assert.match(move?.message ?? '', /no longer shares the memory of its module/);
  assert.deepEqual([move?.fields.method, move?.fields.reason], ['atOnce', decision.reason]);
  // One word of few, however often it was and however long: a label must not grow with either.
  const text = await dispatcher.metrics?.text();
  const series = 'procedure="atOnce",place="worker",reason="held the main thread",process="0"';
  assert.ok(text?.includes(`\ntandem_procedure_place{${series}} 1\n`), text);
  assert.equal(decision.cause, 'held the main thread');
});

test('a schema of another library that blocks the main thread is named by its procedure, and moves with it', async (t) => {
  const { dispatcher, lines } = await started(t);
  await callUntilNamed(dispatcher, 'heavySchema', 3);
  assert.notEqual(await threadOf(dispatcher, 'heavySchema'), threadId);
  assert.deepEqual(named(lines), ['heavySchema']);
});

test('over HTTP what blocks the main thread is named in the log and the metrics, the hook authenticate too', async (t) => {
  const { url, metricsUrl, lines } = await startApp(t, {
    router,
    authenticate: ({ headers }) => {
      if (headers['x-slow'] !== undefined)
        router.get('synchronous')?.handler({} as never, {} as never);
    },
  });
  const call = async (method: string, headers: Record<string, string> = {}): Promise<void> => {
    const reply = await postJson(url, { jsonrpc: '2.0', method, id: 1 }, headers);
    assert.equal(reply.status, 200);
    await reply.text();
    // What it found is told two immediates later.
    await turns();
  };
  while (!named(lines).includes('atOnce')) await call('atOnce');
  while (!named(lines).includes('(authenticate)')) await call('quick', { 'x-slow': '1' });
  const names = ['atOnce', '(authenticate)'];
  assert.deepEqual(named(lines), names);
  const metrics = await (await fetch(metricsUrl as string)).text();
  for (const name of names) {
    assert.ok(
      metrics.includes(`tandem_main_thread_blocked_total{procedure="${name}"} 1\n`),
      metrics,
    );
  }
});

test('waitMs of a call counts the time for which another one blocks the main thread', async (t) => {
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

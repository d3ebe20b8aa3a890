import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxOrphansPerWorker as limit } from '../../src/core/dispatch/deadline.ts';
import { patience } from '../patience.ts';
import { until } from '../turns.ts';
import { expired, lost, ok, Running, resultOf } from './running.ts';

/** Calls that wait in a worker and whose callers have left: docs/architecture.md, "The failure model". */

/** Calls a procedure that waits for ever, and leaves each call once it has begun. */
async function leave(
  running: Running,
  count: number,
  timeoutMs?: number,
): Promise<{ readonly replies: Promise<unknown>[] }> {
  // One for each: a signal looks through all of its listeners for each new one.
  const leaving = Array.from({ length: count }, () => new AbortController());
  const before = workerOf(running).left;
  const replies = leaving.map(({ signal }, i) =>
    running.call('out.hangForLong', `${i}`, { signal, timeoutMs }),
  );
  await until(() => begun(running) >= count);
  for (const gone of leaving) gone.abort();
  await until(() => workerOf(running).left === before + count);
  return { replies };
}

function begun({ journal }: Running): number {
  return journal.lines().filter((line) => line.includes(' begins')).length;
}

function workerOf({ dispatcher }: Running) {
  const [worker] = dispatcher.stats().pool?.workers ?? [];
  assert.ok(worker !== undefined);
  return worker;
}

test('they hold no slot: as many as a worker has may be left, and it serves on', async (t) => {
  const running = await Running.start(t);
  const [thread] = running.threads;
  await leave(running, limit);
  assert.equal(resultOf(await running.ask({ method: 'out.thread', id: 1 })), thread);
  const { inFlight, left, overdue } = workerOf(running);
  assert.deepEqual({ inFlight, left, overdue }, { inFlight: 0, left: limit, overdue: 0 });
  const text = (await running.dispatcher.metrics?.text()) ?? '';
  assert.match(text, /^tandem_orphaned_calls\{by="caller",process="0"\} 4096$/m);
  assert.match(text, /^tandem_orphaned_calls\{by="deadline",process="0"\} 0$/m);
  const { kills, deaths } = running.dispatcher.stats().pool!;
  assert.deepEqual({ kills, deaths }, { kills: 0, deaths: 0 });
  // Further calls of their procedure are refused, of others served.
  const refused = JSON.parse((await running.call('out.hangForLong', 'x')) ?? '');
  assert.equal(refused.error.code, -32000);
  const { retryAfterMs } = refused.error.data;
  assert.ok(retryAfterMs >= 1 && retryAfterMs <= patience.timeoutMs, `${retryAfterMs}`);
  assert.equal(begun(running), limit, 'it has not run');
  for (const text of ['a', 'b']) {
    assert.equal(await running.call('out.count', text), ok(text, text));
  }
  // A batch with one of them in it is refused as far as it goes to the worker together.
  const { file } = running.journal;
  const inline = { method: 'in.count', params: { file, text: 'c' }, id: 'c' };
  const pooled = { method: 'out.hangForLong', params: { file, text: 'd' }, id: 'd' };
  const [first, second] = JSON.parse((await running.ask([inline, pooled])) ?? '');
  assert.equal(first.result, 'c');
  assert.equal(second.error.code, -32000);
});

test("one that ends is counted no more, nor is one whose deadline has come; its result is nobody else's", async (t) => {
  const running = await Running.start(t);
  const gone = new AbortController();
  const { signal } = gone;
  // Ended by its signal: its caller, who is here after all, is given what it gave.
  const ended = running.call('out.untilAborted', 'a', { signal });
  const thread = await running.begunOn('a');
  gone.abort();
  assert.equal(await ended, ok('a', -32003));
  running.journal.clear();
  await leave(running, 2, 3000);
  assert.equal(workerOf(running).left, 2);
  // At their deadline they are answered, go on, and are no reason to refuse any more.
  await until(() => workerOf(running).left === 0);
  assert.equal(workerOf(running).overdue, 2);
  // Its own time begins with it: that of its caller may be over before.
  assert.equal(await running.call('out.untilAbortedShortly', 'b'), expired('b', 200));
  await running.journal.until(`b aborted -32001 on ${thread}`);
});

test('those left are answered at their deadline, in the order of their batch', async (t) => {
  const running = await Running.start(t);
  const gone = new AbortController();
  const { file } = running.journal;
  const calls = ['out.hang', 'out.count'].map((method, i) => ({
    method,
    params: { file, text: `${i}` },
    id: `${i}`,
  }));
  const reply = running.ask(calls, { signal: gone.signal });
  await running.journal.until('0 begins');
  gone.abort();
  const [first, second] = JSON.parse((await reply) ?? '');
  assert.equal(first.error.code, -32001);
  assert.equal(second.error.code, -32003);
});

test('a worker with as many that outlive their deadline is replaced, and others notice nothing', async (t) => {
  const running = await Running.start(t, { spareWorkers: 1 });
  await until(() => running.dispatcher.stats().pool?.spares === 1);
  const [thread] = running.threads;
  const hanging = Array.from({ length: limit }, (_, i) => running.call('out.hang', `${i}`));
  for (const [i, reply] of (await Promise.all(hanging)).entries()) {
    assert.equal(reply, expired(`${i}`, 200));
  }
  await until(() => !running.threads.includes(thread as number) && running.threads.length === 1);
  assert.equal(await running.call('out.count', 'next'), ok('next', 'next'));
  const retired = running.lines.filter(({ fields }) => fields.event === 'worker-retired');
  assert.equal(retired.length, 1);
  assert.equal(running.dispatcher.stats().pool?.kills, 0);
});

test('those of a thread that dies are answered, and counted no more', async (t) => {
  const running = await Running.start(t, { spareWorkers: 1 });
  await until(() => running.dispatcher.stats().pool?.spares === 1);
  const { replies } = await leave(running, 5);
  await running.ask({ method: 'die', id: 1 });
  for (const [i, reply] of (await Promise.all(replies)).entries()) {
    assert.equal(reply, lost(`${i}`, 'neighbour'));
  }
  await until(() => running.threads.length === 1);
  assert.equal(workerOf(running).left, 0);
});

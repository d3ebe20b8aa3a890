import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { BodyMemory } from '../../../src/core/dispatch/body-memory.ts';
import { WorkerCalls } from '../../../src/core/workers/calls.ts';
import { PoolCounters } from '../../../src/core/workers/options.ts';
import { Watchdog } from '../../../src/core/workers/watchdog.ts';
import { Ledger } from '../../../src/core/workers/wire/ledger.ts';
import { until } from '../../turns.ts';
import { threadWith } from './thread.ts';

/** Probes a thread whose event loop has slept since then by its own clock. Returns a look at it, 10 ms after the one before. */
function lookAfterProbe(tid: number): () => boolean {
  const thread = threadWith(new Ledger());
  const options = { timeoutMs: 1000, counters: new PoolCounters(), bodies: new BodyMemory(1, 1) };
  const none = (): void => assert.fail('there are no calls');
  const calls = new WorkerCalls(thread, options, none, none);
  const watchdog = new Watchdog(thread, calls, 60_000);
  let now = 0;
  watchdog.probe(now);
  return () => {
    now += 10;
    thread.idleMs = now;
    return watchdog.isDeaf(now, tid);
  };
}

describe('a thread that was probed, and whose event loop sleeps on by its own clock', () => {
  test('reads its port no more if the thread sleeps', async (t) => {
    const text = `const { parentPort } = require('node:worker_threads');
      parentPort.on('message', () => {});
      parentPort.postMessage(require('node:fs').readlinkSync('/proc/thread-self'));`;
    const worker = new Worker(text, { eval: true });
    t.after(() => worker.terminate());
    const [link] = (await once(worker, 'message')) as [string];
    const isDeaf = lookAfterProbe(Number(link.split('/').at(-1)));
    await until(isDeaf);
  });

  test('is alive for as long as the thread does not sleep: a busy machine gives it no processor', () => {
    const thisThread = process.pid;
    const isDeaf = lookAfterProbe(thisThread);
    for (let looks = 0; looks < 1000; looks++) assert.equal(isDeaf(), false);
  });

  test('reads its port no more if the system does not tell what the thread does', () => {
    const isDeaf = lookAfterProbe(0);
    let looks = 1;
    while (!isDeaf()) looks++;
    assert.equal(looks, 51); // of 10 ms
  });
});

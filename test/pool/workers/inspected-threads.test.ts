import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import {
  inspectedWorkers,
  inspectNewThreads,
} from '../../../src/core/workers/inspected-threads.ts';
import { until } from '../../turns.ts';

/** Resolves when its session has begun. */
async function start(t: TestContext, code: string): Promise<Worker> {
  inspectNewThreads();
  const thread = new Worker(code, { eval: true });
  t.after(() => thread.terminate());
  const { threadId } = thread;
  await until(() => inspectedWorkers([threadId]).length === 1);
  return thread;
}

test('a thread that computes answers, and its session ends with it', async (t) => {
  const thread = await start(t, 'for (;;);');
  const [one] = inspectedWorkers([thread.threadId]);
  const expression = { expression: '3 + 4', returnByValue: true };
  const answer = await one?.ask('Runtime.evaluate', expression);
  assert.equal(JSON.parse(answer ?? '').result.value, 7);
  await assert.rejects(one?.ask('Nobody.knows') ?? Promise.resolve(), /wasn't found/);
  const { threadId } = thread;
  await thread.terminate();
  await until(() => inspectedWorkers([threadId]).length === 0);
  await assert.rejects(one?.ask('Runtime.evaluate', expression) ?? Promise.resolve(), {
    message: 'it has ended meanwhile',
  });
});

test('no ask is left without an answer by a thread that ends', async (t) => {
  const thread = await start(t, 'setInterval(() => {}, 1000)');
  const [one] = inspectedWorkers([thread.threadId]);
  const never = { expression: 'new Promise(() => {})', awaitPromise: true };
  const asks = Array.from(
    { length: 20 },
    () => one?.ask('Runtime.evaluate', never) ?? Promise.reject(new Error('it has no session')),
  );
  await Promise.all([Promise.allSettled(asks), thread.terminate()]);
});

test('threads that end by themselves while threads are looked into leave the process alone', async () => {
  inspectNewThreads();
  const ends = ['process.exit(0)', 'setTimeout(() => {}, 2)', 'setImmediate(() => nothing)'];
  const lives = Array.from({ length: 4 }, async (_, at) => {
    for (let i = 0; i < 8; i++) {
      const thread = new Worker(ends[(at + i) % ends.length] as string, { eval: true });
      // The last one throws.
      thread.on('error', () => {});
      const { threadId } = thread;
      const look = async (): Promise<void> => {
        for (const one of inspectedWorkers([threadId])) {
          await one.ask('Runtime.evaluate', { expression: '1' }).catch(() => {});
        }
      };
      const looking = setInterval(() => void look(), 1);
      await new Promise((resolve) => thread.once('exit', resolve));
      clearInterval(looking);
    }
  });
  await Promise.all(lives);
});

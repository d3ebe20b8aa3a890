import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { InspectedThreads, noteEnding } from '../../../src/core/workers/inspected-threads.ts';
import { turn, turns } from '../../turns.ts';

class EndingThread extends EventEmitter {
  threadId = 7;

  exit(): void {
    this.threadId = -1;
    this.emit('exit', 1);
  }
}

test('an inspector session begins when the threads that are being terminated have gone', async (t) => {
  // Its time never comes: only the ends of the threads let it begin.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [first, second] = [new EndingThread(), new EndingThread()];
  for (const thread of [first, second, first]) noteEnding(thread);
  let isConnected = false;
  const connecting = InspectedThreads.connect([]).then((threads) => {
    isConnected = true;
    return threads;
  });
  await turns();
  first.exit();
  await turns();
  assert.equal(isConnected, false);
  second.exit();
  (await connecting).disconnect();
  await turn();
});

test('an inspector session waits for no thread that had gone before it was terminated', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const thread = new EndingThread();
  thread.exit();
  noteEnding(thread);
  (await InspectedThreads.connect([])).disconnect();
});

test('a thread that starts while an inspector session ends leaves the process alone', async () => {
  const inspected = await InspectedThreads.connect([]);
  const started = new Int32Array(new SharedArrayBuffer(4));
  const code = `Atomics.store(require('node:worker_threads').workerData, 0, 1)`;
  const thread = new Worker(code, { eval: true, workerData: started });
  // Node interrupts this loop to tell of the thread, as it may any code.
  while (Atomics.load(started, 0) === 0);
  inspected.disconnect();
  inspected.disconnect();
  await once(thread, 'exit');
});

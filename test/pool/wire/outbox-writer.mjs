// The replica's side of the two threads in outbox.test.ts. Plain JavaScript: a thread has no TypeScript of its own.
import { parentPort, workerData } from 'node:worker_threads';

const { module, buffer, count } = workerData;
if (module.endsWith('.ts')) (await import('tsx/esm/api')).register();
const { Outbox } = await import(module);

const outbox = new Outbox(buffer);
for (let n = 0; n < count; n++) {
  const reply = `${n}${n % 3 === 0 ? 'é' : ''}${'x'.repeat(n % 97)}`;
  while (!outbox.put(n, n % 7, n / 2, n, reply)); // until the main thread has made room
  if (outbox.takeWake()) parentPort.postMessage('wake');
}

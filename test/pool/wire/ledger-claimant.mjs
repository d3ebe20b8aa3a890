// The replica's side of the race in ledger.test.ts. Plain JavaScript: a thread has no TypeScript of its own.
import { parentPort, workerData } from 'node:worker_threads';

const { module, ledger: buffer, control: shared, started: marks, tickets, rounds } = workerData;
if (module.endsWith('.ts')) (await import('tsx/esm/api')).register();
const { Ledger } = await import(module);

const ledger = new Ledger(buffer);
const control = new Int32Array(shared);
const started = new Uint8Array(marks);
parentPort.postMessage('ready');

for (let round = 0; round < rounds; round++) {
  while (Atomics.load(control, 0) <= round); // until the main thread has sent this round's calls
  const first = Atomics.load(control, 1);
  // A head start for the other side, so that each wins some in every round.
  const leave = Atomics.load(control, 2);
  while (Atomics.load(control, 3) < leave);
  for (let i = 0; i < tickets; i++) {
    const ticket = first + i;
    if (ledger.start(ticket, round + 1)) {
      started[round * tickets + i]++;
      ledger.leave();
    }
    Atomics.store(control, 4, i + 1);
  }
  Atomics.store(control, 5, round + 1);
}

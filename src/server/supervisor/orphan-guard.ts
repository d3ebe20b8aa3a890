import { Worker } from 'node:worker_threads';
import { layout, mostSuspects, runningCode } from '../../core/base/running-code.ts';

/** Milliseconds that a process may have beyond a short grace, as long as it gives signs of life. */
export const endingMs = 5000;

/** How often the guard looks for its supervisor, and at what runs. */
const lookMs = 250;

/** So many looks without a turn of the event loop: the main thread is stuck. A turn is told of once a second. */
const looksWithoutTurn = 6;

/** The file by which the guard tells the supervisor: the first one after the channel's. */
export const suspectsFile = 4;

/** Plain JavaScript, since the thread has no loader for TypeScript. The thread waits without an event loop. */
const guard = `
const { writeSync } = require('node:fs');
const { workerData } = require('node:worker_threads');
const { parent, lookMs, looksWithoutTurn, graceMs, buffer, layout, most, file, turnMs, endingMs } = workerData;
const nobody = new Int32Array(new SharedArrayBuffer(4));
const words = new Int32Array(buffer);
const record = (slot) => layout.headerBytes + (slot - 1) * layout.recordBytes;
const nameOf = (slot) => {
  const bytes = Buffer.from(buffer, record(slot) + 4, layout.recordBytes - 4);
  return bytes.toString('utf8', 0, bytes.indexOf(0));
};
const waiting = () => {
  const names = [];
  for (let slot = 1; record(slot) < buffer.byteLength && names.length < most; slot++) {
    if (words[record(slot) / 4] > 0) names.push(nameOf(slot));
  }
  return names;
};
let number = 0, beat = 0, looks = 0, told = '';
const tell = (names, isCertain) => {
  const line = names.length === 0 ? '' : JSON.stringify({ names, isCertain });
  if (line === told) return;
  told = line;
  try { writeSync(file, line + '\\n'); } catch {}
};
while (process.ppid === parent) {
  Atomics.wait(nobody, 0, 0, lookMs);
  const slot = words[layout.slot];
  looks = words[layout.beat] === beat ? looks + 1 : 0;
  if (slot !== 0) tell(words[layout.number] === number ? [nameOf(slot)] : [], true);
  else tell(looks >= looksWithoutTurn ? waiting() : [], false);
  number = words[layout.number];
  beat = words[layout.beat];
}
Atomics.wait(nobody, 0, 0, graceMs - turnMs);
for (let ms = 0; ms < endingMs; ms += turnMs) {
  const before = words[layout.beat];
  Atomics.wait(nobody, 0, 0, turnMs);
  if (words[layout.beat] === before) break;
}
process.kill(process.pid, 'SIGKILL');
`;

/**
 * Ends this process by SIGKILL when its supervisor has gone and the process has not drained and ended within its grace
 * time. The main thread would see the channel close, but not while it is in an endless loop. So a thread looks for the
 * supervisor, which costs 10 MB. Cheaper ways don't work: the threads of procedures can be held up like the main thread;
 * Node can't ask for the kernel's signal at a parent's death, which would leave no time to drain anyway. A process that
 * watches takes four times as much memory.
 *
 * The thread also tells the supervisor which procedure has held the main thread for a look or longer: a main thread that
 * is stuck, or dies of memory, can't.
 */
export function guardAgainstOrphanhood(shutdownGraceMs: number): void {
  const thread = new Worker(guard, {
    eval: true,
    workerData: {
      parent: process.ppid,
      lookMs,
      looksWithoutTurn,
      graceMs: shutdownGraceMs,
      turnMs: looksWithoutTurn * lookMs,
      endingMs,
      buffer: runningCode.buffer,
      layout,
      most: mostSuspects,
      file: suspectsFile,
    },
    // The guard loads nothing that flags or NODE_OPTIONS load into other threads.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, codeRangeSizeMb: 2 },
  });
  thread.unref();
  // If the thread fails, the process runs without a guard.
  thread.on('error', () => {});
}

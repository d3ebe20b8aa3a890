import { Worker } from 'node:worker_threads';
import { endingMs } from './ending.ts';

/** How often the guard looks for its supervisor. */
const lookMs = 1000;

/** Plain JavaScript, since the thread has no loader for TypeScript. The thread waits without an event loop. */
const guard = `
const { workerData: { parent, lookMs, graceMs } } = require('node:worker_threads');
const nobody = new Int32Array(new SharedArrayBuffer(4));
while (process.ppid === parent) Atomics.wait(nobody, 0, 0, lookMs);
Atomics.wait(nobody, 0, 0, graceMs);
process.kill(process.pid, 'SIGKILL');
`;

/**
 * Ends this process by SIGKILL when its supervisor has gone and the process has not drained and ended within its grace
 * time. The main thread would see the channel close, but not while it is in an endless loop. So a thread looks for the
 * supervisor, which costs 10 MB. Cheaper ways don't work: the threads of procedures can be held up like the main thread;
 * Node can't ask for the kernel's signal at a parent's death, which would leave no time to drain anyway. A process that
 * watches takes four times as much memory.
 */
export function guardAgainstOrphanhood(shutdownGraceMs: number): void {
  const thread = new Worker(guard, {
    eval: true,
    workerData: { parent: process.ppid, lookMs, graceMs: shutdownGraceMs + endingMs },
    // The guard loads nothing that flags or NODE_OPTIONS load into other threads.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, codeRangeSizeMb: 2 },
  });
  thread.unref();
  // If the thread fails, the process runs without a guard.
  thread.on('error', () => {});
}

import { Worker } from 'node:worker_threads';
import { endingMs } from './ending.ts';

/** How often the guard looks for its supervisor. */
const lookMs = 1000;

/** Plain JavaScript, since a thread is not given the loader of TypeScript. It waits without an event loop. */
const guard = `
const { workerData: { parent, lookMs, graceMs } } = require('node:worker_threads');
const nobody = new Int32Array(new SharedArrayBuffer(4));
while (process.ppid === parent) Atomics.wait(nobody, 0, 0, lookMs);
Atomics.wait(nobody, 0, 0, graceMs);
process.kill(process.pid, 'SIGKILL');
`;

/**
 * Ends this process by SIGKILL when its supervisor has gone and it has not drained and ended by itself within its
 * grace. The main thread would see the channel close; one that is in an endless loop sees nothing. So a thread of its
 * own looks, which costs 10 MB. What is cheaper does not do: the threads of procedures can be held up as the main
 * thread can, the kernel's own signal at a parent's death is not to be had from Node and would leave no time to drain,
 * and a process that watches takes four times as much.
 */
export function guardAgainstOrphanhood(shutdownGraceMs: number): void {
  const thread = new Worker(guard, {
    eval: true,
    workerData: { parent: process.ppid, lookMs, graceMs: shutdownGraceMs + endingMs },
    // Nothing that flags or NODE_OPTIONS load into other threads.
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, codeRangeSizeMb: 2 },
  });
  thread.unref();
  // Without it the process is as it would be without a guard.
  thread.on('error', () => {});
}

import { totalmem } from 'node:os';
import { type MemoryLimit, readMemoryLimit, readText } from '../base/control-groups.ts';

const mb = 1024 ** 2;

/** What a process needs beside the heaps of its workers: its main thread, code, bodies and replies. The supervisor is counted, too. */
const processMb = 160;

/** With less a worker can hardly load its modules. */
const leastMb = 64;

/**
 * The heap limit of each worker, in MB: an equal share of what the memory limit of the container leaves. V8's own default goes by
 * the memory of the machine, so that one worker could have the system end the process. 0: there is no such limit.
 *
 * @param threads workers and spares of one process
 */
export function workerMemoryWithin(
  limit: MemoryLimit | undefined,
  processes: number,
  threads: number,
): number {
  if (limit === undefined) return 0;
  return Math.max(leastMb, Math.floor((limit.bytes / mb / processes - processMb) / threads));
}

export function workerMemoryHere(processes: number, threads: number): number {
  return workerMemoryWithin(readMemoryLimit(readText, totalmem()), processes, threads);
}

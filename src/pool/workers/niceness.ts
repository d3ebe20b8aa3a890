import { getPriority } from 'node:os';

const highest = 19;

/** Whether a worker's thread runs as much lower as it should. Only on Linux is a thread's niceness its own. */
export function isNiced(nice: number, increment: number): boolean {
  return process.platform !== 'linux' || nice >= Math.min(getPriority() + increment, highest);
}

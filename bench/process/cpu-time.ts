import { readFileSync } from 'node:fs';

/**
 * CPU time in a `stat` file of /proc, microseconds. Linux counts ticks of 10 ms.
 *
 * @param file of a process or of a thread
 * @param withChildren that of the processes that it has waited for, too
 */
export function cpuMicroseconds(file: string, withChildren = false): number {
  const stat = readFileSync(file, 'utf8');
  // The name before them may hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, withChildren ? 15 : 13);
  return ticks.reduce((sum, count) => sum + Number(count), 0) * 10_000;
}

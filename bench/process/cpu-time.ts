import { readFileSync } from 'node:fs';

/**
 * CPU time in a `stat` file of /proc, microseconds. Linux counts ticks of 10 ms.
 *
 * @param file of a process or of a thread
 */
export function cpuMicroseconds(file: string): number {
  const stat = readFileSync(file, 'utf8');
  // The name before them may hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

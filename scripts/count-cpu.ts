/**
 * Loaded into the process of each test file by `npm test -- --times`. When the process ends, a line is added to the file
 * that TEST_TIMES_FILE names: the CPU seconds of the process, its threads, and the processes that it waited for; the
 * seconds that it took; how many threads and processes it started.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { cpuMicroseconds } from '../bench/process/cpu-time.ts';

function cpuSeconds(): number {
  try {
    return cpuMicroseconds('/proc/self/stat', true) / 1e6;
  } catch {
    // Without /proc, the processes that were waited for do not count.
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}

const file = process.env.TEST_TIMES_FILE;
if (isMainThread && file !== undefined) {
  let threads = 0;
  let processes = 0;
  process.on('worker', () => threads++);
  subscribe('child_process', () => processes++);
  process.on('exit', () => {
    const seconds = performance.now() / 1000;
    const fields = [process.argv[1], cpuSeconds(), seconds, threads, processes];
    appendFileSync(file, `${JSON.stringify(fields)}\n`);
  });
}

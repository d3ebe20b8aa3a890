/**
 * Loaded into the process of each test file by `npm test -- --times`. When the process ends, a line is added to the file
 * that TEST_TIMES_FILE names: the CPU seconds of the process, its threads, and the processes that it waited for; the
 * seconds that it took; how many threads and processes it started.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** CPU seconds from /proc/self/stat: utime, stime, cutime and cstime behind the name, in ticks of 10 ms. */
function cpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
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

/**
 * For `npm test -- --times`: loaded into the process of each test file, adds a line to the file named by
 * TEST_TIMES_FILE when that process ends: the CPU seconds of it, its threads and the processes it waited for.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Fields of /proc/self/stat behind the name: utime, stime, cutime and cstime, in ticks of 10 ms. */
function cpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    // Where there is no /proc nobody counts the processes that were waited for.
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}

const file = process.env.TEST_TIMES_FILE;
if (isMainThread && file !== undefined) {
  process.on('exit', () => {
    const fields = [process.argv[1], cpuSeconds(), performance.now() / 1000];
    appendFileSync(file, `${JSON.stringify(fields)}\n`);
  });
}

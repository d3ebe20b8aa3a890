import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningTests } from './running-tests.ts';

/** How often it looks. */
const tickMs = 1000;

/**
 * Ends each process of a test run in which no test began or ended for too long, and prints which tests it ran. The runner's own
 * limit names the file alone, and on Node 20 it knows no other one.
 *
 * @param folder where running-tests.ts writes
 * @param nameOf what the entry of a process runs, a test file or a folder
 * @param limitOf ms, by that name
 */
export function watchForHangs(
  folder: string,
  nameOf: (entry: string) => string,
  limitOf: (name: string) => number,
): void {
  mkdirSync(folder);
  const check = (file: string): void => {
    const path = join(folder, file);
    const { entry, running, last } = JSON.parse(readFileSync(path, 'utf8')) as RunningTests;
    const name = nameOf(entry);
    const limitMs = limitOf(name);
    if (Date.now() - statSync(path).mtimeMs <= limitMs) return;
    const tests = running.map((test) => `\n  runs: ${test}`).join('');
    const ended = last === undefined ? '' : `\n  ended last: ${last}`;
    console.error(
      `\n${name} hangs: no test began or ended for ${limitMs / 1000} s${tests}${ended}`,
    );
    rmSync(path);
    process.kill(Number.parseInt(file, 10), 'SIGKILL');
  };
  const tick = (): void => {
    for (const file of readdirSync(folder)) {
      try {
        check(file);
      } catch {
        // The process writes the file just now, or has ended.
      }
    }
  };
  setInterval(tick, tickMs).unref();
}

import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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
  const seen = new Map<string, { readonly events: number; readonly at: number }>();
  const tick = (): void => {
    const now = performance.now();
    for (const file of readdirSync(folder)) {
      const told = read(join(folder, file));
      if (told === undefined) continue;
      const before = seen.get(file);
      const name = nameOf(told.entry);
      const limitMs = limitOf(name);
      if (before?.events !== told.events) seen.set(file, { events: told.events, at: now });
      else if (now - before.at > limitMs) {
        rmSync(join(folder, file), { force: true });
        report(name, limitMs, told);
        end(Number.parseInt(file, 10));
      }
    }
  };
  setInterval(tick, tickMs).unref();
}

/** @returns undefined if the process writes it just now, or has ended */
function read(path: string): RunningTests | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as RunningTests;
  } catch {
    return undefined;
  }
}

function report(name: string, limitMs: number, { running, last }: RunningTests): void {
  const tests = running.map((test) => `\n  runs: ${test}`).join('');
  const ended = last === undefined ? '' : `\n  ended last: ${last}`;
  console.error(`\n${name} hangs: no test began or ended for ${limitMs / 1000} s${tests}${ended}`);
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/**
 * Imported first by the processes of a test run: each keeps in a file which of its tests run, so that `npm test` can name those that
 * hang (hangs.ts), also if a test blocks its thread.
 */
import { ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, type SuiteContext, type TestContext } from 'node:test';

export interface RunningTests {
  /** The file that the process runs. */
  readonly entry: string;
  readonly running: readonly string[];
  /** The test that ended last. */
  readonly last?: string;
}

const file = join(process.env.RUNNING_TESTS_FOLDER ?? '', `${process.pid}.json`);
/** Stays open: ext4 writes a file that was truncated to the disk when it is closed, which takes 3 ms, twice a test. */
const opened = openSync(file, 'w');
const running = new Set<string>();

/** The time of the file is that of the last event. */
function tell(last?: string): void {
  const told: RunningTests = {
    entry: process.argv[1] ?? '',
    running: [...running],
    ...(last !== undefined && { last }),
  };
  ftruncateSync(opened);
  writeSync(opened, JSON.stringify(told), 0);
}

function nameOf(test: TestContext | SuiteContext): string {
  return 'fullName' in test ? test.fullName : test.name;
}

tell();
// Hooks outside all suites are those of every test of the process.
beforeEach((test) => {
  running.add(nameOf(test));
  tell();
});
afterEach((test) => {
  running.delete(nameOf(test));
  tell(nameOf(test));
});
process.on('exit', () => rmSync(file, { force: true }));

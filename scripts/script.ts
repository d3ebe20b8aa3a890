/** What the scripts of this repository begin and end with. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from 'commander';
import { messageOf } from '../src/core/base/message-of.ts';

/** The folder of the repository, without a slash behind it. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

/** Ends the process with one line on stderr. */
export function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** Runs a script. If it fails, the process ends with one line on stderr. */
export async function main(script: () => void | Promise<void>): Promise<void> {
  await Promise.resolve()
    .then(script)
    .catch((error: unknown) => fail(messageOf(error)));
}

/** A folder that goes when the process ends, also by a signal. */
export function temporaryFolder(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  return folder;
}

/** Reads the value of an option: a whole number. */
export function wholeNumber(least = 0): (text: string) => number {
  return (text) => {
    // An empty text is 0 to JavaScript.
    if (text.trim() !== '' && Number.isSafeInteger(Number(text)) && Number(text) >= least)
      return Number(text);
    throw new InvalidArgumentError(`It is a whole number of at least ${least}.`);
  };
}

/** What the scripts of this repository begin and end with. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { messageOf } from '../src/core/base/message-of.ts';

/** The folder of the repository, without a slash behind it. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values'];

const help = { type: 'boolean', short: 'h' } as const;

/** Ends the process with one line on stderr. */
export function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** Runs a script. If it fails, the process ends with one line on stderr. */
export async function main(script: () => void | Promise<void>): Promise<void> {
  try {
    await script();
  } catch (error) {
    fail(messageOf(error));
  }
}

/** A folder that goes when the process ends, also by a signal. */
export function temporaryFolder(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  return folder;
}

/**
 * The arguments of a script of this repository; `--no-NAME` is allowed. Ends the process for `--help`, which prints the usage,
 * and for an argument that is not known.
 *
 * @param usage begins with the command, and has a line for each option
 */
export function readArguments<const O extends Options>(usage: string, options: O): Values<O> {
  try {
    const { help: isAsked } = parseArgs({ strict: false, options: { help } }).values;
    if (isAsked !== true) return parseArgs({ allowNegative: true, options }).values;
  } catch (error) {
    return fail(`${messageOf(error)}\n\n${usage}`);
  }
  console.log(usage);
  return process.exit();
}

/** A whole number of an option, or the end of the process. */
export function readCount(name: string, text: string, least = 0): number {
  // An empty text is 0 to JavaScript.
  if (text.trim() !== '' && Number.isSafeInteger(Number(text)) && Number(text) >= least)
    return Number(text);
  return fail(`--${name} is a whole number of at least ${least}, not ${text}`);
}

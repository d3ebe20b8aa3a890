import { type ParseArgsConfig, parseArgs } from 'node:util';
import { messageOf } from '../src/core/base/message-of.ts';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values'];

const help = { type: 'boolean', short: 'h' } as const;

/** Ends the process with one line on stderr. */
export function fail(message: string): never {
  console.error(message);
  process.exit(1);
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

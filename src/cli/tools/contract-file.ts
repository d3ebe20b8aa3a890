import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Generated, generate } from '../../client/codegen/generate.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { undeclaredResults } from '../../core/service/servable.ts';
import { printFailure } from '../failure.ts';
import { explained } from './source.ts';

/** @throws StartupError */
export function generateFrom(source: string, document: unknown): Generated {
  return explained(source, () => generate(document));
}

/**
 * Names on stderr the procedures without `returns`.
 *
 * @param before what was printed last, which is not printed again
 * @returns what is known now
 */
export function printUndeclared({ undeclared }: Generated, before?: string): string | undefined {
  const line = undeclaredResults(undeclared);
  if (line !== undefined && line !== before) printFailure(line);
  return line;
}

/**
 * Writes the file where its text differs.
 *
 * @returns one line for people
 * @throws StartupError for a file that was not generated
 */
export async function writeOut({ text, methods }: Generated, out: string): Promise<string> {
  const before = await readOut(out);
  if (before === text) return `${out} is current: ${countOf(methods)}`;
  if (before !== undefined && before.trim() !== '' && firstLine(before) !== firstLine(text)) {
    throw new StartupError(
      `${out} was not written by tandem codegen: remove it, or choose another file for --out`,
    );
  }
  await mkdir(dirname(out), { recursive: true });
  await writeFile(out, text);
  return `wrote ${out}: ${countOf(methods)}`;
}

/** The file's text with the line ends that generated text has: version control may have changed them. */
export async function readOut(out: string): Promise<string | undefined> {
  try {
    // Reading a device may never end.
    if (!(await stat(out)).isFile()) {
      throw new StartupError(`${out} is no file: name one, or leave --out away to print the text`);
    }
    return (await readFile(out, 'utf8')).replaceAll('\r\n', '\n');
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
}

export function countOf(methods: number): string {
  return methods === 1 ? '1 procedure' : `${methods} procedures`;
}

function firstLine(text: string): string {
  return text.slice(0, text.indexOf('\n'));
}

import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { diffLines } from '../../codegen/diff.ts';
import { type Generated, generate } from '../../codegen/generate.ts';
import { StartupError } from '../../base/startup-error.ts';
import { printAndExit } from '../ending.ts';
import { printFailure } from '../failure.ts';
import type { RemoteOptions } from './remote.ts';
import { explained, readOpenRpc } from './source.ts';

export interface CodegenOptions extends RemoteOptions {
  readonly out: string | undefined;
  readonly check: boolean;
  readonly watch: boolean;
  /** Milliseconds between two looks at a URL. */
  readonly intervalMs: number;
}

/** `tandem codegen`: prints the contract's file, writes it, compares it, or keeps it current. */
export async function codegen(source: string, options: CodegenOptions): Promise<void> {
  const { out, check, watch } = options;
  if (out === undefined && (check || watch)) {
    throw new StartupError(
      `--${check ? 'check' : 'watch'} needs --out: the file to ${check ? 'compare' : 'keep current'}`,
    );
  }
  if (check && watch) throw new StartupError('--check and --watch: give one of them');
  if (out !== undefined && watch) {
    const { watchSource } = await import('./codegen-watch.ts');
    await watchSource(source, out, options);
    return;
  }
  const generated = generateFrom(source, await readOpenRpc(source, options));
  if (out === undefined) await printAndExit(generated.text);
  else if (check) await compare(generated, source, out);
  else await printAndExit(`${await writeOut(generated, out)}\n`);
}

/** @throws StartupError */
export function generateFrom(source: string, document: unknown): Generated {
  return explained(source, () => generate(document));
}

/**
 * Writes the file where it says something else.
 *
 * @returns one line for people
 * @throws StartupError for a file that was not generated
 */
export async function writeOut({ text, methods }: Generated, out: string): Promise<string> {
  const before = await readOut(out);
  if (before === text) return `${out} is current: ${count(methods)}`;
  if (before !== undefined && before.trim() !== '' && firstLine(before) !== firstLine(text)) {
    throw new StartupError(
      `${out} was not written by tandem codegen: remove it, or choose another file for --out`,
    );
  }
  await mkdir(dirname(out), { recursive: true });
  await writeFile(out, text);
  return `wrote ${out}: ${count(methods)}`;
}

async function compare({ text, methods }: Generated, source: string, out: string): Promise<void> {
  const before = await readOut(out);
  if (before === text) await printAndExit(`${out} is current: ${count(methods)}\n`);
  const fix = `run tandem codegen ${source} --out ${out}`;
  if (before === undefined) throw new StartupError(`${out} does not exist: ${fix}`);
  printFailure(`${out} has drifted from ${source}: ${fix}`);
  const diff = diffLines(before, text);
  await printAndExit(`--- ${out}\n+++ ${source}\n${diff}\n`, 1);
}

/** With the line ends that generated text has: version control may have given it others. */
async function readOut(out: string): Promise<string | undefined> {
  try {
    // A device may be read for ever.
    if (!(await stat(out)).isFile()) {
      throw new StartupError(`${out} is no file: name one, or leave --out away to print the text`);
    }
    return (await readFile(out, 'utf8')).replaceAll('\r\n', '\n');
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
}

function count(methods: number): string {
  return methods === 1 ? '1 procedure' : `${methods} procedures`;
}

function firstLine(text: string): string {
  return text.slice(0, text.indexOf('\n'));
}

import { diffLines } from '../../client/codegen/diff.ts';
import type { Generated } from '../../client/codegen/generate.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { printAndExit } from '../ending.ts';
import { printFailure } from '../failure.ts';
import type { WatchOptions } from './codegen-watch.ts';
import { countOf, generateFrom, printUndeclared, readOut, writeOut } from './contract-file.ts';
import { readOpenRpc } from './source.ts';

export interface CodegenOptions extends WatchOptions {
  readonly out: string | undefined;
  readonly check: boolean;
  readonly watch: boolean;
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
  // A check compares what an earlier run has written, and has spoken of.
  if (!check) printUndeclared(generated);
  if (out === undefined) await printAndExit(generated.text);
  else if (check) await compare(generated, source, out);
  else await printAndExit(`${await writeOut(generated, out)}\n`);
}

async function compare({ text, methods }: Generated, source: string, out: string): Promise<void> {
  const before = await readOut(out);
  if (before === text) await printAndExit(`${out} is current: ${countOf(methods)}\n`);
  const fix = `run tandem codegen ${source} --out ${out}`;
  if (before === undefined) throw new StartupError(`${out} does not exist: ${fix}`);
  printFailure(`${out} has drifted from ${source}: ${fix}`);
  const diff = diffLines(before, text);
  await printAndExit(`--- ${out}\n+++ ${source}\n${diff}\n`, 1);
}

/** `tandem codegen` and `tandem diff` for documents that tests make. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandLine } from '../cli/command-line.ts';
import type { Exit } from '../cli/process.ts';

interface Finding {
  readonly kind: 'breaking' | 'unknown';
  readonly method: string;
  readonly path: string;
  readonly reason: string;
}

interface Compared {
  readonly findings: readonly Finding[];
  readonly added: readonly string[];
}

let commands: CommandLine | undefined;

/** Call it in each `describe` whose tests use the functions below. */
export function runsCommands(): void {
  commands = CommandLine.suite();
}

/**
 * Runs a command whose arguments are the files of `documents`, and some flags.
 *
 * @param documents values, or JSON as text
 */
async function run(
  command: string,
  documents: readonly unknown[],
  flags: readonly string[] = [],
): Promise<Exit & { readonly files: readonly string[] }> {
  assert.ok(commands !== undefined, 'runsCommands() was not called');
  const folder = mkdtempSync(join(tmpdir(), 'tandem-contract-'));
  try {
    const files = documents.map((document, index) => {
      const file = join(folder, `${index}.json`);
      writeFileSync(file, typeof document === 'string' ? document : JSON.stringify(document));
      return file;
    });
    return { files, ...(await commands.run([command, ...files, ...flags])) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The file that is generated from a document. */
export async function generate(document: unknown): Promise<string> {
  const { code, stdout, stderr } = await run('codegen', [document]);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** Why nothing is generated from a document: one line, without the name of the document's file. */
export async function refusal(document: unknown): Promise<string> {
  const { code, stdout, stderr, files } = await run('codegen', [document]);
  assert.deepEqual([code, stdout], [1, '']);
  const start = `tandem: ${files[0]}: `;
  assert.ok(stderr.startsWith(start) && stderr.endsWith('\n'), stderr);
  const line = stderr.slice(start.length, -1);
  assert.doesNotMatch(line, /\n/);
  return line;
}

/** One line for each finding. */
export function told({ findings }: Compared): string[] {
  return findings.map(({ kind, method, path, reason }) =>
    [kind === 'unknown' ? '?' : '!', method, path, reason].filter((part) => part !== '').join(' '),
  );
}

/** What the new methods break of the old ones, each side with its components. */
export async function compareMethods(
  before: readonly object[],
  after: readonly object[],
  components: { readonly old?: object; readonly new?: object } = {},
): Promise<Compared> {
  const documents = [
    { openrpc: '1.4.1', methods: before, components: { schemas: components.old } },
    { openrpc: '1.4.1', methods: after, components: { schemas: components.new } },
  ];
  const { code, stdout, stderr } = await run('diff', documents, ['--json']);
  assert.equal(stderr, '');
  const { findings, added, compatible } = JSON.parse(stdout) as Compared & { compatible: boolean };
  assert.deepEqual([code, compatible], findings.length === 0 ? [0, true] : [1, false]);
  return { findings, added };
}

/** Compares two schemas of one required param `p`. */
export async function compareParams(
  before: unknown,
  after: unknown,
  components: { readonly old?: object; readonly new?: object } = {},
): Promise<string[]> {
  const method = (schema: unknown) => ({
    name: 'm',
    params: [{ name: 'p', required: true, schema }],
  });
  const lines = told(await compareMethods([method(before)], [method(after)], components));
  return lines.map((line) => line.replace(/ m params\.p ?/, ' '));
}

/** Compares two schemas of the result. */
export async function compareResults(before: unknown, after: unknown): Promise<string[]> {
  const method = (schema: unknown) => ({ name: 'm', params: [], result: { name: 'r', schema } });
  const lines = told(await compareMethods([method(before)], [method(after)]));
  return lines.map((line) => line.replace(/ m result ?/, ' '));
}

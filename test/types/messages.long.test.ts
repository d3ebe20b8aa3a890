/** What the compiler says of mistakes: at the mistake, and short. Other libraries' words for them are in messages.md. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { root } from '../files.ts';

const programs = join(root, 'test/fixtures/broken/types');
const page = readFileSync(join(root, 'test/types/messages.md'), 'utf8');

/** The blocks of the page by heading, `wrong-result.ts`, then by title, `tandem-rpc, TypeScript 7.0.2`. */
const expected = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section): [string, Map<string, string>] => {
      const blocks = section.matchAll(/^([^\n]+):\n\n```text\n(.*?)\n```$/gms);
      return [
        section.slice(0, section.indexOf('\n')),
        new Map(Array.from(blocks, ([, title = '', text = '']) => [title, text])),
      ];
    }),
);

/** What a compiler says of all programs, by file. */
function complaints(compiler: string, folder: string): Map<string, string> {
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2023', 'es2024.string'],
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    module: 'nodenext',
    moduleDetection: 'force',
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    paths: {
      'tandem-rpc': [join(root, 'src/index.ts')],
      'tandem-rpc/client': [join(root, 'src/client/index.ts')],
    },
  };
  const config = { compilerOptions, include: [`${programs}/*.ts`] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules', compiler, 'bin/tsc');
  // From the folder of the programs, so that the messages name the files alone.
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], {
    cwd: programs,
    encoding: 'utf8',
  });
  const found = new Map<string, string>();
  let file = '';
  for (const line of stdout.trimEnd().split('\n')) {
    file = /^(\S+)\(\d+,\d+\): error/.exec(line)?.[1] ?? file;
    found.set(file, found.has(file) ? `${found.get(file)}\n${line}` : line);
  }
  return found;
}

describe('type errors', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-messages-'));
  after(() => rmSync(folder, { recursive: true }));

  for (const [name, compiler] of [
    ['TypeScript 5.9.3', 'typescript-5.9'],
    ['TypeScript 7.0.2', 'typescript'],
  ] as const)
    it(`are at the mistake and short, in the words of ${name}`, () => {
      const found = complaints(compiler, folder);
      const all = new Set([...found.keys(), ...expected.keys(), ...readdirSync(programs)]);
      for (const file of all)
        assert.equal(found.get(file), expected.get(file)?.get(`tandem-rpc, ${name}`), file);
    });
});

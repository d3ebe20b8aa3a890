/**
 * `npm run measure:size`: how large this project is, and how far a call goes through it. `--root DIR` measures another checkout
 * (with node_modules), so that two commits are counted by one rule.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readArguments } from './arguments.ts';

const usage = `npm run measure:size -- [--root DIR]

Counts lines, files, folders, fragments, words and the files that a pooled HTTP call passes.

  --root DIR   the checkout to measure (default: this one)`;

const options = readArguments(usage, { root: { type: 'string', default: '.' } });
const root = resolve(options.root);

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const texts = new Map<string, string>();
function textOf(file: string): string {
  let text = texts.get(file);
  if (text === undefined) {
    text = readFileSync(join(root, file), 'utf8');
    texts.set(file, text);
  }
  return text;
}
const linesOf = (file: string): number => textOf(file).split('\n').length - 1;
const total = (files: readonly string[], measure: (file: string) => number): number =>
  files.reduce((sum, file) => sum + measure(file), 0);

/** The files of this package that a file imports: statically, on demand, or for types alone. */
function importsOf(file: string): string[] {
  const code = textOf(file).replace(/\/\*[\s\S]*?\*\//g, '');
  const found = code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"\n]+)['"]/g);
  return [...new Set(Array.from(found, ([, target = '']) => join(dirname(file), target)))];
}

const sources = tracked.filter((file) => /^src\/.*\.ts$/.test(file));
const importers = new Map<string, number>();
for (const file of sources.concat(tracked.filter((name) => /^workers\/.*\.ts$/.test(name)))) {
  for (const target of importsOf(file)) importers.set(target, (importers.get(target) ?? 0) + 1);
}
const single = sources.filter((file) => importers.get(file) === 1);

const implementations = new Map<string, number>();
for (const file of sources) {
  for (const [, list = ''] of textOf(file).matchAll(/\bclass [^{]*?\bimplements ([^{]+)\{/g)) {
    for (const name of list.replace(/<[^>]*>/g, '').split(',')) {
      implementations.set(name.trim(), (implementations.get(name.trim()) ?? 0) + 1);
    }
  }
}
const declared = sources.flatMap((file) =>
  Array.from(textOf(file).matchAll(/^(?:export )?interface (\w+)/gm), ([, name = '']) => name),
);

const tests = tracked.filter((file) => /^test\/.*\.test\.ts$/.test(file));
const outside = new Set([
  'src/index.ts',
  'src/client/index.ts',
  'src/client/sse.ts',
  'src/client/socket.ts',
  'src/client/tanstack.ts',
  'src/extras/jwt/jwt.ts',
]);
const testsOfInternals = tests.filter((file) =>
  importsOf(file).some((target) => target.startsWith('src/') && !outside.has(target)),
);

const pages = tracked.filter((file) => /^(README\.md|docs\/.*\.md)$/.test(file));
const isGenerated = (file: string): boolean => file.startsWith('docs/reference/');
/** Words of a page without what scripts write into it, between `<!-- NAME:start -->` and `<!-- NAME:end -->`. */
function wordsOf(file: string): number {
  const text = textOf(file).replace(/<!-- ([\w-]+):start -->[\s\S]*?<!-- \1:end -->/g, '');
  return text.split(/\s+/).filter((word) => word !== '').length;
}
const byHand = pages.filter((file) => !isGenerated(file));
const glossary =
  textOf('docs/architecture.md')
    .split(/^## Glossary$/m)[1]
    ?.split(/^## /m)[0] ?? '';
const glossaryRows = glossary.split('\n').filter((line) => line.startsWith('| ')).length;

const passed = JSON.parse(
  execFileSync(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'trace-call.ts')], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }),
) as { files: string[]; functions: number };

const percent = (part: number, whole: number): string => `${Math.round((100 * part) / whole)}%`;
const rows: readonly (readonly [string, string | number])[] = [
  ['lines under src', total(sources, linesOf)],
  ['files under src', sources.length],
  ['folders directly under src', new Set(sources.map((file) => file.split('/')[1])).size - 1],
  ['files with one importer', single.length],
  ['of these under 60 lines', single.filter((file) => linesOf(file) < 60).length],
  [
    'interfaces with one implementing class',
    declared.filter((name) => implementations.get(name) === 1).length,
  ],
  ['files that a pooled HTTP call passes, both threads', passed.files.length],
  ['functions of them', passed.functions],
  ['words of pages written by hand', total(byHand, wordsOf)],
  ['words of the glossary', Math.max(0, glossaryRows - 1)],
  ['lines of test files', total(tests, linesOf)],
  [
    'of these in files that import internals',
    percent(total(testsOfInternals, linesOf), total(tests, linesOf)),
  ],
];
console.log('| measure | now |\n|---|--:|');
for (const [name, value] of rows) console.log(`| ${name} | ${value.toLocaleString('en-US')} |`);
for (const file of ['architecture', 'protocol', 'reliability', 'benchmark']) {
  console.log(`| words of ${file}.md | ${wordsOf(`docs/${file}.md`).toLocaleString('en-US')} |`);
}
console.log(`\nThe files of a pooled call: ${passed.files.join(', ')}`);

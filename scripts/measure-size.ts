/**
 * `npm run measure:size`: how large this project is, and how far a call goes through it. `--root DIR` measures another checkout
 * (with node_modules), so that two commits are counted by one rule.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { program } from 'commander';

const options = program
  .name('npm run measure:size --')
  .description('Counts lines, files, words and the files that a pooled HTTP call passes.')
  .option('--root <folder>', 'the checkout to measure', '.')
  .parse()
  .opts<{ root: string }>();
const root = resolve(options.root);

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const linesOf = (file: string): number => textOf(file).split('\n').length - 1;
const total = (files: readonly string[], measure: (file: string) => number): number =>
  files.reduce((sum, file) => sum + measure(file), 0);

const sources = tracked.filter((file) => /^src\/.*\.ts$/.test(file));
const tests = tracked.filter((file) => /^test\/.*\.test\.ts$/.test(file));
/** Without those that a reader looks up: `docs/reference`. */
const pages = tracked.filter((file) => /^(README\.md|docs\/(?!reference\/).*\.md)$/.test(file));
/** Words of a page without what scripts write into it, between `<!-- NAME:start -->` and `<!-- NAME:end -->`. */
function wordsOf(file: string): number {
  const text = textOf(file).replace(/<!-- ([\w-]+):start -->[\s\S]*?<!-- \1:end -->/g, '');
  return text.split(/\s+/).filter((word) => word !== '').length;
}

const passed = JSON.parse(
  execFileSync(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'trace-call.ts')], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }),
) as { files: string[]; functions: number };

const rows: readonly (readonly [string, string | number])[] = [
  ['lines under src', total(sources, linesOf)],
  ['files under src', sources.length],
  ['files that a pooled HTTP call passes, both threads', passed.files.length],
  ['functions of them', passed.functions],
  ['words of README and docs, without docs/reference', total(pages, wordsOf)],
  ['lines of test files', total(tests, linesOf)],
];
console.log('| measure | now |\n|---|--:|');
for (const [name, value] of rows) console.log(`| ${name} | ${value.toLocaleString('en-US')} |`);
for (const file of ['architecture', 'protocol', 'reliability', 'benchmark']) {
  console.log(`| words of ${file}.md | ${wordsOf(`docs/${file}.md`).toLocaleString('en-US')} |`);
}
console.log(`\nThe files of a pooled call: ${passed.files.join(', ')}`);

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../files.ts';

const pages = [
  'README.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));

/** Paths of this repository in backquotes: `test/http/limits.test.ts`, `src/pool`. */
const path = /`((?:src|test|bench|workers|scripts|templates|examples|docs)\/[\w./-]+)`/g;

test('files and folders that the pages name are there', () => {
  const named = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(path)].map(([, name]) => ({
      page,
      name,
    })),
  );
  assert.ok(named.length > 50);
  const missing = named.filter(({ name }) => {
    const base = join(root, name as string);
    // `src/core/workers/replica-main` stands for its source.
    return !existsSync(base) && !existsSync(`${base}.ts`);
  });
  assert.deepEqual(missing, []);
});

/** A test's file and, behind a comma each, titles in it, or parts of them. */
const named = /`(test\/[\w./-]+\.ts)`((?:, "[^"]+")*)/g;

/** The first cells of a page's tables of threats or faults. */
function promisesOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  const tables = text.matchAll(/^\| (?:threat|fault) \| [^|]+ \|\n\| ?---.*\n((?:\|.*\n)+)/gm);
  return Array.from(tables).flatMap(([, rows = '']) =>
    Array.from(rows.matchAll(/^\| (.*?) \| /gm), ([, first = '']) => first),
  );
}

/** The tests of each promise, by its first cell. */
function proofsOf(page: string): Map<string, string> {
  const [, rows = ''] = proofs.split(`## ${page}\n`);
  const own = rows.split('\n## ')[0] ?? '';
  return new Map(
    Array.from(own.matchAll(/^\| (.*?) \| (.*`test\/.*) \|$/gm), ([, first = '', tests = '']) => [
      first,
      tests,
    ]),
  );
}

const proofs = readFileSync(join(root, 'test/docs/proofs.md'), 'utf8');

/** Titles that a text names behind their file, and that do not stand in it. */
function missingTitles(text: string): string[] {
  return [...text.matchAll(named)].flatMap(([, file = '', titles = '']) => {
    const source = readFileSync(join(root, file), 'utf8');
    const all = Array.from(titles.matchAll(/"([^"]+)"/g), ([, title = '']) => title);
    return all.filter((title) => !source.includes(title)).map((title) => `${file}: ${title}`);
  });
}

for (const [page, count] of [
  ['docs/security.md', 25],
  ['docs/reliability.md', 40],
] as const) {
  test(`test/docs/proofs.md has tests for each threat or fault of ${page}, and for no other`, () => {
    const promises = promisesOf(page);
    assert.ok(promises.length > count, `${promises.length} rows`);
    assert.deepEqual([...proofsOf(page).keys()], promises);
  });
}

test('the tests that test/docs/proofs.md names are there', () => {
  assert.deepEqual(missingTitles(proofs), []);
});

test('CONTRIBUTING.md lists the scripts of package.json, which are few', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  const table = page.split('\n').filter((line) => line.startsWith('| `npm '));
  const named = Array.from(
    table.join('\n').matchAll(/`(?:npm (?:run )?)?([a-z:-]+)(?= -- |`)/g),
    ([, name = '']) => name,
  );
  assert.deepEqual(named.toSorted(), Object.keys(scripts).sort());
  assert.ok(named.length <= 22);
});

test('the list of jsonrpsee’s cases names tests that are there', () => {
  const list = readFileSync(join(root, 'test/http/socket/jsonrpsee.md'), 'utf8');
  assert.ok([...list.matchAll(named)].length > 20);
  assert.deepEqual(missingTitles(list), []);
});

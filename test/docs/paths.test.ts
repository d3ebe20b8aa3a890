import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const pages = [
  'README.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...readdirSync(new URL('docs', root)).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));

/** Paths of this repository in backquotes: `test/http/limits.test.ts`, `src/pool`. */
const path = /`((?:src|test|bench|workers|scripts|templates|examples|docs)\/[\w./-]+)`/g;

test('files and folders that the pages name are there', () => {
  const named = pages.flatMap((page) =>
    [...readFileSync(new URL(page, root), 'utf8').matchAll(path)].map(([, name]) => ({
      page,
      name,
    })),
  );
  assert.ok(named.length > 50);
  const missing = named.filter(({ name }) => {
    const base = fileURLToPath(new URL(name as string, root));
    // `src/pool/replica-main` stands for its source.
    return !existsSync(base) && !existsSync(`${base}.ts`);
  });
  assert.deepEqual(missing, []);
});

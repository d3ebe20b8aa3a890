/** docs/support.md says what package.json, CI and the other pages say. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { compilers } from '../compilers.ts';
import { root } from '../files.ts';
import { read } from './pages.ts';

const page = read('docs/support.md');
const named = (text: string, pattern: RegExp): string[] =>
  Array.from(text.matchAll(pattern), ([, version = '']) => version);

test('the versions of Node are those of CI, of package.json and of the page on deployment', () => {
  const versions = named(page, /^\| Node (\d+) \|/gm);
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
  assert.equal(engines.node, `>=${versions[0]}`);
  const deployment = named(read('docs/deployment.md'), /^\| ([\d, ]+) \|/gm).join();
  assert.deepEqual(deployment.split(/, ?/), versions);
  // CI itself runs on the oldest one.
  const others = named(read('.ci/run'), /^npm run test:node -- (\d+)/gm);
  assert.deepEqual([...new Set(others)].sort(), versions.slice(1));
});

test('the versions of TypeScript are those that are tested', () => {
  const [, text = ''] = /^\| TypeScript ([\d., ]+) \|/m.exec(page) ?? [];
  const tested = compilers.map(({ version }) => version.replace(/\.\d+$/, '').replace(/\.0$/, ''));
  assert.deepEqual(text.split(', '), tested);
});

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string } | undefined>>;
}

test('what was tried has the versions that are installed for the tests it names', () => {
  const lock = JSON.parse(read('package-lock.json')) as Lock;
  const [, tried = ''] = page.split('## What was tried with it');
  const rows = [...tried.matchAll(/^\| (.+?) \| (.+?) \| (.+?) \|$/gm)].slice(1);
  // Others are no packages of npm.
  const packages = rows.filter(
    ([, names, versions]) => /`/.test(`${names}`) && /^\d/.test(`${versions}`),
  );
  assert.ok(packages.length > 12);
  for (const [, names = '', versions = '', where = ''] of packages) {
    const list = named(names, /`([^`]+)`/g);
    const given = versions.split(', ');
    assert.equal(given.length, list.length, names);
    for (const [index, name] of list.entries()) {
      assert.equal(given[index], lock.packages[`node_modules/${name}`]?.version, name);
    }
    const files = named(where, /`([^`]+\/[^`]+)`/g);
    assert.ok(files.length > 0, names);
    for (const file of files) assert.ok(existsSync(join(root, file)), file);
  }
});

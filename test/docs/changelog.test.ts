/** CHANGELOG.md is a list of versions, the newest of which is that of the packages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from './pages.ts';

interface Section {
  readonly version: string;
  readonly date: string | undefined;
  /** Headings below the version's. */
  readonly kinds: readonly string[];
}

const [, ...blocks] = read('CHANGELOG.md').split(/^## /m);
const sections = blocks.map((block): Section => {
  const [, version = block, date] = /^\[(.+)\](?: - (\d{4}-\d\d-\d\d))?\n/.exec(block) ?? [];
  return {
    version,
    date,
    kinds: Array.from(block.matchAll(/^### (.*)$/gm), ([, kind]) => `${kind}`),
  };
});
const [unreleased, ...released] = sections;

/** For strings of equal parts: 0.10.0 comes behind 0.9.0. */
const parts = (version: string): string =>
  version
    .split('.')
    .map((part) => part.padStart(6, '0'))
    .join('.');

test('what is to come stands first, without a date, and the versions behind it, newest first, each with its day', () => {
  assert.deepEqual([unreleased?.version, unreleased?.date], ['Unreleased', undefined]);
  assert.ok(released.length > 0);
  for (const { version, date } of released) {
    assert.match(version, /^\d+\.\d+\.\d+$/);
    assert.notEqual(date, undefined, version);
  }
  const order = released.map(({ version }) => parts(version));
  assert.deepEqual(order, [...order].sort().reverse());
});

test('the newest version is that of both packages', () => {
  for (const name of ['package.json', 'packages/client/package.json']) {
    assert.equal(JSON.parse(read(name)).version, released[0]?.version, name);
  }
});

test('changes are of the kinds of Keep a Changelog', () => {
  const kinds = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
  for (const { version, kinds: own } of sections) {
    assert.deepEqual(
      own.filter((kind) => !kinds.includes(kind)),
      [],
      version,
    );
    assert.equal(new Set(own).size, own.length, version);
  }
});

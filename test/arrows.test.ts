import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { root } from './files.ts';

/** The one-way rule of docs/architecture.md, read from the source text. */

interface Import {
  readonly from: string;
  /** `import()`: done when it is called, not when the file is loaded. */
  readonly isDynamic: boolean;
  /** A file of this package, or the name of another. */
  readonly to: string;
  readonly isOwn: boolean;
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .sort();
}

/** Static imports, re-exports, types and `import()` alike. */
function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '');
  const found = text.matchAll(/(?:\bfrom|\bimport)\s*(\(?)\s*['"]([^'"\n]+)['"]/g);
  return Array.from(found, ([, parenthesis, target = '']) => {
    const isOwn = target.startsWith('.');
    const to = isOwn ? relative(root, join(root, dirname(file), target)) : target;
    return { from: file, to, isOwn, isDynamic: parenthesis === '(' };
  });
}

const files = [...filesBelow('src'), ...filesBelow('workers')];
const imports = files.flatMap(importsOf);
const own = imports.filter(({ isOwn }) => isOwn);

/** From the wire up. Those on one line do not know each other. */
const layers: readonly (readonly string[])[] = [
  ['jsonrpc'],
  ['router', 'client'],
  ['dispatch'],
  ['pool', 'http'],
  ['composition'],
  ['app'],
  ['index', 'supervisor'],
  ['cli', 'workers'],
];
const leaves = ['clock', 'config', 'observe', 'startup-error', 'suggest'];
/** Who hands the leaves' contents on as arguments. */
const composers = ['composition', 'app', 'index', 'supervisor', 'cli'];

const folders = [
  'jsonrpc',
  'client',
  'router',
  'dispatch',
  'pool',
  'http',
  'supervisor',
  'cli',
  'config',
  'observe',
];
const single: Readonly<Record<string, string>> = {
  'src/base/clock.ts': 'clock',
  'src/config/config.ts': 'config',
  'src/base/startup-error.ts': 'startup-error',
  'src/base/suggest.ts': 'suggest',
  'src/app/app.ts': 'app',
  'src/app/rpc-app.ts': 'app',
  'src/index.ts': 'index',
};

/** The room a file is in; what stands alone in src composes the rooms below it. */
function roomOf(file: string): string {
  const [top = '', second = ''] = file.split('/');
  if (top === 'workers') return 'workers';
  return single[file] ?? (folders.includes(second) ? second : 'composition');
}

function layerOf(file: string): number {
  return layers.findIndex((rooms) => rooms.includes(roomOf(file)));
}

const shown = ({ from, to }: Import): string => `${from} imports ${to}`;

describe('imports', () => {
  test('were found: the rules below are about them', () => {
    assert.ok(
      files.length > 80 && own.length > 250,
      `${files.length} files, ${own.length} imports`,
    );
    for (const room of [...layers.flat(), ...leaves]) {
      assert.ok(
        files.some((file) => roomOf(file) === room),
        `no file in ${room}`,
      );
    }
    const known = new Set(files);
    assert.deepEqual(own.filter(({ to }) => !known.has(to)).map(shown), []);
  });

  test('go one way, from a room to those below it', () => {
    const wrong = own.filter(({ from, to }) => {
      if (roomOf(from) === roomOf(to) || leaves.includes(roomOf(to))) return false;
      return leaves.includes(roomOf(from)) || layerOf(to) >= layerOf(from);
    });
    assert.deepEqual(wrong.map(shown), []);
  });

  test('of the pool and of http: never of each other', () => {
    const between = own.filter(({ from, to }) => {
      const rooms = [roomOf(from), roomOf(to)].sort();
      return rooms[0] === 'http' && rooms[1] === 'pool';
    });
    assert.deepEqual(between.map(shown), []);
  });

  test('of the leaves: nothing but what names a mistake, or suggests a name', () => {
    const wrong = own.filter(
      ({ from, to }) =>
        leaves.includes(roomOf(from)) &&
        roomOf(from) !== roomOf(to) &&
        !['clock', 'startup-error', 'suggest'].includes(roomOf(to)),
    );
    assert.deepEqual(wrong.map(shown), []);
  });

  test('of config and observe: only where the service is composed, which hands them on', () => {
    const wrong = own.filter(
      ({ from, to }) =>
        ['config', 'observe'].includes(roomOf(to)) &&
        roomOf(from) !== roomOf(to) &&
        !composers.includes(roomOf(from)),
    );
    assert.deepEqual(wrong.map(shown), []);
  });

  test('that happen when a file is loaded make no circle', () => {
    const targets = new Map(files.map((file) => [file, new Set<string>()]));
    for (const { from, to, isDynamic } of own) if (!isDynamic) targets.get(from)?.add(to);
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, path: readonly string[]): void => {
      const start = path.indexOf(file);
      if (start !== -1) circles.push([...path.slice(start), file].join(' > '));
      if (start !== -1 || done.has(file)) return;
      for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    assert.deepEqual(circles, []);
  });

  test('of what is heavy or native stand in one place', () => {
    const importersOf = (name: string): string[] => [
      ...new Set(imports.filter(({ to }) => to === name).map(({ from }) => from)),
    ];
    assert.deepEqual(importersOf('piscina'), ['src/pool/workers/threads.ts']);
    assert.deepEqual(
      importersOf('uWebSockets.js').filter((file) => roomOf(file) !== 'http'),
      [],
    );
    assert.ok(importersOf('uWebSockets.js').length > 0);
    assert.deepEqual(
      importersOf('commander').filter((file) => roomOf(file) !== 'cli'),
      [],
    );
  });
});

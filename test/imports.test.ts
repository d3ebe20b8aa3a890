import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { root } from './files.ts';

/** Which folder of src may import which. docs/architecture.md, "The tree", says what each folder is for. */

/**
 * The folders, from the ground up: each may import those in its list, which stand above it. A folder below another one
 * (`core/procedures/document`) and its parent are one to the others.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'core/base': [],
  'core/protocol': ['core/base'],
  'core/config': ['core/base'],
  'core/observe': ['core/base'],
  'core/schema': ['core/base', 'core/protocol'],
  'core/procedures': ['core/base', 'core/protocol', 'core/schema'],
  'core/modules': ['core/base', 'core/procedures'],
  'core/dispatch': ['core/base', 'core/observe', 'core/protocol', 'core/procedures'],
  'core/workers': [
    'core/base',
    'core/observe',
    'core/protocol',
    'core/procedures',
    'core/schema',
    'core/modules',
    'core/dispatch',
  ],
  'core/service': ['core'],
  client: ['core/base', 'core/protocol', 'core/procedures', 'core/schema'],
  'server/http': ['core'],
  'server/process': ['core', 'server/http'],
  'extras/jwt': ['core'],
  'extras/mcp': ['core', 'server/http'],
  'extras/console': ['core', 'server/http'],
  'extras/insight': ['core'],
  'extras/nats': ['core'],
  'extras/openapi': ['core', 'server/http'],
  // What few services use is imported on demand: see "are loaded when used".
  'server/app': ['core', 'server/http', 'extras'],
  caller: ['core', 'client'],
  // What people import: names from everywhere; those that procedure modules use stand in declare.ts.
  'declare.ts': ['core', 'caller'],
  'index.ts': ['core', 'server', 'declare.ts'],
  'in-worker.ts': ['core/base', 'core/procedures'],
  'import.ts': ['core/base', 'declare.ts', 'in-worker.ts', 'index.ts'],
  cli: ['core', 'client', 'server', 'extras'],
  workers: ['core/base', 'core/workers'],
};

/** Folders that do not know each other. */
const strangers: readonly (readonly string[])[] = [
  ['server/http/uws', 'server/http/node'],
  ['extras/nats/gateway', 'extras/nats/member'],
];

interface Import {
  readonly from: string;
  /** A file of this package, or the name of another package. */
  readonly to: string;
  readonly isOwn: boolean;
}

function withoutComments(file: string): string {
  return readFileSync(join(root, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '');
}

/** Static imports, re-exports, types and `import()` alike. */
function importsOf(file: string): Import[] {
  const found = withoutComments(file).matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"\n]+)['"]/g);
  return Array.from(found, ([, target = '']) => {
    const isOwn = target.startsWith('.');
    const to = isOwn ? relative(root, join(root, dirname(file), target)) : target;
    return { from: file, to, isOwn };
  });
}

/** What is loaded with a file. Types are not. */
function staticTargetsOf(file: string): string[] {
  const found = withoutComments(file).matchAll(
    /^(?:import|export) (?!type )(?:[^;'"]*? from )?['"]([^'"\n]+)['"]/gm,
  );
  return Array.from(found, ([, target = '']) => target);
}

function staticPackagesOf(file: string): string[] {
  return staticTargetsOf(file).filter((target) => !target.startsWith('.'));
}

/** The own files that are loaded with these, those themselves among them. */
function loadedWith(...entries: readonly string[]): string[] {
  const loaded = new Set(entries);
  // The set grows while it is read.
  for (const file of loaded) {
    for (const target of staticTargetsOf(file)) {
      if (target.startsWith('.')) loaded.add(relative(root, join(root, dirname(file), target)));
    }
  }
  return [...loaded];
}

/** What a worker thread begins with, and what `import 'tandem-rpc'` loads in it. */
const inWorkers = [
  'workers/replica.ts',
  'src/core/workers/replica/main.ts',
  'src/declare.ts',
  'src/in-worker.ts',
];

const files = ['src', 'workers'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .sort(),
);
const imports = files.flatMap(importsOf);
const own = imports.filter(({ isOwn }) => isOwn);

/** `src/core/schema/model.ts`: `core/procedures`. */
function folderOf(file: string): string {
  const [top = '', second = '', third = ''] = file.split('/');
  if (top === 'workers') return top;
  return ['core', 'server', 'extras'].includes(second) ? `${second}/${third}` : second;
}

/** The folder itself, or the one above it. */
function isIn(folder: string, folders: readonly string[]): boolean {
  return folders.includes(folder) || folders.includes(folder.split('/')[0] ?? '');
}

const shown = ({ from, to }: Import): string => `${from} imports ${to}`;

describe('imports', () => {
  test('were found: the rules below are about them', () => {
    assert.ok(
      files.length > 200 && own.length > 600,
      `${files.length} files, ${own.length} imports`,
    );
    const known = new Set(files);
    assert.deepEqual(own.filter(({ to }) => !known.has(to)).map(shown), []);
    const folders = new Set(files.map(folderOf));
    assert.deepEqual([...folders].sort(), Object.keys(mayImport).sort());
  });

  test('go from a folder to those that it may know', () => {
    const wrong = own.filter(({ from, to }) => {
      const [folder, other] = [folderOf(from), folderOf(to)];
      return folder !== other && !isIn(other, mayImport[folder] ?? []);
    });
    assert.deepEqual(wrong.map(shown), []);
  });

  test('never go from the core to servers, extras, the client or the CLI, on demand neither', () => {
    const wrong = own.filter(
      ({ from, to }) => from.startsWith('src/core/') && !to.startsWith('src/core/'),
    );
    assert.deepEqual(wrong.map(shown), []);
  });

  test('of extras are loaded when used: nothing that starts a server imports one statically', () => {
    const loaded = loadedWith(
      'src/index.ts',
      'src/cli/main.ts',
      'src/cli/serve.ts',
      'workers/replica.ts',
    );
    assert.ok(loaded.length > 100, `${loaded.length} files`);
    assert.deepEqual(
      loaded.filter((file) => file.startsWith('src/extras/')),
      [],
    );
  });

  test('of a worker thread bring no server, service, option, log or command, and no package but TypeBox', () => {
    const loaded = loadedWith(...inWorkers);
    assert.ok(loaded.length > 50, `${loaded.length} files`);
    const folders = new Set(loaded.map(folderOf));
    for (const entry of inWorkers) folders.delete(folderOf(entry));
    assert.deepEqual([...folders].sort(), [
      'caller',
      'client',
      'core/base',
      'core/dispatch',
      'core/modules',
      'core/procedures',
      'core/protocol',
      'core/schema',
    ]);
    const packages = loaded.flatMap(staticPackagesOf).filter((name) => !name.startsWith('node:'));
    assert.deepEqual([...new Set(packages)].sort(), [
      '@sinclair/typebox',
      '@sinclair/typebox/system',
    ]);
  });

  test('of a supervisor bring options, the log and processes, and nothing that serves', () => {
    const loaded = loadedWith('src/cli/main.ts', 'src/cli/program.ts', 'src/cli/serve.ts');
    assert.deepEqual([...new Set(loaded.map(folderOf))].sort(), [
      'cli',
      'core/base',
      'core/config',
      'core/observe',
      'server/app',
      'server/http',
      'server/process',
    ]);
    // What to do about a port that is taken, and about files that can't be opened.
    assert.deepEqual(
      loaded.filter((file) => /^src\/server\/(?:app|http)\//.test(file)),
      ['src/server/app/open-files.ts', 'src/server/http/edge/http-server.ts'],
    );
    const packages = loaded.flatMap(staticPackagesOf).filter((name) => !name.startsWith('node:'));
    assert.deepEqual([...new Set(packages)], ['commander']);
  });

  test('never go between two ways of doing one thing', () => {
    const wrong = own.filter(({ from, to }) =>
      strangers.some((folders) => {
        const one = folders.find((folder) => from.startsWith(`src/${folder}/`));
        const other = folders.find((folder) => to.startsWith(`src/${folder}/`));
        return one !== undefined && other !== undefined && one !== other;
      }),
    );
    assert.deepEqual(wrong.map(shown), []);
  });

  test('never go from what both servers share to one of them', () => {
    const wrong = own.filter(
      ({ from, to }) =>
        /^src\/server\/http\/(edge|event-stream|socket)\//.test(from) &&
        /^src\/server\/http\/(uws|node)\//.test(to),
    );
    assert.deepEqual(wrong.map(shown), []);
  });

  test('make no circle of files, those on demand included', () => {
    const targets = new Map(files.map((file) => [file, new Set<string>()]));
    for (const { from, to } of own) targets.get(from)?.add(to);
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
    assert.deepEqual(importersOf('piscina'), ['src/core/workers/threads.ts']);
    assert.deepEqual(
      [...new Set(importersOf('uWebSockets.js').map(dirname))],
      ['src/server/http/uws'],
    );
    assert.deepEqual(importersOf('@nats-io/transport-node'), [
      'src/extras/nats/connection/connect.ts',
    ]);
    // The command `tandem call` is a client of its own.
    assert.deepEqual([...new Set(importersOf('ws').map(dirname))], ['src/server/http/node']);
    assert.deepEqual(
      importersOf('commander').filter((file) => folderOf(file) !== 'cli'),
      [],
    );
  });

  test('are not the only way to know HTTP: below the transports nobody speaks of a status, a path or an ETag', () => {
    const words = /'POST'|etag|ETag|'(http|url)\.|statusCode|content-type|AuthRequest/;
    const below = ['protocol', 'procedures', 'modules', 'dispatch', 'workers', 'service'];
    const speaking = files.filter(
      (file) =>
        below.some((name) => folderOf(file) === `core/${name}`) &&
        words.test(withoutComments(file)),
    );
    // A fetch is HTTP by its type, though nothing listens.
    assert.deepEqual(speaking, ['src/core/service/local.ts']);
  });
});

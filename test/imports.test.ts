import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { root } from './files.ts';

/** Which room of src may import which. "The house" of docs/architecture.md says what each room is for. */

/**
 * Every folder, from the ground up: a room may import rooms above its own line only. A room below another one
 * (`router/schema`) and its parent are one room to the others.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  client: [],
  codegen: [],
  jsonrpc: [],
  config: ['base'],
  observe: ['base'],
  router: ['base', 'jsonrpc'],
  modules: ['base', 'router'],
  dispatch: ['base', 'jsonrpc', 'router'],
  pool: ['base', 'jsonrpc', 'router', 'modules', 'dispatch'],
  mcp: ['base', 'jsonrpc', 'router', 'dispatch'],
  http: ['base', 'jsonrpc', 'router', 'dispatch', 'mcp'],
  console: ['base', 'observe', 'jsonrpc', 'dispatch', 'http'],
  nats: ['base', 'jsonrpc', 'router', 'dispatch'],
  service: [
    'base',
    'client',
    'jsonrpc',
    'config',
    'observe',
    'router',
    'modules',
    'dispatch',
    'pool',
    'nats',
  ],
  app: [
    'base',
    'config',
    'observe',
    'router',
    'modules',
    'dispatch',
    'mcp',
    'pool',
    'http',
    'nats',
    'console',
    'service',
  ],
  // What people import: names from everywhere.
  'index.ts': [
    'base',
    'jsonrpc',
    'config',
    'observe',
    'router',
    'modules',
    'dispatch',
    'http',
    'service',
    'app',
  ],
  supervisor: ['base', 'config', 'observe', 'http'],
  cli: [
    'base',
    'client',
    'codegen',
    'config',
    'observe',
    'router',
    'modules',
    'mcp',
    'http',
    'nats',
    'service',
    'app',
    'supervisor',
  ],
};

/** Rooms within a room that do not know each other. */
const strangers: readonly (readonly string[])[] = [
  ['http/uws', 'http/node'],
  ['jsonrpc/quick', 'jsonrpc/exact'],
  ['pool/workers', 'pool/replica'],
  ['nats/gateway', 'nats/member'],
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

const files = ['src', 'workers'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .sort(),
);
const imports = files.flatMap(importsOf);
const own = imports.filter(({ isOwn }) => isOwn);

/** `src/router/schema/model.ts`: `router`. */
function roomOf(file: string): string {
  const [top = '', second = ''] = file.split('/');
  return top === 'workers' ? top : second;
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
    const rooms = new Set(files.map(roomOf));
    assert.deepEqual([...rooms].sort(), [...Object.keys(mayImport), 'workers'].sort());
  });

  test('go from a room to those that it may know', () => {
    const wrong = own.filter(({ from, to }) => {
      if (roomOf(from) === roomOf(to)) return false;
      if (roomOf(from) === 'workers') return roomOf(to) !== 'pool';
      return !mayImport[roomOf(from)]?.includes(roomOf(to));
    });
    assert.deepEqual(wrong.map(shown), []);
  });

  test('go one way: the rules themselves have no circle', () => {
    const order = Object.keys(mayImport);
    for (const [room, others] of Object.entries(mayImport)) {
      const above = others.filter((other) => order.indexOf(other) >= order.indexOf(room));
      assert.deepEqual(above, [], room);
    }
  });

  test('never go between two ways of doing one thing', () => {
    const wrong = own.filter(({ from, to }) =>
      strangers.some((rooms) => {
        const one = rooms.find((room) => from.startsWith(`src/${room}/`));
        const other = rooms.find((room) => to.startsWith(`src/${room}/`));
        return one !== undefined && other !== undefined && one !== other;
      }),
    );
    assert.deepEqual(wrong.map(shown), []);
  });

  test('never go from what both servers share to one of them', () => {
    const wrong = own.filter(
      ({ from, to }) =>
        /^src\/http\/(edge|event-stream|socket)\//.test(from) &&
        /^src\/http\/(uws|node)\//.test(to),
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
    assert.deepEqual(importersOf('piscina'), ['src/pool/workers/threads.ts']);
    assert.deepEqual([...new Set(importersOf('uWebSockets.js').map(dirname))], ['src/http/uws']);
    // One file of the running code loads it; the other one has its types.
    assert.deepEqual(importersOf('@nats-io/transport-node'), [
      'src/nats/connection/client-connection.ts',
      'src/nats/connection/connect.ts',
    ]);
    // The command `tandem call` is a client of its own.
    assert.deepEqual(
      [...new Set(importersOf('ws').map(dirname))],
      ['src/cli/tools', 'src/http/node'],
    );
    assert.deepEqual(
      importersOf('commander').filter((file) => roomOf(file) !== 'cli'),
      [],
    );
  });

  test('are not the only way to know HTTP: below the transports nobody speaks of a status, a path or an ETag', () => {
    const words = /'POST'|etag|ETag|'(http|url)\.|statusCode|content-type|AuthRequest/;
    const below = ['jsonrpc', 'router', 'modules', 'dispatch', 'pool', 'service'];
    const speaking = files.filter(
      (file) => below.includes(roomOf(file)) && words.test(withoutComments(file)),
    );
    // A fetch is HTTP by its type, though nothing listens.
    assert.deepEqual(speaking, ['src/service/local-fetch.ts']);
  });

  test('are of rooms that docs/architecture.md describes', () => {
    const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
    const folders = new Set(files.map((file) => dirname(file)).filter((name) => name !== 'src'));
    assert.deepEqual(
      [...folders].filter((folder) => !page.includes(`| \`${folder}\``)),
      [],
    );
  });
});

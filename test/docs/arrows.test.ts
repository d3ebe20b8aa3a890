import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, it } from 'node:test';
import { pathOf, read } from './pages.ts';

/** "The house" of docs/architecture.md: what each part of src may import beside itself. */
const leaves = ['clock', 'config', 'observe', 'suggest', 'startup-error'];
const core = ['jsonrpc', 'router', ...leaves];
const allowed: Readonly<Record<string, readonly string[]>> = {
  clock: [],
  suggest: [],
  'startup-error': [],
  config: leaves,
  observe: leaves,
  jsonrpc: leaves,
  router: core,
  dispatch: core,
  pool: [...core, 'dispatch'],
  http: [...core, 'dispatch'],
  // Everything else in src composes these; app and cli stand above it.
  composition: [...core, 'dispatch', 'pool', 'composition'],
  app: [...core, 'dispatch', 'pool', 'http', 'composition'],
  index: [...core, 'dispatch', 'pool', 'http', 'composition', 'app'],
  supervisor: [...leaves, 'http'],
  cli: [...core, 'dispatch', 'pool', 'http', 'composition', 'app', 'supervisor'],
};

const apps = ['app', 'listening', 'rpc-app'];

function partOf(file: string): string {
  const [first = ''] = file.split('/');
  const name = first.replace(/\.ts$/, '');
  if (apps.includes(name)) return 'app';
  return name in allowed ? name : 'composition';
}

const src = pathOf('src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'));

const everyImport = /(?:from|import\()\s*'(\.[^']+)'/g;
/** Without those on demand: `Router.reloadModule` loads the loader, which needs the router, when it is called. */
const staticImport = /from\s*'(\.[^']+)'/g;

function importsOf(file: string, form: RegExp): string[] {
  const found = read(`src/${file}`).matchAll(form);
  return [...found].map(([, path = '']) =>
    relative(src, join(src, dirname(file), path)).replaceAll('\\', '/'),
  );
}

describe('the imports of src', () => {
  it('go one way', () => {
    const wrong = files.flatMap((file) => {
      const part = partOf(file);
      return importsOf(file, everyImport)
        .filter((target) => partOf(target) !== part)
        .filter((target) => !allowed[part]?.includes(partOf(target)))
        .map((target) => `${file} -> ${target}`);
    });
    assert.ok(files.length > 50, 'the files were found');
    assert.deepEqual(wrong, []);
  });

  it('form no cycle', () => {
    const done = new Set<string>();
    const visit = (file: string, trail: readonly string[]): void => {
      assert.ok(!trail.includes(file), [...trail, file].join(' -> '));
      if (done.has(file)) return;
      for (const target of importsOf(file, staticImport)) visit(target, [...trail, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
  });
});

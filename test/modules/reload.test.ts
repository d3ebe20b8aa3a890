import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { loadModules, reloadInto } from '../../src/core/modules/modules.ts';
import { defaultRouter, Router, StartupError } from '../../src/index.ts';
import { call, ModuleFolder, packageUrl, routerModule } from './module-folder.ts';

async function load(path: string): Promise<Router> {
  return (await loadModules([path], { generation: 0 })).router;
}

test('a changed module is replaced, an unchanged one is not', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', routerModule('version', '1'));
  const router = await load(path);
  assert.equal(await router.reloadModule(path), false);
  folder.write('a.mjs', routerModule('version', '1'));
  assert.equal(await router.reloadModule(path), false, 'written anew, the same content');
  folder.write('a.mjs', routerModule('version', '2'));
  assert.equal(call(router, 'version'), 1);
  assert.equal(await router.reloadModule(path), true);
  assert.equal(call(router, 'version'), 2);
  assert.equal(await router.reloadModule(path), false);
  folder.write('a.mjs', routerModule('version', '1'));
  assert.equal(await router.reloadModule(folder.url('a.mjs')), true, 'back to an earlier content');
  assert.equal(call(router, 'version'), 1);
});

const helpers: readonly [what: string, edited: string, files: Record<string, string>][] = [
  [
    'an ES module two levels deep',
    'two.mjs',
    {
      'a.mjs': routerModule('value', 'one', "import { one } from './one.mjs';"),
      'one.mjs': "export { two as one } from './two.mjs';",
      'two.mjs': "export const two = 'v1';",
    },
  ],
  [
    'CommonJS two levels deep',
    'two.cjs',
    {
      'a.mjs': routerModule('value', 'one', "import one from './one.cjs';"),
      'one.cjs': "module.exports = require('./two.cjs');",
      'two.cjs': "module.exports = 'v1';",
    },
  ],
  [
    'CommonJS through createRequire',
    'two.cjs',
    {
      'a.mjs': routerModule(
        'value',
        'one',
        "import { createRequire } from 'node:module'; const one = createRequire(import.meta.url)('./one.cjs');",
      ),
      'one.cjs': "module.exports = require('./two.cjs');",
      'two.cjs': "module.exports = 'v1';",
    },
  ],
  [
    'imported JSON',
    'data.json',
    {
      'a.mjs': routerModule('value', 'data', "import { data } from './one.mjs';"),
      'one.mjs': "import data from './data.json' with { type: 'json' }; export { data };",
      'data.json': '"v1"',
    },
  ],
  [
    'required JSON',
    'data.json',
    {
      'a.mjs': routerModule('value', 'one', "import one from './one.cjs';"),
      'one.cjs': "module.exports = require('./data.json');",
      'data.json': '"v1"',
    },
  ],
  [
    'a module imported by a handler',
    'late.mjs',
    {
      'a.mjs': routerModule('value', "import('./late.mjs').then(({ late }) => late)"),
      'late.mjs': "export const late = 'v1';",
    },
  ],
];

for (const [what, edited, files] of helpers) {
  for (const save of ['write', 'saveByRename'] as const) {
    test(`${what} (${save}) is renewed with the module that imports it`, async (t) => {
      const folder = new ModuleFolder(t);
      for (const [name, text] of Object.entries(files)) folder.write(name, text);
      const path = `${folder.path}/a.mjs`;
      const router = await load(path);
      assert.equal(await call(router, 'value'), 'v1');
      assert.equal(await router.reloadModule(path), false);
      for (const version of ['v2', 'v3']) {
        folder[save](edited, (files[edited] ?? '').replace('v1', version));
        assert.equal(await router.reloadModule(path), true);
        assert.equal(await call(router, 'value'), version);
        assert.equal(await router.reloadModule(path), false);
      }
    });
  }
}

test('an ES module that CommonJS requires is renewed or refused, never taken for unchanged', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', routerModule('value', 'one', "import one from './one.cjs';"));
  folder.write(
    'one.cjs',
    "let one = 1; try { one = require('./two.mjs').two; } catch {} module.exports = one;",
  );
  folder.write('two.mjs', "export { three as two } from './three.mjs';");
  folder.write('three.mjs', 'export const three = 1;');
  const router = await load(path);
  folder.write('three.mjs', 'export const three = 2;');
  const outcome = await router.reloadModule(path).catch((error: Error) => error.message);
  if (outcome === true) assert.equal(call(router, 'value'), 2);
  else assert.match(String(outcome), /requires the ES module .*two\.mjs.*import it instead/);
});

test('a procedure taken before the reload goes on with its own generation', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write(
    'a.mjs',
    routerModule('value', 'one', "import { one } from './one.mjs';"),
  );
  folder.write('one.mjs', 'export const one = 1;');
  const router = await load(path);
  const old = new Router();
  old.merge(router);
  folder.write('one.mjs', 'export const one = 2;');
  assert.equal(await router.reloadModule(path), true);
  assert.deepEqual([call(old, 'value'), call(router, 'value')], [1, 2]);
  // Its own record: it is still to be reloaded.
  assert.equal(await old.reloadModule(path), true);
  assert.equal(call(old, 'value'), 2);
});

const breaks: readonly [what: string, file: string, text: string, expected: RegExp][] = [
  ['a module that throws', 'a.mjs', '\n\nthrow new Error("boom");', /boom \(.*a\.mjs:3\)$/],
  ['no Router', 'a.mjs', 'export const nothing = 1;', /no Router in/],
  ['a helper with a syntax error', 'one.cjs', '\n\n\nconst = 1;', /one\.cjs:4\)$/],
  ['a helper that misses a file', 'one.cjs', "require('./gone.cjs');", /gone\.cjs.*one\.cjs:1\)$/],
];

for (const [what, file, text, expected] of breaks) {
  test(`${what} leaves the old procedures, names the place, and can be mended`, async (t) => {
    const folder = new ModuleFolder(t);
    const path = `${folder.path}/a.mjs`;
    const good = (version: number): void => {
      folder.write(
        'a.mjs',
        routerModule('value', `one + ${version}`, "import one from './one.cjs';"),
      );
      folder.write('one.cjs', 'module.exports = 10;');
    };
    good(1);
    const router = await load(path);
    folder.write(file, text);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await assert.rejects(router.reloadModule(path), (error: Error) => {
        assert.ok(error instanceof StartupError, String(error));
        assert.match(error.message, expected);
        return true;
      });
      assert.equal(call(router, 'value'), 11);
    }
    good(2);
    assert.equal(await router.reloadModule(path), true);
    assert.equal(call(router, 'value'), 12);
  });
}

test('a module that has gone leaves the old procedures', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', routerModule('value', '1'));
  const router = await load(path);
  rmSync(path);
  await assert.rejects(router.reloadModule(path), /not found/);
  assert.equal(call(router, 'value'), 1);
});

test('only what the router has from that module is replaced', async (t) => {
  const folder = new ModuleFolder(t);
  const text = (names: readonly string[], value: number): string =>
    `import { Router } from 'tandem-rpc'; export const router = new Router();
     ${names.map((name) => `router.rpc(function ${name}() { return ${value}; });`).join('\n')}`;
  const a = folder.write('a.mjs', text(['one', 'two'], 1));
  const b = folder.write('b.mjs', text(['three'], 1));
  const { router } = await loadModules([a, b], { generation: 0 });
  router.rpc(function mine() {
    return 'mine';
  });
  folder.write('a.mjs', text(['two', 'four'], 2));
  assert.equal(await router.reloadModule(a), true);
  assert.deepEqual(router.list(), ['two', 'three', 'mine', 'four']);
  assert.deepEqual(
    ['two', 'three', 'four', 'mine'].map((name) => call(router, name)),
    [2, 1, 2, 'mine'],
  );
});

test('procedures merged under a prefix keep it', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', routerModule('value', '1'));
  const router = new Router();
  router.merge(await load(path), 'v1.');
  folder.write('a.mjs', `${routerModule('value', '2')} router.rpc(function more() { return 3; });`);
  assert.equal(await router.reloadModule(path), true);
  assert.deepEqual(router.list(), ['v1.value', 'v1.more']);
  assert.equal(call(router, 'v1.value'), 2);
  assert.equal(router.get('v1.more')?.name, 'v1.more');
});

test('a name that something else has taken changes nothing', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', routerModule('value', '1'));
  const router = await load(path);
  router.rpc(function mine() {
    return 'mine';
  });
  folder.write('a.mjs', `${routerModule('value', '2')} router.rpc(function mine() {});`);
  await assert.rejects(router.reloadModule(path), /another procedure "mine"/);
  assert.deepEqual(router.list(), ['value', 'mine']);
  assert.deepEqual([call(router, 'value'), call(router, 'mine')], [1, 'mine']);
});

test('a router without a record of the module is replaced whole', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', routerModule('value', '1'));
  const router = new Router();
  router.rpc(function other() {});
  // Written before the router was made: not modified since.
  folder.date('a.mjs', Date.now(), -60);
  assert.equal(await router.reloadModule(path), false);
  assert.deepEqual(router.list(), ['other']);
  const later = new Router();
  later.rpc(function other() {});
  folder.write('a.mjs', routerModule('value', '2'));
  folder.date('a.mjs', Date.now(), 60);
  assert.equal(await later.reloadModule(path), true);
  assert.deepEqual(later.list(), ['value']);
});

test('a module that the program imported itself is judged by the times of its files', async (t) => {
  const folder = new ModuleFolder(t);
  const text = (version: number): string =>
    routerModule('value', `one + ${version}`, "import { one } from './one.mjs';").replace(
      'tandem-rpc',
      packageUrl,
    );
  const path = folder.write('a.mjs', text(1));
  folder.write('one.mjs', 'export const one = 10;');
  const { default: router } = (await import(folder.url('a.mjs'))) as { default: Router };
  folder.date('a.mjs', Date.now(), -60);
  folder.date('one.mjs', Date.now(), -60);
  assert.equal(await router.reloadModule(path), false);
  assert.equal(call(router, 'value'), 11);
  // From here on there is a record of the contents, whatever the times.
  folder.write('one.mjs', 'export const one = 20;');
  folder.date('one.mjs', Date.now(), -60);
  assert.equal(await router.reloadModule(path), true);
  assert.equal(call(router, 'value'), 21);
});

test('a helper written after such an import is a change', async (t) => {
  const folder = new ModuleFolder(t);
  const head = "import { one } from './one.mjs';";
  const text = routerModule('value', 'one', head).replace('tandem-rpc', packageUrl);
  const path = folder.write('a.mjs', text);
  folder.write('one.mjs', 'export const one = 1;');
  const { default: router } = (await import(folder.url('a.mjs'))) as { default: Router };
  folder.date('a.mjs', Date.now(), -60);
  folder.write('one.mjs', 'export const one = 2;');
  folder.date('one.mjs', Date.now(), 1);
  assert.equal(await router.reloadModule(path), true);
  assert.equal(call(router, 'value'), 2);
});

test('modules that fill defaultRouter reload without colliding with themselves', async (t) => {
  const folder = new ModuleFolder(t);
  const text = (name: string, value: number): string =>
    `import { rpc, defaultRouter } from 'tandem-rpc';
     rpc(function ${name}() { return [${value}, defaultRouter.list()]; });`;
  const a = folder.write('a.mjs', text('defaultA', 1));
  const b = folder.write('b.mjs', text('defaultB', 1));
  await loadModules([a, b], { generation: 0 });
  assert.equal(await defaultRouter.reloadModule(a), false);
  folder.write('a.mjs', text('defaultA', 2));
  assert.equal(await defaultRouter.reloadModule(a), true);
  assert.deepEqual(call(defaultRouter, 'defaultA'), [2, ['defaultA']], 'one of its own to fill');
  assert.deepEqual(call(defaultRouter, 'defaultB'), [1, defaultRouter.list()]);
  folder.write('a.mjs', '\nthrow new Error("boom");');
  await assert.rejects(defaultRouter.reloadModule(a), /boom/);
  assert.deepEqual(call(defaultRouter, 'defaultA'), [2, ['defaultA']]);
});

test('reloads of one router run one after the other', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', routerModule('value', '1'));
  const router = await load(path);
  folder.write('a.mjs', routerModule('value', '2'));
  const all = [1, 2, 3].map(() => reloadInto(router, path));
  assert.deepEqual(await Promise.all(all), [true, false, false]);
  folder.write('a.mjs', 'throw 1;');
  const failed = reloadInto(router, path);
  await assert.rejects(failed);
  folder.write('a.mjs', routerModule('value', '3'));
  assert.equal(await reloadInto(router, path), true, 'a failed one does not stop the next');
});

test('the new copy is set up before it takes over', async (t) => {
  const folder = new ModuleFolder(t);
  const text = (setup: string): string =>
    `import { Router } from 'tandem-rpc'; export const router = new Router();
     router.rpc(function state(_params, context) { return context.state; });
     export async function setup() { ${setup} }`;
  const path = folder.write('a.mjs', text('return 1;'));
  const loaded = await loadModules([path], { generation: 0 });
  await loaded.setup();
  const { router } = loaded;
  folder.write('a.mjs', text('throw new Error("no database");'));
  await assert.rejects(router.reloadModule(path), /setup\(\).*no database/);
  assert.equal(call(router, 'state'), 1);
  folder.write('a.mjs', text('return 2;'));
  assert.equal(await router.reloadModule(path), true);
  assert.equal(call(router, 'state'), 2);
});

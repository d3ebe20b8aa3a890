import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { loadModules } from '../../src/core/modules/modules.ts';
import { workerExecArgv } from '../../src/core/modules/typescript.ts';
import { Router, StartupError, Type } from '../../src/index.ts';
import { isCompiled, moduleUrl } from '../files.ts';
import { call, ModuleFolder, routerModule } from './module-folder.ts';

const first = { generation: 0 };
// Before a TypeScript module is loaded here, which JavaScript ones may import then.
const javaScriptArgv = workerExecArgv(['a.mjs']);

/** Enums, decorators and parameter properties: what Node's own type stripping can't do. */
const rich = `import { Router, Type } from 'tandem-rpc';
import { two } from './lib/one.ts';
enum Colour { Red = 5 }
export const router = new Router();
class Service {
  constructor(private readonly factor: number) {}
  @router.rpc
  times(): number { return this.factor * two * Colour.Red; }
}
new Service(3);
router.rpc(function classes(): unknown[] { return [Router, Type]; });
`;

function writeRich(folder: ModuleFolder, name: string): string {
  folder.write('lib/one.ts', "export { two } from './two.ts';");
  folder.write('lib/two.ts', 'export const two: number = 2;');
  return folder.write(name, rich);
}

const packages: readonly [what: string, json: string | undefined][] = [
  ['without a package.json', undefined],
  ['in a package without a type', '{ "name": "app" }'],
  ['in an ES module package', '{ "type": "module" }'],
  ['in a CommonJS package', '{ "type": "commonjs" }'],
];

test('JavaScript that was loaded before tsx goes on reloading, and may import TypeScript', async (t) => {
  const folder = new ModuleFolder(t);
  const head = "import { one } from './one.mjs';";
  const script = folder.write('a.mjs', routerModule('script', 'one', head));
  folder.write('one.mjs', 'export const one = 1;');
  const { router } = await loadModules([script], first);
  const typed = folder.write('b.mts', routerModule('typed', '1 as number'));
  await loadModules([typed], first);
  folder.write('one.mjs', "export { two as one } from './two.mts';");
  folder.write('two.mts', 'export const two: number = 2;');
  assert.equal(await router.reloadModule(script), true);
  assert.equal(call(router, 'script'), 2);
  folder.write('two.mts', 'export const two: number = 3;');
  assert.equal(await router.reloadModule(script), true);
  assert.equal(call(router, 'script'), 3);
  assert.equal(await router.reloadModule(script), false);
});

for (const [what, json] of packages) {
  test(`TypeScript ${what} shares this copy of tandem-rpc, and reloads`, async (t) => {
    const folder = new ModuleFolder(t);
    const isCommonJs = json?.includes('commonjs') === true;
    const path = writeRich(folder, isCommonJs ? 'a.mts' : 'a.ts');
    if (json !== undefined) folder.write('package.json', json);
    const { router, files } = await loadModules([path], first);
    assert.deepEqual(call(router, 'classes'), [Router, Type]);
    assert.equal(call(router, 'times'), 30);
    assert.equal(files.size, 3);
    assert.equal(await router.reloadModule(path), false);
    folder.saveByRename('lib/two.ts', 'export const two: number = 20;');
    assert.equal(await router.reloadModule(path), true);
    assert.equal(call(router, 'times'), 300);
    assert.deepEqual(call(router, 'classes'), [Router, Type]);
    folder.write('a.ts', rich);
    folder.write('a.mts', rich.replace('Red = 5', 'Red = 6'));
    assert.equal(await router.reloadModule(path), isCommonJs);
  });
}

test('every TypeScript extension is loaded', async (t) => {
  const folder = new ModuleFolder(t);
  const typed = (name: string): string => routerModule(name, '1 as number');
  for (const extension of ['ts', 'mts', 'tsx']) {
    const path = folder.write(`a.${extension}`, typed(extension));
    const { router } = await loadModules([path], first);
    assert.equal(call(router, extension), 1);
  }
});

test('a CommonJS module in TypeScript has the Router of this copy, and reloads', async (t) => {
  const folder = new ModuleFolder(t);
  folder.installPackage();
  const text = (version: number): string =>
    `import { Router } from 'tandem-rpc'; const router = new Router();
     router.rpc(function value(): unknown[] { return [${version}, Router]; }); export default router;`;
  const path = folder.write('a.cts', text(1));
  const { router } = await loadModules([path], first);
  assert.deepEqual(call(router, 'value'), [1, Router]);
  folder.write('a.cts', text(2));
  assert.equal(await router.reloadModule(path), true);
  assert.deepEqual(call(router, 'value'), [2, Router]);
});

test('an ES module renews the CommonJS TypeScript that it imports', async (t) => {
  const folder = new ModuleFolder(t);
  const head = "import { one } from './one.cts';";
  const path = folder.write('a.mts', routerModule('value', 'one', head));
  folder.write('one.cts', "import { two } from './two.cts'; export const one: number = two;");
  folder.write('two.cts', 'export const two: number = 1;');
  const { router } = await loadModules([path], first);
  assert.equal(call(router, 'value'), 1);
  folder.write('two.cts', 'export const two: number = 2;');
  assert.equal(await router.reloadModule(path), true);
  assert.equal(call(router, 'value'), 2);
});

const broken: readonly [what: string, files: Record<string, string>, expected: RegExp][] = [
  [
    'a syntax error in a helper',
    { 'a.ts': "import './b.mts';", 'b.mts': 'type A = 1;\nconst = 2;' },
    /syntax error.*b\.mts:2\)$/,
  ],
  [
    'an error thrown at load',
    {
      'a.ts': "import './b.ts';",
      'b.ts': 'interface A {\n  b: 1;\n}\n\nthrow new TypeError("boom");',
    },
    /it threw TypeError: boom \(.*b\.ts:5\)$/,
  ],
];

for (const [what, files, expected] of broken) {
  test(`${what} in TypeScript names file and line, and leaves the old procedures`, async (t) => {
    const folder = new ModuleFolder(t);
    const good = routerModule('value', '1 as number');
    const path = folder.write('a.ts', good);
    const { router } = await loadModules([path], first);
    for (const [name, text] of Object.entries(files)) folder.write(name, text);
    await assert.rejects(router.reloadModule(path), (error: Error) => {
      assert.ok(error instanceof StartupError, String(error));
      assert.match(error.message, expected);
      return true;
    });
    assert.equal(call(router, 'value'), 1);
    folder.write('a.ts', good.replace('1', '2'));
    assert.equal(await router.reloadModule(path), true);
    assert.equal(call(router, 'value'), 2);
  });
}

/** What a worker thread gets when it loads a module, with the arguments it would be given. */
async function loadInWorker(folder: ModuleFolder, path: string): Promise<unknown> {
  const loader = moduleUrl('src/core/modules/modules.ts');
  const entry = folder.write(
    'worker.mjs',
    `import { parentPort } from 'node:worker_threads';
     import { loadModules } from ${JSON.stringify(loader)};
     const loaded = await loadModules([${JSON.stringify(path)}], { generation: 0 });
     const { router } = loaded;
     await loaded.setup();
     const procedure = router.get('times');
     parentPort.postMessage(procedure.handler({}, {}));`,
  );
  const execArgv = workerExecArgv([path]);
  const worker = new Worker(pathToFileURL(entry), execArgv === undefined ? {} : { execArgv });
  const [message] = (await once(worker, 'message')) as [unknown];
  await worker.terminate();
  return message;
}

test('worker threads load TypeScript with workerExecArgv', async (t) => {
  const folder = new ModuleFolder(t);
  assert.equal(await loadInWorker(folder, writeRich(folder, 'a.ts')), 30);
});

test('worker threads load JavaScript, from a folder that tandem-rpc is not installed in', async (t) => {
  const folder = new ModuleFolder(t);
  assert.equal(await loadInWorker(folder, folder.write('a.mjs', routerModule('times', '7'))), 7);
});

test('worker threads are given an --import for TypeScript alone', () => {
  if (isCompiled) assert.equal(javaScriptArgv, undefined);
  else assert.ok(javaScriptArgv?.includes('--import'), 'this package itself is TypeScript here');
  assert.ok(workerExecArgv(['file:///elsewhere/a.cts'])?.includes('--import'));
});

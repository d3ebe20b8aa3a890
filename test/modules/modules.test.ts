import assert from 'node:assert/strict';
import { relative } from 'node:path';
import { test } from 'node:test';
import { loadModules } from '../../src/core/modules/modules.ts';
import { Router, StartupError } from '../../src/index.ts';
import { call, ModuleFolder, packageUrl, routerModule } from './module-folder.ts';

const first = { generation: 0 };

/** The one line that says why the modules can't be loaded. */
async function refusal(paths: readonly string[], generation = 0): Promise<string> {
  try {
    await loadModules(paths, { generation });
  } catch (error) {
    assert.ok(error instanceof StartupError, String(error));
    assert.ok(!error.message.includes('\n'), `more than one line: ${error.message}`);
    return error.message;
  }
  return assert.fail('it was loaded');
}

test('the Router is the default export', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write(
    'a.mjs',
    `${routerModule('chosen', '1')}; const other = new Router(); export { other as router };`,
  );
  const { router } = await loadModules([path], first);
  assert.deepEqual(router.list(), ['chosen']);
  assert.equal(call(router, 'chosen'), 1);
});

test('else the export named router', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write(
    'a.mjs',
    `import { Router } from 'tandem-rpc';
     export const router = new Router(); router.rpc(function named() { return 2; });
     export default 'not a router';`,
  );
  const { router } = await loadModules([path], first);
  assert.equal(call(router, 'named'), 2);
});

test('else defaultRouter, of several modules to each what it added', async (t) => {
  const folder = new ModuleFolder(t);
  const text = (name: string): string =>
    `import { rpc } from 'tandem-rpc'; rpc(function ${name}() { return '${name}'; });`;
  const a = folder.write('a.mjs', text('fromA'));
  const b = folder.write('b.mjs', `${text('fromB')} export const setup = () => 'state of b';`);
  const loaded = await loadModules([a, b], first);
  await loaded.setup();
  assert.deepEqual(loaded.router.list(), ['fromA', 'fromB']);
  assert.equal(loaded.router.get('fromA')?.moduleState?.value, undefined);
  assert.equal(loaded.router.get('fromB')?.moduleState?.value, 'state of b');
  // Imported again, each is still known for its own.
  assert.deepEqual((await loadModules([b], first)).router.list(), ['fromB']);
  assert.deepEqual((await loadModules([a, b], { generation: 1 })).router.list(), [
    'fromA',
    'fromB',
  ]);
});

test('paths are relative to the working directory, absolute, or file: URLs', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('deep/a b#c.mjs', routerModule('p', '1'));
  const url = folder.url('deep/a b#c.mjs');
  const fromCwd = relative(process.cwd(), path);
  for (const given of [fromCwd, `./${fromCwd}`, path, url, `${url}?gen=7`]) {
    const loaded = await loadModules([given], first);
    assert.deepEqual(loaded.router.list(), ['p'], given);
    assert.deepEqual(
      loaded.modules.map((module) => module.url),
      [url],
      given,
    );
  }
});

test('several modules are merged in order', async (t) => {
  const folder = new ModuleFolder(t);
  const b = folder.write('b.mjs', routerModule('b', '1'));
  const a = folder.write('a.mjs', routerModule('a', '1'));
  const { router, modules } = await loadModules([b, a], first);
  assert.deepEqual(router.list(), ['b', 'a']);
  assert.deepEqual(
    modules.map(({ url }) => url),
    [folder.url('b.mjs'), folder.url('a.mjs')],
  );
});

test('a name in two modules is refused, and both are named', async (t) => {
  const folder = new ModuleFolder(t);
  const a = folder.write('a.mjs', routerModule('same', '1'));
  const b = folder.write('b.mjs', routerModule('same', '2'));
  const message = await refusal([a, b]);
  assert.match(message, /"same"/);
  assert.ok(message.includes(a) && message.includes(b), message);
});

test('a broadcast in two modules is refused, and both are named', async (t) => {
  const folder = new ModuleFolder(t);
  const text = (name: string) =>
    `${routerModule(name, '1')} export const broadcasts = { forget() {} };`;
  const [a, b] = ['a', 'b'].map((name) => folder.write(`${name}.mjs`, text(name)));
  assert.equal(
    await refusal([a as string, b as string]),
    `cannot load ${b}: its broadcast "forget" is in ${a} too; rename one`,
  );
});

test('a module that is named twice is refused', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', routerModule('same', '1'));
  assert.equal(
    await refusal([path, path]),
    `module ${path} is named twice: leave one of the two out`,
  );
});

test('generation 0 is the instance of a plain import, another one is a new copy', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write(
    'a.mjs',
    routerModule('count', 'counter()', "import { counter } from './counter.mjs';"),
  );
  folder.write('counter.mjs', 'let calls = 0; export const counter = () => ++calls;');
  const { router } = await loadModules([path], first);
  assert.equal(call(router, 'count'), 1);
  const plain = (await import(folder.url('a.mjs'))) as { default: Router };
  assert.equal(call(plain.default, 'count'), 2);
  assert.equal(call((await loadModules([path], first)).router, 'count'), 3);
  const copy = await loadModules([path], { generation: 1 });
  assert.equal(call(copy.router, 'count'), 1);
  // A number that was used before gives a new copy all the same.
  assert.equal(call((await loadModules([path], { generation: 1 })).router, 'count'), 1);
});

test('an import of tandem-rpc leads to this copy, where another or none is installed', async (t) => {
  const folder = new ModuleFolder(t);
  const text = `import { Router } from 'tandem-rpc'; export const router = new Router();
     router.rpc(function theirs() { return Router; });`;
  const none = folder.write('none.mjs', text);
  const other = folder.write('inner/other.mjs', text);
  folder.write('inner/node_modules/tandem-rpc/package.json', '{ "exports": "./other.mjs" }');
  folder.write('inner/node_modules/tandem-rpc/other.mjs', 'export class Router {}');
  for (const path of [none, other]) {
    for (const generation of [0, 1]) {
      const { router } = await loadModules([path], { generation });
      assert.equal(call(router, 'theirs'), Router);
    }
  }
});

test('CommonJS modules export a Router too', async (t) => {
  const folder = new ModuleFolder(t);
  folder.installPackage();
  const head = `const { Router } = require('tandem-rpc'); const router = new Router();
    router.rpc(function p(_params, { state }) { return [state, Router]; });`;
  const whole = folder.write('a.cjs', `${head} module.exports = router;`);
  const named = folder.write(
    'b.cjs',
    `${head} module.exports = { router, setup: () => 'set up' };`,
  );
  const asDefault = folder.write(
    'c.cjs',
    `${head} exports.__esModule = true; exports.default = router;`,
  );
  for (const generation of [0, 1]) {
    for (const path of [whole, named, asDefault]) {
      const loaded = await loadModules([path], { generation });
      await loaded.setup();
      const state = path === named ? 'set up' : undefined;
      assert.deepEqual(call(loaded.router, 'p'), [state, Router], path);
    }
  }
});

test('files are the whole graph but dependencies and this package', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write(
    'a.mjs',
    routerModule('p', '1', "import './lib/one.mjs'; import 'dependency'; import './c.cjs';"),
  );
  const files = [
    path,
    folder.write(
      'lib/one.mjs',
      "import './two.mjs'; import j from './j.json' with { type: 'json' };",
    ),
    folder.write('lib/two.mjs', ''),
    folder.write('lib/j.json', '1'),
    folder.write('c.cjs', "require('./d.cjs');"),
    folder.write('d.cjs', "require('./e.json');"),
    folder.write('e.json', '1'),
  ];
  folder.write('node_modules/dependency/index.js', '');
  for (const generation of [0, 1, 2]) {
    const loaded = await loadModules([path], { generation });
    assert.deepEqual([...loaded.files.keys()].sort(), [...files].sort());
    assert.ok([...loaded.files.values()].every((hash) => hash.length > 0));
    assert.equal(loaded.complete, true);
  }
});

test('files are not complete where a module was imported before', async (t) => {
  const folder = new ModuleFolder(t);
  const text = routerModule('p', '1').replace('tandem-rpc', packageUrl);
  const path = folder.write('a.mjs', `import './b.mjs';\n${text}`);
  folder.write('b.mjs', '');
  await import(folder.url('b.mjs'));
  assert.equal((await loadModules([path], first)).complete, false);
  const copy = await loadModules([path], { generation: 1 });
  assert.equal(copy.complete, true);
  assert.equal(copy.files.size, 2);
});

test('setup and teardown run once, in order and in reverse, and share the state', async (t) => {
  const folder = new ModuleFolder(t);
  const text = (name: string, setup: string): string => `
    import { Router } from 'tandem-rpc'; import { log } from './log.mjs';
    export const router = new Router();
    router.rpc(function ${name}(_params, context) { return context.state; });
    export ${setup}
    export function teardown(state) { log.push(['down', '${name}', state]); }`;
  folder.write('log.mjs', 'export const log = [];');
  const a = folder.write(
    'a.mjs',
    text('a', "async function setup() { await null; log.push('up a'); return { n: 1 }; }"),
  );
  const b = folder.write('b.mjs', text('b', "function setup() { log.push('up b'); return 2; }"));
  const loaded = await loadModules([a, b], first);
  const { log } = (await import(folder.url('log.mjs'))) as { log: unknown[] };
  await loaded.teardown();
  assert.deepEqual(log, [], 'nothing was set up');
  assert.equal(call(loaded.router, 'a'), undefined);
  await Promise.all([loaded.setup(), loaded.setup()]);
  assert.deepEqual(log, ['up a', 'up b']);
  assert.deepEqual([call(loaded.router, 'a'), call(loaded.router, 'b')], [{ n: 1 }, 2]);
  await Promise.all([loaded.teardown(), loaded.teardown()]);
  assert.deepEqual(log.slice(2), [
    ['down', 'b', 2],
    ['down', 'a', { n: 1 }],
  ]);
});

test('a setup that fails names the module and the line, and tears down those before it', async (t) => {
  const folder = new ModuleFolder(t);
  const a = folder.write(
    'a.mjs',
    `${routerModule('a', '1')} export function setup() {}
     export function teardown() { globalThis.tornDown = true; }`,
  );
  const b = folder.write(
    'b.mjs',
    `${routerModule('b', '1')}\nexport async function setup() {\n  throw new Error('no database');\n}`,
  );
  const loaded = await loadModules([a, b], first);
  await assert.rejects(loaded.setup(), (error: StartupError) => {
    assert.ok(error instanceof StartupError);
    assert.match(error.message, /^setup\(\) of .*b\.mjs failed.*no database.*b\.mjs:8\)$/);
    assert.equal((error.cause as Error).message, 'no database');
    return true;
  });
  assert.equal((globalThis as { tornDown?: boolean }).tornDown, true);
});

test('what is no module is refused in one line that says what to do', async (t) => {
  const folder = new ModuleFolder(t);
  folder.write('procedures.mjs', routerModule('p', '1'));
  assert.match(
    await refusal([`${folder.path}/procedures.js`]),
    /not found.*did you mean procedures\.mjs\?/,
  );
  assert.match(
    await refusal([`${folder.path}/procedure.mjs`]),
    /not found.*did you mean procedures\.mjs\?/,
  );
  assert.match(await refusal([`${folder.path}/elsewhere.mjs`]), /elsewhere\.mjs not found/);
  assert.match(await refusal([folder.path]), /is a folder/);
  assert.match(await refusal([folder.write('a.py', '')]), /\.py; use one of .*\.ts/);
  assert.match(await refusal([folder.write('noext', '')]), /no extension/);
  assert.match(await refusal(['file://elsewhere/a.mjs']), /file: URL/);
});

test('modules that import each other in a circle are told what to do', async (t) => {
  const folder = new ModuleFolder(t);
  folder.write('two.mjs', "import { one } from './one.mjs'; export const two = one + 1;");
  const one = folder.write('one.mjs', "import { two } from './two.mjs'; export const one = two;");
  assert.match(
    await refusal([one]),
    /ReferenceError: Cannot access 'one' before initialization; if modules import each other in a circle, move what both need .*two\.mjs/,
  );
});

test('a module without a Router is told the three ways', async (t) => {
  const folder = new ModuleFolder(t);
  const none = await refusal([folder.write('none.mjs', 'export default 1;')]);
  assert.match(none, /no Router in .*none\.mjs.*a number.*default.*"router".*defaultRouter/);
  const api = routerModule('p', '1').replace('default router', '{ router as api }');
  const misnamed = await refusal([folder.write('misnamed.mjs', api)]);
  assert.match(
    misnamed,
    /no Router in .*misnamed\.mjs \(its export "api" is one\): export one as /,
  );
  const wrong = await refusal([folder.write('wrong.mjs', 'export const router = { get() {} };')]);
  assert.match(wrong, /wrong\.mjs.*"router".*not a Router/);
  for (const [value, says] of [
    ['1', 'it is a number'],
    ['[() => 1]', 'it is an instance of Array'],
    ['{ forget: 1 }', 'its member "forget" is a number'],
  ] as const) {
    const file = folder.write(
      `b${value.length}.mjs`,
      `${routerModule('p', '1')} export const broadcasts = ${value};`,
    );
    const message = `cannot use ${file}: its export "broadcasts" must be an object of functions, ${says}`;
    assert.equal(await refusal([file]), message);
  }
  const text = `${routerModule('p', '1')} export const setup = 1;`;
  assert.match(await refusal([folder.write('setup.mjs', text)]), /"setup" must be a function/);
});

const broken: readonly [what: string, files: Record<string, string>, expected: RegExp][] = [
  [
    'a syntax error',
    { 'a.mjs': 'export const a = 1;\n\nexport const = 2;' },
    /syntax error.*a\.mjs:3\)$/,
  ],
  [
    'a syntax error two levels deep',
    { 'a.mjs': "import './b.mjs';", 'b.mjs': "import './c.mjs';", 'c.mjs': '\nlet let = 1;' },
    /syntax error.*c\.mjs:2\)$/,
  ],
  [
    'a syntax error in CommonJS',
    { 'a.mjs': "import './b.cjs';", 'b.cjs': "require('./c.cjs');", 'c.cjs': '\n\nconst = 1;' },
    /syntax error.*c\.cjs:3\)$/,
  ],
  [
    'a missing export',
    { 'a.mjs': "\nimport { x } from './b.mjs';", 'b.mjs': '' },
    /does not provide an export named 'x'.*a\.mjs:2\)$/,
  ],
  [
    'JSON that is none',
    { 'a.mjs': "import j from './j.json' with { type: 'json' };", 'j.json': '{ "a": }' },
    /syntax error.*j\.json/,
  ],
  [
    'an error thrown at load',
    { 'a.mjs': "import './b.mjs';", 'b.mjs': '\n\nthrow new TypeError("boom");' },
    /it threw TypeError: boom \(.*b\.mjs:3\)$/,
  ],
  [
    'an error thrown by CommonJS at load',
    { 'a.mjs': "import './b.cjs';", 'b.cjs': '\nthrow new Error("boom");' },
    /it threw Error: boom \(.*b\.cjs:2\)$/,
  ],
  ['null thrown at load', { 'a.mjs': 'throw null;' }, /it threw null, which is no Error/],
  [
    'a dependency that is not there',
    { 'a.mjs': "\n\nimport './helpers.mjs';", 'helper.mjs': '' },
    /imports .*helpers\.mjs, which does not exist; did you mean helper\.mjs\?.*a\.mjs:3\)$/,
  ],
  [
    'a required file that is not there',
    { 'a.mjs': "import './b.cjs';", 'b.cjs': "\nrequire('./helpers.cjs');" },
    /imports .*helpers\.cjs, which does not exist \(.*b\.cjs:2\)$/,
  ],
  [
    'a package that is not installed',
    { 'a.mjs': "import 'tandem-no-such-package';" },
    /package tandem-no-such-package, which is not installed.*a\.mjs:1\)$/,
  ],
  [
    'a path alias of a scope',
    { 'a.mjs': "import '@/users';" },
    /imports @\/users, a path alias .*a\.mjs:1\)$/,
  ],
  ['a path alias of ~', { 'a.mjs': "import '~/users';" }, /imports ~, a path alias .*a\.mjs:1\)$/],
  [
    'a path alias of #',
    { 'a.mjs': "import '#users';" },
    /imports #users, a path alias .*a\.mjs:1\)$/,
  ],
  [
    'JSON.parse that fails at load',
    { 'a.mjs': "\nJSON.parse('{bad');" },
    /: JSON\.parse failed: .*a\.mjs:2\)$/,
  ],
  [
    'a SyntaxError thrown at load',
    { 'a.mjs': "throw new SyntaxError('mine');" },
    /: it threw SyntaxError: mine \(.*a\.mjs:1\)$/,
  ],
];

for (const [what, files, expected] of broken) {
  test(`${what} is one line with its place`, async (t) => {
    const folder = new ModuleFolder(t);
    for (const [name, text] of Object.entries(files)) folder.write(name, text);
    for (const generation of [0, 1]) {
      assert.match(await refusal([`${folder.path}/a.mjs`], generation), expected);
    }
  });
}

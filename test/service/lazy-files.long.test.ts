import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { watchModules } from '../../src/core/service/watch.ts';
import { recorder, TestService } from '../harness.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { until } from '../turns.ts';

/** A module whose handler loads `late` at each call, by one of the ways. */
const modules: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'import() in an ES module': {
    'main.mjs': handler("(await import('./late.mjs')).late"),
    'late.mjs': "import { deep } from './deep.mjs'; export const late = deep;",
    'deep.mjs': "export const deep = 'v1';",
  },
  'require() in an ES module': {
    'main.mjs': `import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
${handler("require('./late.cjs')")}`,
    'late.cjs': "module.exports = require('./deep.cjs');",
    'deep.cjs': "module.exports = 'v1';",
  },
  'import() in CommonJS': {
    'main.cjs': commonHandler("(await import('./late.mjs')).late"),
    'late.mjs': "import { deep } from './deep.mjs'; export const late = deep;",
    'deep.mjs': "export const deep = 'v1';",
  },
  'require() in CommonJS': {
    'main.cjs': commonHandler("require('./late.cjs')"),
    'late.cjs': "module.exports = require('./deep.cjs');",
    'deep.cjs': "module.exports = 'v1';",
  },
  'import() in a required file': {
    'main.cjs': commonHandler("require('./late.cjs')()"),
    'late.cjs': "module.exports = async () => (await import('./deep.mjs')).deep;",
    'deep.mjs': "export const deep = 'v1';",
  },
  'import() in TypeScript': {
    'main.ts': handler("(await import('./late.ts')).late"),
    'late.ts': "import { deep } from './deep.ts'; export const late: string = deep;",
    'deep.ts': "export const deep: string = 'v1';",
  },
};

function handler(expression: string): string {
  return `import { Router, procedure } from 'tandem-rpc';
const router = new Router();
${procedures(expression)}
export default router;
`;
}

function procedures(expression: string): string {
  return `router.register('inline', procedure({ placement: 'inline' }, async () => ${expression}));
router.register('pooled', procedure({ placement: 'worker' }, async () => ${expression}));
router.register('loop', procedure({ placement: 'worker', timeoutMs: 50 }, () => { for (;;); }));`;
}

function commonHandler(expression: string): string {
  return `const { Router, procedure } = require('tandem-rpc');
const router = new Router();
${procedures(expression)}
module.exports = { router };
`;
}

type Method = 'inline' | 'pooled';

class LazyService {
  readonly service: TestService;
  readonly #folder: ModuleFolder;
  readonly #deep: string;
  readonly #text: string;

  constructor(t: TestContext, files: Readonly<Record<string, string>>) {
    this.#folder = new ModuleFolder(t);
    // Workers without hooks: `tandem-rpc` leads to this copy by itself.
    this.#folder.installPackage();
    for (const [name, text] of Object.entries(files)) this.#folder.write(name, text);
    const [main = ''] = Object.keys(files);
    [this.#deep, this.#text] = Object.entries(files).at(-1) ?? ['', ''];
    this.service = TestService.make(t, { modules: [join(this.#folder.path, main)] });
  }

  get deep(): string {
    return join(this.#folder.path, this.#deep);
  }

  edit(version: string): void {
    this.#folder.write(this.#deep, this.#text.replace('v1', version));
  }

  async call(method: Method | 'loop'): Promise<unknown> {
    const reply = await this.service.ask({ jsonrpc: '2.0', id: 1, method });
    return JSON.parse(reply ?? '').result;
  }

  /** The file that the call has loaded is in the list. */
  async callAndLoad(method: Method): Promise<unknown> {
    const result = await this.call(method);
    await until(() => this.service.dispatcher.files.includes(this.deep));
    return result;
  }
}

for (const [what, files] of Object.entries(modules)) {
  for (const method of ['inline', 'pooled'] as const) {
    test(`a reload renews what a handler has loaded by ${what}, ${method}`, async (t) => {
      const lazy = new LazyService(t, files);
      assert.equal(await lazy.callAndLoad(method), 'v1');
      const { dispatcher } = lazy.service;
      assert.equal(await dispatcher.reload(), false);
      for (const version of ['v2', 'v3']) {
        lazy.edit(version);
        assert.equal(await dispatcher.reload(), true);
        assert.equal(await lazy.callAndLoad(method), version);
      }
    });
  }
}

const [[, files] = ['', {}]] = Object.entries(modules);

test('a lost worker is not replaced if a file that a handler has imported on another thread has changed', async (t) => {
  const lazy = new LazyService(t, files);
  assert.equal(await lazy.callAndLoad('inline'), 'v1');
  lazy.edit('v2');
  await lazy.call('loop');
  await until(() => lazy.service.lines.some(({ fields }) => fields.event === 'reloaded'));
  const refused = lazy.service.lines.find(({ fields }) => fields.event === 'worker-restart-failed');
  assert.ok(String(refused?.fields.detail).startsWith(`${lazy.deep} has changed`));
  assert.deepEqual(await Promise.all([lazy.call('inline'), lazy.call('pooled')]), ['v2', 'v2']);
});

test('the service reloads if a handler imports a file that has changed since another thread imported it', async (t) => {
  const lazy = new LazyService(t, files);
  assert.equal(await lazy.callAndLoad('inline'), 'v1');
  lazy.edit('v2');
  assert.equal(await lazy.call('pooled'), 'v2');
  await until(async () => (await lazy.call('inline')) === 'v2');
  const told = lazy.service.lines.find(({ fields }) => fields.event === 'reload-needed');
  assert.equal(told?.fields.file, lazy.deep);
});

test('watch sees a change of a file that a handler has imported from another folder', async (t) => {
  const lazy = new LazyService(t, {
    'main.mjs': handler("(await import('./lib/late.mjs')).late"),
    'lib/late.mjs': "export const late = 'v1';",
  });
  const { dispatcher, lines } = lazy.service;
  await dispatcher.ready();
  const watching = await watchModules(dispatcher, recorder().log);
  t.after(() => watching.close());
  await lazy.callAndLoad('pooled');
  const isReloaded = (): boolean => lines.some(({ fields }) => fields.event === 'reloaded');
  lazy.edit('v2');
  await until(isReloaded);
});

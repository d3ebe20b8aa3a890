import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadModules } from '../../src/core/modules/modules.ts';
import {
  type AnyRouter,
  Dispatcher,
  defaultRouter,
  type Middleware,
  Router,
  RpcError,
} from '../../src/index.ts';
import { ModuleFolder, packageUrl } from './module-folder.ts';

/**
 * A reload must not open what a merge or an outer router has closed: the new procedures of a module stand behind the same
 * functions as the old ones.
 */

/** What a call comes to: its result, or the code of its error. */
async function ask(router: AnyRouter, method: string, role: string): Promise<unknown> {
  const dispatcher = new Dispatcher({ router, logLevel: 'silent' });
  const request = { jsonrpc: '2.0', id: 1, method };
  const reply = (await dispatcher.dispatch(request, { auth: { role } })) as {
    result?: unknown;
    error?: { code: number };
  };
  await dispatcher.close(0);
  return reply.error === undefined ? reply.result : reply.error.code;
}

const only =
  (allowed: string, code: number): Middleware =>
  (context, next) => {
    if ((context.auth as { role: string }).role !== allowed) throw new RpcError(code, 'No');
    return next();
  };

const ofAdmins = (context: { auth: unknown }): void => {
  if ((context.auth as { role: string }).role !== 'admin') throw new RpcError(4030, 'No');
};

/** A module whose own router asks for a code of its own, 4010 say, from everybody but `role`. */
const moduleText = (value: number, role: string, more = '') => `
  import { Router, RpcError } from ${JSON.stringify(packageUrl)};
  export const router = new Router();
  router.use((context, next) => {
    if (!${JSON.stringify(role)}.split(' ').includes(context.auth.role)) throw new RpcError(4010, 'Own');
    return next();
  });
  router.rpc({ name: 'value' }, () => ${value});
  ${more}`;
const more = "router.rpc({ name: 'more' }, () => 'more');";

/** Of a module that the program imports only its file's date says that it has changed: each edit gets a later one. */
const ways = {
  'that was loaded with its files known': async (path: string) =>
    (await loadModules([path], { generation: 0 })).router,
  'that the program imports': async (path: string) =>
    ((await import(path)) as { router: Router }).router,
};

for (const [way, load] of Object.entries(ways)) {
  describe(`reloadModule of a module ${way}`, () => {
    test('keeps the authorize and the use of its merge, and the middleware of outer routers', async (t) => {
      const folder = new ModuleFolder(t);
      const path = folder.write('a.mjs', moduleText(1, 'admin user guest'));
      const middle = new Router();
      middle.merge(await load(path), '', { authorize: ofAdmins });
      const outer = new Router().use(only('admin', 4031));
      outer.merge(middle, '', { use: [only('admin', 4032)] });
      const refused = { middle: 4030, outer: 4031 };
      for (const [router, code] of [
        [middle, refused.middle],
        [outer, refused.outer],
      ] as const) {
        let value = 1;
        assert.equal(await ask(router, 'value', 'user'), code);
        assert.equal(await ask(router, 'value', 'admin'), value);
        const links = router.get('value')?.links.length;
        for (let round = 0; round < 3; round++) {
          value++;
          folder.write('a.mjs', moduleText(value, 'admin user guest', more));
          folder.date('a.mjs', Date.now(), value);
          assert.equal(await router.reloadModule(path), true);
          assert.equal(await ask(router, 'value', 'admin'), value);
          assert.equal(await ask(router, 'more', 'admin'), 'more');
          for (const name of ['value', 'more']) {
            assert.equal(await ask(router, name, 'user'), code, `${name}, round ${round}`);
            assert.equal(router.get(name)?.links.length, links, 'none is kept twice');
          }
        }
        folder.write('a.mjs', moduleText(1, 'admin user guest'));
        await router.reloadModule(path);
      }
    });

    test("takes the module's own middleware as it is now", async (t) => {
      const folder = new ModuleFolder(t);
      const path = folder.write('a.mjs', moduleText(1, 'user'));
      const router = new Router();
      router.merge(await load(path), '', { use: [(_context, next) => next()] });
      assert.equal(await ask(router, 'value', 'guest'), 4010);
      for (const [round, role] of ['guest', 'user', 'guest'].entries()) {
        folder.write('a.mjs', moduleText(round + 2, role));
        folder.date('a.mjs', Date.now(), round + 2);
        assert.equal(await router.reloadModule(path), true);
        assert.equal(await ask(router, 'value', role), round + 2);
        assert.equal(await ask(router, 'value', 'nobody'), 4010);
        assert.equal(router.get('value')?.links.length, 2);
      }
    });
  });
}

test("a module's own router takes over the module's middleware, for what it gets later too", async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', moduleText(1, 'user'));
  const { router } = (await import(path)) as { router: Router };
  for (const [round, role] of ['guest', 'user'].entries()) {
    folder.write('a.mjs', moduleText(round + 2, role));
    folder.date('a.mjs', Date.now(), round + 2);
    assert.equal(await router.reloadModule(path), true);
    assert.equal(await ask(router, 'value', role), round + 2);
    assert.equal(await ask(router, 'value', 'nobody'), 4010);
    router.register(
      'later',
      new Router().procedure({}, () => 'later'),
      { replace: true },
    );
    assert.equal(await ask(router, 'later', role), 'later');
    assert.equal(await ask(router, 'later', 'nobody'), 4010);
  }
});

test('defaultRouter keeps what the program has put in front before the module came', async (t) => {
  const folder = new ModuleFolder(t);
  const text = (value: number) =>
    `import { rpc } from 'tandem-rpc'; rpc({ name: 'value' }, () => ${value});`;
  const path = folder.write('a.mjs', text(1));
  defaultRouter.use(only('admin', 4030));
  await loadModules([path], { generation: 0 });
  assert.equal(await ask(defaultRouter, 'value', 'user'), 4030);
  folder.write('a.mjs', text(2));
  assert.equal(await defaultRouter.reloadModule(path), true);
  assert.equal(await ask(defaultRouter, 'value', 'user'), 4030);
  assert.equal(await ask(defaultRouter, 'value', 'admin'), 2);
});

test('a router that has a middleware and no procedure yet puts it in front of all that a reload brings', async (t) => {
  const folder = new ModuleFolder(t);
  const path = folder.write('a.mjs', moduleText(1, 'admin user guest'));
  const empty = folder.write(
    'b.mjs',
    `import { Router } from ${JSON.stringify(packageUrl)}; export const router = new Router();`,
  );
  const outer = new Router().use(only('admin', 4031));
  // However old the file is, the router has nothing of it.
  folder.date('a.mjs', Date.now(), -60);
  assert.equal(await outer.reloadModule(path), true);
  const { router: own } = (await import(empty)) as { router: Router };
  own.use(only('admin', 4031));
  folder.write('b.mjs', moduleText(1, 'admin user guest'));
  folder.date('b.mjs', Date.now(), 2);
  assert.equal(await own.reloadModule(empty), true);
  for (const router of [outer, own]) {
    assert.equal(await ask(router, 'value', 'user'), 4031);
    assert.equal(await ask(router, 'value', 'admin'), 1);
    router.register(
      'later',
      new Router().procedure({}, () => 1),
    );
    assert.equal(await ask(router, 'later', 'user'), 4031);
  }
});

test('two modules with other guards keep each its own', async (t) => {
  const folder = new ModuleFolder(t);
  const a = folder.write('a.mjs', moduleText(1, 'admin user guest'));
  const b = folder.write('b.mjs', moduleText(1, 'admin user guest'));
  const router = new Router();
  router.merge((await loadModules([a], { generation: 0 })).router, 'a.', { authorize: ofAdmins });
  router.merge((await loadModules([b], { generation: 0 })).router, 'b.');
  folder.write('a.mjs', moduleText(2, 'admin user guest', more));
  folder.write('b.mjs', moduleText(3, 'admin user guest', more));
  assert.equal(await router.reloadModule(a), true);
  assert.equal(await router.reloadModule(b), true);
  assert.deepEqual(
    await Promise.all(
      ['a.value', 'a.more', 'b.value', 'b.more'].map((name) => ask(router, name, 'user')),
    ),
    [4030, 4030, 3, 'more'],
  );
});

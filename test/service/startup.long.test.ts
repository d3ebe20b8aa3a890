import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Router } from '../../src/index.ts';
import { TestService } from '../harness.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { refusalOf } from '../refusal.ts';
import { fixture } from './running.ts';

/** Modules that a worker can not load as the main thread does, and what the line says besides their name. */
const modules: readonly [what: string, code: string, says: readonly RegExp[]][] = [
  [
    'a module that throws in a worker',
    "if (!isMainThread) throw new Error('no database in this thread');",
    [/worker/, /module\.mjs/, /no database in this thread/],
  ],
  [
    'a setup() that throws in a worker',
    "export const setup = () => { if (!isMainThread) throw new Error('no database for a worker'); };",
    [/worker/, /setup\(\) of .*module\.mjs/, /no database for a worker/],
  ],
  [
    'other procedures than in the main thread',
    "router.rpc({ name: isMainThread ? 'main' : 'worker' }, () => 1);",
    [/worker/, /module\.mjs/],
  ],
  [
    'middleware that the workers lack: use',
    'if (isMainThread) router.use((context, next) => next());',
    [/or other middleware, .* worker/, /module\.mjs/],
  ],
  [
    'middleware that the workers lack: authorize',
    "router.rpc({ name: 'secret', ...(isMainThread ? { authorize() {} } : {}) }, () => 1);",
    [/or other middleware, .* worker/, /module\.mjs/],
  ],
  [
    'a broadcast that the workers lack',
    'export const broadcasts = isMainThread ? { forget() {} } : {};',
    [/in this worker .*module\.mjs\), or export other broadcasts: /],
  ],
  [
    'another schema than in the main thread',
    "router.rpc({ name: 'same', params: { a: isMainThread ? Type.Number() : Type.String() } }, () => 1);",
    [/worker/, /module\.mjs/],
  ],
  [
    'a module that serves itself',
    'if (!isMainThread) await new RpcApp(router).listen({ port: 0 });',
    [/in a worker thread/, /start the service in another file/],
  ],
  [
    'a module that never ends loading',
    'if (!isMainThread) await new Promise(() => {});',
    [/2000 ms/, /0 of 1/, /startTimeoutMs/],
  ],
];

describe('a worker that cannot start is a start-up error that names the cause', () => {
  for (const [what, code, says] of modules) {
    test(what, async (t) => {
      const module = new ModuleFolder(t).write(
        'module.mjs',
        `import { isMainThread } from 'node:worker_threads';
         import { Router, RpcApp, Type } from 'tandem-rpc';
         const router = new Router();
         ${code}
         router.rpc(function add({ a, b }) { return a + b; });
         export default router;`,
      );
      const limits = what.includes('never') ? { startTimeoutMs: 2000 } : {};
      const { dispatcher } = TestService.make(t, { modules: [module], ...limits });
      const message = await refusalOf(dispatcher.ready());
      for (const part of says) assert.match(message, part);
    });
  }
});

describe('a router without procedures is a warning', () => {
  for (const [what, served, says] of [
    [
      'of a module, which it names',
      { modules: [fixture('procedures.ts'), fixture('empty.mjs')] },
      /^the router of \S*empty\.mjs has no procedure: register them/,
    ],
    ['given as an object', { router: new Router() }, /^the router has no procedure/],
  ] as const) {
    test(what, async (t) => {
      const { lines } = await TestService.start(t, served);
      const told = lines.filter(({ fields }) => fields.event === 'no-procedures');
      assert.deepEqual(
        told.map(({ level }) => level),
        ['warn'],
      );
      assert.match(told[0]?.message ?? '', says);
    });
  }
});

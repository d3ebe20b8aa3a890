/** The main thread of a process that serves reads no file synchronously: every caller would wait for the disk. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ensureBuilt } from '../../console/get.ts';
import { tree } from '../../files.ts';
import { ModuleFolder } from '../../modules/module-folder.ts';
import { needs } from '../../servers.ts';
import { CompiledCli, logged } from './cli.ts';
import { ask, call } from './load.ts';

const cli = await CompiledCli.suite();
await ensureBuilt();

/** One use of a function `*Sync` of node:fs. */
interface Use {
  readonly name: string;
  readonly on: string;
  readonly stack: string;
}

/** @param version line 1 of the file */
const moduleText = (version: number): string => `// ${version}
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Router } from 'tandem-rpc';
const router = new Router();
router.rpc({ name: 'begin', placement: 'inline' }, () => {
  globalThis.uses = [];
  const { readlinkSync } = fs;
  for (const [name, original] of Object.entries(fs)) {
    if (!name.endsWith('Sync')) continue;
    fs[name] = Object.assign((...args) => {
      Error.stackTraceLimit = 50;
      const [on] = args;
      const path = typeof on === 'number' ? readlinkSync('/proc/self/fd/' + on) : String(on);
      globalThis.uses.push({ name, on: path, stack: new Error().stack });
      return original(...args);
    }, original);
  }
  syncBuiltinESMExports();
});
router.rpc({ name: 'uses', placement: 'inline' }, () => globalThis.uses.splice(0));
router.rpc({ name: 'later', placement: 'inline' }, async () => ${version});
router.rpc({ name: 'pooled', placement: 'worker' }, (params) => params);
export default router;
`;

/** What the main thread may use them for. @param folder that of the module */
const reasons: readonly [why: string, is: (use: Use, folder: string) => boolean][] = [
  ['the log is written at once', ({ name }) => name === 'writeSync'],
  ['Node loads code so', ({ stack }) => stack.includes('node:internal/modules/')],
  [
    'a reload, and the start of a thread, look for the files of the modules',
    ({ name, on }, folder) => /^(?:stat|realpath)Sync$/.test(name) && on.startsWith(folder),
  ],
  [
    'the kernel tells the CPU time from memory: of this thread, and for the last time of one that ends',
    ({ on, stack }) => on.endsWith('/schedstat') && /threadCpuMs|Seats\.leave/.test(stack),
  ],
  [
    'the kernel tells from memory whether a thread that answers nothing waits for a processor',
    ({ on, stack }) => on.endsWith('/stat') && stack.includes('maySleep'),
  ],
];

for (const transport of ['uws', 'node'])
  test(
    `the main thread reads no file at once while it serves: ${transport}`,
    needs(transport),
    async (t) => {
      const folder = new ModuleFolder(t);
      const path = folder.write('traced.mjs', moduleText(1));
      const { server, url } = await cli.serveFor(t, [
        path,
        '--transport',
        transport,
        '--http-path',
        '/api',
      ]);
      const at = (target: string): string => new URL(target, url).href;
      await call(url, 'begin');
      const seen = async (): Promise<void> => {
        const uses = (await call(url, 'uses')) as Use[];
        const others = uses.filter((use) => !reasons.some(([, is]) => is(use, folder.path)));
        assert.deepEqual(others, []);
      };
      const get = async (target: string, status = 200): Promise<void> => {
        const response = await fetch(at(target));
        await response.arrayBuffer();
        assert.equal(response.status, status, target);
      };

      assert.equal(await call(url, 'later'), 1);
      assert.deepEqual(await call(url, 'pooled', { n: 1 }), { n: 1 });
      const calls = ['later', 'pooled'].map((method, id) => ({ jsonrpc: '2.0', method, id }));
      const batch = (await ask(url, calls)) as { readonly body: readonly unknown[] };
      assert.equal(batch.body.length, 2);
      await seen();

      for (const target of ['/healthz', '/readyz', '/metrics', '/rpc', '/openapi.json', '/none']) {
        await get(target, target === '/none' ? 404 : 200);
        await seen();
      }

      const files = readdirSync(join(tree, 'dist/console')).map((name) => name.replace('.br', ''));
      const assets = files.filter((name) => !['index.html', 'manifest.json'].includes(name));
      const targets = ['', 'figures', 'example?procedure=pooled', ...assets];
      for (const target of targets) await get(`/console/${target}`);
      await seen();

      // One that changes nothing, one that does, one that fails.
      server.child.kill('SIGHUP');
      await logged(server, /nothing has changed/);
      folder.write('traced.mjs', moduleText(2));
      server.child.kill('SIGHUP');
      await logged(server, /^reloaded$/);
      assert.equal(await call(url, 'later'), 2);
      folder.write('traced.mjs', 'export default router;');
      server.child.kill('SIGHUP');
      await logged(server, /not reloaded, /);
      await seen();
    },
  );

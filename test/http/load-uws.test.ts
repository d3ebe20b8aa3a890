import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { listen } from '../../src/server/http/listen.ts';
import { explain, loadUws } from '../../src/server/http/uws/load.ts';
import { isCompiled, modulePath } from '../files.ts';
import { needs } from '../servers.ts';
import { post, RawClient, rpc } from './raw-client.ts';
import { defaults, StubService } from './stub-server.ts';

describe('the transport', () => {
  test('auto falls back to node:http with one warning line, and serves', async (t) => {
    const warnings: string[] = [];
    const options = { ...defaults, warn: (line: string) => warnings.push(line) };
    const load = async () => ({ reason: 'it is broken', advice: 'mend it' });
    const server = await listen(new StubService(), options, 'auto', load);
    t.after(() => server.close());
    assert.equal(server.transport, 'node');
    assert.equal(warnings.length, 1);
    assert.match(
      warnings[0] ?? '',
      /^serving on node:http, because .* cannot load: it is broken; mend it\. .*transport "node"/,
    );
    const client = new RawClient(server.address.port);
    assert.equal((await client.ask(post(rpc('echo')))).status, 200);
    client.destroy();
  });

  test('uws where it cannot load is an error that says why', async () => {
    const load = async () => ({ reason: 'it is broken', advice: 'mend it' });
    await assert.rejects(listen(new StubService(), defaults, 'uws', load), {
      code: 'ERR_UWS_UNAVAILABLE',
      message: 'uWebSockets.js cannot load: it is broken; mend it',
    });
  });

  for (const [what, message, reason, advice] of [
    [
      'a libc that is too old',
      "This version supports\n\nError: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /x/uws_linux_x64_137.node)",
      /^its binary for Node \d+ needs glibc 2\.38 or newer/,
      /image node:24-trixie-slim/,
    ],
    [
      'a Node without a binary',
      "This version supports\n\nError: Cannot find module './uws_linux_x64_147.node'\nRequire stack:\n- /x/uws.js",
      /^it has no binary for Node \d+ on \w+ \w+$/,
      /run Node 24, or .*"overrides"/,
    ],
    [
      'musl',
      'This version supports\n\nError: Error loading shared library ld-linux-x86-64.so.2: No such file or directory',
      /^its binaries need glibc/,
      /node:24-trixie-slim/,
    ],
    [
      'no package',
      "Cannot find package 'uWebSockets.js' imported from /x/load.js",
      /^it is not installed$/,
      /omit=optional/,
    ],
    [
      'no package of the platform',
      "Cannot find package 'tandem-rpc-uws-linux-x64-glibc', which has the binary for this platform",
      /^its package tandem-rpc-uws-linux-x64-glibc is not installed$/,
      /not Alpine.*omit=optional/,
    ],
    [
      'a package of the platform without a binary for this Node',
      "Cannot find module 'tandem-rpc-uws-linux-x64-glibc/uws_linux_x64_147.node'\nRequire stack:\n- /x/uws.js",
      /^it has no binary for Node \d+ on \w+ \w+$/,
      /run Node 24, or .*"overrides"/,
    ],
    ['another error', 'This version supports\n\nError: no sense', /^no sense$/, /^undefined$/],
  ] as const) {
    test(`why the native module does not load is said with what to do: ${what}`, () => {
      const told = explain(new Error(message));
      assert.match(told.reason, reason);
      assert.match(String(told.advice), advice);
    });
  }

  test('the native module is not loaded in a worker thread', needs('uws'), async () => {
    assert.notEqual((await loadUws()).uws, undefined);
    // Node 20 takes no TypeScript as a worker's entry: the worker starts as text and loads it by tsx.
    const imported = isCompiled
      ? 'import(workerData)'
      : "Promise.resolve(require('tsx/cjs/api').require(workerData, workerData))";
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       ${imported}.then(({ loadUws }) => loadUws()).then((loaded) => parentPort.postMessage(loaded));`,
      {
        eval: true,
        workerData: modulePath('src/server/http/uws/load.ts'),
      },
    );
    const [loaded] = await once(worker, 'message');
    assert.deepEqual(loaded, { reason: 'it runs on the main thread only' });
    await worker.terminate();
  });
});

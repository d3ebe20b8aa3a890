import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { HttpOptions } from '../../src/server/http/edge/http-options.ts';
import { listen } from '../../src/server/http/listen.ts';
import { explain, faultOf, loadUws, type UwsLoad } from '../../src/server/http/uws/load.ts';
import { isCompiled, modulePath } from '../files.ts';
import { needs } from '../servers.ts';
import { post, RawClient, rpc, socketPath } from './raw-client.ts';
import { defaults, StubService } from './stub-server.ts';

interface Told {
  readonly level: 'info' | 'warn';
  readonly message: string;
}

/** Options of a server that tells once which transport it has. */
function telling(options: Partial<HttpOptions> = {}): HttpOptions & { readonly told: Told[] } {
  const told: Told[] = [];
  const tellTransport = (level: Told['level'], message: string) => {
    told.push({ level, message });
  };
  return { ...defaults, ...options, tellTransport, told };
}

describe('the transport', () => {
  test('auto falls back to node:http with one warning line, and serves', async (t) => {
    const options = telling();
    const load = async () => ({ reason: 'it is broken', advice: 'mend it' });
    const server = await listen(new StubService(), options, 'auto', load);
    t.after(() => server.close());
    assert.equal(server.transport, 'node');
    assert.deepEqual(options.told, [
      {
        level: 'warn',
        message:
          'serving on node:http, because the faster uWebSockets.js cannot load: it is broken; mend it. ' +
          'With option transport "node" this line is not written',
      },
    ]);
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

  describe(
    'auto takes a uWebSockets.js with a fault only where no other machine connects',
    needs('uws'),
    () => {
      const withFault = async (): Promise<UwsLoad> => {
        const { uws } = await loadUws();
        assert.ok(uws !== undefined);
        return { uws, fault: 'it drops requests' };
      };
      const socket = () => ({ socket: socketPath() });

      for (const [what, place, transport, serves, level, says] of [
        [
          '0.0.0.0',
          () => ({ host: '0.0.0.0' }),
          'auto',
          'node',
          'warn',
          /^serving on node:http, .*0\.0\.0\.0: it drops requests; run Node 22 .*transport "uws"/,
        ],
        [
          '127.0.0.1',
          () => ({}),
          'auto',
          'uws',
          'info',
          /^serving on uWebSockets\.js, although it drops requests: only this machine .*transport "node".*keepalive_timeout 8s/,
        ],
        ['localhost', () => ({ host: 'localhost' }), 'auto', 'uws', 'info', /only this machine/],
        ['a Unix socket', socket, 'auto', 'uws', 'info', /only this machine/],
        [
          '0.0.0.0 with transport uws',
          () => ({ host: '0.0.0.0' }),
          'uws',
          'uws',
          'warn',
          /^serving on uWebSockets\.js, although it drops requests: run Node 22/,
        ],
      ] as const) {
        test(`${what}: ${serves}, as one line says`, async (t) => {
          const options = telling(place());
          const server = await listen(new StubService(), options, transport, withFault);
          t.after(() => server.close());
          assert.equal(server.transport, serves);
          assert.equal(options.told.length, 1);
          assert.equal(options.told[0]?.level, level);
          assert.match(options.told[0]?.message ?? '', says);
        });
      }

      test('several processes on 0.0.0.0: the start fails and says what to do', async () => {
        const options = telling({ host: '0.0.0.0', sharedPort: true });
        await assert.rejects(listen(new StubService(), options, 'auto', withFault), {
          code: 'ERR_PORT_NOT_SHARED',
          message: /it drops requests; run Node 22 .*transport "uws".*serve in one process/,
        });
      });

      test('one without a fault serves at every address, and tells when it closes idle connections', async (t) => {
        const options = telling({ host: '0.0.0.0' });
        const load = async () => ({ ...(await withFault()), fault: undefined }) as UwsLoad;
        const server = await listen(new StubService(), options, 'auto', load);
        t.after(() => server.close());
        assert.equal(server.transport, 'uws');
        assert.equal(options.told[0]?.level, 'info');
        assert.match(options.told[0]?.message ?? '', /idle for 10 s: .*keepalive_timeout 8s/);
      });
    },
  );

  test('which binaries have the fault is known by their package, version and ABI', () => {
    for (const [name, version, modules, isRight] of [
      ['uwebsockets', '3.0.6', '115', false],
      ['uwebsockets', '3.0.6', '120', false],
      ['uwebsockets', '3.0.6', '127', true],
      ['uwebsockets', '3.0.10', '137', true],
      ['uwebsockets', '3.0.5', '137', false],
      ['tandem-rpc-uws-linux-x64-glibc', '3.0.6', '115', false],
      ['tandem-rpc-uws-linux-x64-glibc', '3.0.6', '137', true],
      ['uWebSockets.js', '20.57.0', '115', true],
      ['uWebSockets.js', '20.9.0', '137', false],
      ['@btc-vision/uwebsockets.js', '20.57.0', '115', true],
      ['another', '20.57.0', '137', false],
      [undefined, undefined, '137', false],
    ] as const) {
      const fault = faultOf({ name, version }, modules);
      assert.equal(fault === undefined, isRight, `${name} ${version} ${modules}: ${fault}`);
    }
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

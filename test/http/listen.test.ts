import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { type HttpOptions, startupNotes } from '../../src/server/http/edge/http-options.ts';
import { listen, type ServerKind } from '../../src/server/http/listen.ts';
import { explain, loadUws } from '../../src/server/http/uws/load.ts';
import { isCompiled, modulePath } from '../files.ts';
import { needs, servers } from '../servers.ts';
import { defaults } from './harness.ts';
import { post, RawClient, rpc } from './raw-client.ts';
import { StubService } from './stub-service.ts';

async function failureOf(options: Partial<HttpOptions>, transport: ServerKind) {
  try {
    const server = await listen(new StubService(), { ...defaults, ...options }, transport);
    await server.close();
  } catch (error) {
    assert.ok(error instanceof Error);
    assert.doesNotMatch(error.message, /\n/);
    return error as Error & { code?: string };
  }
  return assert.fail('it listens');
}

async function freeAddress(): Promise<AddressInfo> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return address;
}

for (const transport of ['uws', 'node'] as const) {
  describe(`listening on ${transport}`, needs(transport), () => {
    test('the address says where', async () => {
      const server = await listen(new StubService(), { ...defaults, path: '/x' }, transport);
      const { host, port, url } = server.address;
      assert.equal(host, '127.0.0.1');
      assert.ok(port > 0);
      assert.equal(url, `http://127.0.0.1:${port}/x`);
      await server.close();
    });

    test('a name is resolved, a wildcard gets a URL that works', async () => {
      for (const host of ['localhost', '0.0.0.0']) {
        const server = await listen(new StubService(), { ...defaults, host }, transport);
        const reply = await fetch(server.address.url);
        assert.equal(reply.status, 200);
        await reply.text();
        await server.close();
      }
    });

    test('a port that is taken, by whichever transport, is EADDRINUSE', async () => {
      for (const other of servers) {
        // By its number: a port that the system chose is never shared by uWebSockets.js.
        const { port } = await freeAddress();
        const first = await listen(new StubService(), { ...defaults, port }, other);
        const error = await failureOf({ port }, transport);
        assert.equal(error.code, 'EADDRINUSE');
        assert.match(
          error.message,
          new RegExp(`port ${port} on 127.0.0.1 is in use: .*another port`),
        );
        await first.close();
        // Free again at once, after connections were served.
        const second = await listen(new StubService(), { ...defaults, port }, transport);
        await second.close();
      }
    });

    test('a port that another program holds is EADDRINUSE', async () => {
      const other = createServer();
      await once(other.listen(0, '127.0.0.1'), 'listening');
      const { port } = other.address() as AddressInfo;
      assert.equal((await failureOf({ port }, transport)).code, 'EADDRINUSE');
      other.close();
    });

    test('a host that does not resolve is ENOTFOUND', async () => {
      const error = await failureOf({ host: 'no.such.host.invalid' }, transport);
      assert.equal(error.code, 'ENOTFOUND');
      assert.match(error.message, /no\.such\.host\.invalid does not resolve/);
    });

    test('an address of another machine is EADDRNOTAVAIL', async () => {
      const error = await failureOf({ host: '192.0.2.1' }, transport);
      assert.equal(error.code, 'EADDRNOTAVAIL');
    });
  });
}

describe('the transport', () => {
  test('auto is uWebSockets.js where it loads', needs('uws'), async () => {
    const server = await listen(new StubService(), defaults, 'auto');
    assert.equal(server.transport, 'uws');
    await server.close();
  });

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

test('a server that every page may call and only this machine can reach says so in one line', () => {
  for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '::1']) {
    const notes = startupNotes({ ...defaults, host });
    assert.equal(notes.length, 1);
    assert.doesNotMatch(notes[0] ?? '', /\n/);
    assert.match(notes[0] ?? '', /any web page/);
    assert.deepEqual(startupNotes({ ...defaults, host, corsOrigin: [] }), []);
  }
  assert.deepEqual(startupNotes({ ...defaults, host: '0.0.0.0' }), []);
});

import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import { Router } from '../../src/index.ts';
import { freePort } from '../free-port.ts';
import { makeApp, startApp } from '../harness.ts';
import { allServers, usualServer } from '../servers.ts';
import { listenFailure } from './listen-failure.ts';

const router = new Router();

for (const transport of allServers) {
  describe(`listening on ${transport}`, () => {
    test('the address says where', async (t) => {
      const { host, port, url } = await startApp(t, { router, transport, path: '/x' });
      assert.equal(host, '127.0.0.1');
      assert.ok(port > 0);
      assert.equal(url, `http://127.0.0.1:${port}/x`);
    });

    test('a name is resolved, a wildcard gets a URL that works', async (t) => {
      for (const host of ['localhost', '0.0.0.0']) {
        const { url } = await startApp(t, { router, transport, host });
        const reply = await fetch(url);
        assert.equal(reply.status, 200);
        await reply.text();
      }
    });

    test('a port that is taken, by whichever transport, is EADDRINUSE', async (t) => {
      for (const other of allServers) {
        // By its number: a port that the system chose is never shared by uWebSockets.js.
        const port = await freePort();
        const first = await startApp(t, { router, transport: other, port });
        const error = await listenFailure({ transport, port });
        assert.equal(error.code, 'EADDRINUSE');
        assert.match(
          error.message,
          new RegExp(`port ${port} on 127.0.0.1 is in use: .*another port`),
        );
        await first.app.close();
        // Free again at once, after connections were served.
        const second = await startApp(t, { router, transport, port });
        await second.app.close();
      }
    });

    test('a host that does not resolve is ENOTFOUND', async () => {
      const error = await listenFailure({ transport, port: 0, host: 'no.such.host.invalid' });
      assert.equal(error.code, 'ENOTFOUND');
      assert.match(error.message, /no\.such\.host\.invalid does not resolve/);
    });

    test('an address of another machine is EADDRNOTAVAIL', async () => {
      const error = await listenFailure({ transport, port: 0, host: '192.0.2.1' });
      assert.equal(error.code, 'EADDRNOTAVAIL');
    });
  });
}

test('transport auto is uWebSockets.js where it loads, else node:http', async (t) => {
  const { app } = makeApp(t, { router });
  await app.listen();
  assert.equal(app.transport, usualServer);
});

test('a server that every page may call and only this machine can reach says so in one line', async (t) => {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all);
  const isIpv6Here = addresses.some(({ address }) => address === '::1');
  for (const [host, corsOrigin, count] of [
    ...(isIpv6Here ? ([['::1', '*', 1]] as const) : []),
    ['127.0.0.1', '*', 1],
    ['127.1.2.3', '*', 1],
    ['localhost', '*', 1],
    ['127.0.0.1', 'none', 0],
    ['0.0.0.0', '*', 0],
  ] as const) {
    const { lines } = await startApp(t, { router, host, corsOrigin });
    const notes = lines.filter(({ message }) => /any web page/.test(message));
    assert.equal(notes.length, count, host);
    assert.doesNotMatch(notes[0]?.message ?? '', /\n/);
  }
});

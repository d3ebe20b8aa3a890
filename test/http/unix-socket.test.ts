import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Router } from '../../src/index.ts';
import { temporaryFolder } from '../files.ts';
import { startApp } from '../harness.ts';
import { allServers } from '../servers.ts';
import { listenFailure } from './listen-failure.ts';
import { post, request, rpc } from './raw-client.ts';
import { starter } from './stub-server.ts';

const folder = temporaryFolder({ after });
let made = 0;

/** A folder of one test, and a path in it at which nothing is. */
function place(): { readonly within: string; readonly socket: string } {
  const within = join(folder, String(++made));
  mkdirSync(within);
  return { within, socket: join(within, 'rpc.sock') };
}

/** Leaves a socket as a process does that was killed: libuv removes the file under the name that it was given. */
async function leaveStale(socket: string): Promise<void> {
  const server = createServer();
  await once(server.listen(`${socket}.1`), 'listening');
  renameSync(`${socket}.1`, socket);
  server.close();
  await once(server, 'close');
  assert.ok(lstatSync(socket).isSocket());
}

for (const transport of allServers) {
  describe(`a Unix socket on ${transport}`, () => {
    const start = starter(transport);

    const failureOf = (socket: string) => listenFailure({ transport, socket });

    test('carries calls, has the mode that was asked for, and is gone after the end', async (t) => {
      const { within, socket } = place();
      for (const socketMode of [0o600, 0o666]) {
        const { server, service, client } = await start(t, { socket, socketMode });
        assert.deepEqual(server.address, {
          host: '',
          port: 0,
          socket,
          url: `http+unix://${encodeURIComponent(socket)}/rpc`,
        });
        assert.equal(lstatSync(socket).mode & 0o777, socketMode);
        assert.deepEqual(readdirSync(within), ['rpc.sock']);
        const one = client();
        for (const size of [1, 100_000]) {
          const body = rpc('echo', 'x'.repeat(size));
          assert.equal((await one.ask(post(body))).status, 200);
        }
        assert.equal((await client().ask(request('GET', '/healthz'))).status, 200);
        assert.equal(server.connections, 2);
        assert.deepEqual(
          service.facts.map(({ address }) => address),
          [undefined, undefined],
        );
        await server.close();
        assert.deepEqual(readdirSync(within), []);
      }
    });

    test('a file that a dead server left is replaced', async (t) => {
      const { socket } = place();
      await leaveStale(socket);
      const { client } = await start(t, { socket });
      assert.equal((await client().ask(post(rpc('echo')))).status, 200);
    });

    test('a socket at which somebody listens is EADDRINUSE, and theirs goes on', async (t) => {
      for (const other of allServers) {
        const { within, socket } = place();
        const { client } = await starter(other)(t, { socket });
        const error = await failureOf(socket);
        assert.equal(error.code, 'EADDRINUSE');
        assert.match(error.message, /^option socket: \S+rpc\.sock is in use: /);
        assert.equal((await client().ask(post(rpc('echo')))).status, 200);
        assert.deepEqual(readdirSync(within), ['rpc.sock']);
      }
    });

    test('a file that is no socket stays as it is', async () => {
      const { within, socket } = place();
      writeFileSync(socket, 'precious');
      const error = await failureOf(socket);
      assert.match(error.message, /^option socket: \S+rpc\.sock is there already and is no socket/);
      assert.equal(readFileSync(socket, 'utf8'), 'precious');
      assert.deepEqual(readdirSync(within), ['rpc.sock']);
    });

    for (const [what, path, says] of [
      ['a folder that is not there', 'none/rpc.sock', /there is no folder \S+none for rpc\.sock/],
      ['a path that is too long', 'x'.repeat(120), /too long for a Unix socket: .* 93 bytes/],
    ] as const) {
      test(`${what} is one line`, async () => {
        const { within } = place();
        const error = await failureOf(join(within, path));
        assert.match(error.message, says);
        assert.deepEqual(readdirSync(within), []);
      });
    }

    test('a process of the same service takes over, and the end of the first leaves it be', async (t) => {
      const { within, socket } = place();
      const first = await start(t, { socket });
      const before = first.client();
      assert.equal((await before.ask(post(rpc('echo')))).status, 200);
      const second = await start(t, { socket, sharedPort: true });
      // Connections to the first one go on.
      assert.equal((await before.ask(post(rpc('echo')))).status, 200);
      before.destroy();
      await first.server.close();
      assert.equal((await second.client().ask(post(rpc('echo')))).status, 200);
      assert.deepEqual([first.service.scopes.length, second.service.scopes.length], [2, 1]);
      await second.server.close();
      assert.deepEqual(readdirSync(within), []);
    });

    test('whoever connects to it is trusted as a proxy where trustedProxies says unix', async (t) => {
      const caller = { 'x-forwarded-for': '203.0.113.5' };
      for (const [trustedProxies, socket, expected] of [
        [['unix'], place().socket, '203.0.113.5'],
        [['127.0.0.1'], place().socket, undefined],
        [['unix'], '', '127.0.0.1'],
      ] as const) {
        const { client, service } = await start(t, { trustedProxies, socket });
        await client().ask(post(rpc('echo'), caller));
        assert.equal(service.facts[0]?.address, expected);
      }
    });
  });
}

test('no page can call a Unix socket: the log says nothing of origins', async (t) => {
  for (const [where, warnings] of [
    [{ socket: place().socket }, 0],
    [{ port: 0 }, 1],
  ] as const) {
    const { lines } = await startApp(t, { router: new Router(), ...where });
    assert.equal(lines.filter(({ message }) => /origin/.test(message)).length, warnings);
  }
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { type AppOptions, Router, StartupError } from '../../src/index.ts';
import { makeApp } from '../harness.ts';
import { callAt } from '../post-json.ts';
import { servers } from '../servers.ts';
import { fixture } from '../service/running.ts';

const twice = new StartupError('this app listens already');
const closed = new StartupError('this app is closed: make a new one');

function create(t: TestContext, options: AppOptions = {}) {
  const router = new Router();
  router.rpc({ name: 'ping' }, () => 'pong');
  const source = options.modules === undefined ? { router } : {};
  return makeApp(t, { ...source, ...options }).app;
}

/** A server that somebody else has; what connects to it gets no answer. */
async function occupy(t: TestContext): Promise<{ port: number; connected: Promise<unknown> }> {
  const server = createServer();
  const connected = once(server, 'connection').then(([socket]) => {
    t.after(() => socket.destroy());
    socket.on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { port: address.port, connected };
}

async function ping(url: string): Promise<unknown> {
  return (await callAt(url, 'ping')).result;
}

async function assertNobodyAt(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  const [error] = await once(socket, 'error');
  assert.equal(error.code, 'ECONNREFUSED');
}

for (const transport of servers) {
  describe(`listen() on ${transport}`, () => {
    test('twice in one turn makes one server, which close() ends', async (t) => {
      const app = create(t, { transport });
      const [first, second] = await Promise.allSettled([
        app.listen({ port: 0 }),
        app.listen({ port: 0 }),
      ]);
      assert.deepEqual(second, { status: 'rejected', reason: twice });
      assert.ok(first.status === 'fulfilled');
      await assert.rejects(app.listen({ port: 0 }), twice);
      assert.equal(await ping(first.value.url), 'pong');
      await app.close();
      await assertNobodyAt(first.value.port);
    });

    test('may be tried again where the port was taken', async (t) => {
      const { port } = await occupy(t);
      const app = create(t, { transport, port });
      await assert.rejects(app.listen(), { code: 'EADDRINUSE' });
      await assert.rejects(app.listen(), { code: 'EADDRINUSE' });
      const address = await app.listen({ port: 0 });
      assert.equal(await ping(address.url), 'pong');
      await assert.rejects(app.listen({ port: 0 }), twice);
      await app.close();
      await assertNobodyAt(address.port);
    });

    test('and close() in one turn: nothing listens', async (t) => {
      const app = create(t, { transport });
      const listening = assert.rejects(app.listen({ port: 0 }), closed);
      await app.close();
      await listening;
      await assert.rejects(app.listen({ port: 0 }), closed);
    });
  });
}

test('an app that was closed after its port was taken does not listen', async (t) => {
  const { port } = await occupy(t);
  const app = create(t, { port });
  await assert.rejects(app.listen(), { code: 'EADDRINUSE' });
  await app.close();
  await assert.rejects(app.listen({ port: 0 }), closed);
});

test('an app whose modules can not be loaded says so at the next listen(), too', async (t) => {
  const app = create(t, { modules: [fixture('failing-setup.mjs')], workers: 1, spareWorkers: 0 });
  await assert.rejects(app.listen({ port: 0 }), StartupError);
  const failed = new StartupError('this app could not start: make a new one');
  await assert.rejects(app.listen({ port: 0 }), failed);
  await app.close();
  await assert.rejects(app.listen({ port: 0 }), closed);
});

test('an app that still connects to NATS listens already, and close() ends it', async (t) => {
  const { port, connected } = await occupy(t);
  const app = create(t, { nats: [`nats://127.0.0.1:${port}`], natsRole: 'gateway' });
  const first = assert.rejects(app.listen({ port: 0 }), StartupError);
  await connected;
  await assert.rejects(app.listen({ port: 0 }), twice);
  await app.close();
  await first;
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { type AppOptions, type MountOptions, Router, RpcApp, RpcError } from '../../src/index.ts';
import { inReverse, listenTo, makeApp, rawClients } from '../harness.ts';
import { header, json, post, type RawClient, request, rpc } from '../http/raw-client.ts';
import { RawSocket, upgradeRequest } from '../http/socket/raw-socket.ts';

function router(): Router {
  const made = new Router();
  made.rpc({ name: 'who', placement: 'inline' }, (_params, { auth }) => auth ?? null);
  made.rpc({ name: 'wait', placement: 'inline' }, (_params, { signal }) =>
    once(signal, 'abort').then(() => 'aborted'),
  );
  made.rpc({ name: 'ticks' }, async function* ticks(_params, { signal }) {
    yield 1;
    await once(signal, 'abort');
  });
  return made;
}

interface Mounted {
  readonly app: RpcApp;
  readonly own: Server;
  readonly client: () => RawClient;
  readonly open: (headers?: Readonly<Record<string, string>>) => Promise<RawSocket>;
}

/** An app in somebody's own server, with both of its handlers. */
async function mount(
  t: TestContext,
  mountOptions: MountOptions<IncomingMessage> = {},
  options: Partial<AppOptions> = {},
): Promise<Mounted> {
  const lifetime = inReverse(t);
  const { app } = makeApp(lifetime, { router: router(), ...options });
  const own = createServer(app.nodeHandler(mountOptions));
  own.on('upgrade', app.upgradeHandler(mountOptions));
  await once(own.listen(0, '127.0.0.1'), 'listening');
  lifetime.after(() => own.close());
  const client = rawClients(lifetime, (own.address() as AddressInfo).port);
  return { app, own, client, open: (headers) => RawSocket.open(client(), headers) };
}

const asCookie = { auth: ({ headers }: IncomingMessage) => headers.cookie ?? 'nobody' };

describe('upgradeHandler()', () => {
  test('serves WebSockets beside nodeHandler()', async (t) => {
    const { client, open } = await mount(t);
    const socket = await open();
    assert.equal(await socket.ask(rpc('who')), '{"jsonrpc":"2.0","id":1,"result":null}');
    const { status } = await client().ask(upgradeRequest({ upgrade: undefined }));
    assert.equal(status, 200);
  });

  test('with auth, the framework says who calls, once; it refuses as for GET', async (t) => {
    let asked = 0;
    const { client, open } = await mount(t, {
      auth: async ({ headers }: IncomingMessage) => {
        asked++;
        if (headers.cookie === undefined) throw new RpcError(4010, 'Who are you?');
        return headers.cookie;
      },
    });
    const socket = await open({ cookie: 'session=ann' });
    for (let i = 0; i < 2; i++) {
      assert.equal(JSON.parse(await socket.ask(rpc('who'))).result, 'session=ann');
    }
    assert.equal(asked, 1);
    const refused = await client().ask(upgradeRequest());
    assert.deepEqual([refused.status, json(refused).error.code], [403, 4010]);
    assert.equal(header(refused, 'connection'), 'close');
  });

  test('with auth, a page of another origin is refused, unless corsOrigin lists it', async (t) => {
    const origin = 'https://evil.example';
    const open = await mount(t, asCookie);
    const { status } = await open.client().ask(upgradeRequest({ origin, cookie: 'session=ann' }));
    assert.equal(status, 403);
    const own = await open.open({ origin: 'http://test', cookie: 'session=ann' });
    assert.equal(JSON.parse(await own.ask(rpc('who'))).result, 'session=ann');
    const listing = await mount(t, asCookie, { corsOrigin: [origin] });
    const welcome = await listing.open({ origin, cookie: 'session=ann' });
    assert.equal(JSON.parse(await welcome.ask(rpc('who'))).result, 'session=ann');
    const without = await mount(t);
    await without.open({ origin });
  });

  test('leaves other paths to other listeners, whatever the upgrade, and answers 404 where there is none', async (t) => {
    const { client, own } = await mount(t);
    const alone = await client().ask(upgradeRequest({}, '/other'));
    assert.equal(alone.status, 404);
    own.on('upgrade', ({ url }, socket) => {
      if (url === '/other') socket.end('HTTP/1.1 418 Teapot\r\ncontent-length: 0\r\n\r\n');
    });
    for (const upgrade of ['websocket', 'h2c']) {
      const other = client();
      assert.equal((await other.ask(upgradeRequest({ upgrade }, '/other'))).status, 418);
      await other.untilClosed();
    }
  });

  test('a request that asks for another upgrade is an ordinary one, its body included', async (t) => {
    const { client } = await mount(t);
    const one = client();
    const body = rpc('who');
    const size = body.length;
    const lines = 'host: test\r\ncontent-type: application/json\r\n';
    for (const [length, sent] of [
      [`content-length: ${size}`, body],
      ['transfer-encoding: chunked', `${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
      [`content-length: ${size}`, body],
    ]) {
      const reply = await one.ask(
        `POST /rpc HTTP/1.1\r\n${lines}${length}\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n${sent}`,
      );
      assert.deepEqual([reply.status, json(reply).result], [200, null]);
    }
  });

  for (const isChunked of [false, true]) {
    test(`a request that asks for another upgrade is answered if its body comes late: ${isChunked ? 'in chunks' : 'by its length'}`, async (t) => {
      const { client, own } = await mount(t);
      const body = rpc('who');
      const size = body.length;
      const length = isChunked ? 'transfer-encoding: chunked' : `content-length: ${size}`;
      const one = client();
      const asked = once(own, 'upgrade');
      await one.write(
        `POST /rpc HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n${length}\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n`,
      );
      await asked;
      const chunks = `${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      const reply = await one.ask(isChunked ? chunks : body);
      assert.deepEqual([reply.status, json(reply).result], [200, null]);
    });
  }

  test('however often a connection asks for another upgrade, it keeps one listener', async (t) => {
    const { client, own } = await mount(t);
    const listeners: number[] = [];
    own.on('request', ({ socket }) => listeners.push(socket.listenerCount('error')));
    const one = client();
    for (let i = 0; i < 12; i++) {
      const { status } = await one.ask(
        'GET /healthz HTTP/1.1\r\nhost: test\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n',
      );
      assert.equal(status, 200);
    }
    assert.deepEqual([...new Set(listeners)], [listeners[0]]);
  });

  test('close() ends idle sockets and streams, and answers what runs', async (t) => {
    const { app, open } = await mount(t, {}, { shutdownGraceMs: 200 });
    const [idle, streaming, busy] = [await open(), await open(), await open()];
    await streaming.ask(rpc('ticks'));
    await streaming.receive();
    await busy.send(rpc('wait'));
    await busy.ask(rpc('who', {}, 2));
    const closing = app.close();
    assert.equal(await idle.closeCode(), 1012);
    const { method, params } = JSON.parse(await streaming.receive());
    assert.deepEqual([method, params.error.data.reason], ['rpc.end', 'shutdown']);
    assert.equal(await streaming.closeCode(), 1012);
    const { error } = JSON.parse(await busy.receive());
    assert.ok([-32002, -32003].includes(error.code));
    assert.equal(await busy.closeCode(), 1012);
    await closing;
  });

  test('taken while the app closes or after that, it answers 503, as nodeHandler() does for /readyz', async (t) => {
    const { app } = makeApp(t, { router: router() });
    await app.dispatcher.ready();
    const closing = app.close();
    const handlers = [app.upgradeHandler()];
    await closing;
    handlers.push(app.upgradeHandler());
    for (const handler of handlers) {
      const own = inReverse(t);
      const client = rawClients(own, await listenTo(own, app.nodeHandler(), handler))();
      const ready = await client.ask(request('GET', '/readyz'));
      assert.deepEqual([ready.status, ready.body.toString()], [503, '{"status":"closed"}']);
      const called = await client.ask(post(rpc('who')));
      assert.deepEqual([called.status, json(called).error.code], [200, -32003]);
      const refused = await client.ask(upgradeRequest());
      assert.equal(refused.status, 503);
      await client.untilClosed();
    }
  });

  test('the figures count its sockets, where the app has no server of its own, too', async (t) => {
    const { client, open } = await mount(t);
    await Promise.all([open(), open()]);
    const { body } = await client().ask(request('GET', '/metrics'));
    assert.match(body.toString(), /^tandem_sockets\{[^}]*\} 2$/m);
    assert.match(body.toString(), /^tandem_connections\{[^}]*\} 2$/m);
  });

  test('a mistake in the options is one line, and no handler', () => {
    const app = new RpcApp({ router: router(), logLevel: 'silent' });
    assert.throws(() => app.upgradeHandler({ authenticate: () => 1 } as never), {
      message: 'upgradeHandler: unknown option "authenticate". Known: auth',
    });
    assert.throws(
      () => app.upgradeHandler({ auth: 7 } as never),
      /^StartupError: upgradeHandler: option auth/,
    );
  });
});

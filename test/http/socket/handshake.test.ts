import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AuthRequest } from '../../../src/index.ts';
import { RpcError } from '../../../src/index.ts';
import { servers } from '../../servers.ts';
import { header, json, type RawResponse, rpc } from '../raw-client.ts';
import { asking, starter } from '../stub-server.ts';
import { RawSocket, upgradeRequest } from './raw-socket.ts';

/** An upgrade that is wrong in one way, and what it is answered with. */
interface Wrong {
  readonly what: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly status: number;
  readonly method?: string;
  readonly path?: string;
}

const refused: readonly Wrong[] = [
  { what: 'version 8', headers: { 'sec-websocket-version': '8' }, status: 426 },
  { what: 'no version', headers: { 'sec-websocket-version': undefined }, status: 426 },
  { what: 'two versions', headers: { 'sec-websocket-version': '13, 13' }, status: 426 },
  { what: 'no key', headers: { 'sec-websocket-key': undefined }, status: 400 },
  { what: 'a short key', headers: { 'sec-websocket-key': 'dGhlIHNhbXBsZQ==' }, status: 400 },
  {
    what: 'a key of 18 bytes',
    headers: { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZTEy' },
    status: 400,
  },
  {
    what: 'a key that is no base64',
    headers: { 'sec-websocket-key': '!'.repeat(24) },
    status: 400,
  },
  { what: 'a body', headers: { 'content-length': '5' }, status: 400 },
  { what: 'a transfer-encoding', headers: { 'transfer-encoding': 'chunked' }, status: 411 },
  { what: 'a time that is none', headers: { 'rpc-timeout-ms': 'soon' }, status: 400 },
  {
    what: 'a host that is not served',
    headers: { origin: undefined, host: 'evil.example' },
    status: 403,
  },
  { what: 'a foreign origin', headers: { origin: 'https://evil.example' }, status: 403 },
  { what: 'an opaque origin', headers: { origin: 'null' }, status: 403 },
  { what: 'headers beyond the limit', headers: { 'x-long': 'x'.repeat(17_000) }, status: 431 },
  { what: 'another path', headers: {}, path: '/other', status: 404 },
];

/** No upgrade is asked for, or to something else: an ordinary request. */
const ordinary: readonly Wrong[] = [
  { what: 'no header Upgrade', headers: { upgrade: undefined }, status: 200 },
  { what: 'an upgrade to h2c', headers: { upgrade: 'h2c' }, status: 200 },
  { what: 'a connection that keeps alive', headers: { connection: 'keep-alive' }, status: 200 },
  { what: 'OPTIONS', headers: {}, method: 'OPTIONS', status: 204 },
];

for (const transport of servers) {
  const start = starter(transport);
  describe(`the upgrade to a WebSocket (${transport})`, () => {
    for (const { what, headers, status, method, path } of refused) {
      test(`with ${what} is ${status}`, async (t) => {
        const { client, server } = await start(t, {
          allowedHosts: ['test'],
          corsOrigin: ['https://good.example'],
        });
        const own = headers.host === undefined ? headers : { ...headers, host: undefined };
        const text = upgradeRequest(own, path, method);
        const one = client();
        const host = headers.host ?? 'test';
        const response = await one.ask(text.replace('host: test', `host: ${host}`));
        assert.equal(response.status, status, response.body.toString());
        if (status === 426) assert.equal(header(response, 'sec-websocket-version'), '13');
        assert.ok(json(response).error.code < 0);
        one.destroy();
        // Nothing is left of it, and others are served.
        const socket = await RawSocket.open(client(), { origin: 'https://good.example' });
        assert.equal(JSON.parse(await socket.ask(rpc('echo', { a: 1 }))).id, 1);
        assert.ok(server.connections >= 1);
      });
    }

    for (const { what, headers, status, method } of ordinary) {
      test(`is not asked for by ${what}: ${status}, and the connection serves on`, async (t) => {
        const { client } = await start(t);
        const one = client();
        for (let i = 0; i < 2; i++) {
          const response = await one.ask(upgradeRequest(headers, '/rpc', method));
          assert.equal(response.status, status, response.body.toString());
        }
      });
    }

    test('chooses the subprotocol jsonrpc where it is offered, and no other', async (t) => {
      const { client } = await start(t);
      const chosen = async (offered: string | undefined) => {
        const headers = { 'sec-websocket-protocol': offered };
        const { response } = await RawSocket.open(client(), headers);
        return header(response, 'sec-websocket-protocol');
      };
      assert.equal(await chosen('jsonrpc'), 'jsonrpc');
      assert.equal(await chosen('graphql-ws, jsonrpc'), 'jsonrpc');
      assert.equal(await chosen('graphql-ws'), undefined);
      assert.equal(await chosen('JSONRPC'), undefined);
      assert.equal(await chosen(undefined), undefined);
    });

    test('agrees to no extension', async (t) => {
      const { client } = await start(t);
      const offered = { 'sec-websocket-extensions': 'permessage-deflate; client_max_window_bits' };
      const { response } = await RawSocket.open(client(), offered);
      assert.equal(header(response, 'sec-websocket-extensions'), undefined);
    });

    test('asks once who calls; a refusal is answered as for GET', async (t) => {
      const asked: AuthRequest[] = [];
      const { client, service } = await start(t, {
        ...asking(async (request) => {
          asked.push(request);
          const { authorization } = request.headers;
          if (authorization === undefined) throw new RpcError(4010, 'Who are you?');
          return { user: authorization };
        }),
      });
      const response = await client().ask(upgradeRequest());
      assert.equal(response.status, 403);
      assert.deepEqual(json(response).error, { code: 4010, message: 'Who are you?' });
      const socket = await RawSocket.open(client(), { authorization: 'Bearer ann' });
      await socket.ask(rpc('echo'));
      await socket.ask(rpc('echo'));
      assert.deepEqual(
        asked.map(({ method, path, remoteAddress }) => [method, path, remoteAddress]),
        [
          ['GET', '/rpc', '127.0.0.1'],
          ['GET', '/rpc', '127.0.0.1'],
        ],
      );
      const told = service.scopes.slice(-2).map(({ authText }) => authText);
      assert.deepEqual(told, ['{"user":"Bearer ann"}', '{"user":"Bearer ann"}']);
    });

    test("withholds what a browser adds by itself from other origins' pages", async (t) => {
      const asked: AuthRequest['headers'][] = [];
      const { client, service } = await start(t, {
        forwardHeaders: ['cookie', 'x-tenant'],
        ...asking(({ headers }) => {
          asked.push({ ...headers });
        }),
      });
      const open = async (headers: Readonly<Record<string, string>>) => {
        const socket = await RawSocket.open(client(), {
          cookie: 'session=1',
          'x-tenant': 'acme',
          ...headers,
        });
        await socket.ask(rpc('echo'));
        const { cookie, authorization } = asked.at(-1) ?? {};
        return { cookie, authorization, seen: service.scopes.at(-1)?.headers };
      };
      const basic = 'Basic YW5uOnNlY3JldA==';
      const own = { cookie: 'session=1', 'x-tenant': 'acme' };
      assert.deepEqual(await open({ authorization: basic }), {
        cookie: 'session=1',
        authorization: basic,
        seen: own,
      });
      for (const origin of ['http://test', 'https://TEST']) {
        const { cookie, seen } = await open({ origin });
        assert.deepEqual([cookie, seen], ['session=1', own], origin);
      }
      for (const origin of ['https://evil.example', 'http://test:81', 'null', 'file://test']) {
        const { cookie, authorization, seen } = await open({ origin, authorization: basic });
        assert.deepEqual(
          [cookie, authorization, seen],
          [undefined, undefined, { 'x-tenant': 'acme' }],
          origin,
        );
      }
      const { authorization } = await open({
        origin: 'https://evil.example',
        authorization: 'Bearer token',
      });
      assert.equal(authorization, 'Bearer token');
    });

    test('is refused with 503 while the server drains', async (t) => {
      const { client, service, server } = await start(t);
      const [busy, idle] = [await RawSocket.open(client()), client()];
      await idle.ask(upgradeRequest({ upgrade: undefined }));
      await busy.send(rpc('later'));
      await service.entered(1);
      const closing = server.close();
      const late: RawResponse | undefined = await idle.ask(upgradeRequest()).catch(() => undefined);
      // node:http closes connections that are idle; on the other one the request arrives.
      if (transport === 'uws') assert.equal(late?.status, 503);
      else assert.equal(late, undefined);
      service.held[0]?.release();
      assert.equal(JSON.parse(await busy.receive()).id, 1);
      assert.equal(await busy.closeCode(), 1012);
      await closing;
    });
  });
}

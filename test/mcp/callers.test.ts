/** docs/protocol.md, "Tools for agents (MCP)": who may post there, over each server. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type AppOptions, type CallContext, Router, RpcError } from '../../src/index.ts';
import { header, post, type RawResponse } from '../http/raw-client.ts';
import { servers } from '../servers.ts';
import { headersOf, legacy, modern, replied, Stage, textOf } from './stage.ts';

const router = new Router();
router.rpc({ name: 'who', async: true }, (_params, { auth, headers }: CallContext) => ({
  auth: auth ?? null,
  headers,
}));

type Headers = Readonly<Record<string, string>>;

for (const transport of servers) {
  const start = (t: TestContext, options: Partial<AppOptions>): Promise<Stage> =>
    Stage.start(t, { router, transport, ...options });
  const discover = modern('server/discover');
  const send = (stage: Stage, host: string, origin?: string): Promise<RawResponse> => {
    const own = origin === undefined ? {} : { origin };
    const headers = { ...headersOf(discover), host, ...own };
    return stage.client.ask(post(discover, headers, '/mcp'));
  };

  describe(`callers of MCP on ${transport}`, () => {
    test('a server that only this machine can reach answers to local names', async (t) => {
      const stage = await start(t, {});
      for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1:8000', '127.9.9.9', '[::1]:80']) {
        assert.equal((await send(stage, host)).status, 200, host);
      }
      for (const host of ['evil.example', 'localhost.evil.example', '10.0.0.1']) {
        const response = await send(stage, host);
        const reply = replied(response);
        assert.deepEqual([response.status, reply.error?.code, 'id' in reply], [403, -32600, false]);
      }
      assert.equal((await send(stage, '')).status, 400);
      // The path of the calls is as open as it was.
      const call = post('{"id":1,"method":"who"}', { host: 'evil.example' });
      assert.equal((await stage.client.ask(call)).status, 200);
    });

    test('pages of other origins are kept out: * is no list here', async (t) => {
      const open = await start(t, { corsOrigin: '*' });
      for (const origin of ['http://localhost:5173', 'https://127.0.0.1', 'http://[::1]:1']) {
        assert.equal((await send(open, 'localhost', origin)).status, 200, origin);
      }
      for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example', '']) {
        assert.equal((await send(open, 'localhost', origin)).status, 403, origin);
      }
      const origin = 'https://app.example.com';
      const listed = await start(t, { corsOrigin: origin, allowedHosts: 'api.example.com' });
      const response = await send(listed, 'api.example.com', origin);
      assert.equal(response.status, 200);
      assert.equal(header(response, 'access-control-allow-origin'), origin);
      assert.equal((await send(listed, 'api.example.com', 'https://api.example.com')).status, 200);
      assert.equal((await send(listed, 'api.example.com', 'https://other.example')).status, 403);
      assert.equal((await send(listed, 'localhost')).status, 403);
      const preflight = `OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\norigin: https://evil.example\r\n\r\n`;
      assert.equal((await open.client.ask(preflight)).status, 403);
    });

    test('a server that others can reach verifies no Host by itself, so no origin is its own', async (t) => {
      const stage = await start(t, { host: '0.0.0.0' });
      assert.equal((await send(stage, 'evil.example')).status, 200);
      for (const origin of ['http://evil.example', 'http://localhost']) {
        assert.equal((await send(stage, 'evil.example', origin)).status, 403);
      }
    });

    test('the hook is asked with the path, and what it returns is context.auth', async (t) => {
      const asked: string[] = [];
      const stage = await start(t, {
        forwardHeaders: ['x-tenant'],
        authenticate: async ({ method, path, headers }) => {
          asked.push(`${method} ${path}`);
          return { sub: headers.authorization };
        },
      });
      const call = modern('tools/call', { name: 'who' });
      const headers: Headers = { authorization: 'Bearer a', 'x-tenant': 't' };
      const response = await stage.send(call, { ...headersOf(call), ...headers });
      const { result } = replied(response);
      assert.deepEqual(JSON.parse(textOf(result ?? assert.fail())), {
        auth: { sub: 'Bearer a' },
        headers: { 'x-tenant': 't' },
      });
      assert.deepEqual(asked, ['POST /mcp']);
      // What one caller is told is not for others.
      assert.equal(replied(await stage.ask('tools/list')).result?.cacheScope, 'private');
    });

    test('a refusal has the status that tells a client to log in, or to come back', async (t) => {
      let thrown: unknown;
      const stage = await start(t, {
        authenticate: () => {
          throw thrown;
        },
      });
      const cases: [unknown, number, number, unknown?][] = [
        [new RpcError(4010, 'Log in', { how: 'x' }), 401, 4010, { how: 'x' }],
        [
          new RpcError(-32000, 'Busy', { retryAfterMs: 5 }),
          503,
          -32603,
          { code: -32000, retryAfterMs: 5, retry: true },
        ],
        [new RpcError(-32003, 'Gone'), 503, -32603, { code: -32003, retry: true }],
        [new RpcError(-32002, 'Lost'), 401, -32603, { code: -32002, retry: true }],
        [new Error('secret'), 500, -32603],
      ];
      const bodies = [
        modern('tools/list', {}, 7),
        modern('tools/call', { name: 'who' }, 7),
        legacy('tools/call', { name: 'who' }, 7),
        legacy('initialize', { protocolVersion: '2025-06-18' }, 7),
      ];
      for (const [error, status, code, data] of cases) {
        thrown = error;
        for (const body of bodies) {
          const own = body.includes('_meta') ? headersOf(body) : {};
          const response = await stage.send(body, own);
          const reply = replied(response);
          assert.deepEqual([response.status, reply.error?.code, reply.id], [status, code, 7]);
          if (data !== undefined) assert.deepEqual(reply.error?.data, data);
          assert.equal(header(response, 'www-authenticate'), status === 401 ? 'Bearer' : undefined);
          assert.equal(response.body.includes('secret'), false);
        }
        const note = await stage.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
        assert.deepEqual([note.status, 'id' in replied(note)], [status, false]);
        const batch = await stage.send(`[${legacy('ping')}]`);
        assert.equal(batch.status, status);
      }
      // A body that can't be read keeps its error: it tells a stranger nothing.
      assert.equal((await stage.send('{')).status, 400);
    });
  });
}

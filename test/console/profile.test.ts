/** docs/security.md, "Profiles": who may have the console take one. */
import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { describe, test } from 'node:test';
import { type AppOptions, RpcError } from '../../src/index.ts';
import { setNodeEnv } from '../node-env.ts';
import { postJson } from '../post-json.ts';
import { servers } from '../servers.ts';
import { ensureBuilt, get, serve } from './get.ts';

await ensureBuilt();

/** Asks for a profile of 20 ms. `node:http` sends what a page may send, Origin too. */
async function ask(url: string, headers: Record<string, string> = {}, query = 'seconds=0.02') {
  return get(new URL(`/console/profile?${query}`, url).href, headers, 'POST');
}

function reasonIn(body: Buffer): unknown {
  const { error } = JSON.parse(body.toString()) as { error: { data?: { reason?: unknown } } };
  return error.data?.reason;
}

const authenticate: NonNullable<AppOptions['authenticate']> = ({ headers }) => {
  if (headers['x-key'] !== 'right') throw new RpcError(1001, 'who are you?');
  return 'operator';
};

for (const transport of servers) {
  describe(`a profile by the console on ${transport}`, () => {
    test('is taken on a loopback address, and has the main thread', async (t) => {
      const { at } = await serve(t, { transport });
      const { status, headers, body } = await ask(at(''));
      assert.equal(status, 200);
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['access-control-allow-origin'], undefined);
      const { threads } = JSON.parse(body.toString()) as {
        threads: { name: string; threadId: number; profile: string }[];
      };
      assert.deepEqual(
        threads.map(({ name, threadId }) => [name, threadId]),
        [['main', 0]],
      );
      const { nodes } = JSON.parse(threads[0]?.profile ?? '') as { nodes: unknown[] };
      assert.ok(nodes.length > 0);
    });

    test('is not taken for a page of another origin, nor by GET', async (t) => {
      const { at, url } = await serve(t, { transport, corsOrigin: '*' });
      const own = new URL(url).origin;
      const refused: Record<string, string>[] = [
        { origin: 'https://elsewhere.example' },
        { origin: 'null' },
        { origin: 'http://localhost:1' },
        { origin: own, 'sec-fetch-site': 'cross-site' },
        { origin: own, 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'none' },
      ];
      for (const headers of refused) {
        const { status, body } = await ask(at(''), headers);
        assert.equal(status, 403, JSON.stringify(headers));
        assert.match(String(reasonIn(body)), /only the page of this console/);
      }
      const rebound = await ask(at(''), { host: 'elsewhere.example' });
      assert.equal(rebound.status, 403);
      assert.equal((await ask(at(''), { origin: own })).status, 200);
      const behindProxy = { origin: 'https://shop.example', 'sec-fetch-site': 'same-origin' };
      assert.equal((await ask(at(''), behindProxy)).status, 200);
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT']) {
        const { status, headers } = await get(at('/console/profile'), {}, method);
        assert.deepEqual([method, status, headers.allow], [method, 405, 'POST']);
        assert.equal(headers['access-control-allow-origin'], undefined);
      }
    });

    test('is refused in production, behind a proxy and for named hosts', async (t) => {
      const proxied = { trustedProxies: ['127.0.0.1'], console: true };
      const named = { allowedHosts: ['127.0.0.1'], console: true };
      for (const options of [proxied, named]) {
        const { at } = await serve(t, { transport, ...options });
        assert.equal((await ask(at(''))).status, 403);
      }
      setNodeEnv(t, 'production');
      const { at } = await serve(t, { transport, console: true, authenticate });
      const refused = await ask(at(''), { 'x-key': 'right' });
      assert.equal(refused.status, 403);
      assert.match(refused.body.toString(), /elsewhere tandem profile does/);
    });

    test('asks authenticate on a loopback address too', async (t) => {
      const { at } = await serve(t, { transport, authenticate });
      assert.equal((await ask(at(''))).status, 403);
      assert.equal((await ask(at(''), { 'x-key': 'right' })).status, 200);
    });

    test('is no call, no tool, and nothing that a port of its own for metrics serves', async (t) => {
      const { at, metricsUrl, mcpUrl } = await serve(t, { transport, metricsPort: 0, mcp: true });
      assert.equal((await ask(at(''))).status, 405);
      assert.equal((await get(at('/console/profile'))).status, 404);
      assert.ok(metricsUrl !== undefined && mcpUrl !== undefined);
      assert.equal((await ask(new URL(metricsUrl).origin)).status, 405);
      const accept = 'application/json, text/event-stream';
      const post = async (url: string, method: string): Promise<string> =>
        (await postJson(url, { jsonrpc: '2.0', id: 1, method }, { accept })).text();
      for (const name of ['profile', 'takeProfile', 'stack', 'stacks'])
        assert.match(await post(at('/rpc'), `rpc.${name}`), /-32601/);
      const tools = await post(mcpUrl, 'tools/list');
      assert.doesNotMatch(tools, /profile/);
    });

    test('is refused with 400 above 60 s, with 409 beside another one, and stops if its client leaves', async (t) => {
      const { at } = await serve(t, { transport });
      for (const query of ['seconds=61', 'seconds=0', 'seconds=x', 'intervalMs=0.1']) {
        const { status, body } = await ask(at(''), {}, query);
        assert.equal(status, 400, query);
        assert.match(String(reasonIn(body)), /^(seconds|intervalMs): expected /);
      }
      // Whichever of the two comes first is under way until its client leaves.
      const two = [1, 2].map(() => request(at('/console/profile?seconds=60'), { method: 'POST' }));
      const refused = await new Promise<IncomingMessage>((resolve) => {
        for (const one of two)
          one
            .on('response', resolve)
            .on('error', () => {})
            .end();
      });
      assert.equal(refused.statusCode, 409);
      assert.match(
        String(reasonIn(Buffer.concat(await refused.toArray()))),
        /is under way: there is one at a time/,
      );
      for (const one of two) one.destroy();
      let next = await ask(at(''));
      while (next.status !== 200) next = await ask(at(''));
    });
  });
}

import { deferred } from '../turns.ts';
/** docs/reference/http-api.md: what is asked of a service that starts, has ended, or must not start. */

import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HttpApi } from '../../src/extras/openapi/http-api.ts';
import { type AppOptions, Dispatcher, Router, Type } from '../../src/index.ts';
import { listen } from '../../src/server/http/listen.ts';
import router from '../fixtures/openapi/service.ts';
import { inReverse, rawClients, startApp } from '../harness.ts';
import { header, socketPath } from '../http/raw-client.ts';
import { defaults } from '../http/stub-server.ts';
import { type ServerName, servers } from '../servers.ts';
import { issueOf, jsonOf, problemOf, Site } from './site.ts';

/** A service that starts when it is first called. */
async function starting(t: TestContext, transport: ServerName): Promise<[Site, Dispatcher]> {
  const dispatcher = new Dispatcher({ router, logLevel: 'silent' });
  const api = new HttpApi(dispatcher, defaults, false);
  const options = {
    ...defaults,
    routes: () => api.routes('/api'),
    openApi: () => api.document(),
  };
  const server = await listen(dispatcher, options, transport);
  const own = inReverse(t);
  own.after(() => dispatcher.close());
  own.after(() => server.close());
  const { port } = server.address;
  return [new Site(port, rawClients(own, port)), dispatcher];
}

for (const transport of servers) {
  describe(`URLs of a service that starts: ${transport}`, () => {
    test('wait for it, and are then answered as ever', async (t) => {
      const [site, dispatcher] = await starting(t, transport);
      const ready = deferred<void>();
      const served = t.mock.method(dispatcher, 'served', async () => {
        await ready.promise;
        served.mock.restore();
        return dispatcher.served();
      });
      // A preflight needs no service. The methods are those that any path may have.
      const preflight = await site.ask('OPTIONS', '/api/save');
      assert.equal(header(preflight, 'allow'), 'GET, HEAD, POST, OPTIONS');
      assert.equal((await site.ask('GET', '/openapi.json')).status, 503);
      const others = Array.from({ length: 9 }, () => new Site(site.port, site.connect));
      const image = { 'content-type': 'image/png' };
      const asked = Promise.all([
        others[0]!.get('math.add?a=1'),
        others[1]!.post('math.add', '{"a":1}'),
        others[2]!.ask('POST', '/api/put?id=1', image, Buffer.alloc(10)),
        others[3]!.ask('POST', '/api/put?id=1', image, Buffer.alloc(100_000)),
        others[4]!.get('math.ad'),
        others[5]!.get('save?name=x'),
        others[6]!.post('save', 'x', { 'content-type': 'text/plain' }),
        others[7]!.events('ticks?n=1'),
        others[8]!.get('ticks?n=1', { accept: 'application/json' }),
      ]);
      // Of each request once when its head comes, and again when its body is there.
      const before = 2;
      while (served.mock.callCount() < before + 2 * others.length) await nextTurn();
      ready.resolve();
      const [get, post, bytes, large, unknown, method, type, events, refused] = await asked;
      assert.equal(jsonOf(get), 2);
      assert.equal(jsonOf(post), 2);
      assert.equal(jsonOf(bytes), 11);
      assert.equal(jsonOf(large), 100_001);
      assert.equal(problemOf(unknown, 404).code, -32601);
      problemOf(method, 405);
      problemOf(type, 415);
      assert.deepEqual(events, [
        ['', 1],
        ['result', 'end'],
      ]);
      problemOf(refused, 406);
    });

    test('of a service that has ended are 503', async (t) => {
      const [site, dispatcher] = await starting(t, transport);
      assert.equal(issueOf(await site.get('math.add')).path, '/a');
      await dispatcher.close(0);
      for (const response of [await site.get('math.add?a=1'), await site.post('save', '{}')]) {
        assert.equal(problemOf(response, 503).code, -32003);
        assert.equal(header(response, 'retry-after'), '1');
      }
    });
  });
}

describe('the document of a service with URLs', () => {
  const serve = async (
    t: TestContext,
    options: Partial<AppOptions> = {},
  ): Promise<[Site, Router]> => {
    const own = new Router();
    own.merge(router);
    const { port, client } = await startApp(t, { router: own, ...options } as AppOptions);
    return [new Site(port, client), own];
  };

  test('is one of the formats of /rpc, and another one when its procedures change', async (t) => {
    const [site, own] = await serve(t, { httpPath: '/api' });
    const first = await site.ask('GET', '/openapi.json');
    const same = await site.ask('GET', '/rpc?format=openapi');
    assert.deepEqual(same.body, first.body);
    own.rpc({ name: 'another' }, async () => null);
    const second = await site.ask('GET', '/openapi.json');
    assert.notEqual(header(second, 'etag'), header(first, 'etag'));
    assert.equal(jsonOf(await site.ask('POST', '/api/another')), null);
  });

  test('is not there without introspection, or without httpPath', async (t) => {
    const [hidden] = await serve(t, { httpPath: '/api', introspection: false });
    assert.equal((await hidden.ask('GET', '/openapi.json')).status, 404);
    assert.equal((await hidden.ask('GET', '/rpc?format=openapi')).status, 405);
    assert.equal(jsonOf(await hidden.get('math.add?a=1')), 2);
    const [off] = await serve(t);
    assert.equal((await off.ask('GET', '/openapi.json')).status, 404);
    assert.equal((await off.ask('GET', '/rpc?format=openapi')).status, 400);
    assert.equal((await off.get('math.add?a=1')).status, 404);
  });
});

for (const transport of servers) {
  test(`a service on a Unix socket has URLs too: ${transport}`, async (t) => {
    const socket = socketPath();
    const { client } = await startApp(t, { router, httpPath: '/api', transport, socket });
    const site = new Site(socket, client);
    assert.equal(jsonOf(await site.get('math.add?a=1')), 2);
    assert.equal((await site.ask('POST', '/api/reset')).status, 204);
    // Nobody knows who else reaches it, through a proxy.
    const page = { origin: 'http://localhost:5173' };
    problemOf(await site.ask('POST', '/api/reset', page), 403);
  });
}

describe('a service with URLs', () => {
  const start = async (t: TestContext, own: Router, options: Partial<AppOptions> = {}) => {
    const { lines } = await startApp(t, {
      router: own,
      httpPath: '/api',
      ...options,
    } as AppOptions);
    return lines.filter(({ fields }) => fields.event === 'http-api').map(({ message }) => message);
  };

  test('says which procedures have none, and which patterns name none', async (t) => {
    const own = new Router();
    for (const name of ['a/../b', 'a/.', 'a//b', 'c/', 'a..b', 'fine'])
      own.rpc({ name }, async () => null);
    own.rpc(
      { name: 'notes', params: { text: Type.Base64({ mediaType: 'text/plain' }) } },
      async () => null,
    );
    const said = await start(t, own, { httpProcedures: ['*', 'math.*'] });
    assert.equal(said.length, 3);
    assert.match(said[0]!, /math\.\*/);
    assert.match(said[1]!, / a\/\.\.\/b, a\/\., a\/\/b, c\/$/);
    assert.match(said[2]!, /^notes: .*text\/plain/);
  });

  test('says nothing where there is nothing to say', async (t) => {
    const own = new Router();
    own.rpc({ name: 'fine' }, async () => null);
    assert.deepEqual(await start(t, own), []);
  });

  test('does not start if shared caches would show what is for one caller', async (t) => {
    const own = new Router();
    own.rpc(
      {
        name: 'mine',
        effects: { readOnly: true },
        cache: { maxAgeSeconds: 60, scope: 'public' },
        authorize: () => {},
      },
      async () => null,
    );
    await assert.rejects(start(t, own, { authenticate: () => 'ann' }), {
      name: 'StartupError',
      message: /^procedure mine has cache.scope 'public'/,
    });
  });
});

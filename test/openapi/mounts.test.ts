/** docs/mounting.md: URLs of procedures in a server of one's own. */

import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import express, { type Request } from 'express';
import { type CallContext, Router, type RpcApp, RpcError, Type } from '../../src/index.ts';
import { mountApp } from '../harness.ts';
import { header } from '../http/raw-client.ts';
import { jsonOf, problemOf, Site } from './site.ts';

const router = new Router();
const readOnly = { effects: { readOnly: true }, async: true } as const;
router.rpc(
  { name: 'who', params: {}, ...readOnly },
  (_params, { auth }: CallContext) => auth ?? null,
);
router.rpc({ name: 'healthz', params: {}, ...readOnly }, () => 'a procedure');
router.rpc(
  { name: 'count', params: { data: Type.Base64() }, async: true },
  ({ data }) => data.length,
);

async function siteOf(t: TestContext, listenerOf: (app: RpcApp) => RequestListener): Promise<Site> {
  const { port, client } = await mountApp(t, { router, httpPath: '/api' }, listenerOf);
  return new Site(port, client);
}

describe('URLs of procedures in a server of one’s own', () => {
  test('behind parsers, which leave what they have read', async (t) => {
    const site = await siteOf(t, (app) => {
      const web = express();
      web.use(express.json(), express.raw({ type: 'application/octet-stream' }));
      web.use(app.nodeHandler());
      return web;
    });
    assert.equal(jsonOf(await site.post('count', '{"data":"AQI="}')), 2);
    const octets = { 'content-type': 'application/octet-stream' };
    const bytes = Uint8Array.of(0, 255, 128);
    assert.equal(jsonOf(await site.ask('POST', '/api/count', octets, bytes)), 3);
    assert.equal(jsonOf(await site.ask('POST', '/api/who')), null);
  });

  test('below a path of its own, and at the path that is theirs', async (t) => {
    const site = await siteOf(t, (app) => {
      const web = express();
      const handler = app.nodeHandler();
      web.use('/v1', handler);
      web.use('/api', handler);
      web.use('/openapi.json', handler);
      return web;
    });
    for (const prefix of ['/v1/api', '/api']) {
      assert.equal(jsonOf(await site.ask('GET', `${prefix}/healthz`)), 'a procedure', prefix);
      problemOf(await site.ask('GET', `${prefix}/nothing`), 404);
    }
    for (const path of ['/openapi.json', '/v1/openapi.json']) {
      assert.equal((await site.ask('GET', path)).status, 200, path);
    }
  });

  test('where code of the framework says who calls', async (t) => {
    const site = await siteOf(t, (app) => {
      const web = express();
      const auth = (request: Request): unknown => {
        const user = request.get('x-user');
        if (user === undefined) throw new RpcError(4010, 'Log in');
        return { user };
      };
      web.use(app.nodeHandler({ auth }));
      return web;
    });
    const ann = { 'x-user': 'ann' };
    assert.deepEqual(jsonOf(await site.get('who', ann)), { user: 'ann' });
    const refused = await site.get('who');
    problemOf(refused, 401);
    assert.equal(header(refused, 'www-authenticate'), 'Bearer');
    // A link on another site would call as whoever is logged in.
    const visit = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    problemOf(await site.get('who', { ...ann, ...visit }), 403);
    const unread = await site.ask('GET', '/openapi.json');
    problemOf(unread, 401);
    assert.equal(header(unread, 'www-authenticate'), 'Bearer');
    const { security } = jsonOf(await site.ask('GET', '/openapi.json', ann)) as {
      readonly security: readonly object[];
    };
    assert.deepEqual(security, [{ auth: [] }]);
  });
});

/** docs/mounting.md: agents in a server of one's own. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import express, { type Request } from 'express';
import fastify from 'fastify';
import { type CallContext, Router, RpcError } from '../../src/index.ts';
import { fastifyClient, makeApp, mountApp } from '../harness.ts';
import { post, type RawClient, type RawResponse } from '../http/raw-client.ts';
import { headersOf, modern, replied, textOf } from './stage.ts';

const router = new Router();
router.rpc(
  { name: 'who', params: {}, async: true },
  (_params, { auth }: CallContext) => auth ?? null,
);

const body = modern('tools/call', { name: 'who', arguments: {} });

const options = { router, mcp: true };

function ask(client: RawClient, path: string, headers = {}): Promise<RawResponse> {
  const own = { host: 'localhost', ...headersOf(body), ...headers };
  return client.ask(post(body, own, path));
}

describe('MCP in a server of one’s own', () => {
  test('node:http: at /mcp, under the rules of a local server', async (t) => {
    const mounted = await mountApp(t, options);
    const client = mounted.client();
    assert.equal((await ask(client, '/mcp')).status, 200);
    assert.equal((await ask(client, '/mcp', { host: 'evil.example' })).status, 403);
    assert.equal((await ask(client, '/mcp', { origin: 'https://evil.example' })).status, 403);
  });

  test('Express: behind its parser, by its session, wherever it is mounted', async (t) => {
    const auth = (request: Request): unknown => {
      const user = request.get('x-user');
      if (user === undefined) throw new RpcError(4010, 'Log in');
      return { user };
    };
    const mounted = await mountApp(t, options, (app) => {
      const handler = app.nodeHandler({ auth });
      return express().use(express.json()).use(['/mcp', '/api'], handler).all('/rpc', handler);
    });
    const client = mounted.client();
    for (const path of ['/mcp', '/api/mcp']) {
      const response = await ask(client, path, { 'x-user': 'ann' });
      assert.equal(response.status, 200, path);
      const { result } = replied(response);
      assert.equal(textOf(result ?? assert.fail()), '{"user":"ann"}');
      assert.equal((await ask(client, path)).status, 401);
    }
    const call = post('{"id":1,"method":"who"}', { 'x-user': 'ann' }, '/rpc');
    assert.match((await client.ask(call)).body.toString(), /"result":\{"user":"ann"\}/);
  });

  test('Fastify: a route of its own', async (t) => {
    const { app } = makeApp(t, options);
    const web = fastify();
    web.all('/mcp', app.nodeHandler());
    const client = await fastifyClient(t, web);
    const response = await ask(client, '/mcp');
    assert.equal(textOf(replied(response).result ?? assert.fail()), 'null');
  });
});

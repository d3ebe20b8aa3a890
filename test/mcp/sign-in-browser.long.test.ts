/** A host of agents that is a page of another origin, in a browser: what it needs to read so that somebody can sign in. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Router, RpcError } from '../../src/index.ts';
import { noBrowser, OneBrowser } from '../console/browser.ts';
import { listenTo, makeApp } from '../harness.ts';
import { servers } from '../servers.ts';
import { legacy } from './stage.ts';

const browser = new OneBrowser();

const router = new Router();
router.rpc({ name: 'who', async: true }, (_params, { auth }) => auth ?? null);

for (const transport of servers) {
  test(`a page reads challenge, metadata and result, on ${transport}`, {
    skip: noBrowser,
  }, async (t) => {
    const pages = await listenTo(t, (_request, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>host</title>');
    });
    const origin = `http://127.0.0.1:${pages}`;
    const { app } = makeApp(t, {
      router,
      transport,
      mcp: true,
      corsOrigin: origin,
      mcpAuthorizationServers: 'https://auth.example.com',
      publicUrl: 'https://tools.example.com',
      mcpScopes: 'tools',
      authenticate: ({ headers }) => {
        if (headers.authorization !== 'Bearer t') throw new RpcError(4010, 'Sign in');
        return { sub: 'ann', scopes: ['tools'] };
      },
    });
    const { port } = await app.listen({ port: 0 });
    const { page } = await browser.open(t, origin);
    const read = (path: string, init: RequestInit) =>
      page.evaluate(
        async ([url, given]) => {
          const response = await fetch(url, given);
          const challenge = response.headers.get('www-authenticate');
          return { status: response.status, challenge, text: await response.text() };
        },
        [`http://127.0.0.1:${port}${path}`, init] as const,
      );
    const headers = { 'content-type': 'application/json', 'mcp-protocol-version': '2025-11-25' };
    const body = legacy('ping');
    const refused = await read('/mcp', { method: 'POST', headers, body });
    assert.equal(refused.status, 401);
    assert.match(refused.challenge ?? '', /^Bearer resource_metadata="https:.*", scope="tools"$/);
    // The page may be of any origin here: where to sign in is no secret.
    await page.goto(`http://localhost:${pages}`);
    const wellKnown = '/.well-known/oauth-protected-resource/mcp';
    const metadata = await read(wellKnown, { headers: { 'mcp-protocol-version': '2025-11-25' } });
    assert.match(metadata.text, /"authorization_servers":\["https:\/\/auth\.example\.com"\]/);
    await page.goto(origin);
    const signedIn = { ...headers, authorization: 'Bearer t' };
    const answered = await read('/mcp', { method: 'POST', headers: signedIn, body });
    assert.deepEqual([answered.status, JSON.parse(answered.text).result], [200, {}]);
  });
}

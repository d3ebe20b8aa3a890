/** docs/mcp.md, "Agents that sign in": what hosts of agents are told, over each server and in a server of one's own. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import express from 'express';
import { type AppOptions, Router, RpcApp, RpcError } from '../../src/index.ts';
import { mountApp } from '../harness.ts';
import { header, post, type RawClient, type RawResponse } from '../http/raw-client.ts';
import { refusal } from '../refusal.ts';
import { servers } from '../servers.ts';
import { headersOf, legacy, modern, replied, Stage } from './stage.ts';

const router = new Router();
router.rpc({ name: 'who', async: true }, (_params, { auth }) => auth ?? null);

const wellKnown = '/.well-known/oauth-protected-resource';
const issuers = ['https://auth.example.com', 'https://login.example.com/tenant/'];
const signIn = {
  mcpAuthorizationServers: issuers,
  publicUrl: 'https://tools.example.com',
  mcpScopes: ['notes:read', 'notes:write'],
} as const;
const metadataUrl = `https://tools.example.com${wellKnown}/mcp`;
const scope = 'scope="notes:read notes:write"';

/** Lets in who sends `Bearer <scopes>`, separated by commas. */
const authenticate: NonNullable<AppOptions['authenticate']> = ({ headers: { authorization } }) => {
  if (authorization === undefined) throw new RpcError(4010, 'Sign in');
  const given = authorization.replace('Bearer ', '');
  if (given === 'bad') throw new RpcError(4010, 'Unknown token');
  if (given === 'none') return { sub: 'ann' };
  if (given === 'mixed') return { scopes: ['notes:read', 1] };
  if (given === 'text') return { scopes: 'notes:read' };
  return { sub: 'ann', scopes: given === 'empty' ? [] : given.split(',') };
};

const bodies: readonly (readonly [string, string])[] = [
  ['a modern list', modern('tools/list', {}, 7)],
  ['a modern call', modern('tools/call', { name: 'who' }, 7)],
  ['a legacy call', legacy('tools/call', { name: 'who' }, 7)],
  ['a handshake', legacy('initialize', { protocolVersion: '2025-11-25' }, 7)],
  ['a notification', '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
  ['a batch', `[${legacy('ping')}]`],
];

function send(stage: Stage, body: string, authorization?: string): Promise<RawResponse> {
  const own = body.includes('_meta') ? headersOf(body) : {};
  return stage.send(body, { ...own, ...(authorization !== undefined && { authorization }) });
}

function ask(client: RawClient, method: string, path: string, more = ''): Promise<RawResponse> {
  return client.ask(
    `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`,
    method === 'HEAD',
  );
}

const parsed = (response: RawResponse): unknown => JSON.parse(response.body.toString());

for (const transport of servers) {
  const start = (t: TestContext, options: Partial<AppOptions> = {}): Promise<Stage> =>
    Stage.start(t, { router, transport, authenticate, ...signIn, ...options });

  describe(`agents that sign in, on ${transport}`, () => {
    test('metadata are at the path of MCP and without it, for pages of every origin', async (t) => {
      const stage = await start(t, { corsOrigin: 'https://app.example.com' });
      for (const path of [wellKnown, `${wellKnown}/mcp`]) {
        const page = 'origin: https://any.example\r\n';
        const response = await ask(stage.client, 'GET', path, page);
        assert.equal(response.status, 200);
        assert.equal(header(response, 'content-type'), 'application/json');
        assert.equal(header(response, 'access-control-allow-origin'), '*');
        assert.match(header(response, 'cache-control') ?? '', /^public, max-age=\d+$/);
        assert.deepEqual(parsed(response), {
          resource: 'https://tools.example.com/mcp',
          authorization_servers: issuers,
          scopes_supported: ['notes:read', 'notes:write'],
          bearer_methods_supported: ['header'],
          resource_name: 'tandem-rpc',
        });
        const head = await ask(stage.client, 'HEAD', path);
        assert.deepEqual([head.status, head.body.length], [200, 0]);
        assert.equal(header(head, 'content-length'), String(response.body.length));
        const asks = `${page}access-control-request-method: GET\r\naccess-control-request-headers: mcp-protocol-version\r\n`;
        const preflight = await ask(stage.client, 'OPTIONS', path, asks);
        assert.equal(preflight.status, 204);
        assert.equal(header(preflight, 'access-control-allow-origin'), '*');
        assert.match(header(preflight, 'access-control-allow-methods') ?? '', /GET/);
        const allowed = header(preflight, 'access-control-allow-headers') ?? '';
        assert.match(allowed, /mcp-protocol-version/);
        const posted = await stage.client.ask(post('{}', { host: 'localhost' }, path));
        assert.deepEqual([posted.status, header(posted, 'allow')], [405, 'GET, HEAD, OPTIONS']);
      }
      for (const path of [`${wellKnown}/`, `${wellKnown}/rpc`, `${wellKnown}/mcp/x`]) {
        assert.equal((await ask(stage.client, 'GET', path)).status, 404, path);
      }
    });

    test('metadata without scopes name none, and hosts that may be asked are allowedHosts', async (t) => {
      const stage = await start(t, { mcpScopes: [], allowedHosts: 'tools.example.com' });
      const hidden = await ask(stage.client, 'GET', wellKnown);
      assert.equal(hidden.status, 403);
      const host = `GET ${wellKnown} HTTP/1.1\r\nhost: tools.example.com\r\n\r\n`;
      const response = await stage.client.ask(host);
      assert.equal('scopes_supported' in (parsed(response) as object), false);
      const refused = await stage.send(legacy('ping'), { host: 'tools.example.com' });
      const expected = `Bearer resource_metadata="${metadataUrl}"`;
      assert.equal(header(refused, 'www-authenticate'), expected);
    });

    test('a refusal names the metadata and the scopes, and a bad token', async (t) => {
      const stage = await start(t);
      for (const [name, body] of bodies) {
        const response = await send(stage, body);
        assert.equal(response.status, 401, name);
        const expected = `Bearer resource_metadata="${metadataUrl}", ${scope}`;
        assert.equal(header(response, 'www-authenticate'), expected);
        assert.equal(header(response, 'access-control-expose-headers'), 'www-authenticate');
        assert.equal(header(response, 'cache-control'), 'no-store');
        const bad = await send(stage, body, 'Bearer bad');
        assert.equal(bad.status, 401);
        assert.equal(header(bad, 'www-authenticate'), `${expected}, error="invalid_token"`);
      }
    });

    test('a list of scopes without one of mcpScopes is a 403 that asks for all of them', async (t) => {
      const stage = await start(t);
      for (const given of ['notes:read', 'empty', 'notes:write,other', 'notes:READ,notes:write']) {
        for (const [name, body] of bodies) {
          const response = await send(stage, body, `Bearer ${given}`);
          assert.equal(response.status, 403, `${given}, ${name}`);
          const expected = `Bearer error="insufficient_scope", ${scope}, resource_metadata="${metadataUrl}"`;
          assert.equal(header(response, 'www-authenticate'), expected);
          assert.equal(header(response, 'access-control-expose-headers'), 'www-authenticate');
        }
      }
      const { error, id } = replied(await send(stage, bodies[0]?.[1] ?? '', 'Bearer notes:read'));
      assert.deepEqual([id, error?.code, error?.data], [7, -32600, { missing: ['notes:write'] }]);
      assert.equal(error?.message, 'Insufficient scope: sign in for notes:write');
      const enough = await send(stage, legacy('ping'), 'Bearer notes:write,other,notes:read');
      assert.equal(enough.status, 200);
    });

    test('auth without a list of texts named scopes is a 403 with mcpScopes', async (t) => {
      const stage = await start(t);
      for (const given of ['none', 'mixed', 'text']) {
        const response = await send(stage, legacy('ping'), `Bearer ${given}`);
        assert.equal(response.status, 403, given);
      }
      const lines = stage.lines.filter(({ fields }) => fields.event === 'mcp-sign-in');
      assert.equal(lines.length, 1);
      assert.match(lines[0]?.message ?? '', /no list of texts named scopes/);
    });

    test('calls of the other path are not held to mcpScopes', async (t) => {
      const stage = await start(t);
      const call = post('{"id":1,"method":"who"}', { authorization: 'Bearer empty' });
      assert.match((await stage.client.ask(call)).body.toString(), /"scopes":\[\]/);
    });

    test('nothing is told without the options: no metadata, and a bare challenge', async (t) => {
      const stage = await start(t, { mcpAuthorizationServers: undefined, mcpScopes: undefined });
      for (const path of [wellKnown, `${wellKnown}/mcp`]) {
        assert.equal((await ask(stage.client, 'GET', path)).status, 404);
      }
      for (const authorization of [undefined, 'Bearer bad']) {
        const response = await send(stage, legacy('ping'), authorization);
        assert.equal(response.status, 401);
        assert.equal(header(response, 'www-authenticate'), 'Bearer');
        assert.equal(header(response, 'access-control-expose-headers'), undefined);
      }
    });

    test('metadata are where a proxy asks for them: below a prefix that it takes off, or leaves', async (t) => {
      const cases = [
        // What is taken off is put before the well-known part, so that it comes here.
        ['https://a.example/tools', `https://a.example/tools${wellKnown}/mcp`],
        ['http://a.example:8080', `http://a.example:8080${wellKnown}/mcp`],
      ] as const;
      for (const [publicUrl, url] of cases) {
        const stage = await start(t, { publicUrl });
        const resource = `${publicUrl}/mcp`;
        const challenge = header(await send(stage, legacy('ping')), 'www-authenticate');
        assert.ok(challenge?.includes(`resource_metadata="${url}"`), challenge);
        const inserted = wellKnown + new URL(resource).pathname;
        for (const path of [wellKnown, `${wellKnown}/mcp`, inserted]) {
          const response = await ask(stage.client, 'GET', path);
          assert.equal((parsed(response) as { resource: string }).resource, resource);
        }
      }
    });

    test('metadata are not on the port of the metrics', async (t) => {
      const stage = await start(t, { metricsPort: 0 });
      assert.equal((await ask(stage.client, 'GET', wellKnown)).status, 200);
      const line = stage.lines.find(({ fields }) => fields.event === 'ready');
      const response = await fetch(new URL(wellKnown, String(line?.fields.metricsUrl)));
      assert.equal(response.status, 404);
    });

    test('a service that asks nobody says so at its start', async (t) => {
      const said = (stage: Stage) =>
        stage.lines
          .filter(({ fields }) => fields.event === 'mcp-sign-in')
          .map((line) => line.level);
      assert.deepEqual(said(await start(t, { authenticate: undefined })), ['warn']);
      assert.deepEqual(said(await start(t)), []);
    });
  });
}

describe('agents that sign in to a server of one’s own', () => {
  const publicUrl = 'https://tools.example.com/api';
  const options = { router, mcp: true, ...signIn, publicUrl };

  test('Express: below a prefix, or at a path of its own, by its login', async (t) => {
    const auth = (): never => {
      throw new RpcError(4010, 'Sign in');
    };
    const mounted = await mountApp(t, options, (app) =>
      express().use(['/api', '/mcp', wellKnown], app.nodeHandler({ auth })),
    );
    const client = mounted.client();
    for (const path of [
      `/api${wellKnown}/mcp`,
      `/api${wellKnown}`,
      wellKnown,
      `${wellKnown}/mcp`,
    ]) {
      const response = await ask(client, 'GET', path);
      assert.equal(response.status, 200, path);
      assert.equal((parsed(response) as { resource: string }).resource, `${publicUrl}/mcp`);
    }
    for (const path of ['/api/mcp', '/mcp']) {
      const response = await client.ask(post(legacy('ping'), { host: 'localhost' }, path));
      const url = `https://tools.example.com/api${wellKnown}/mcp`;
      assert.equal(response.status, 401);
      const expected = `Bearer resource_metadata="${url}", ${scope}`;
      assert.equal(header(response, 'www-authenticate'), expected);
    }
  });
});

describe('options of signing in', () => {
  const refused = (options: Partial<AppOptions>): string =>
    refusal(() => new RpcApp({ router, mcp: true, ...options }));
  const servers = { mcpAuthorizationServers: 'https://auth.example.com' };

  test('are refused with one line where one is missing, or is no URL and no scope', () => {
    const cases: readonly (readonly [Partial<AppOptions>, RegExp])[] = [
      [servers, /^option mcpAuthorizationServers needs publicUrl beside it: /],
      [{ mcpScopes: 'a' }, /^option mcpScopes needs mcpAuthorizationServers beside it: /],
      [
        { ...servers, publicUrl: 'https://a:99999' },
        /^option publicUrl: .* is no URL, and hosts of/,
      ],
      ...[
        'auth.example.com',
        'ftp://a.example',
        'https://a.example?x',
        'https://a.example#x',
        'https://',
      ].map((url): [Partial<AppOptions>, RegExp] => [
        { mcpAuthorizationServers: ['https://b.example', url] },
        /^option mcpAuthorizationServers: expected entry 2 to be none, or http and https URLs/,
      ]),
      ...['a b', 'a"b', 'a\\b', 'é', ''].map((one): [Partial<AppOptions>, RegExp] => [
        { ...servers, mcpScopes: [one] },
        /^option mcpScopes: expected none, or scopes like notes:read/,
      ]),
      [{ ...signIn, path: wellKnown }, /^option path: .* where hosts of agents learn/],
      [{ ...signIn, httpPath: '/.well-known' }, /^option httpPath: .* where hosts of agents learn/],
    ];
    for (const [options, message] of cases) assert.match(refused(options), message);
  });

  test('never show a password', () => {
    const message = refused({ mcpAuthorizationServers: 'https://ann:secret@a.example' });
    assert.match(message, /got "https:\/\/\*\*\*@a\.example"$/);
  });

  test('mean nothing without mcp', () => {
    assert.ok(new RpcApp({ router, ...servers }));
  });
});

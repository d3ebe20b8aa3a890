/** docs/mcp.md, "Agents that sign in": the official clients find out where to sign in, get a token, and call a tool. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { jwt } from '../../src/extras/jwt/jwt.ts';
import { Router } from '../../src/index.ts';
import { makeApp } from '../harness.ts';
import { Issuer } from '../jwt/issuer.ts';
import { servers } from '../servers.ts';

const router = new Router();
router.rpc({ name: 'who', async: true }, (_params, { auth }) => auth);

/** Passes connections on to a server that comes later, as a proxy does: its own address is known before. */
class Relay {
  port = 0;
  target = 0;

  static async start(t: TestContext): Promise<Relay> {
    const relay = new Relay();
    const server = createServer((near) => {
      const far = connect(relay.target, '127.0.0.1');
      near.pipe(far).pipe(near);
      for (const one of [near, far]) one.on('error', () => [near, far].map((it) => it.destroy()));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => void server.close());
    relay.port = (server.address() as AddressInfo).port;
    return relay;
  }
}

const redirectUrl = 'http://127.0.0.1:1/callback';

/** A host of agents without a disk, whose browser is a `fetch`. */
class Host {
  /** What came back to the redirect URL. */
  #callback = new URLSearchParams();
  readonly asked: URLSearchParams[] = [];
  readonly #kept = new Map<string, unknown>();

  /** The provider of either client: they are of the same shape. */
  get provider(): OAuthClientProvider {
    // Each client reads what it has saved.
    const saved = (name: string) => this.#kept.get(name) as never;
    const save = (name: string) => (value: unknown) => void this.#kept.set(name, value);
    return {
      redirectUrl,
      clientMetadata: {
        client_name: 'test',
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      clientInformation: () => saved('client'),
      saveClientInformation: save('client'),
      tokens: () => saved('tokens'),
      saveTokens: save('tokens'),
      codeVerifier: () => saved('verifier'),
      saveCodeVerifier: save('verifier'),
      discoveryState: () => saved('discovery'),
      saveDiscoveryState: save('discovery'),
      redirectToAuthorization: async (url) => {
        this.asked.push(url.searchParams);
        const { status, headers } = await fetch(url, { redirect: 'manual' });
        assert.equal(status, 302);
        this.#callback = new URL(headers.get('location') ?? '').searchParams;
      },
    };
  }

  /** The person has signed in. */
  async finish(transport: Transport): Promise<void> {
    await transport.finishAuth(this.#callback.get('code') ?? '', this.#callback.get('iss') ?? '');
    await transport.close();
  }
}

interface Transport {
  finishAuth(code: string, iss?: string): Promise<void>;
  close(): Promise<void>;
}

interface Connected {
  call(): Promise<{ readonly structuredContent?: unknown; readonly content: unknown }>;
  close(): Promise<void>;
}

type Kind = readonly [
  name: string,
  transport: (url: URL, provider: OAuthClientProvider) => Transport,
  connect: (transport: Transport) => Promise<Connected>,
];

const info = { name: 'test', version: '1.0.0' };
type Result = Awaited<ReturnType<Connected['call']>>;

const later = (mode: 'legacy' | { readonly pin: string }): Kind => [
  `client 2, ${typeof mode === 'string' ? mode : 'modern'}`,
  (url, authProvider) =>
    new StreamableHTTPClientTransport(url, { authProvider: authProvider as never }),
  async (transport) => {
    const client = new Client(info, { versionNegotiation: { mode } });
    await client.connect(transport as StreamableHTTPClientTransport);
    return {
      call: async () => (await client.callTool({ name: 'who', arguments: {} })) as Result,
      close: () => client.close(),
    };
  },
];

const kinds: readonly Kind[] = [
  [
    'sdk 1',
    (url, authProvider) => new EarlierHttp(url, { authProvider }),
    async (transport) => {
      const client = new EarlierClient(info);
      // Its own types do not allow for exactOptionalPropertyTypes.
      await client.connect(transport as unknown as Parameters<EarlierClient['connect']>[0]);
      return {
        call: async () => (await client.callTool({ name: 'who', arguments: {} })) as Result,
        close: () => client.close(),
      };
    },
  ],
  later('legacy'),
  later({ pin: '2026-07-28' }),
];

for (const transport of servers) {
  describe(`official clients that sign in, on ${transport}`, () => {
    for (const [name, open, connectTo] of kinds) {
      test(name, async (t) => {
        const issuer = await Issuer.start(t);
        const relay = await Relay.start(t);
        const publicUrl = `http://127.0.0.1:${relay.port}`;
        const resource = `${publicUrl}/mcp`;
        const { app } = makeApp(t, {
          router,
          transport,
          mcp: true,
          publicUrl,
          mcpAuthorizationServers: issuer.url,
          mcpScopes: ['notes:read', 'notes:write'],
          authenticate: jwt({ issuer: issuer.url, audience: resource }),
        });
        relay.target = (await app.listen({ port: 0 })).port;
        const host = new Host();
        const url = new URL(resource);
        issuer.grants = 'notes:read';
        const first = open(url, host.provider);
        await assert.rejects(connectTo(first), /Unauthorized|authoriz/i);
        const [asked] = host.asked;
        assert.equal(asked?.get('resource'), resource);
        assert.equal(asked?.get('scope'), 'notes:read notes:write');
        await host.finish(first);
        issuer.grants = undefined;
        // Too little was granted: the client asks once more.
        const second = open(url, host.provider);
        await assert.rejects(connectTo(second), /Unauthorized|authoriz/i);
        assert.equal(host.asked[1]?.get('scope'), 'notes:read notes:write');
        await host.finish(second);
        const client = await connectTo(open(url, host.provider));
        const { content } = await client.call();
        const [{ text = '' } = {}] = content as { readonly text?: string }[];
        const auth = JSON.parse(text) as { readonly sub: string; readonly scopes: string[] };
        assert.deepEqual([auth.sub, auth.scopes], ['ann', ['notes:read', 'notes:write']]);
        assert.equal(host.asked.length, 2);
        await client.close();
      });
    }
  });
}

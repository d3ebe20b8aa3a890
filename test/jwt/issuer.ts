/**
 * An authorization server on node:http, as strict as OAuth 2.1 wants it: registers clients (RFC 7591), sends everybody on who wants to sign
 * in, as ann, and issues tokens for the resource that was asked for (RFC 8707). Its keys can be changed, and it can stop answering.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

/** What the keys of an issuer, and its metadata, are asked for with: what it answers to those. */
type Mood = 'up' | 'broken' | 'silent' | 'gone';

interface Key {
  readonly kid: string | undefined;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** A key pair whose public half can be published. */
export async function createKey(kid: string | undefined, alg = 'ES256'): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const publicJwk = { ...(await exportJWK(publicKey)), ...(kid && { kid }), alg, use: 'sig' };
  return { kid, alg, privateKey, publicJwk };
}

/** Claims, and what else is said of a token. A claim of undefined is left out. */
interface Wanted {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: Key;
}

interface Grant {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly resource: string;
  readonly scope: string;
}

export class Issuer {
  /** Its keys, the newest first. Those that are published are others where a test says so. */
  keys: readonly Key[] = [];
  mood: Mood = 'up';
  /** The metadata at the path of OpenID Connect alone. */
  isOpenId = false;
  /** Put over the metadata. */
  metadata: Readonly<Record<string, unknown>> = {};
  /** The scopes that are granted, whatever is asked for; undefined: those. */
  grants: string | undefined;
  /** Paths that were asked for, in order. */
  asked: string[] = [];
  readonly #server: Server;
  /** Of its URL, which may end in a slash, and of all that lies below it. */
  readonly #ownPath: string;
  readonly #path: string;
  readonly #clients = new Map<string, readonly string[]>();
  readonly #grants = new Map<string, Grant>();
  /** Codes that were given out. */
  #codes = 0;

  private constructor(path: string) {
    this.#ownPath = path;
    this.#path = path.replace(/\/$/, '');
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify({ error: 'invalid_request', error_description: String(error) }),
        );
      });
    });
  }

  /** @param path of the issuer's URL: that of a tenant, say */
  static async start(t: { after(end: () => unknown): unknown }, path = ''): Promise<Issuer> {
    const issuer = new Issuer(path);
    issuer.keys = [await createKey('first')];
    await once(issuer.#server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => {
      issuer.#server.close();
      issuer.#server.closeAllConnections();
    });
    return issuer;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return this.origin + this.#ownPath;
  }

  get #base(): string {
    return this.origin + this.#path;
  }

  get jwksUri(): string {
    return `${this.#base}/jwks`;
  }

  /** How often its keys were fetched. */
  get fetches(): number {
    return this.asked.filter((path) => path.endsWith('/jwks')).length;
  }

  /** An access token. */
  async token({ claims = {}, header = {}, key = this.keys[0] }: Wanted = {}): Promise<string> {
    assert.ok(key !== undefined);
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: this.url, sub: 'ann', iat: now, exp: now + 300, ...claims };
    const { kid, alg } = key;
    const protectedHeader = { alg, ...(kid !== undefined && { kid }), typ: 'at+jwt', ...header };
    return new SignJWT(JSON.parse(JSON.stringify(all)))
      .setProtectedHeader(protectedHeader)
      .sign(key.privateKey);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.origin);
    this.asked.push(pathname);
    if (this.mood === 'gone') request.socket.destroy();
    if (this.mood === 'silent' || this.mood === 'gone') return;
    const send = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(value));
    };
    const [oauth, openId] = [
      `/.well-known/oauth-authorization-server${this.#path}`,
      `${this.#path}/.well-known/openid-configuration`,
    ];
    if (this.mood === 'broken') send(500, { error: 'server_error' });
    else if (pathname === (this.isOpenId ? openId : oauth)) send(200, this.#metadata());
    else if (pathname === `${this.#path}/jwks`) {
      send(200, { keys: this.keys.map(({ publicJwk }) => publicJwk) });
    } else if (pathname === `${this.#path}/register`) {
      send(201, this.#register(await text(request)));
    } else if (pathname === `${this.#path}/authorize`) {
      response.writeHead(302, { location: this.#authorize(searchParams) }).end();
    } else if (pathname === `${this.#path}/token`) {
      send(200, await this.#exchange(new URLSearchParams(await text(request))));
    } else send(404, { error: 'not_found' });
  }

  #metadata(): object {
    const base = this.#base;
    return {
      issuer: this.url,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      registration_endpoint: `${base}/register`,
      jwks_uri: this.jwksUri,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      ...this.metadata,
    };
  }

  #register(body: string): object {
    const asked = JSON.parse(body) as { readonly redirect_uris: readonly string[] };
    assert.ok(asked.redirect_uris.length > 0);
    const clientId = `client-${this.#clients.size + 1}`;
    this.#clients.set(clientId, asked.redirect_uris);
    return { ...asked, client_id: clientId, token_endpoint_auth_method: 'none' };
  }

  /** @returns where the browser is sent */
  #authorize(asked: URLSearchParams): string {
    const of = (name: string): string => asked.get(name) ?? assert.fail(`${name} is missing`);
    const redirectUri = of('redirect_uri');
    const clientId = of('client_id');
    assert.ok(this.#clients.get(clientId)?.includes(redirectUri), 'an unknown client');
    assert.deepEqual([of('response_type'), of('code_challenge_method')], ['code', 'S256']);
    const code = `code-${++this.#codes}`;
    this.#grants.set(code, {
      clientId,
      redirectUri,
      challenge: of('code_challenge'),
      resource: of('resource'),
      scope: this.grants ?? asked.get('scope') ?? '',
    });
    const target = new URL(redirectUri);
    target.searchParams.set('code', code);
    target.searchParams.set('iss', this.url);
    if (asked.has('state')) target.searchParams.set('state', of('state'));
    return target.href;
  }

  async #exchange(asked: URLSearchParams): Promise<object> {
    const code = asked.get('code') ?? '';
    const grant = this.#grants.get(code);
    this.#grants.delete(code);
    assert.ok(grant !== undefined, 'an unknown code');
    const verifier = asked.get('code_verifier') ?? '';
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    assert.deepEqual(
      [asked.get('grant_type'), asked.get('client_id'), asked.get('redirect_uri'), challenge],
      ['authorization_code', grant.clientId, grant.redirectUri, grant.challenge],
    );
    assert.equal(asked.get('resource'), grant.resource);
    const { resource, scope } = grant;
    const token = await this.token({ claims: { aud: resource, scope } });
    return { access_token: token, token_type: 'Bearer', expires_in: 300, scope };
  }
}

/** docs/mcp.md, "Tokens of an issuer": which tokens `jwt` takes, and what they may cost. */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { CompactSign, exportSPKI, type JWTHeaderParameters, SignJWT, UnsecuredJWT } from 'jose';
import { type JwtAuth, type JwtOptions, jwt } from '../../src/extras/jwt/jwt.ts';
import { RpcError } from '../../src/index.ts';
import { refusal } from '../refusal.ts';
import { seed } from '../seed.ts';
import { until } from '../turns.ts';
import { createKey, Issuer } from './issuer.ts';

const audience = 'https://tools.example.com/mcp';

/** An issuer, and a hook that takes its tokens. */
class Scene {
  readonly issuer: Issuer;
  readonly #hook: ReturnType<typeof jwt>;

  private constructor(issuer: Issuer, options: Partial<JwtOptions>) {
    this.issuer = issuer;
    this.#hook = jwt({ issuer: issuer.url, audience, ...options } as JwtOptions);
  }

  static async start(
    t: TestContext,
    options: Partial<JwtOptions> = {},
    path?: string,
  ): Promise<Scene> {
    return new Scene(await Issuer.start(t, path), options);
  }

  token(claims: object = {}, more: Parameters<Issuer['token']>[0] = {}): Promise<string> {
    return this.issuer.token({ ...more, claims: { aud: audience, ...claims } });
  }

  send(authorization: string | undefined): Promise<JwtAuth | undefined> {
    return this.#hook({ headers: { authorization } });
  }

  async sub(token: string): Promise<string | undefined> {
    return (await this.send(`Bearer ${token}`))?.sub;
  }

  takes(token: string): Promise<boolean> {
    return this.sub(token).then(
      () => true,
      () => false,
    );
  }

  /** Why a token is refused. */
  async refusal(token: string): Promise<string> {
    return this.refusalOf(`Bearer ${token}`);
  }

  async refusalOf(authorization: string | undefined): Promise<string> {
    try {
      await this.send(authorization);
    } catch (error) {
      assert.ok(error instanceof RpcError, String(error));
      assert.equal(error.code, 4010);
      return (error.data as { readonly reason: string }).reason;
    }
    return assert.fail('it was taken');
  }
}

const now = (): number => Math.floor(Date.now() / 1000);
const encoded = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token of the issuer', () => {
  test('becomes auth: sub, scopes and all claims', async (t) => {
    const scene = await Scene.start(t);
    const auth = await scene.send(`Bearer ${await scene.token({ scope: 'a b:c', tenant: 7 })}`);
    assert.deepEqual([auth?.sub, auth?.scopes, auth?.claims.tenant], ['ann', ['a', 'b:c'], 7]);
    assert.equal(auth?.claims.iss, scene.issuer.url);
    // The scheme has no case (RFC 9110, 11.1).
    assert.equal((await scene.send(`bearer ${await scene.token()}`))?.sub, 'ann');
  });

  test('has the scopes of scope, a text, or of scp, a list or a text', async (t) => {
    const scene = await Scene.start(t);
    const scopes = async (claims: object) =>
      (await scene.send(`Bearer ${await scene.token(claims)}`))?.scopes;
    assert.deepEqual(await scopes({ scp: ['x', 'y'] }), ['x', 'y']);
    assert.deepEqual(await scopes({ scp: 'x y' }), ['x', 'y']);
    assert.deepEqual(await scopes({ scope: '' }), []);
    assert.deepEqual(await scopes({}), []);
    assert.deepEqual(await scopes({ scope: { a: 1 } }), []);
    assert.deepEqual(await scopes({ scp: ['x', 3, ''] }), ['x']);
  });

  test('is taken for one of several audiences, and with each algorithm of a public key', async (t) => {
    const scene = await Scene.start(t, { audience: ['https://other.example', audience] });
    for (const alg of ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA']) {
      const key = await createKey(alg, alg);
      scene.issuer.keys = [key, ...scene.issuer.keys];
      assert.equal(await scene.sub(await scene.token({ aud: ['x', audience] })), 'ann', alg);
    }
  });

  test('is found by the metadata of OAuth or of OpenID Connect, of a tenant too, or by jwksUri', async (t) => {
    for (const path of ['', '/', '/tenant-1', '/tenant/2/']) {
      for (const isOpenId of [false, true]) {
        const scene = await Scene.start(t, {}, path);
        scene.issuer.isOpenId = isOpenId;
        assert.equal(await scene.sub(await scene.token()), 'ann', `${path} ${isOpenId}`);
      }
    }
    const issuer = await Issuer.start(t);
    const hook = jwt({ issuer: 'accounts.example.com', audience, jwksUri: issuer.jwksUri });
    const token = await issuer.token({ claims: { iss: 'accounts.example.com', aud: audience } });
    assert.equal((await hook({ headers: { authorization: `Bearer ${token}` } })).sub, 'ann');
    assert.deepEqual(issuer.asked, ['/jwks']);
  });

  test('may be as late as clockToleranceSeconds say', async (t) => {
    const scene = await Scene.start(t, { clockToleranceSeconds: 60 });
    assert.equal(await scene.sub(await scene.token({ exp: now() - 30 })), 'ann');
    assert.equal(await scene.sub(await scene.token({ nbf: now() + 30 })), 'ann');
    assert.equal(await scene.refusal(await scene.token({ exp: now() - 90 })), 'expired');
  });
});

describe('refused is', () => {
  test('a token that has expired, is not valid yet, or never expires', async (t) => {
    const scene = await Scene.start(t);
    assert.equal(await scene.refusal(await scene.token({ exp: now() - 1 })), 'expired');
    assert.equal(await scene.refusal(await scene.token({ nbf: now() + 60 })), 'early');
    assert.equal(await scene.refusal(await scene.token({ exp: undefined })), 'claim');
    assert.equal(await scene.refusal(await scene.token({ exp: 'tomorrow' })), 'claim');
    assert.equal(await scene.refusal(await scene.token({ nbf: 'x' })), 'claim');
  });

  test('a token with exp: 1e999, which JSON.parse reads as Infinity', async (t) => {
    const scene = await Scene.start(t);
    const [key] = scene.issuer.keys;
    assert.ok(key !== undefined);
    const claims = JSON.stringify({ iss: scene.issuer.url, aud: audience, sub: 'ann', exp: 0 });
    const token = await new CompactSign(Buffer.from(claims.replace('"exp":0', '"exp":1e999')))
      .setProtectedHeader({ alg: key.alg, kid: key.kid ?? '' })
      .sign(key.privateKey);
    assert.equal(await scene.refusal(token), 'claim');
  });

  test('a token of another issuer, or for another audience', async (t) => {
    const scene = await Scene.start(t);
    for (const iss of ['https://evil.example', `${scene.issuer.url}/`, undefined]) {
      assert.equal(await scene.refusal(await scene.token({ iss })), 'claim');
    }
    for (const aud of ['https://other.example', `${audience}/`, [], undefined, { 0: audience }]) {
      assert.equal(await scene.refusal(await scene.token({ aud })), 'claim');
    }
  });

  test('alg none, in any case, with a signature or without', async (t) => {
    const scene = await Scene.start(t);
    const claims = { iss: scene.issuer.url, aud: audience, sub: 'root', exp: now() + 60 };
    const bare = new UnsecuredJWT(claims).encode();
    assert.equal(await scene.refusal(bare), 'signature');
    const [, , signature] = (await scene.token()).split('.');
    for (const alg of ['none', 'None', 'NONE', '', undefined]) {
      const head = `${encoded({ alg, kid: 'first' })}.${encoded(claims)}`;
      assert.equal(await scene.refusal(`${head}.`), 'signature');
      assert.equal(await scene.refusal(`${head}.${signature}`), 'signature');
    }
    // None of these has cost a fetch.
    assert.deepEqual(scene.issuer.asked, []);
  });

  test('HS256 signed by the public key, in each form that it has', async (t) => {
    const scene = await Scene.start(t);
    const key = await createKey('rsa', 'RS256');
    scene.issuer.keys = [key];
    assert.equal(await scene.sub(await scene.token()), 'ann');
    const publicKey = createPublicKey({ key: key.publicJwk as never, format: 'jwk' });
    const pem = await exportSPKI(publicKey as never);
    const claims = { iss: scene.issuer.url, aud: audience, sub: 'root', exp: now() + 60 };
    for (const secret of [
      pem,
      pem.trim(),
      JSON.stringify(key.publicJwk),
      String(key.publicJwk.n),
    ]) {
      const forged = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: 'rsa' })
        .sign(Buffer.from(secret));
      assert.equal(await scene.refusal(forged), 'signature');
    }
  });

  test('a key that nobody knows, or that a header brings along', async (t) => {
    const scene = await Scene.start(t);
    const evil = await Issuer.start(t);
    const own = await createKey('first');
    evil.keys = [own];
    const jwks = evil.jwksUri;
    const headers: Partial<JWTHeaderParameters>[] = [
      {},
      { kid: 'unknown' },
      { kid: '../../first' },
      { jwk: own.publicJwk },
      { jku: jwks },
      { x5u: jwks },
      { x5c: ['MIIB'] },
      { jwk: own.publicJwk, jku: jwks, x5u: jwks, kid: 'mine' },
    ];
    for (const header of headers) {
      const forged = await scene.token({ sub: 'root' }, { key: own, header });
      assert.equal(await scene.refusal(forged), 'signature', JSON.stringify(header));
    }
    assert.deepEqual(evil.asked, []);
    const critical = { crit: ['x'], x: 1 };
    const unread = await new SignJWT({ iss: scene.issuer.url, aud: audience, exp: now() + 60 })
      .setProtectedHeader({ alg: 'ES256', kid: 'first', ...critical })
      .sign(scene.issuer.keys[0]?.privateKey ?? assert.fail(), { crit: { x: true } });
    assert.equal(await scene.refusal(unread), 'malformed');
  });

  test('claims or a signature that were changed', async (t) => {
    const scene = await Scene.start(t);
    const [head = '', , signature = ''] = (await scene.token()).split('.');
    const claims = { iss: scene.issuer.url, aud: audience, sub: 'root', exp: now() + 60 };
    assert.equal(await scene.refusal(`${head}.${encoded(claims)}.${signature}`), 'signature');
    const [one = '', two = ''] = (await scene.token()).split('.');
    for (const other of ['', 'AAAA', signature.slice(2), 'A'.repeat(signature.length)]) {
      assert.equal(await scene.refusal(`${one}.${two}.${other}`), 'signature');
    }
  });

  test('an algorithm that is not listed', async (t) => {
    const scene = await Scene.start(t, { algorithms: ['RS256'] });
    assert.equal(await scene.refusal(await scene.token()), 'signature');
  });

  test('what is no token: rubbish of any kind, other schemes, several headers', async (t) => {
    const scene = await Scene.start(t);
    const token = await scene.token();
    const others = ['', 'Bearer', 'Bearer ', `Basic ${token}`, token, `Bearer ${token}, Bearer x`];
    for (const header of others) assert.equal(await scene.refusalOf(header), 'scheme', header);
    const rubbish = ['a', 'a.b', 'a.b.c', '..', '....', `${token}.x`, `${token}.x.y`, '%', 'é'];
    for (const one of rubbish) await scene.refusal(one);
    const deep = encoded(JSON.parse(`${'['.repeat(1000)}${']'.repeat(1000)}`));
    assert.equal(await scene.refusal(`${deep}.${deep}.x`), 'malformed');
    const header = encoded({ alg: 'ES256', kid: 'first' });
    const part = fc.oneof(fc.base64String(), fc.json().map(encoded), fc.constant(header));
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 5 }), async (parts) => {
        await scene.refusal(parts.join('.'));
      }),
      { seed, numRuns: 200 },
    );
    assert.equal(await scene.sub(token), 'ann');
  });

  test('a huge token, before it is read: also one that the issuer has signed', async (t) => {
    const scene = await Scene.start(t);
    assert.equal(await scene.refusal('a'.repeat(8193)), 'length');
    assert.equal(await scene.refusal(await scene.token({ pad: 'x'.repeat(9000) })), 'length');
    assert.equal(await scene.refusal(`${'a.'.repeat(5_000_000)}`), 'length');
    assert.deepEqual(scene.issuer.asked, []);
    assert.equal(await scene.sub(await scene.token({ pad: 'x'.repeat(5000) })), 'ann');
  });

  test('a caller without a token; with optional it is anonymous, and a bad token refused all the same', async (t) => {
    const scene = await Scene.start(t);
    assert.equal(await scene.refusalOf(undefined), 'missing');
    const open = await Scene.start(t, { optional: true });
    assert.equal(await open.send(undefined), undefined);
    assert.equal(await open.sub(await open.token()), 'ann');
    assert.equal(await open.refusal(await open.token({ exp: now() - 1 })), 'expired');
    assert.equal(await open.refusal('x'), 'malformed');
    assert.equal(await open.refusalOf('Basic eDp5'), 'scheme');
    assert.equal(await open.refusalOf(''), 'scheme');
  });
});

describe('keys', () => {
  test('that were changed are found at once, whether tokens name them or not', async (t) => {
    for (const name of ['second', undefined]) {
      const scene = await Scene.start(t);
      if (name === undefined) scene.issuer.keys = [await createKey(undefined)];
      assert.equal(await scene.sub(await scene.token()), 'ann');
      scene.issuer.keys = [await createKey(name)];
      assert.equal(await scene.sub(await scene.token()), 'ann');
      assert.equal(scene.issuer.fetches, 2);
    }
  });

  test('of one kind without names are all tried', async (t) => {
    const scene = await Scene.start(t);
    const [one, two] = [await createKey(undefined), await createKey(undefined)];
    scene.issuer.keys = [one, two];
    for (const key of [one, two])
      assert.equal(await scene.sub(await scene.token({}, { key })), 'ann');
    const forged = await scene.token({}, { key: await createKey(undefined) });
    assert.equal(await scene.refusal(forged), 'signature');
  });

  test('that nobody knows cost a bounded number of fetches, of a server that answers or not', async (t) => {
    for (const mood of ['up', 'broken', 'gone'] as const) {
      const scene = await Scene.start(t, { jwksUri: undefined });
      const good = await scene.token();
      assert.equal(await scene.sub(good), 'ann');
      scene.issuer.mood = mood;
      const key = await createKey('x');
      const flood = await Promise.all(
        Array.from({ length: 50 }, (_, i) => scene.token({}, { key, header: { kid: `k${i}` } })),
      );
      for (const token of flood) assert.equal(await scene.refusal(token), 'signature');
      await Promise.all(flood.map((token) => scene.refusal(token)));
      assert.ok(scene.issuer.asked.length <= 20, `${mood}: ${scene.issuer.asked.length}`);
      // The known key goes on.
      assert.equal(await scene.sub(good), 'ann');
    }
  });

  test('are fetched once for calls that come together', async (t) => {
    const scene = await Scene.start(t);
    const token = await scene.token();
    await Promise.all(Array.from({ length: 20 }, () => scene.sub(token)));
    assert.equal(scene.issuer.fetches, 1);
  });

  test('are fetched again after ten minutes: one that was withdrawn is refused', async (t) => {
    const scene = await Scene.start(t);
    const token = await scene.token({ exp: now() + 3600 });
    assert.equal(await scene.sub(token), 'ann');
    scene.issuer.keys = [await createKey('second')];
    assert.equal(await scene.sub(token), 'ann');
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 601_000 });
    assert.equal(await scene.refusal(token), 'signature');
  });

  test('go on while the issuer is down, for as long as it is, and are fetched when it is back', async (t) => {
    for (const mood of ['broken', 'gone'] as const) {
      const scene = await Scene.start(t);
      const token = await scene.token({ exp: now() + 7200 });
      assert.equal(await scene.sub(token), 'ann');
      scene.issuer.mood = mood;
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
      for (let minutes = 0; minutes < 60; minutes += 9) {
        t.mock.timers.tick(9 * 60_000);
        assert.equal(await scene.sub(token), 'ann');
      }
      scene.issuer.mood = 'up';
      scene.issuer.keys = [await createKey('second')];
      const next = await scene.token();
      // A fetch that began before may still fail.
      await until(() => scene.takes(next));
      assert.equal(await scene.refusal(token), 'signature');
      t.mock.timers.reset();
    }
  });

  test('that were never there are an error of the service, which says what failed, until they are', async (t) => {
    const scene = await Scene.start(t);
    const token = await scene.token();
    const failure = async (): Promise<string> => {
      const error: unknown = await scene.sub(token).catch((caught: unknown) => caught);
      assert.ok(error instanceof Error && !(error instanceof RpcError));
      return error.message;
    };
    const { url } = scene.issuer;
    scene.issuer.mood = 'broken';
    assert.match(
      await failure(),
      /^jwt: no keys can be fetched from the issuer http:.*: no metadata: .* answers 500, /,
    );
    scene.issuer.mood = 'up';
    scene.issuer.metadata = { issuer: 'https://evil.example' };
    assert.match(await failure(), /is the metadata of https:\/\/evil\.example, not of /);
    scene.issuer.metadata = { jwks_uri: 'file:///etc/passwd' };
    assert.match(await failure(), /names no jwks_uri; give jwksUri$/);
    scene.issuer.metadata = { jwks_uri: `${url}/nothing` };
    assert.match(await failure(), /Expected 200 OK/);
    scene.issuer.metadata = {};
    assert.equal(await scene.sub(token), 'ann');
  });
});

test('keys of an issuer of https are not fetched without it', async (t) => {
  const issuer = 'https://auth.example.com';
  const asked: string[] = [];
  t.mock.method(globalThis, 'fetch', async (url: string) => {
    asked.push(String(url));
    return Response.json({ issuer, jwks_uri: 'http://auth.example.com/jwks' });
  });
  const hook = jwt({ issuer, audience });
  const token = `Bearer ${encoded({ alg: 'ES256' })}.${encoded({})}.AAAA`;
  const message = /names a jwks_uri without https$/;
  await assert.rejects(hook({ headers: { authorization: token } }), message);
  assert.deepEqual(asked, [`${issuer}/.well-known/oauth-authorization-server`]);
});

describe('options of jwt', () => {
  const issuer = 'https://auth.example.com';

  test('that can’t be are refused at once, in one line', () => {
    const refused = (options: unknown): string => refusal(() => jwt(options as JwtOptions));
    const cases: readonly (readonly [unknown, RegExp])[] = [
      [undefined, /^jwt: the options must be an object, such as \{ issuer/],
      [{ audience }, /^jwt: option issuer must be an http or https URL.*, got undefined$/],
      [{ issuer: 'auth.example.com', audience }, /option issuer must be an http.* give jwksUri/],
      [{ issuer: [issuer], audience }, /option issuer/],
      [{ issuer }, /option audience must be a text, or a list of texts, got undefined$/],
      [{ issuer, audence: audience }, /unknown option "audence"; did you mean audience\?/],
      [{ issuer, audience: '' }, /option audience/],
      [{ issuer, audience: [] }, /option audience/],
      [{ issuer, audience, jwksUri: '/jwks' }, /option jwksUri must be an http or https URL, got/],
      [{ issuer, audience, jwksUri: 'file:///x' }, /option jwksUri/],
      [
        { issuer, audience, algorithms: ['HS256'] },
        /option algorithms\.0 must be 'RS256', .* got "HS256"/,
      ],
      [{ issuer, audience, algorithms: ['none'] }, /option algorithms/],
      [{ issuer, audience, algorithms: [] }, /option algorithms/],
      [{ issuer, audience, algorithms: 'RS256' }, /option algorithms/],
      [{ issuer, audience, clockToleranceSeconds: -1 }, /option clockToleranceSeconds/],
      [{ issuer, audience, clockToleranceSeconds: '5s' }, /option clockToleranceSeconds/],
      [{ issuer, audience, optional: 'yes' }, /option optional must be true or false/],
      [
        { issuer, audience, jwksUrl: 'x' },
        /^jwt: unknown option "jwksUrl"; did you mean jwksUri\? Known: /,
      ],
    ];
    for (const [options, message] of cases) assert.match(refused(options), message);
  });
});

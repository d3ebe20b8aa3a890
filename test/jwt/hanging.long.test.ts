/** A key server that takes connections and never answers: calls wait for 5 s at most. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jwt } from '../../src/extras/jwt/jwt.ts';
import { Router, RpcError } from '../../src/index.ts';
import { makeApp } from '../harness.ts';
import { callAt } from '../post-json.ts';
import { Issuer } from './issuer.ts';

const router = new Router();
router.rpc({ name: 'who', async: true }, (_params, { auth }) => auth);

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test('a key server that hangs holds a call for five seconds, and known keys not at all after that', async (t) => {
  const issuer = await Issuer.start(t);
  const token = await issuer.token({ claims: { aud: 'x', exp: 9_999_999_999 } });
  for (const jwksUri of [undefined, issuer.jwksUri]) {
    issuer.mood = 'silent';
    const hook = jwt({ issuer: issuer.url, audience: 'x', jwksUri });
    await assert.rejects(hook(bearer(token)), /^Error: jwt: no keys can be fetched .*timed? ?out/);
    issuer.mood = 'up';
    assert.equal((await hook(bearer(token))).sub, 'ann');
    issuer.mood = 'silent';
    const unknown = await issuer.token({ claims: { aud: 'x' }, header: { kid: 'unknown' } });
    await assert.rejects(hook(bearer(unknown)), RpcError);
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 700_000 });
    // The issuer is known to be silent: nobody waits for it.
    const asked = issuer.asked.length;
    assert.equal((await hook(bearer(token))).sub, 'ann');
    assert.equal((await hook(bearer(token))).sub, 'ann');
    assert.ok(issuer.asked.length <= asked + 1);
    t.mock.timers.reset();
  }
});

test('callers are told that the service is at fault, and the log says which server hangs', async (t) => {
  const issuer = await Issuer.start(t);
  issuer.mood = 'silent';
  const authenticate = jwt({ issuer: issuer.url, audience: 'x' });
  const { app, lines } = makeApp(t, { router, authenticate });
  const { url } = await app.listen({ port: 0 });
  const token = await issuer.token({ claims: { aud: 'x' } });
  const { error } = await callAt(url, 'who', {}, bearer(token).headers);
  assert.equal(error?.code, -32603);
  const told = lines.filter(({ level }) => level === 'error').map((line) => JSON.stringify(line));
  assert.match(told.join('\n'), /no keys can be fetched from the issuer http:/);
});

/** docs/mcp.md, "Through a gateway": the tools of members, which run on other machines. */

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { jwt } from '../../src/extras/jwt/jwt.ts';
import { Router } from '../../src/index.ts';
import { suiteLifetime } from '../harness.ts';
import { header } from '../http/raw-client.ts';
import { Issuer } from '../jwt/issuer.ts';
import { serve, untilReady } from '../nats/apps.ts';
import { describeNats, NatsServer } from '../nats/server.ts';
import { until } from '../turns.ts';
import { type Listed, legacy, replied, Stage, textOf } from './stage.ts';

async function listed(stage: Stage): Promise<ReadonlyMap<string, Listed>> {
  const all = (await stage.pages()).flat();
  return new Map(all.map((tool) => [tool.name, tool]));
}

describeNats('tools of members, offered by a gateway', () => {
  const lifetime = suiteLifetime();
  let server: NatsServer;
  let stage: Stage;
  let direct: Stage;
  before(async () => {
    server = await NatsServer.startFor(lifetime);
    // The member serves agents itself, too: what the gateway says must be the same.
    direct = await Stage.start(lifetime, { nats: { servers: server.url, role: 'member' } });
    stage = await Stage.start(lifetime, {
      router: new Router(),
      nats: { servers: server.url, role: 'gateway' },
      // What no member has any more stays known for as long as calls may wait, and for 30 s.
      maxQueueMs: 5000,
    });
    await untilReady(`http://127.0.0.1:${stage.port}/rpc`);
  });

  test('are listed as by the member itself: effects, schemas, and none that is kept from models', async () => {
    const [theirs, own] = await Promise.all([listed(stage), listed(direct)]);
    assert.deepEqual([...theirs.values()], [...own.values()]);
    assert.equal(theirs.has('secret'), false);
    assert.deepEqual(theirs.get('math_add')?.annotations, {
      readOnlyHint: true,
      openWorldHint: false,
    });
  });

  test('are unknown where they are kept from models, by either name', async () => {
    const response = await stage.ask('tools/call', { name: 'secret', arguments: {} });
    const { error } = replied(response);
    assert.equal(error?.code, -32602);
    assert.match(error.message, /^Unknown tool: secret/);
  });

  test('give the results that the member gives: values, errors, content', async () => {
    const cases: readonly (readonly [string, object?])[] = [
      ['math_sum', { a: 1, b: 2 }],
      ['math_divide', { a: 1, b: 0 }],
      ['math_divide', { a: 1, b: 'x' }],
      ['users_get', { id: 'u' }],
      ['pair', { pair: [1, 'x'] }],
      ['picture'],
      ['text_long', { length: 200_000 }],
    ];
    for (const [name, given] of cases) {
      assert.deepEqual(await stage.call(name, given), await direct.call(name, given), name);
    }
  });

  test('report progress where it is asked for, and gather values where the procedure lets them be', async () => {
    const steps = await stage.events('steps', { n: 2 }, 'p');
    const [first, second, last] = steps;
    const progress = (n: number) => ({
      progressToken: 'p',
      progress: n,
      total: 2,
      message: `step ${n}`,
    });
    assert.deepEqual([first?.params, second?.params], [progress(0), progress(1)]);
    assert.deepEqual(last?.result?.structuredContent, { done: 2 });
    const rows = await stage.events('rows', { n: 3 }, 'p');
    assert.equal(rows.length, 4);
    assert.deepEqual(rows[3]?.result?.structuredContent, [0, 1, 2]);
    const broken = await stage.events('breaks', undefined, 'p');
    assert.equal(broken.at(-1)?.result?.isError, true);
    assert.deepEqual((await stage.call('rows', { n: 2 })).structuredContent, [0, 1]);
    assert.equal(textOf(await stage.call('breaks')), 'It broke (7)');
  });

  test('are called by agents that sign in at the gateway, which tells the member who calls', async (t) => {
    const issuer = await Issuer.start(t);
    const publicUrl = 'https://tools.example.com';
    const audience = `${publicUrl}/mcp`;
    const signedIn = new Router();
    signedIn.rpc({ name: 'who', async: true }, (_params, { auth }) => auth);
    const nats = { servers: server.url, service: 'signed-in' } as const;
    const natsTrustAuth = true;
    await serve(t, { router: signedIn, natsTrustAuth, nats: { ...nats, role: 'member' } });
    const gateway = await Stage.start(t, {
      router: new Router(),
      nats: { ...nats, role: 'gateway' },
      mcpAuthorizationServers: issuer.url,
      publicUrl,
      mcpScopes: 'tools',
      authenticate: jwt({ issuer: issuer.url, audience }),
    });
    const url = `http://127.0.0.1:${gateway.port}/.well-known/oauth-protected-resource/mcp`;
    const { resource } = (await (await fetch(url)).json()) as { readonly resource: string };
    assert.equal(resource, audience);
    const body = legacy('tools/call', { name: 'who', arguments: {} });
    const send = async (scope?: string) => {
      const claims = { aud: audience, scope };
      const bearer = async () => ({ authorization: `Bearer ${await issuer.token({ claims })}` });
      return gateway.send(body, scope === undefined ? {} : await bearer());
    };
    const refused = await send();
    assert.equal(refused.status, 401);
    assert.match(header(refused, 'www-authenticate') ?? '', /^Bearer resource_metadata="https:/);
    assert.equal((await send('other')).status, 403);
    // The gateway learns of the member after its own start.
    await until(async () => replied(await send('tools')).result !== undefined);
    const { result } = replied(await send('tools'));
    const auth = JSON.parse(textOf(result ?? assert.fail())) as { readonly sub: string };
    assert.equal(auth.sub, 'ann');
  });

  test('follow the members: a procedure that comes is a tool, and one that goes is unknown', async (t) => {
    const router = new Router();
    router.rpc({ name: 'late.comer', effects: { destructive: true } }, async () => 'here');
    const late = await serve(t, { router, nats: { servers: server.url, role: 'member' } });
    const find = async (): Promise<Listed | undefined> => (await listed(stage)).get('late_comer');
    await until(async () => (await find()) !== undefined);
    assert.deepEqual((await find())?.annotations, { destructiveHint: true });
    assert.equal(textOf(await stage.call('late_comer')), 'here');
    await late.app.close();
    // Seldom asked: it stays known for half a minute.
    while ((await find()) !== undefined) await pause(1000);
    assert.ok((await listed(stage)).has('math_add'));
  });
});

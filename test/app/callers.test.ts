import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AppOptions, type RateLimitStore, Router } from '../../src/index.ts';
import { header, json, post, rpc } from '../http/raw-client.ts';
import { usualServer } from '../servers.ts';
import { deferred, until } from '../turns.ts';
import { alike, serve } from './hooks/serve.ts';

/** What one caller may take: `rateLimit` and `maxInFlightPerCaller`, over every way in. */

function router() {
  const made = new Router();
  const ran: unknown[] = [];
  const waiting: (() => void)[] = [];
  made.rpc({ name: 'now', placement: 'inline' }, (_params, { id }) => void ran.push(id));
  made.rpc({ name: 'wait', placement: 'inline', async: true }, (_params, { id }) => {
    ran.push(id);
    return new Promise<string>((resolve) => waiting.push(() => resolve('waited')));
  });
  made.rpc({ name: 'spend', placement: 'inline' }, () => {
    const end = performance.now() + 20;
    while (performance.now() < end);
  });
  return { router: made, ran, waiting };
}

const byName: Pick<AppOptions, 'authenticate'> = {
  authenticate: ({ headers }) => headers.name,
};
const as = (name: string) => ({ name });
const never = { calls: 1, burstSeconds: 3600 };

for (const carrier of alike) {
  describe(`rateLimit over ${carrier}`, () => {
    test('beyond it: -32000 with retryAfterMs and the headers of the draft, and nothing runs', async (t) => {
      const { router: given, ran } = router();
      const { client } = await serve(t, carrier, {
        router: given,
        rateLimit: { calls: 1, burstSeconds: 2000 },
      });
      const one = client();
      const first = await one.ask(post(rpc('now')));
      assert.equal(header(first, 'ratelimit-policy'), '"default";q=2000;w=2000');
      assert.equal(header(first, 'ratelimit'), '"default";r=1999;t=1');
      // A batch counts each of its calls.
      const batch = Array.from({ length: 1000 }, (_, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'now',
      }));
      // The last one is let in where one call is left, and is paid back later: no delay of this test makes room before.
      for (const calls of [1000, 998, 1000]) {
        await one.ask(post(JSON.stringify(batch.slice(0, calls))));
      }
      const before = ran.length;
      assert.equal(before, 2999);
      const refused = await one.ask(post(rpc('now', undefined, 'x')));
      assert.equal(refused.status, 200);
      const { id, error } = json(refused);
      const { retryAfterMs } = error.data as { retryAfterMs: number };
      assert.deepEqual([id, error.code], ['x', -32000]);
      assert.ok(retryAfterMs > 500_000 && retryAfterMs <= 1_000_000, `${retryAfterMs}`);
      assert.match(header(refused, 'ratelimit') ?? '', /^"default";r=0;t=2\d{3}$/);
      assert.match(header(refused, 'access-control-expose-headers') ?? '', /ratelimit/);
      const whole = await one.ask(post(`[${rpc('now')},${rpc('now')}]`));
      assert.deepEqual([json(whole).id, json(whole).error.code], [null, -32000]);
      assert.equal(
        (await one.ask(post(JSON.stringify({ jsonrpc: '2.0', method: 'now' })))).status,
        204,
      );
      assert.equal(ran.length, before);
    });

    test('is each caller’s own, by who has logged in', async (t) => {
      const { router: given } = router();
      const { client } = await serve(t, carrier, { router: given, rateLimit: never, ...byName });
      const one = client();
      const codes: unknown[] = [];
      for (const name of ['ann', 'bob']) {
        // 396 more than there are, paid back in as many seconds: no delay of this test makes room before.
        for (let i = 0; i < 4; i++) {
          const batch = JSON.stringify(Array(999).fill({ jsonrpc: '2.0', method: 'now' }));
          await one.ask(post(batch, as(name)));
        }
        codes.push(json(await one.ask(post(rpc('now'), as(name)))).error?.code);
      }
      assert.deepEqual(codes, [-32000, -32000]);
      assert.equal(json(await one.ask(post(rpc('now'), as('eve')))).error, undefined);
    });

    test('may be of what calls cost', async (t) => {
      const { router: given } = router();
      const rateLimit = { costMs: 1, burstSeconds: 10 };
      const { client } = await serve(t, carrier, { router: given, rateLimit });
      const one = client();
      const first = await one.ask(post(rpc('spend')));
      assert.equal(json(first).error, undefined);
      assert.equal(header(first, 'ratelimit'), undefined);
      const { error } = json(await one.ask(post(rpc('now'))));
      assert.equal(error.code, -32000);
      // 20 ms of which 10 were there: 10 s until they are paid back.
      assert.ok((error.data as { retryAfterMs: number }).retryAfterMs > 5000);
    });
  });

  describe(`maxInFlightPerCaller over ${carrier}`, () => {
    test('beyond it: -32000 with retryAfterMs, others go on, and a reply makes room', async (t) => {
      const { router: given, ran, waiting } = router();
      const options = { router: given, maxInFlightPerCaller: 2, ...byName };
      const { client } = await serve(t, carrier, options);
      const held = [client(), client()];
      for (const each of held) await each.write(post(rpc('wait'), as('ann')));
      await until(() => waiting.length === 2);
      const refused = json(await client().ask(post(rpc('now'), as('ann'))));
      const [reason, limit] = ['in-flight-per-caller', 'maxInFlightPerCaller'];
      const data = { reason, limit, retryAfterMs: 1000, retry: true };
      assert.deepEqual([refused.error.code, refused.error.data], [-32000, data]);
      assert.equal(json(await client().ask(post(rpc('now'), as('bob')))).error, undefined);
      assert.equal(ran.length, 3);
      waiting[0]?.();
      await held[0]?.response();
      assert.equal(json(await client().ask(post(rpc('now'), as('ann')))).error, undefined);
      // A client that goes gives its place back once its call has ended.
      held[1]?.destroy();
      waiting[1]?.();
      await held[1]?.untilClosed();
      for (const _ of [1, 2, 3]) {
        assert.equal(json(await client().ask(post(rpc('now'), as('ann')))).error, undefined);
      }
    });
  });
}

describe('a header as the key', () => {
  test('counts from a trusted proxy only', async (t) => {
    const { router: given } = router();
    const options = { router: given, maxInFlightPerCaller: 1, fairBy: 'header:X-Tenant' };
    const trusting = await serve(t, usualServer, { ...options, trustedProxies: '127.0.0.1' });
    const other = await serve(t, 'node', { ...options, trustedProxies: '192.0.2.1' });
    for (const [{ app, client }, code] of [
      [trusting, undefined],
      [other, -32000],
    ] as const) {
      const before = client();
      await before.write(post(rpc('wait'), { 'x-tenant': 'a' }));
      await until(() => app.dispatcher.stats().inFlight > 0);
      const reply = json(await client().ask(post(rpc('now'), { 'x-tenant': 'b' })));
      assert.equal(reply.error?.code, code);
      const same = json(await client().ask(post(rpc('now'), { 'x-tenant': 'a' })));
      assert.equal(same.error.code, -32000);
    }
  });
});

describe('a store of one’s own', () => {
  const full = { retryAfterMs: 0, left: 5, resetMs: 10 };

  test('is asked with the caller’s key, and may answer later', async (t) => {
    const asked: unknown[] = [];
    const answer = deferred<typeof full>();
    const store: RateLimitStore = {
      admit: (key) => {
        asked.push(key);
        return answer.promise;
      },
      charge: (key, calls, costUs) => void asked.push([key, calls, costUs]),
    };
    const { router: given, ran } = router();
    const { client } = await serve(t, usualServer, {
      router: given,
      rateLimit: { calls: 1, store },
    });
    const one = client();
    await one.write(post(`[${rpc('now')},${rpc('now')},${rpc('now')}]`));
    await until(() => asked.length > 0);
    assert.equal(ran.length, 0);
    answer.resolve(full);
    assert.equal(header(await one.response(), 'ratelimit'), '"default";r=5;t=1');
    assert.deepEqual(asked, ['a127.0.0.1', ['a127.0.0.1', 2, 0]]);
    assert.equal(ran.length, 3);
  });

  test('is not asked for a caller that left during authenticate', async (t) => {
    const asked: string[] = [];
    const admit = (key: string) => {
      asked.push(key);
      return full;
    };
    const store: RateLimitStore = { admit, charge: () => {} };
    const { router: given, ran } = router();
    const verdicts: ((value: string) => void)[] = [];
    const { client, app } = await serve(t, usualServer, {
      router: given,
      rateLimit: { calls: 1, store },
      authenticate: () => {
        const { promise, resolve } = deferred<string>();
        verdicts.push(resolve);
        return promise;
      },
    });
    const gone = client();
    await gone.write(post(rpc('now')));
    await until(() => verdicts.length === 1);
    gone.destroy();
    await until(() => app.dispatcher.stats().inFlight === 0);
    const stays = client();
    await stays.write(post(rpc('now')));
    await until(() => verdicts.length === 2);
    verdicts[0]?.('gone');
    verdicts[1]?.('stays');
    assert.equal((await stays.response()).status, 200);
    assert.deepEqual(asked, ['sstays']);
    assert.equal(ran.length, 1);
  });

  test('that fails takes nothing with it, and is one line of the log', async (t) => {
    const fails = [
      () => {
        throw new Error('down');
      },
      () => Promise.reject(new Error('down')),
    ];
    for (const admit of fails) {
      const store: RateLimitStore = { admit, charge: () => Promise.reject(new Error('down')) };
      const { router: given } = router();
      const { client, lines } = await serve(t, 'node', {
        router: given,
        rateLimit: { calls: 1, store },
      });
      for (let i = 0; i < 5; i++) {
        const reply = await client().ask(post(`[${rpc('now')},${rpc('now')}]`));
        assert.equal(reply.status, 200);
        assert.match(reply.body.toString(), /^\[\{"jsonrpc":"2.0","id":1,"result":null\}/);
      }
      assert.equal(lines.filter(({ fields }) => fields.event === 'hook-failed').length, 1);
    }
  });

  test('holds a request no longer than its deadline, and its place is given back', async (t) => {
    const store: RateLimitStore = { admit: () => new Promise(() => {}), charge: () => {} };
    const { router: given } = router();
    const options = { router: given, rateLimit: { calls: 1, store }, maxInFlightPerCaller: 1 };
    const { client } = await serve(t, usualServer, options);
    for (let i = 0; i < 3; i++) {
      const reply = await client().ask(post(rpc('now'), { 'rpc-timeout-ms': '20' }));
      assert.equal(json(reply).error.code, -32001);
    }
  });
});

describe('dispatch and dispatchText', () => {
  test('count for their callers too', async (t) => {
    const { router: given, waiting } = router();
    const { app } = await serve(t, usualServer, { router: given, maxInFlightPerCaller: 1 });
    const call = (method: string) => ({ jsonrpc: '2.0', id: 1, method });
    const first = app.dispatcher.dispatch(call('wait'), { auth: 'ann' });
    await until(() => waiting.length > 0);
    const text = await app.dispatcher.dispatchText(JSON.stringify(call('now')), { auth: 'ann' });
    assert.match(text ?? '', /-32000/);
    const other = await app.dispatcher.dispatch(call('now'), { auth: { sub: 'bob' } });
    assert.deepEqual(other, { jsonrpc: '2.0', id: 1, result: null });
    waiting[0]?.();
    await first;
    const again = await app.dispatcher.dispatch(call('now'), { auth: 'ann' });
    assert.deepEqual(again, { jsonrpc: '2.0', id: 1, result: null });
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { connect } from '@nats-io/transport-node';
import { createClient } from '../../src/client/index.ts';
import { sse } from '../../src/client/sse.ts';
import { Router, RpcError, Type } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import { postJson } from '../post-json.ts';
import { Journal } from '../service/journal.ts';
import { deferred, until } from '../turns.ts';
import { call, gateway, member, serve, untilReady, withLimits } from './apps.ts';
import { describeNats, NatsServer } from './server.ts';

/** Why a stream ends with its service. */
interface Drained {
  readonly code: number;
  readonly data: { readonly reason: string };
}

interface Draining {
  last: { readonly params: object; readonly result: null; readonly yields: string };
  finishes: { readonly params: object; readonly result: null; readonly yields: number };
}

const textOf = async (url: string, body: unknown) => (await postJson(url, body)).text();

describeNats('a gateway and its members', () => {
  let server: NatsServer;
  before(async () => {
    server = await NatsServer.start();
  });
  after(() => server.close());

  test('calls, batches and notifications are answered as by the member itself', async (t) => {
    const [one, front] = await Promise.all([member(t, server.url), gateway(t, server.url)]);
    await untilReady(front.url);
    const batch = [
      { jsonrpc: '2.0', method: 'who', params: { text: 'é\u2028"' }, id: 'a' },
      { jsonrpc: '2.0', method: 'who' },
      { jsonrpc: '2.0', method: 'who', params: { text: 1 }, id: 2 },
      { jsonrpc: '2.0', method: 'whom', id: 3 },
      { jsonrpc: '2.0', method: 'only.one', id: null },
    ];
    for (const body of [batch, ...batch, [batch[1]]]) {
      const [theirs, own] = await Promise.all([front, one].map(({ url }) => textOf(url, body)));
      assert.equal(theirs, own);
    }
    const documents = ['', '?format=openrpc'].map(async (query) => {
      const [theirs, own] = await Promise.all(
        [front, one].map(async ({ url }) => (await fetch(url + query)).json()),
      );
      assert.deepEqual(theirs, own);
    });
    await Promise.all(documents);
    const { placement, remote } = front.app.dispatcher.stats();
    assert.equal(placement.who?.place, 'remote');
    assert.equal(remote?.members, 1);
    const metrics = (await front.app.dispatcher.metrics?.text()) ?? '';
    assert.match(metrics, /tandem_calls_total\{procedure="who",code="0",place="remote"\} [1-9]/);
  });

  test('a member gathers calls of a batch procedure that came by several gateways', async (t) => {
    const modules = ['procedures.ts', 'batches.ts'].map((name) =>
      moduleUrl(`test/fixtures/service/${name}`),
    );
    const journal = new Journal();
    const nats = { servers: server.url, role: 'member' as const };
    const [one, ...fronts] = await Promise.all([
      serve(t, { modules, nats, workers: 1, spareWorkers: 0 }),
      gateway(t, server.url),
      gateway(t, server.url),
    ]);
    t.after(() => journal.remove());
    for (const front of fronts) await untilReady(front.url);
    const params = { file: journal.file, text: 'x' };
    const held = one.app.dispatcher.dispatch({ method: 'hold', params, id: 'held' });
    await until(() => journal.lines().length > 0);
    const calls = fronts.flatMap(({ url }) => [
      call(url, 'read', params),
      call(url, 'read', params),
    ]);
    await until(() => one.app.dispatcher.stats().pool?.queued === calls.length);
    journal.release();
    await held;
    for (const { result } of await Promise.all(calls)) assert.equal(result, calls.length);
  });

  test('no order to a process is a procedure of its members, or a subject of theirs', async (t) => {
    const [, front] = await Promise.all([member(t, server.url), gateway(t, server.url)]);
    await untilReady(front.url);
    const nats = await connect({ servers: server.url });
    t.after(() => nats.close());
    for (const name of ['stack', 'heap', 'profile', 'log-level']) {
      for (const method of [name, `rpc.${name}`, `tandem.${name}`]) {
        const { error } = await call(front.url, method);
        assert.equal(error?.code, -32601, method);
        await assert.rejects(nats.request(method, '{}'), /no responders/i);
      }
    }
  });

  test('before the first member nothing is known to be missing; without any, calls wait and are refused', async (t) => {
    const front = await gateway(t, server.url, { maxQueueMs: 300 });
    await untilReady(front.url, 'starting');
    assert.equal((await call(front.url, 'who')).error?.code, -32000);
    const one = await member(t, server.url);
    await untilReady(front.url);
    assert.deepEqual((await call(front.url, 'nothing')).error?.code, -32601);
    const ranBy = async () =>
      ((await call(front.url, 'who')).result as { name?: string } | undefined)?.name;
    await until(async () => (await ranBy()) === 'one');
    await one.app.close();
    await until(() => front.app.dispatcher.stats().remote?.members === 0);
    await untilReady(front.url, 'alone');
    const { error } = await call(front.url, 'who');
    assert.equal(error?.code, -32000);
    assert.match(JSON.stringify(error), /"retryAfterMs":[1-9]/);
    await member(t, server.url, { name: 'two' });
    await untilReady(front.url);
    await until(async () => (await ranBy()) === 'two');
  });

  test('a name goes to the members that have it, described by the newest', async (t) => {
    const old = await member(t, server.url, { name: 'old', version: '1.9.0' });
    await member(t, server.url, { name: 'new', version: '1.10.0', procedures: ['who', 'more'] });
    const front = await gateway(t, server.url);
    await until(() => front.app.dispatcher.stats().remote?.members === 2);
    for (let i = 0; i < 20; i++) {
      assert.equal((await call(front.url, 'only.old')).result, 'old');
      assert.equal((await call(front.url, 'only.new')).result, 'new');
      assert.equal(((await call(front.url, 'more')).result as { name: string }).name, 'new');
    }
    await old.app.close();
    assert.equal((await call(front.url, 'only.new')).result, 'new');
  });

  test('the only member with a procedure is restarted beside others: what waits for it, and what comes meanwhile, runs at the next one', async (t) => {
    const release: (() => void)[] = [];
    const start = () => {
      const router = new Router();
      router.rpc(
        { name: 'slow' },
        () =>
          new Promise<string>((resolve) => {
            release.push(() => resolve('done'));
          }),
      );
      return serve(t, { router, nats: { servers: server.url, role: 'member' } });
    };
    const [first] = await Promise.all([start(), member(t, server.url)]);
    const front = await withLimits({ inFlight: 1 }, () => gateway(t, server.url));
    const remote = () => front.app.dispatcher.stats().remote;
    await until(() => remote()?.members === 2);
    const running = call(front.url, 'slow');
    await until(() => release.length === 1);
    const before = [call(front.url, 'slow'), call(front.url, 'slow')];
    await until(() => remote()?.queued === 2);
    const closing = first.app.close();
    await until(() => remote()?.members === 1);
    const meanwhile = [call(front.url, 'slow'), call(front.url, 'slow')];
    const refused = Promise.race(meanwhile);
    await Promise.race([refused, until(() => remote()?.queued === 4)]);
    release.shift()?.();
    await closing;
    assert.equal((await running).result, 'done');
    await start();
    const answers = Promise.all([...before, ...meanwhile]);
    let isOver = false;
    void answers.then(() => {
      isOver = true;
    });
    await until(() => {
      release.shift()?.();
      return isOver;
    });
    for (const { result, error } of await answers) {
      assert.equal(error, undefined);
      assert.equal(result, 'done');
    }
  });

  test('local procedures win over those of members, and are inline or in workers as ever', async (t) => {
    const router = new Router();
    router.rpc({ name: 'who', params: Type.Object({}) }, async () => 'here');
    await member(t, server.url);
    const front = await gateway(t, server.url, { router });
    await until(() => front.app.dispatcher.stats().remote?.members === 1);
    assert.equal((await call(front.url, 'who')).result, 'here');
    assert.equal((await call(front.url, 'only.one')).result, 'one');
    assert.equal(front.app.placementOf('who'), 'inline');
    assert.equal(front.app.placementOf('only.one'), 'remote');
  });

  test('who calls is believed only where the member trusts its gateways', async (t) => {
    const authenticate = ({
      headers,
    }: {
      headers: Readonly<Record<string, string | undefined>>;
    }) => {
      if (headers.authorization === undefined) throw new RpcError(401, 'Who are you?');
      return { sub: headers.authorization };
    };
    const front = await gateway(t, server.url, { authenticate, forwardHeaders: ['x-tenant'] });
    const auth = { authorization: 'ann' };
    const own = await member(t, server.url, { name: 'plain' });
    await untilReady(front.url);
    const said = async () =>
      (await call(front.url, 'who', {}, { ...auth, 'x-tenant': 'acme' })).result;
    assert.equal((await call(front.url, 'who')).error?.code, 401);
    assert.deepEqual(await said(), { name: 'plain', remoteAddress: '127.0.0.1' });
    await own.app.close();
    const trusting = await member(t, server.url, {
      name: 'trusting',
      options: { natsTrustAuth: true },
    });
    await until(async () => ((await said()) as { name?: string } | undefined)?.name === 'trusting');
    assert.deepEqual(((await said()) as { auth: unknown }).auth, { sub: 'ann' });
    await trusting.app.close();
    // What its own hook sees is what the gateway forwards.
    const asks = ({
      headers,
      method,
      path,
    }: {
      headers: object;
      method: string;
      path: string;
    }) => ({
      headers,
      method,
      path,
    });
    await member(t, server.url, { name: 'asking', options: { authenticate: asks } });
    await until(async () => ((await said()) as { name?: string } | undefined)?.name === 'asking');
    const seen = ((await said()) as { auth: { headers: object; method: string; path: string } })
      .auth;
    assert.deepEqual(seen.headers, { 'x-tenant': 'acme' });
    assert.equal(seen.method, 'NATS');
    assert.match(seen.path, /^tandem\.m\.\w+$/);
  });

  test('streams are read through a gateway, and end with their member', async (t) => {
    const router = new Router();
    const params = Type.Object({ n: Type.Integer() });
    router.rpc({ name: 'count', params }, async function* ({ n }) {
      for (let i = 0; i < n; i++) yield i;
      return 'done';
    });
    router.rpc({ name: 'wait', params, stream: { collect: true } }, async function* ({ n }) {
      for (let i = 0; i < n; i++) yield i;
    });
    const nats = { servers: server.url, role: 'member' } as const;
    const [one, front] = await Promise.all([serve(t, { router, nats }), gateway(t, server.url)]);
    await untilReady(front.url);
    const request = (method: string, n: number) => ({
      jsonrpc: '2.0',
      method,
      params: { n },
      id: 1,
    });
    const stream = front.app.dispatcher.stream(request('count', 500));
    for (let i = 0; i < 500; i++) assert.deepEqual(await stream.next(), { value: i, done: false });
    assert.deepEqual(await stream.next(), { value: 'done', done: true });
    const events = async (url: string): Promise<string> => {
      const response = await postJson(url, request('count', 3), { accept: 'text/event-stream' });
      return response.text();
    };
    assert.equal(await events(front.url), await events(one.url));
    assert.deepEqual(
      (await call(front.url, 'wait', { n: 100 })).result,
      Array.from({ length: 100 }, (_, i) => i),
    );
    const left = front.app.dispatcher.stream(request('count', 1e9));
    assert.deepEqual(await left.next(), { value: 0, done: false });
    const ended = (async () => {
      for await (const value of left) assert.equal(typeof value, 'number');
    })();
    await Promise.all([assert.rejects(ended, { code: -32003 }), one.app.close()]);
  });

  test('a gateway that closes gives streams of its members the grace: their last values come, and they say why they end', async (t) => {
    const router = new Router();
    router.rpc({ name: 'last' }, async function* (_params, { signal }) {
      yield 'first';
      await once(signal, 'abort');
      yield `${(signal.reason as Drained).data.reason}`;
      yield 'never';
    });
    const values = Array.from({ length: 100 }, (_, i) => i);
    const isClosing = deferred<void>();
    router.rpc({ name: 'finishes', stream: { drain: 'finish' } }, async function* () {
      yield* values.slice(0, 10);
      await isClosing.promise;
      yield* values.slice(10);
    });
    const nats = { servers: server.url, role: 'member' } as const;
    const [, front] = await Promise.all([serve(t, { router, nats }), gateway(t, server.url)]);
    await untilReady(front.url);
    const client = createClient<Draining>({ url: front.url, streams: sse() });
    const last = client.last()[Symbol.asyncIterator]();
    const finishes = client.finishes()[Symbol.asyncIterator]();
    assert.deepEqual(await last.next(), { value: 'first', done: false });
    assert.deepEqual(await finishes.next(), { value: 0, done: false });
    const closing = front.app.close();
    assert.deepEqual(await last.next(), { value: 'shutdown', done: false });
    await assert.rejects(last.next(), (error: Drained) => {
      assert.equal(error.code, -32003);
      return error.data.reason === 'shutdown';
    });
    isClosing.resolve();
    for (const value of values.slice(1)) {
      assert.deepEqual(await finishes.next(), { value, done: false });
    }
    assert.equal((await finishes.next()).done, true);
    await closing;
  });

  test('a process may be both: it calls others, and others call it', async (t) => {
    const routers = ['a', 'b'].map((name) => {
      const router = new Router();
      router.rpc({ name: `of.${name}`, params: Type.Object({}) }, async () => name);
      return router;
    });
    const nats = { servers: server.url, role: 'both', service: 'both' } as const;
    const [a, b] = await Promise.all(routers.map((router) => serve(t, { router, nats })));
    assert.ok(a !== undefined && b !== undefined);
    for (const { url } of [a, b]) {
      await until(async () => (await call(url, 'of.a')).result === 'a');
      await until(async () => (await call(url, 'of.b')).result === 'b');
    }
  });
});

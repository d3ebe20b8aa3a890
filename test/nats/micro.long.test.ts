import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connect, type NatsConnection as Foreign, headers, type Msg, ServiceError } from 'nats';
import {
  type AppOptions,
  procedure,
  Router,
  type RpcApp,
  RpcError,
  Type,
} from '../../src/index.ts';
import { ModuleFolder } from '../modules/module-folder.ts';
import { until } from '../turns.ts';
import { serve } from './apps.ts';
import { describeNats, NatsServer } from './server.ts';

interface Member {
  readonly app: RpcApp;
  /** Another program's connection, by another client. */
  readonly foreign: Foreign;
  readonly ask: (subject: string, data?: string, more?: Record<string, string>) => Promise<Msg>;
}

interface MemberOptions extends Omit<AppOptions, 'nats' | 'router'> {
  readonly serverConfig?: string;
}

/** A member, as far as clients that are no gateways see it. Without a router it serves modules. */
async function member(
  t: TestContext,
  router: Router | undefined,
  { serverConfig = '', ...options }: MemberOptions = {},
): Promise<Member> {
  const server = await NatsServer.startFor(t, { config: serverConfig });
  const { app } = await serve(t, {
    ...(router && { router }),
    forwardHeaders: ['x-tenant'],
    natsReplyPrefixes: ['inbox.of'],
    ...options,
    nats: { servers: server.url, role: 'member', service: 'shop', serviceVersion: '1.2.3' },
  });
  const foreign = await connect({ servers: server.url });
  t.after(() => foreign.close());
  const ask: Member['ask'] = (subject, data = '', values = {}) => {
    const sent = headers();
    for (const [name, value] of Object.entries(values)) sent.set(name, value);
    return foreign.request(subject, data, { timeout: 20_000, headers: sent });
  };
  return { app, foreign, ask };
}

function shop(): Router {
  const router = new Router();
  const params = Type.Object({ a: Type.Number(), b: Type.Number() });
  router.rpc({ name: 'add', params, placement: 'inline' }, ({ a, b }) => a + b);
  router.rpc({ name: 'math.v1/div:int', placement: 'inline' }, () => 7);
  router.rpc({ name: 'odd..name', placement: 'inline' }, () => 'odd');
  router.rpc({ name: 'fail', placement: 'inline' }, () => {
    throw new RpcError(4711, 'it is\nclosed', { day: 'Sunday' });
  });
  router.rpc({ name: 'echo', placement: 'inline' }, (given) => given);
  router.rpc({ name: 'seen', placement: 'inline' }, (_, { headers, auth, deadline }) => ({
    headers,
    auth,
    left: (deadline ?? 0) - Date.now(),
  }));
  return router;
}

async function gather<T>(answers: Promise<AsyncIterable<T>>): Promise<T[]> {
  const all: T[] = [];
  for await (const answer of await answers) all.push(answer);
  return all;
}

/** Ends with the first answer: there is one member. */
const once = { strategy: 'count', maxMessages: 1, maxWait: 20_000 } as never;

/** The text of an answer; `nobody`: the server says that no member takes the subject. */
async function saidBy(answer: Promise<Msg>): Promise<string> {
  try {
    return (await answer).string();
  } catch (error) {
    assert.match(String(error), /503|no responders/i);
    return 'nobody';
  }
}

describeNats('a member, for other clients of NATS', () => {
  test('is found by the services client of npm nats, as every micro service', async (t) => {
    const { foreign, ask } = await member(t, shop());
    const client = foreign.services.client(once);
    const [ping] = await gather(client.ping('shop'));
    assert.equal(ping?.name, 'shop');
    assert.equal(ping?.version, '1.2.3');
    assert.equal(ping?.type, 'io.nats.micro.v1.ping_response');
    const { 'tandem-contract': contract, ...metadata } = ping?.metadata ?? {};
    assert.match(contract ?? '', /^\w+$/);
    assert.deepEqual(metadata, { 'tandem-protocol': '1' });
    for (const [name, id] of [
      ['', ''],
      ['shop', ''],
      ['shop', ping?.id],
    ]) {
      const [info] = await gather(client.info(name, id));
      assert.equal(info?.id, ping?.id);
      assert.deepEqual(
        info?.endpoints.map((endpoint) => [endpoint.name, endpoint.subject, endpoint.queue_group]),
        [
          ['rpc', 'shop.rpc', 'q'],
          ['add', 'shop.call.add', 'q'],
          ['math_v1_div_int', 'shop.call.math.v1/div:int', 'q'],
          ['fail', 'shop.call.fail', 'q'],
          ['echo', 'shop.call.echo', 'q'],
          ['seen', 'shop.call.seen', 'q'],
        ],
      );
    }
    await ask('shop.call.add', '{"a":1,"b":2}');
    await ask('shop.call.add', '{}');
    const [stats] = await gather(client.stats('shop'));
    const add = stats?.endpoints?.find(({ name }) => name === 'add');
    assert.equal(add?.num_requests, 2);
    assert.equal(add?.num_errors, 1);
    assert.equal(add?.last_error, '-32602:Invalid params');
    assert.ok((add?.processing_time ?? 0) > 0);
    assert.equal(add?.average_processing_time, Math.round((add?.processing_time ?? 0) / 2));
    assert.ok(Date.parse(String(stats?.started)) <= Date.now());
  });

  test('takes params and answers with the result', async (t) => {
    const { ask } = await member(t, shop());
    assert.equal((await ask('shop.call.add', '{"a":1,"b":2}')).string(), '3');
    assert.equal((await ask('shop.call.add', ' [4, 5] ')).string(), '9');
    assert.equal((await ask('shop.call.math.v1/div:int')).string(), '7');
    const text = JSON.stringify({ text: 'ü'.repeat(100_000) });
    assert.ok((await ask('shop.call.echo', text)).string() === text);
  });

  test('says an error in headers, and whole in the body', async (t) => {
    const { ask } = await member(t, shop());
    const failed = await ask('shop.call.fail');
    assert.equal(ServiceError.isServiceError(failed), true);
    assert.equal(ServiceError.toServiceError(failed)?.code, 4711);
    assert.equal(ServiceError.toServiceError(failed)?.message, 'it is closed');
    assert.deepEqual(failed.json(), {
      code: 4711,
      message: 'it is\nclosed',
      data: { day: 'Sunday' },
    });
    const invalid = await ask('shop.call.add', '{"a":1}');
    assert.equal(ServiceError.toServiceError(invalid)?.code, -32602);
  });

  test('takes no payload that is more than one JSON value', async (t) => {
    const { ask } = await member(t, shop());
    const hostile = [
      '{"a":1,"b":2},"method":"fail","x":{}',
      '{}}',
      '{},"id":7',
      '{"a":1,"b":2} {}',
      '{',
      '\u0000',
      ' ',
    ];
    for (const payload of hostile) {
      const answer = await ask('shop.call.add', payload);
      assert.equal(ServiceError.toServiceError(answer)?.code, -32700, payload);
    }
    const deep = await ask('shop.call.echo', `${'['.repeat(5000)}${']'.repeat(5000)}`);
    assert.equal(ServiceError.toServiceError(deep)?.code, -32700);
  });

  test('knows of the caller what its headers say', async (t) => {
    const { ask } = await member(t, shop(), {
      authenticate: ({ headers: { token }, method, path, remoteAddress }) => {
        if (token === 'no') throw new RpcError(7, 'who?');
        return [token, method, path, remoteAddress === undefined];
      },
    });
    const seen = (await ask('shop.call.seen', '', {
      'X-Tenant': 'acme',
      Token: 'yes',
      'Rpc-Timeout-Ms': '5000',
      Other: 'x',
    }).then((message) => message.json())) as { headers: object; auth: object; left: number };
    assert.deepEqual(seen.headers, { 'x-tenant': 'acme' });
    assert.deepEqual(seen.auth, ['yes', 'NATS', 'shop.call.seen', true]);
    assert.ok(seen.left > 0 && seen.left <= 5000, `${seen.left}`);
    const refused = await ask('shop.call.seen', '', { Token: 'no' });
    assert.equal(ServiceError.toServiceError(refused)?.message, 'who?');
    const odd = await ask('shop.call.seen', '', { 'Rpc-Timeout-Ms': '-5' });
    assert.match(odd.string(), /rpc-timeout-ms must be a positive integer/);
  });

  test('refuses what is too large, in both directions', async (t) => {
    const { ask } = await member(t, shop(), {
      serverConfig: 'max_payload: 8192',
      maxBodyBytes: 4096,
    });
    const long = await ask('shop.call.echo', JSON.stringify(['x'.repeat(5000)]));
    assert.deepEqual(long.json(), {
      code: -32004,
      message: 'Limit exceeded',
      data: { limit: 4096 },
    });
    const router = new Router();
    router.rpc({ name: 'large', placement: 'inline' }, () => 'x'.repeat(10_000));
    const { ask: askLarge } = await member(t, router, { serverConfig: 'max_payload: 8192' });
    const large = await askLarge('shop.call.large');
    assert.equal(ServiceError.toServiceError(large)?.code, -32004);
    assert.deepEqual((large.json() as { data: object }).data, { limit: 8192 });
    assert.match(
      (await askLarge('shop.rpc', '{"id":1,"method":"large"}')).string(),
      /-32004.*8192/,
    );
  });

  test('answers at _INBOX and at the prefixes of natsReplyPrefixes, and nowhere else', async (t) => {
    const { foreign, ask } = await member(t, shop());
    const others = [
      'shop.m.x',
      'other.g.a.b',
      'shop.hb',
      '$SYS.x',
      'billing.charge',
      '_INBOXES.x',
      'inbox.x',
    ];
    const heard: string[] = [];
    for (const reply of others) {
      foreign.subscribe(reply, { callback: (_, message) => heard.push(message.subject) });
    }
    for (const reply of others) {
      foreign.publish('shop.call.echo', '{"g":"forged"}', { reply });
      foreign.publish('shop.rpc', '{"id":1,"method":"echo"}', { reply });
      foreign.publish('$SRV.PING', '', { reply });
    }
    // Answered behind all of them.
    await ask('shop.call.add', '[1,2]');
    await ask('$SRV.PING');
    assert.deepEqual(heard, []);
    const answered = new Promise<string>((resolve) => {
      foreign.subscribe('inbox.of.a', { callback: (_, message) => resolve(message.string()) });
    });
    foreign.publish('shop.call.add', '[1,2]', { reply: 'inbox.of.a' });
    assert.equal(await answered, '3');
  });

  test('runs a call without a reply subject as a notification', async (t) => {
    const router = new Router();
    const seen = new Promise((resolve) => {
      router.rpc({ name: 'note', placement: 'inline' }, (params, { id }) => resolve([params, id]));
    });
    const { foreign } = await member(t, router);
    foreign.publish('shop.call.note', '{"n":5}');
    assert.deepEqual(await seen, [{ n: 5 }, undefined]);
  });

  test('has an endpoint for each procedure that serves, also after a reload', async (t) => {
    const folder = new ModuleFolder(t);
    const write = (name: string): string =>
      folder.write(
        'served.mjs',
        `import { Router } from 'tandem-rpc';
const router = new Router();
router.rpc({ name: '${name}', placement: 'inline' }, () => '${name}');
export default router;
`,
      );
    const modules = [write('old')];
    const { app, ask, foreign } = await member(t, undefined, {
      modules,
      workers: 1,
      spareWorkers: 0,
      niceIncrement: 0,
    });
    assert.equal((await ask('shop.call.old')).string(), '"old"');
    write('new');
    await app.reload();
    // It tells what it serves with its next heartbeat.
    await until(async () => (await saidBy(ask('shop.call.new'))) === '"new"');
    assert.equal(await saidBy(ask('shop.call.old')), 'nobody');
    const [info] = await gather(foreign.services.client(once).info('shop'));
    assert.deepEqual(
      info?.endpoints.map(({ subject }) => subject),
      ['shop.rpc', 'shop.call.new'],
    );
  });

  test('answers what has come before it is drained', async (t) => {
    const router = shop();
    let release: (value: number) => void = () => {};
    const entered = new Promise<void>((resolve) => {
      router.rpc({ name: 'wait', placement: 'inline' }, () => {
        resolve();
        return new Promise<number>((end) => {
          release = end;
        });
      });
    });
    const { app, ask } = await member(t, router);
    const answer = ask('shop.call.wait');
    await entered;
    let isClosed = false;
    const closed = app.close().then(() => {
      isClosed = true;
    });
    await until(async () => (await saidBy(ask('shop.call.add', '[1,2]'))) === 'nobody');
    assert.equal(isClosed, false);
    release(5);
    assert.equal((await answer).string(), '5');
    await closed;
  });

  test('serves ten thousand procedures, and cuts its lists to what a message holds', async (t) => {
    const router = new Router();
    for (let i = 0; i < 10_000; i++) {
      router.register(
        `area${i % 100}.procedure${i}`,
        procedure({ placement: 'inline' }, () => i),
      );
    }
    const { ask, foreign } = await member(t, router);
    assert.equal((await ask('shop.call.area99.procedure9999')).string(), '9999');
    const client = foreign.services.client(once);
    const [info] = await gather(client.info());
    const [stats] = await gather(client.stats());
    for (const answer of [info, stats]) {
      const omitted = Number(answer?.metadata?.['tandem-omitted']);
      assert.ok(omitted > 0, `${omitted}`);
      assert.equal((answer?.endpoints?.length ?? 0) + omitted, 10_001);
    }
  });
});

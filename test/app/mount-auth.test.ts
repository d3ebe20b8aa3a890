/** docs/protocol.md, "In a server of your own". */

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { after, before, describe, type TestContext, test } from 'node:test';
import express, { type Request } from 'express';
import { type AppOptions, type MountOptions, RpcError, StartupError } from '../../src/index.ts';
import { inReverse, listenerClient, makeApp } from '../harness.ts';
import { json, post, request, rpc } from '../http/raw-client.ts';
import { procedures } from './hooks/serve.ts';

interface SignedIn extends Request {
  user?: unknown;
}

const shared = makeApp({ after }, { modules: [procedures] });

/**
 * An Express app with a JSON parser in front, whose callers are who the header `x-user` says.
 *
 * @param given options of a service of its own; undefined: the one that the tests of `auth` share
 */
async function mounted(
  t: TestContext,
  options: MountOptions<SignedIn>,
  given?: Partial<AppOptions>,
) {
  const own = inReverse(t);
  const { app, lines } =
    given === undefined ? shared : makeApp(own, { modules: [procedures], ...given });
  const first = lines.length;
  const web = express();
  web.use(express.json({ limit: '50mb' }), (incoming: SignedIn, _response, next) => {
    const user = incoming.get('x-user');
    if (user !== undefined) incoming.user = { user };
    next();
  });
  web.all('/rpc', app.nodeHandler(options));
  const client = await listenerClient(own, web);
  await app.dispatcher.ready();
  return { client, linesSince: () => lines.slice(first) };
}

test('a mounted service that can not start says why in its log, once', async (t) => {
  const own = inReverse(t);
  const { app, lines } = makeApp(own, { modules: ['./none.mjs'] });
  const client = await listenerClient(own, app.nodeHandler());
  assert.equal(json(await client.ask(post(rpc('who')))).error.code, -32003);
  const told = lines.filter(({ fields }) => fields.event === 'start-failed');
  assert.equal(told.length, 1);
  assert.match(told[0]?.message ?? '', /^not started: [^\n]*none\.mjs/);
});

const ann = { 'x-user': 'ann' };
const places = ['inline', 'worker'] as const;

describe('nodeHandler({ auth })', () => {
  before(() => shared.app.dispatcher.ready());
  after(() => shared.app.close());

  for (const [when, auth] of [
    ['at once', (incoming: SignedIn) => incoming.user],
    ['later', async (incoming: SignedIn) => incoming.user],
  ] as const) {
    test(`what it returns ${when} is context.auth in both places, for each request its own`, async (t) => {
      const { client } = await mounted(t, { auth });
      for (const place of places) {
        const reply = await client.ask(post(rpc(`who.${place}`), ann));
        assert.deepEqual(json(reply).result, { user: 'ann' });
        assert.equal(json(await client.ask(post(rpc(`who.${place}`)))).result, 'nobody');
      }
    });
  }

  test('it is asked once for each call and for the document, and authenticate is not', async (t) => {
    const asked: string[] = [];
    const auth = ({ method, originalUrl }: SignedIn): void => {
      asked.push(`${method} ${originalUrl}`);
    };
    const authenticate = (): never => assert.fail('authenticate was asked');
    const { client } = await mounted(t, { auth }, { authenticate });
    assert.equal(
      (await client.ask(post(`[${rpc('who.inline')},${rpc('who.worker')}]`))).status,
      200,
    );
    assert.equal((await client.ask(request('GET', '/rpc?format=openrpc'))).status, 200);
    assert.equal((await client.ask(request('OPTIONS', '/rpc'))).status, 204);
    assert.equal((await client.ask(post('x', { 'content-type': 'text/plain' }))).status, 415);
    assert.deepEqual(asked, ['POST /rpc', 'GET /rpc?format=openrpc']);
  });

  test('an RpcError goes out whole, and nothing runs', async (t) => {
    const auth = (): never => {
      throw new RpcError(4010, 'Sign in', { at: '/sign-in' });
    };
    const { client } = await mounted(t, { auth });
    const error = { code: 4010, message: 'Sign in', data: { at: '/sign-in' } };
    const reply = await client.ask(post(rpc('who.worker', {}, 7)));
    assert.equal(reply.status, 200);
    assert.deepEqual(json(reply), { jsonrpc: '2.0', id: 7, error });
    const batch = await client.ask(post(`[${rpc('who.inline')},${rpc('who.worker')}]`));
    assert.deepEqual(json(batch), { jsonrpc: '2.0', id: null, error });
    assert.equal((await client.ask(request('GET', '/rpc'))).status, 403);
  });

  test('a value that is no JSON is -32603 with a ref that one line of the log has', async (t) => {
    const { client, linesSince } = await mounted(t, { auth: () => ({ since: new Date(0) }) });
    const { error } = json(await client.ask(post(rpc('who.worker'))));
    assert.equal(error.code, -32603);
    const logged = linesSince().filter(({ fields }) => fields.event === 'hook-failed');
    assert.equal(logged.length, 1);
    assert.equal(logged[0]?.fields.hook, 'auth');
    assert.equal(logged[0]?.fields.ref, (error.data as { ref: string }).ref);
    assert.match(String(logged[0]?.fields.detail), /the result of auth\.since is a Date/);
  });

  test('in node:http it gets the request of node:http', async (t) => {
    const auth = (incoming: IncomingMessage) => ({ user: incoming.headers['x-user'] });
    const client = await listenerClient(t, shared.app.nodeHandler({ auth }));
    assert.deepEqual(json(await client.ask(post(rpc('who.worker'), ann))).result, { user: 'ann' });
  });

  test('a mistake in the options is one line, and no handler', () => {
    for (const [options, message] of [
      [{ authenticate: () => 1 }, 'nodeHandler: unknown option "authenticate". Known: auth'],
      [{ Auth: () => 1 }, 'nodeHandler: unknown option "Auth"; did you mean auth? Known: auth'],
      [{ user: () => 1 }, 'nodeHandler: unknown option "user". Known: auth'],
      [{ auth: { user: 'ann' } }, 'nodeHandler: option auth must be a function, got an object'],
      [() => 1, 'nodeHandler: the options must be an object, such as { auth }, got a function'],
    ] as const) {
      assert.throws(
        () => shared.app.nodeHandler(options as MountOptions),
        new StartupError(message),
      );
    }
  });
});

describe('a parsed body, in the whole service', () => {
  test('a body that was parsed is held to every limit', async (t) => {
    const { client } = await mounted(
      t,
      {},
      { maxBatch: 2, maxInlineParamsBytes: 1024, strict: true },
    );
    const unbounded = await mounted(t, {}, { maxInlineParamsBytes: 2 ** 20 });
    const code = async (body: string, by = client) => json(await by.ask(post(body))).error.code;
    assert.equal(
      await code(`[${rpc('who.inline')},${rpc('who.inline')},${rpc('who.inline')}]`),
      -32004,
    );
    assert.equal(await code(rpc('who.inline', { text: 'x'.repeat(2000) })), -32004);
    const deep = (levels: number) =>
      `{"jsonrpc":"2.0","id":1,"method":"who.inline","params":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    assert.equal(await code(deep(64)), -32700);
    // Deeper than JSON.stringify can write on some versions of Node.
    assert.equal(await code(deep(100_000), unbounded.client), -32700);
    assert.equal(await code('{"id":1,"method":"who.inline"}'), -32600);
    assert.equal(await code('[]'), -32600);
  });

  test('ids come back as the parser has read them, params as they were sent', async (t) => {
    const { client } = await mounted(t, { auth: ({ user }) => user }, {});
    const reply = await client.ask(
      post(
        '{"jsonrpc":"2.0","id":1e2,"method":"own.worker","params":{"owner":"x","owner":"ann"}}',
        ann,
      ),
    );
    assert.equal(reply.body.toString(), '{"jsonrpc":"2.0","id":100,"result":"ann"}');
    assert.equal((await client.ask(post('{"jsonrpc":"2.0","method":"who.inline"}'))).status, 204);
  });
});

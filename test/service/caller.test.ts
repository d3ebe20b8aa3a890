import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient, hasCode, settle } from '../../src/client/index.ts';
import {
  createCaller,
  Dispatcher,
  procedure,
  Router,
  RpcError,
  reply,
  Type,
} from '../../src/index.ts';
import { startModule } from '../cli/process.ts';

/** docs/procedures.md, "Tests without a server". */

interface User {
  readonly id: string;
}

function made() {
  const state = { rows: new Map([['x', 'a row']]), opened: 0 };
  const app = new Router<{ auth: User | undefined; state: typeof state }>();
  const signedIn = app.use(({ auth }, next) => {
    if (auth === undefined) throw new RpcError(401, 'Sign in');
    return next({ user: auth });
  });
  const tree = {
    users: {
      get: signedIn.procedure(
        {
          params: Type.Object({ id: Type.String() }),
          returns: Type.Object({ id: Type.String(), row: Type.String(), by: Type.String() }),
          errors: {
            Gone: { code: 410, message: 'Gone', data: Type.Object({ id: Type.String() }) },
          },
          placement: 'worker',
          authorize: ({ user }, { id }) => {
            if (user.id === 'bob' && id === 'x') throw new RpcError(403, 'Not yours');
          },
        },
        ({ id }, { state: { rows }, user, errors }) => {
          const row = rows.get(id);
          if (row === undefined) throw errors.Gone({ id });
          return { id, row, by: user.id };
        },
      ),
    },
    open: procedure({}, (_params, { headers, remoteAddress, auth, state: given }) => ({
      headers,
      remoteAddress,
      hasAuth: auth !== undefined,
      isSame: given === state,
    })),
  };
  return { router: Router.from(tree), state };
}

describe('createCaller', () => {
  test('calls with the state and the auth it is given, typed by the router', async () => {
    const { router, state } = made();
    const api = createCaller(router, { auth: { id: 'ann' }, state });
    assert.deepEqual(await api.users.get({ id: 'x' }), { id: 'x', row: 'a row', by: 'ann' });
    const batch = await api.batch([
      ['users.get', { id: 'x' }],
      ['users.get', ['y']],
    ]);
    assert.deepEqual(
      batch.map(({ ok }) => ok),
      [true, false],
    );
    assert.equal(await api.notify('open'), undefined);
  });

  test('validates, authorizes and runs middleware as a server does', async () => {
    const { router, state } = made();
    const as = (auth: User | undefined) => createCaller(router, { auth, state });
    const code = async (auth: User | undefined, id: unknown) => {
      const outcome = await settle(as(auth).users.get({ id: id as string }));
      return outcome.ok ? undefined : (outcome.error as RpcError).code;
    };
    assert.equal(await code(undefined, 'x'), 401);
    assert.equal(await code({ id: 'bob' }, 'x'), 403);
    assert.equal(await code({ id: 'ann' }, 1), -32602);
    const gone = await settle(as({ id: 'ann' }).users.get({ id: 'y' }));
    assert.ok(!gone.ok && hasCode(gone.error, 410));
    assert.deepEqual(gone.error.data, { id: 'y' });
  });

  test('a call that waits for nothing keeps the process until its deadline or its abort', async () => {
    const { code, stdout, stderr } = await startModule('test/fixtures/never-settles.ts', []).exit;
    assert.deepEqual([code, stdout], [0, 'Deadline exceeded\n'], stderr);
  });

  test('JSON both ways: a call can not change what its caller holds, nor see what JSON has not', async () => {
    const auth = { id: 'ann', roles: ['reader'] };
    const router = Router.from({
      echo: procedure({}, (params, context) => {
        (context.auth as typeof auth).roles.push('admin');
        return { params, auth: context.auth, when: new Date(0), missing: undefined };
      }),
      odd: procedure({}, () => 1n),
    });
    const faults: string[] = [];
    const api = createCaller(router, { auth, onFault: ({ detail }) => faults.push(detail) });
    const params = { date: new Date(0), list: [undefined] };
    const expected = {
      params: { date: '1970-01-01T00:00:00.000Z', list: [null] },
      auth: { id: 'ann', roles: ['reader', 'admin'] },
      when: '1970-01-01T00:00:00.000Z',
    };
    assert.deepEqual(await api.echo(params), expected);
    assert.deepEqual(await api.echo(params), expected);
    assert.deepEqual(auth.roles, ['reader']);
    await assert.rejects(api.odd(), { code: -32603 });
    assert.match(faults[0] ?? '', /BigInt/);
  });

  test('gives headers, an address and the state as they are', async () => {
    const { router, state } = made();
    const options = { headers: { 'x-a': 'b' }, remoteAddress: '::1', state };
    const expected = {
      headers: { 'x-a': 'b' },
      remoteAddress: '::1',
      hasAuth: false,
      isSame: true,
    };
    assert.deepEqual(await createCaller(router, options).open(), expected);
    assert.deepEqual(await createCaller(router).open(), {
      headers: {},
      hasAuth: false,
      isSame: false,
    });
  });

  test('takes params of any size that a worker would take', async () => {
    const router = Router.from({
      size: procedure(
        { params: Type.Object({ text: Type.String() }), placement: 'worker' },
        ({ text }) => text.length,
      ),
    });
    const text = 'x'.repeat(5_000_000);
    assert.equal(await createCaller(router).size({ text }), text.length);
  });

  test('calls a router without a contract by name, and what is registered later', async () => {
    const router = new Router();
    const api = createCaller(router, { state: 1 });
    const unknown = await settle(api.call('later'));
    assert.ok(!unknown.ok && hasCode(unknown.error, -32601));
    router.rpc({ name: 'later' }, (_params, { state }) => state);
    assert.equal(await api.call('later'), 1);
  });

  test('an aborted call is cancelled, at its deadline too', async () => {
    const reasons: unknown[] = [];
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const router = Router.from({
      hang: procedure({}, (_params, { signal }) => {
        begin();
        return new Promise(() => {
          signal.addEventListener('abort', () => reasons.push((signal.reason as RpcError).code));
        });
      }),
    });
    const api = createCaller(router);
    const stop = new AbortController();
    const aborted = assert.rejects(api.hang({}, { signal: stop.signal }), /enough/);
    await begun;
    stop.abort(new Error('enough'));
    await aborted;
    assert.deepEqual(reasons, [-32003]);
    await assert.rejects(api.hang({}, { timeoutMs: 20 }), { code: -32001 });
  });

  test('refuses what can not be, when it is made', () => {
    assert.throws(() => createCaller({} as never), /first argument must be a Router/);
    assert.throws(() => createCaller(new Router(), { auth: 1n }), /option auth/);
    assert.throws(() => createCaller(new Router(), { headers: { a: 1 } as never }), /headers: a/);
    const misspelt = { atuh: { user: 'ann' } } as never;
    assert.throws(() => createCaller(new Router(), misspelt), {
      name: 'StartupError',
      message:
        'createCaller: unknown option "atuh"; did you mean auth? Known: auth, broadcast, headers, onFault, remoteAddress, state',
    });
  });

  test('a middleware can be tried by itself', async () => {
    const cached = Router.from({
      p: procedure({ use: [() => reply('cached')] }, () => assert.fail('it must not run')),
    });
    assert.equal(await createCaller(cached).p(), 'cached');
  });
});

describe('dispatcher.fetch', () => {
  const router = Router.from({
    add: procedure(
      { params: Type.Object({ a: Type.Number() }), placement: 'inline' },
      ({ a }) => a + 1,
    ),
    facts: procedure(
      { placement: 'inline' },
      (_params, { headers, auth, traceparent, deadline }) => ({
        headers,
        hasAuth: auth !== undefined,
        traceparent,
        left: deadline - Date.now(),
      }),
    ),
    hang: procedure({}, async (_params, { signal }) => {
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    }),
  });
  const dispatcher = new Dispatcher({ router, forwardHeaders: ['X-A'], logLevel: 'silent' });
  const { fetch } = dispatcher;
  const url = 'http://local/rpc';
  test.after(() => dispatcher.close(0));

  test('is the fetch of a client', async () => {
    const client = createClient({ url, fetch });
    assert.equal(await client.call('add', { a: 1 }), 2);
    const outcomes = await client.batch([['add', { a: 1 }], ['none']]);
    assert.deepEqual(
      outcomes.map(({ ok }) => ok),
      [true, false],
    );
    const stop = new AbortController();
    const hangs = assert.rejects(client.call('hang', {}, { signal: stop.signal }), /enough/);
    await new Promise(setImmediate);
    stop.abort(new Error('enough'));
    await hangs;
  });

  test('forwards the headers that HTTP forwards, the deadline and the trace', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = { 'x-a': '1', 'x-b': '2', traceparent };
    const client = createClient({ url, fetch, headers });
    const facts = (await client.call('facts', {}, { timeoutMs: 1000 })) as { left: number };
    const { left, ...rest } = facts;
    assert.deepEqual(rest, { headers: { 'x-a': '1' }, hasAuth: false, traceparent });
    assert.ok(left <= 1001);
  });

  test('answers as docs/protocol.md says', async () => {
    const ask = (init: RequestInit) => fetch(new URL(url), init);
    const post = (body: string, headers = {}) => ask({ method: 'POST', body, headers });
    assert.equal((await post('{"jsonrpc":"2.0","method":"add","params":[1]}')).status, 204);
    const broken = await post('{');
    assert.equal(broken.status, 200);
    assert.equal(broken.headers.get('content-type'), 'application/json');
    assert.equal(((await broken.json()) as { error: { code: number } }).error.code, -32700);
    assert.equal((await ask({})).status, 405);
    for (const ms of ['0', 'x', '-1', '1.5']) {
      const refused = await post('{}', { 'rpc-timeout-ms': ms });
      assert.equal(refused.status, 400);
      assert.match(await refused.text(), /rpc-timeout-ms must be a positive integer/);
    }
    await assert.rejects(ask({ method: 'POST', body: '{}', signal: AbortSignal.abort() }), {
      name: 'AbortError',
    });
  });
});

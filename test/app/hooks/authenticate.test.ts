import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { type Authenticate, type AuthRequest, Router, RpcError } from '../../../src/index.ts';
import { suiteLifetime } from '../../harness.ts';
import { header, json, post, request, rpc } from '../../http/raw-client.ts';
import { deferred, turn, turns } from '../../turns.ts';
import { alike, type Served, serve } from './serve.ts';

/** docs/protocol.md, "Who may call". */

const refusal = { code: 4010, message: 'Who are you?', data: { scheme: 'Bearer' } };
const throws = (thrown: unknown) => (): never => {
  throw thrown;
};
const refuse = throws(new RpcError(refusal.code, refusal.message, refusal.data));
const refusing: readonly [string, Authenticate][] = [
  ['at once', refuse],
  ['later', async () => refuse()],
  [
    'after the body',
    async () => {
      await turn();
      refuse();
    },
  ],
];
const error = (id: unknown) => ({ jsonrpc: '2.0', id, error: refusal });

/** A router that tells what ran. */
function counting() {
  const ran: unknown[] = [];
  const router = new Router();
  router.rpc({ name: 'run', placement: 'inline' }, (_params, { id }) => {
    ran.push(id);
    return 'ran';
  });
  return { router, ran };
}

for (const carrier of alike) {
  describe(`authenticate on ${carrier}`, () => {
    const lifetime = suiteLifetime();
    let common: Served;
    let current: Authenticate = () => undefined;
    before(async () => {
      common = await serve(lifetime, carrier, { authenticate: (asked) => current(asked) });
    });
    /** The service that these tests share, with a hook of the test. */
    const served = (authenticate: Authenticate): Served => {
      current = authenticate;
      return common;
    };

    for (const [when, hook] of [
      ['at once', () => ({ user: 'ann', roles: ['a'] })],
      ['later', async () => ({ user: 'ann', roles: ['a'] })],
    ] as const) {
      test(`what it returns ${when} is context.auth in both places`, async () => {
        const { client } = served(hook);
        const one = client();
        for (const place of ['inline', 'worker']) {
          const reply = await one.ask(post(rpc(`who.${place}`)));
          assert.deepEqual(json(reply).result, { user: 'ann', roles: ['a'] });
        }
        const batch = `[${rpc('who.worker', {}, 1)},${rpc('who.inline', {}, 2)},${rpc('rpc.discover', {}, 3)}]`;
        const replies = JSON.parse((await one.ask(post(batch))).body.toString());
        assert.deepEqual(
          replies.map((reply: { id: number; result: { user?: string } }) => [
            reply.id,
            reply.result.user,
          ]),
          [
            [1, 'ann'],
            [2, 'ann'],
            [3, undefined],
          ],
        );
      });
    }

    test('it is asked once per request, with the request as it came, read only', async () => {
      const asked: AuthRequest[] = [];
      const authenticate = (request: AuthRequest) => {
        asked.push(request);
        return null;
      };
      const { client } = served(authenticate);
      const one = client();
      const headers = {
        Authorization: 'Bearer x',
        'X-Twice': 'a\r\nx-twice: b',
        Cookie: 'a=1\r\ncookie: b=2',
        __proto__: 'p',
      };
      await one.ask(post(`[${rpc('who.inline')},${rpc('who.worker')}]`, headers, '/rpc?token=t'));
      await one.ask(request('GET', '/rpc?format=openrpc'));
      assert.equal(asked.length, 2);
      const [call, get] = asked;
      assert.deepEqual(
        { ...call, headers: undefined },
        {
          headers: undefined,
          remoteAddress: '127.0.0.1',
          method: 'POST',
          path: '/rpc',
        },
      );
      assert.equal(call?.headers.authorization, 'Bearer x');
      assert.equal(call?.headers['x-twice'], 'a, b');
      assert.equal(call?.headers.cookie, 'a=1; b=2');
      assert.equal(call?.headers['content-type'], 'application/json');
      assert.equal(call?.headers.constructor, undefined);
      assert.ok(Object.isFrozen(call) && Object.isFrozen(call?.headers));
      assert.deepEqual([get?.method, get?.path, get?.headers.host], ['GET', '/rpc', 'test']);
    });

    test('a hook that returns nothing lets everybody in: auth is undefined', async () => {
      const { client } = served(() => undefined);
      for (const place of ['inline', 'worker']) {
        assert.equal(json(await client().ask(post(rpc(`who.${place}`)))).result, 'nobody');
      }
    });

    test('what a handler does to it is seen by nobody else', async () => {
      const session = { user: 'ann' };
      const { client } = served(() => session);
      const one = client();
      for (const place of ['inline', 'worker']) {
        assert.deepEqual(json(await one.ask(post(rpc(`change.${place}`)))).result, {
          user: 'changed',
        });
        assert.deepEqual(json(await one.ask(post(rpc(`who.${place}`)))).result, { user: 'ann' });
      }
      assert.deepEqual(session, { user: 'ann' });
    });

    for (const [when, hook] of refusing) {
      test(`refused ${when}: HTTP 200, the id, the error whole, and nothing runs`, async (t) => {
        const { router, ran } = counting();
        const { client, lines } = await serve(t, carrier, { router, authenticate: hook });
        for (const [name, body, expected] of [
          ['a call', rpc('run', {}, 'a'), error('a')],
          ['an id of its own spelling', '{"method":"run","id":1.0}', error(1)],
          ['an unknown method', rpc('nothing', {}, 7), error(7)],
          ['refused params', rpc('run', [1], 8), error(8)],
          ['rpc.discover', rpc('rpc.discover', {}, 9), error(9)],
          ['a batch', `[${rpc('run')},${rpc('run', {}, 2)}]`, error(null)],
          ['a batch with a notification', `[${rpc('run')},{"method":"run"}]`, error(null)],
          ['a batch of what is no request', '[1,2]', error(null)],
          ['a long batch', `[${Array(1001).fill(rpc('run')).join()}]`, error(null)],
          ['a notification', '{"jsonrpc":"2.0","method":"run"}', undefined],
          ['a batch of notifications', '[{"method":"run"},{"method":"run"}]', undefined],
        ] as const) {
          const one = client();
          const reply = await one.ask(post(body));
          if (expected === undefined) assert.equal(reply.status, 204, name);
          else {
            assert.equal(reply.status, 200, name);
            assert.deepEqual(json(reply), expected, name);
          }
          one.destroy();
        }
        for (const [body, code, id] of [
          ['{', -32700, null],
          ['', -32700, null],
          ['\ufeff{}', -32700, null],
          ['[]', -32600, null],
          ['{"id":5}', -32600, 5],
          ['"x"', -32600, null],
        ] as const) {
          const reply = json(await client().ask(post(body)));
          assert.deepEqual([reply.error.code, reply.id], [code, id], body);
        }
        const exact = await client().ask(post('{"id":1.0,"method":"run"}'));
        assert.match(exact.body.toString(), /"id":1\.0,/);
        assert.deepEqual(ran, []);
        assert.deepEqual(
          lines.filter(({ level }) => level === 'error'),
          [],
        );
      });
    }

    test('of a large refused body only the envelope is read', async () => {
      const { client } = served(refuse);
      const text = 'x'.repeat(100_000);
      for (const [body, id] of [
        [`{"jsonrpc":"2.0","id":"head","method":"run","params":{"text":"${text}"}}`, 'head'],
        [`{"jsonrpc":"2.0","method":"run","params":{"text":"${text}"},"id":"tail"}`, 'tail'],
        [`{"jsonrpc":"2.0","method":"run","params":[${text}],"id":"unread"}`, 'unread'],
        [`{"other":1,"method":"run","params":{"text":"${text}"},"id":"odd"}`, null],
        [`[${rpc('run', { text })}]`, null],
        [text, null],
      ] as const) {
        assert.deepEqual(json(await client().ask(post(body))), error(id), body.slice(0, 40));
      }
      const notification = `{"jsonrpc":"2.0","method":"run","params":{"text":"${text}"}}`;
      assert.equal((await client().ask(post(notification))).status, 204);
    });

    test('what is no refusal is a -32603 with a ref, and one log line with its stack', async (t) => {
      const cyclic: { self?: unknown } = {};
      cyclic.self = cyclic;
      const rows: readonly (readonly [() => unknown, RegExp])[] = [
        [throws(new TypeError('broken hook')), /TypeError: broken hook\n +at /],
        [
          async () => {
            throw new TypeError('broken hook');
          },
          /TypeError: broken hook\n +at /,
        ],
        [throws(null), /no Error: null/],
        [() => Promise.reject(undefined), /no Error: undefined/],
        [throws(new RpcError(4010, 'x', 1n)), /an RpcError that JSON cannot hold/],
        [() => 1n, /the result of authenticate is a bigint/],
        [() => Number.NaN, /the result of authenticate is NaN/],
        [() => ({ at: [new Date(0)] }), /the result of authenticate\.at\[0\] is a Date/],
        [() => ({ can: () => true }), /the result of authenticate\.can is a function/],
        [() => [undefined], /the result of authenticate\[0\] is undefined/],
        [() => cyclic, /nested more than 64 deep, or in a cycle/],
        [async () => new Map(), /the result of authenticate is a Map/],
        [
          // oxlint-disable-next-line unicorn/no-thenable -- what it is about
          () => Object.defineProperty({}, 'then', { get: throws(new Error('then')) }),
          /Error: then/,
        ],
        [() => new Proxy({}, { ownKeys: throws(new Error('keys')) }), /Error: keys/],
      ];
      let result: () => unknown = () => undefined;
      // The log writes ten lines of one hook in a second.
      for (const some of [rows.slice(0, 8), rows.slice(8)]) {
        const { client, lines } = await serve(t, carrier, { authenticate: () => result() });
        for (const [made, detail] of some) {
          result = made;
          const before = lines.length;
          const reply = await client().ask(post(rpc('who.inline', {}, 'x')));
          assert.equal(reply.status, 200);
          const { id, error: failure } = json(reply);
          assert.deepEqual([id, failure.code, failure.message], ['x', -32603, 'Internal error']);
          const [line, ...more] = lines.slice(before);
          assert.deepEqual(more, []);
          assert.equal(line?.message, 'a hook failed');
          assert.deepEqual(failure.data, { ref: line?.fields.ref });
          assert.equal(line?.fields.hook, 'authenticate');
          assert.match(String(line?.fields.detail), detail);
        }
      }
    });

    test('a member of what it returns that is undefined is left out', async () => {
      const { client } = served(() => ({ user: 'ann', tenant: undefined }));
      const reply = await client().ask(post(rpc('who.worker')));
      assert.deepEqual(json(reply).result, { user: 'ann' });
    });

    test('GET and HEAD pass through it, other routes do not', async () => {
      let isKnown = false;
      let later = false;
      const authenticate = () => {
        const answer = () => (isKnown ? { user: 'ann' } : refuse());
        return later ? Promise.resolve().then(answer) : answer();
      };
      const { client } = served(authenticate);
      for (later of [false, true]) {
        isKnown = false;
        for (const path of ['/rpc', '/rpc?format=openrpc', '/rpc?format=other']) {
          const one = client();
          const reply = await one.ask(request('GET', path));
          assert.equal(reply.status, 403, path);
          assert.deepEqual(json(reply), error(null));
          assert.equal(header(reply, 'content-type'), 'application/json');
          assert.equal(header(reply, 'cache-control'), 'no-store');
          assert.equal(header(reply, 'etag'), undefined);
          assert.equal((await one.ask(request('HEAD', path), true)).status, 403);
          assert.equal((await one.ask(request('GET', path))).status, 403);
        }
        const one = client();
        assert.equal((await one.ask(request('OPTIONS', '/rpc'))).status, 204);
        assert.equal((await one.ask(request('PUT', '/rpc', ['content-length: 0']))).status, 405);
        assert.equal((await one.ask(post('{}', { 'content-type': 'text/plain' }))).status, 415);
        if (carrier !== 'handler') {
          assert.equal((await one.ask(request('GET', '/healthz'))).status, 200);
          assert.equal((await one.ask(request('GET', '/readyz'))).status, 200);
          assert.equal((await one.ask(request('GET', '/nowhere'))).status, 404);
        }
        isKnown = true;
        const reply = await one.ask(request('GET', '/rpc'));
        assert.equal(reply.status, 200);
        assert.ok('who.inline' in json(reply));
        const same = [`if-none-match: ${header(reply, 'etag')}`];
        assert.equal((await one.ask(request('GET', '/rpc', same))).status, 304);
      }
    });

    test('a hook that fails for GET is a 500 with a ref', async (t) => {
      const authenticate = async () => {
        throw new Error('broken hook');
      };
      const { client, lines } = await serve(t, carrier, { authenticate });
      const reply = await client().ask(request('GET', '/rpc'));
      assert.equal(reply.status, 500);
      assert.deepEqual(json(reply).error.data, { ref: lines.at(-1)?.fields.ref });
    });

    test('it runs while the body arrives: a body in pieces is whole', async () => {
      const verdict = deferred<{ user: string }>();
      const asked = deferred<void>();
      const authenticate = () => {
        asked.resolve();
        return verdict.promise;
      };
      const { client } = served(authenticate);
      const one = client();
      const bytes = post(rpc('who.worker', { text: 'é'.repeat(200) }));
      await one.write(bytes.subarray(0, -10));
      await asked.promise;
      await one.write(bytes.subarray(-10, -5));
      verdict.resolve({ user: 'ann' });
      await turns();
      assert.deepEqual(json(await one.ask(bytes.subarray(-5))).result, { user: 'ann' });
    });

    for (const bytes of [10, 30_000, 200_000]) {
      test(`a verdict after the body: ${bytes} bytes of it are kept`, async (t) => {
        const verdict = deferred<string>();
        const router = new Router();
        router.rpc({ name: 'length', placement: 'inline' }, ({ text }, { auth }) => [
          String(text).length,
          auth,
        ]);
        const { client } = await serve(t, carrier, { router, authenticate: () => verdict.promise });
        const [one, other] = [client(), client()];
        await one.write(post(rpc('length', { text: 'x'.repeat(bytes) })));
        // Their memory is written over by what comes in behind them.
        await other.write(post(rpc('length', { text: 'y'.repeat(bytes) })));
        await turns();
        verdict.resolve('ann');
        assert.deepEqual(json(await one.response()).result, [bytes, 'ann']);
        assert.deepEqual(json(await other.response()).result, [bytes, 'ann']);
      });
    }

    test('nothing runs for a client that has gone, and nobody waits for it', async (t) => {
      const { router, ran } = counting();
      const asked = deferred<void>();
      const verdict = deferred<null>();
      const authenticate = ({ headers }: AuthRequest) => {
        if (headers['x-known'] !== undefined) return null;
        asked.resolve();
        return verdict.promise;
      };
      const { app, client } = await serve(t, carrier, { router, authenticate });
      const one = client();
      await one.write(post(rpc('run', {}, 'gone')));
      await asked.promise;
      await turns();
      assert.equal(app.dispatcher.stats().inFlight, 1);
      one.destroy();
      while (app.dispatcher.stats().inFlight > 0) await turns();
      verdict.resolve(null);
      await client().ask(post(rpc('run', {}, 'stays'), { 'x-known': '1' }));
      assert.deepEqual(ran, ['stays']);
    });

    for (const [name, lines, options, timeoutMs] of [
      ['rpc-timeout-ms', { 'rpc-timeout-ms': '30' }, {}, 30],
      ['maxRequestMs', {}, { maxRequestMs: 40, timeoutMs: 40 }, 40],
    ] as const) {
      test(`a hook that never answers is ended by ${name}: -32001, nothing has run`, async (t) => {
        const { router, ran } = counting();
        const never = () => new Promise(() => {});
        const { client } = await serve(t, carrier, { router, authenticate: never, ...options });
        const reply = await client().ask(post(rpc('run', {}, 'x'), lines));
        assert.equal(reply.status, 200);
        assert.deepEqual(json(reply), {
          jsonrpc: '2.0',
          id: 'x',
          error: { code: -32001, message: 'Deadline exceeded', data: { timeoutMs } },
        });
        assert.deepEqual(ran, []);
      });
    }

    test('a drain waits for the verdict, then for the call', async (t) => {
      const { router, ran } = counting();
      const asked = deferred<void>();
      const verdict = deferred<null>();
      const authenticate = () => {
        asked.resolve();
        return verdict.promise;
      };
      const { app, client } = await serve(t, carrier, { router, authenticate });
      const one = client();
      await one.write(post(rpc('run', {}, 'x')));
      await asked.promise;
      await turns();
      const closing = app.close();
      await turns();
      assert.deepEqual(ran, []);
      verdict.resolve(null);
      assert.equal(json(await one.response()).result, 'ran');
      await closing;
    });

    test('what still waits for its verdict at the end of the grace is -32003', async (t) => {
      const { router, ran } = counting();
      const asked = deferred<void>();
      const authenticate = () => {
        asked.resolve();
        return new Promise(() => {});
      };
      const { app, client } = await serve(t, carrier, {
        router,
        authenticate,
        shutdownGraceMs: 20,
      });
      const one = client();
      await one.write(post(rpc('run', {}, 'x')));
      await asked.promise;
      await turns();
      const closing = app.close();
      const { id, error: failure } = json(await one.response());
      assert.deepEqual([id, failure.code], ['x', -32003]);
      assert.deepEqual(ran, []);
      await closing;
    });
  });
}

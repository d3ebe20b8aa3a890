import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, test } from 'node:test';
import { Type } from '@sinclair/typebox';
import { handlePayload } from '../../src/caller/runs.ts';
import {
  type CallContext,
  type Ended,
  type Middleware,
  type Procedure,
  Router,
  RpcError,
  reply,
} from '../../src/index.ts';
import { assertFault, run } from './run.ts';

/** Runs a procedure behind one middleware, whatever the middleware's type. */
function behind(middleware: unknown, handler: (context: CallContext) => unknown = () => 'done') {
  const router = new Router();
  router.use(middleware as Middleware);
  router.rpc({ name: 'p' }, (_params, context) => handler(context));
  return run(router, 'p');
}

/** A link that notes its name on the way in and on the way out. */
const noting =
  (ran: string[], name: string, isLater: boolean): Middleware =>
  (_context, next) => {
    ran.push(name);
    const onEnd = ({ ok }: Ended) => void ran.push(`${name} ${ok ? 'ok' : 'failed'}`);
    const goOn = () => next(undefined, onEnd);
    return isLater ? aTurn().then(goOn) : goOn();
  };

const aTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('the order of links', () => {
  for (const isLater of [false, true]) {
    test(`from the outermost router to the handler, ${isLater ? 'each after a wait' : 'in one turn'}`, async () => {
      const ran: string[] = [];
      const note = (name: string) => noting(ran, name, isLater);
      const ask = (name: string) => () => {
        ran.push(name);
        return (isLater ? Promise.resolve() : undefined) as undefined;
      };
      const inner = new Router().use(note('inner'));
      inner.rpc(
        { name: 'p', use: [note('own 1'), note('own 2')], authorize: ask('own authorize') },
        () => void ran.push('handler'),
      );
      const middle = new Router().use(note('middle'));
      middle.merge(inner, 'm.', { use: [note('merge')], authorize: ask('merge authorize') });
      const outer = new Router().use(note('outer 1')).use(note('outer 2'));
      outer.merge(middle, 'o.');
      const replied = handlePayload({ method: 'o.m.p', id: 1 }, outer);
      assert.equal(ran.length, isLater ? 1 : 17);
      assert.deepEqual(await replied, { jsonrpc: '2.0', id: 1, result: null });
      const [on, back] = [ran.slice(0, 11), ran.slice(11)];
      assert.deepEqual(on, [
        'outer 1',
        'outer 2',
        'middle',
        'merge authorize',
        'merge',
        'inner',
        'own authorize',
        'own 1',
        'own 2',
        'handler',
        'own 2 ok',
      ]);
      assert.deepEqual(
        back,
        ['own 1', 'inner', 'merge', 'middle', 'outer 2', 'outer 1'].map((name) => `${name} ok`),
      );
    });
  }

  test('a function that comes twice runs once, where it comes first', async () => {
    const ran: string[] = [];
    const [a, b, c] = ['a', 'b', 'c'].map((name) => noting(ran, name, false)) as [
      Middleware,
      Middleware,
      Middleware,
    ];
    const app = new Router().use(a).use(b);
    const made = app.procedure({ use: [c, a, c] }, () => 1);
    app.register('made', made);
    const root = new Router().use(b);
    root.merge(app, '', { use: [a] });
    await run(app, 'made');
    assert.deepEqual(ran.splice(0).slice(0, 3), ['a', 'b', 'c']);
    await run(root, 'made');
    assert.deepEqual(ran.slice(0, 3), ['b', 'a', 'c']);
  });

  test('invalid params reach no link', async () => {
    const router = new Router().use(() => assert.fail('it must not run'));
    const params = Type.Object({ id: Type.String() });
    router.rpc({ name: 'p', params, authorize: () => assert.fail('nor this') }, () => 1);
    assert.equal((await run(router, 'p', { id: 1 })).code, -32602);
  });

  test('every way into a router leads behind its middleware', async () => {
    const refuse: Middleware = () => {
      throw new RpcError(401, 'Sign in');
    };
    const open = new Router();
    open.rpc({ name: 'merged' }, () => 1);
    const app = new Router().use(refuse);
    app.rpc({ name: 'rpc' }, () => 1);
    app.rpc(function bare() {});
    app.register(
      'registered',
      app.procedure({}, () => 1),
    );
    app.register('foreign', open.get('merged') as Procedure);
    app.register('foreign', open.get('merged') as Procedure, { replace: true });
    app.merge(open);
    class Service {
      @app.rpc static decorated() {}
      @app.rpc({ name: 'instance' }) method() {}
    }
    void new Service();
    const tree = Router.from({ inTree: app.procedure({}, () => 1), app });
    assert.equal(app.size, 7);
    for (const router of [app, tree]) {
      for (const name of router.list()) {
        assert.equal((await run(router, name)).code, 401, name);
      }
    }
    assert.equal((await run(open, 'merged')).text, '1', 'the merged router is as it was');
  });
});

describe('a middleware', () => {
  test('adds to the context of what comes behind, of this call alone', async () => {
    const router = new Router<{ auth: { id: string } }>()
      .use(({ auth }, next) => next({ user: auth.id, auth: { id: auth.id, isKnown: true } }))
      .use(async (context, next) => next({ greeting: `Hello ${context.user}`, state: { db: 1 } }));
    router.rpc({ name: 'p' }, (_params, { user, greeting, auth, state, method }) => [
      user,
      greeting,
      auth,
      state,
      method,
    ]);
    const texts = ['ann', 'bob'].map(async (id) => {
      const { text } = await run(router, 'p', {}, { auth: { id } });
      return JSON.parse(text) as unknown;
    });
    assert.deepEqual(
      await Promise.all(texts),
      ['ann', 'bob'].map((id) => [id, `Hello ${id}`, { id, isKnown: true }, { db: 1 }, 'p']),
    );
  });

  test('gets the params as the handler gets them', async () => {
    const router = new Router();
    const seen: unknown[] = [];
    router.use((_context, next, params) => {
      seen.push(params);
      return next();
    });
    const params = Type.Object({ a: Type.Number(), b: Type.Number({ default: 2 }) });
    router.rpc({ name: 'p', params }, (named) => void seen.push(named));
    await run(router, 'p', [1]);
    assert.deepEqual(seen, [
      { a: 1, b: 2 },
      { a: 1, b: 2 },
    ]);
  });

  test('answers without the handler, and its answer is checked like one', async () => {
    const handler = () => assert.fail('it must not run');
    assert.equal((await behind(() => reply({ a: 1 }), handler)).text, '{"a":1}');
    assert.equal((await behind(() => reply(undefined), handler)).text, 'null');
    assert.equal((await behind(() => reply(Promise.resolve(1)), handler)).text, '1');
    assert.equal((await behind(async () => reply(2), handler)).text, '2');
    // A promise by its behaviour alone: a query of knex, a promise of another realm.
    // oxlint-disable-next-line unicorn/no-thenable -- what has a `then` is what is tested
    const then = 'then';
    for (const settle of ['resolve', 'reject'] as const) {
      const query = {
        secret: 'of the connection',
        [then]: (resolve: (value: unknown) => void, reject: (error: unknown) => void) =>
          settle === 'resolve' ? resolve({ b: 3 }) : reject(new RpcError(4090, 'Taken')),
      };
      const { code, text } = await behind(() => reply(query), handler);
      if (settle === 'resolve') assert.equal(text, '{"b":3}');
      else assert.equal(code, 4090);
    }
    const router = new Router().use(() => reply('x'));
    router.rpc({ name: 'p', returns: Type.Number() }, handler as () => never);
    await assertFault(run(router, 'p'), /does not match returns/);
  });

  test('changes a result by waiting for it', async () => {
    const twice: Middleware = async (_context, next) =>
      reply(Number((await next()).result) * 2) as never;
    assert.equal((await behind(twice, () => 21)).text, '42');
    assert.equal((await behind(twice, async () => 21)).text, '42');
  });

  test('refuses by throwing, at once and later', async () => {
    const refuse = () => {
      throw new RpcError(403, 'No', { why: 1 });
    };
    for (const middleware of [refuse, async () => refuse()]) {
      const { text, faults } = await behind(middleware, () => assert.fail('it must not run'));
      assert.equal(text, '{"code":403,"message":"No","data":{"why":1}}');
      assert.deepEqual(faults, []);
    }
    await assertFault(
      behind(() => {
        throw new Error('broken');
      }),
      /broken/,
    );
    await assertFault(
      behind(() => Promise.reject('odd')),
      /odd/,
    );
  });

  test('may catch what the handler throws', async () => {
    const calm: Middleware = async (_context, next) => {
      try {
        return await next();
      } catch {
        return reply('calm');
      }
    };
    const broken = () => {
      throw new Error('broken');
    };
    assert.equal((await behind(calm, broken)).text, '"calm"');
    assert.equal((await behind(calm, async () => broken())).text, '"calm"');
  });

  test('may answer while the handler still runs; what becomes of that is dropped', async () => {
    let fail = (_error: Error) => {};
    const slow = () => new Promise((_resolve, reject) => (fail = reject));
    const hasty: Middleware = (_context, next) => {
      void next();
      return reply('soon');
    };
    assert.equal((await behind(hasty, slow)).text, '"soon"');
    fail(new Error('late, and nobody waits'));
    // An unhandled rejection would fail this test.
    await new Promise(setImmediate);
  });
});

describe('onEnd', () => {
  for (const isLater of [false, true]) {
    const made = (act: () => unknown) => (isLater ? async () => act() : act);

    test(`is told how the handler ended, ${isLater ? 'later' : 'at once'}`, async () => {
      const told: Ended[] = [];
      const middleware: Middleware = (_context, next) =>
        next(undefined, (ended) => void told.push(ended));
      const seven = await behind(
        middleware,
        made(() => 7),
      );
      assert.equal(seven.text, '7');
      const error = new RpcError(5, 'five');
      const failed = await behind(
        middleware,
        made(() => {
          throw error;
        }),
      );
      assert.equal(failed.code, 5);
      assert.deepEqual(told, [
        { ok: true, result: 7 },
        { ok: false, error },
      ]);
    });

    test(`replaces the outcome by throwing, ${isLater ? 'later' : 'at once'}`, async () => {
      const middleware: Middleware = (_context, next) =>
        next(undefined, () => {
          throw new RpcError(9, 'nine');
        });
      const ends = [() => 1, () => assert.fail('of the handler')];
      for (const end of ends) {
        const { code, faults } = await behind(middleware, made(end));
        assert.equal(code, 9);
        assert.deepEqual(faults, []);
      }
    });
  }

  test('must be synchronous', async () => {
    const late = (): unknown => Promise.reject(new Error('nobody waits for this'));
    const middleware: Middleware = (_context, next) => next(undefined, late as () => void);
    await assertFault(behind(middleware), /onEnd of the middleware middleware returned a promise/);
  });
});

describe('a middleware that breaks the rules is a fault that names it', () => {
  const returned = /the middleware odd returned/;
  const cases: readonly [string, unknown, RegExp][] = [
    ['returns nothing', function odd() {}, /odd returned nothing: return what next\(\) gives/],
    ['returns nothing later', async function odd() {}, returned],
    [
      'calls next and returns nothing',
      function odd(_c: never, next: () => void) {
        next();
      },
      returned,
    ],
    [
      'calls next later and returns nothing',
      async function odd(_c: never, next: () => unknown) {
        await next();
      },
      returned,
    ],
    [
      'returns true',
      function odd() {
        return true;
      },
      /a value of type boolean/,
    ],
    [
      'returns an object',
      function odd() {
        return { result: 1 };
      },
      /a value of type object/,
    ],
    [
      'returns null',
      function odd() {
        return null;
      },
      /returned null/,
    ],
    [
      'calls next twice',
      function odd(_c: never, next: () => void) {
        next();
        return next();
      },
      /odd called next twice/,
    ],
    [
      'calls next twice later',
      async function odd(_c: never, next: () => unknown) {
        await next();
        return next();
      },
      /next twice/,
    ],
    [
      'adds no object',
      function odd(_c: never, next: (add: unknown) => void) {
        return next('x');
      },
      /gave next a value of type string/,
    ],
    [
      'gives an onEnd that is no function',
      function odd(_c: never, next: (add: object, onEnd: unknown) => void) {
        return next({}, 5);
      },
      /gave next a value of type number as onEnd/,
    ],
    [
      'adds a list',
      function odd(_c: never, next: (add: unknown) => void) {
        return next([]);
      },
      /gave next an array/,
    ],
  ];
  for (const [name, middleware, detail] of cases) {
    test(name, async () => assertFault(behind(middleware), detail));
  }

  const reserved = [
    'signal',
    'deadline',
    'id',
    'method',
    'headers',
    'remoteAddress',
    'errors',
    'abort',
    'resumedMs',
    'traceparent',
    'tracestate',
    'constructor',
    '__proto__',
    'toString',
  ];
  for (const name of reserved) {
    test(`replaces context.${name}`, async () => {
      const add = JSON.parse(`{${JSON.stringify(name)}: 1}`) as object;
      const detail = new RegExp(`would replace context\\.${name}: only auth and state`);
      const ran: string[] = [];
      const caught = behind(
        function odd(_context: never, next: (add: object) => void) {
          try {
            return next(add);
          } catch {
            return reply('as if nothing had happened');
          }
        },
        () => void ran.push('handler'),
      );
      await assertFault(caught, detail);
      assert.deepEqual(ran, []);
    });
  }

  test('calls next when it has ended: the handler does not run', async () => {
    const ran: string[] = [];
    let late = () => {};
    const { text } = await behind(
      (_context: never, next: () => void) => {
        late = next;
        return reply('answered');
      },
      () => void ran.push('handler'),
    );
    assert.equal(text, '"answered"');
    assert.throws(late, /called next after it had ended/);
    assert.deepEqual(ran, []);
  });
});

describe('a wait in a chain', () => {
  test('a call whose caller has gone meanwhile runs no further', async () => {
    for (const aborts of [1, 2]) {
      const ran: string[] = [];
      const opens: (() => void)[] = [];
      const waiting = new EventEmitter();
      const wait =
        (name: string): Middleware =>
        async (_context, next) => {
          ran.push(name);
          await new Promise<void>((resolve) => {
            opens.push(resolve);
            waiting.emit('wait');
          });
          return next();
        };
      const router = new Router().use(wait('first')).use(wait('second'));
      router.rpc({ name: 'p' }, () => void ran.push('handler'));
      const controller = new AbortController();
      const running = run(router, 'p', {}, { signal: controller.signal });
      for (let i = 0; i < aborts; i++) {
        while (opens.length <= i) await once(waiting, 'wait');
        if (i === aborts - 1) controller.abort();
        opens[i]?.();
      }
      assert.deepEqual((await running).faults, []);
      await aTurn();
      assert.deepEqual(ran, ['first', 'second'].slice(0, aborts));
    }
  });

  test('leaves placement and isAsync to the handler', () => {
    const router = new Router().use(async (_context, next) => next());
    router.rpc({ name: 'p', authorize: async () => {} }, () => 1);
    router.rpc({ name: 'q', authorize: () => {} }, async () => 1);
    assert.equal(router.get('p')?.isAsync, false);
    assert.equal(router.get('q')?.isAsync, true);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from '@sinclair/typebox';
import { createCaller, Router, RpcError } from '../../src/index.ts';
import { importAnotherCopy } from '../files.ts';
import { TestService } from '../harness.ts';
import { assertFault, type Ran, runHandler as run } from './run.ts';

const errorOf = ({ ok, text }: Ran): { code: number; message: string; data?: unknown } => {
  assert.equal(ok, false, text);
  return JSON.parse(text);
};

const throwing = (): never => {
  throw new Error('trap');
};
const hostileGetters = Object.defineProperties(
  {},
  {
    message: { get: throwing },
    stack: { get: throwing },
    toString: { get: throwing },
    code: { get: throwing },
    toJSON: { get: throwing },
  },
);
const hostileProxy = new Proxy(
  {},
  {
    get: throwing,
    has: throwing,
    getPrototypeOf: throwing,
    ownKeys: throwing,
    getOwnPropertyDescriptor: throwing,
  },
);
const cyclicCause = new Error('first');
cyclicCause.cause = cyclicCause;

const thrown: [string, unknown, RegExp][] = [
  ['an Error', new Error('boom'), /boom[\s\S]*invoke\.test/],
  [
    'an Error with a cause',
    new Error('outer', { cause: new Error('inner') }),
    /outer[\s\S]*caused by: Error: inner/,
  ],
  [
    'an AggregateError: the errors in it, their codes and causes',
    Object.assign(
      new AggregateError([
        Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' }),
        new Error('second', { cause: new Error('third') }),
      ]),
      { code: 'ECONNREFUSED' },
    ),
    /AggregateError \[ECONNREFUSED\]\n[\s\S]*caused by: Error: no route \[EHOSTUNREACH\]\n[\s\S]*caused by: Error: second\n[\s\S]*caused by: Error: third/,
  ],
  [
    'an AggregateError of very many errors',
    new AggregateError(Array.from({ length: 1000 }, (_, i) => new Error(`number ${i}`))),
    /^AggregateError(?![\s\S]*number 5)/,
  ],
  ['an Error that is its own cause', cyclicCause, /first/],
  ['null', null, /no Error: null/],
  ['undefined', undefined, /no Error: undefined/],
  ['a string', 'text', /no Error: text/],
  ['a symbol', Symbol('s'), /Symbol\(s\)/],
  ['a BigInt', 1n, /no Error: 1/],
  ['a function', () => 1, /=>\s*1/],
  ['an object', { code: 1, message: 'no RpcError' }, /"no RpcError"/],
  ['an object with throwing getters', hostileGetters, /cannot be described/],
  ['a proxy with throwing traps', hostileProxy, /cannot be described/],
  [
    'an Error whose stack throws',
    Object.defineProperty(new Error('x'), 'stack', { get: throwing }),
    /cannot be described/,
  ],
];

describe('what a procedure throws', () => {
  for (const [name, value, detail] of thrown) {
    test(`${name}, at once or later`, async () => {
      await assertFault(
        run(() => {
          throw value;
        }),
        detail,
      );
      await assertFault(
        run(() => Promise.reject(value)),
        detail,
      );
    });
  }

  test('an RpcError of another copy of the package does too', async () => {
    const copy = await importAnotherCopy();
    assert.notEqual(copy.RpcError, RpcError);
    const ran = await run(() => {
      throw new copy.RpcError(7, 'foreign', [1]);
    });
    assert.deepEqual(errorOf(ran), { code: 7, message: 'foreign', data: [1] });
  });

  test('an RpcError whose data JSON cannot hold is a fault', async () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    for (const data of [
      cycle,
      1n,
      () => 1,
      Symbol('s'),
      Number.NaN,
      { toJSON: () => undefined },
      { toJSON: throwing },
      hostileProxy,
    ]) {
      await assertFault(
        run(() => {
          throw new RpcError(1, 'x', data);
        }),
        /RpcError that JSON cannot hold/,
      );
    }
  });

  test('an RpcError that was tampered with can not write into the reply', async () => {
    for (const code of ['1,"message":"x"', 1.5, undefined, { toString: () => '1' }]) {
      const error = Object.defineProperty(new RpcError(1, 'x'), 'code', { value: code });
      await assertFault(
        run(() => {
          throw error;
        }),
        /code is not an integer/,
      );
    }
    const hostile = Object.defineProperty(new RpcError(1, 'x'), 'code', { get: throwing });
    await assertFault(
      run(() => {
        throw hostile;
      }),
      /RpcError that JSON cannot hold[\s\S]*trap/,
    );
    const symbol = Object.defineProperty(new RpcError(1, 'x'), 'message', { value: Symbol('m') });
    assert.equal(
      errorOf(
        await run(() => {
          throw symbol;
        }),
      ).message,
      'Symbol(m)',
    );
  });
});

/** Under a name that is not in the source: linters refuse a `then`, which is what these tests are about. */
const thenKey = ['t', 'hen'].join('');
const withThen = (target: object, get: () => unknown): object =>
  Object.defineProperty(target, thenKey, { get });

describe('what a procedure returns', () => {
  test('is awaited when it is', async () => {
    // A thenable that is no promise: a query builder, say.
    const thenable = (value: unknown): object =>
      withThen({}, () => (resolve: (value: unknown) => void) => resolve(value));
    const callable = withThen(
      () => 1,
      () => (resolve: (value: unknown) => void) => resolve('called'),
    );
    for (const [value, text] of [
      [Promise.resolve(1), '1'],
      [thenable(2), '2'],
      [Promise.resolve(undefined), 'null'],
      [callable, '"called"'],
      [thenable(thenable(3)), '3'],
    ] as const) {
      assert.deepEqual(await run(() => value), { ok: true, code: 0, text, faults: [] });
    }
  });

  test('a thenable that misbehaves is a fault', async () => {
    const then = (get: () => unknown): object => withThen({}, get);
    await assertFault(
      run(() => then(throwing)),
      /trap/,
    );
    await assertFault(
      run(() => then(() => throwing)),
      /trap/,
    );
    let reads = 0;
    const second = then(() => {
      reads += 1;
      return reads > 1 ? throwing() : () => undefined;
    });
    await assertFault(
      run(() => second),
      /trap/,
    );
    const overridden = withThen(Promise.resolve(5), () => () => 'garbage');
    assert.equal((await run(() => overridden)).text, '5');
  });

  test('what JSON cannot hold is a fault', async () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    const shared = { a: 1 };
    const values: [unknown, RegExp][] = [
      [1n, /^the result is a BigInt, which JSON cannot hold: return a string$/],
      [{ items: [{ id: 1 }, { id: 1n }] }, /^the result at \/items\/1\/id is a BigInt/],
      [{ 'a/b': { toJSON: () => ({ n: 1n }) } }, /^the result at \/a~1b\/n is a BigInt/],
      [cycle, /^the result at \/0 is circular: it is the result again/],
      [
        { twice: [shared, shared], list: cycle },
        /^the result at \/list\/0 is circular: it is the result at \/list again/,
      ],
      [() => 1, /the result is a function/],
      [Symbol('s'), /the result is a symbol/],
      [Number.NaN, /the result is NaN/],
      [Number.NEGATIVE_INFINITY, /the result is -Infinity/],
      [{ toJSON: () => undefined }, /the result is an object whose toJSON gives nothing/],
      [{ toJSON: throwing }, /trap/],
      [
        {
          get x() {
            return throwing();
          },
        },
        /trap/,
      ],
      [hostileProxy, /trap/],
    ];
    for (const [value, detail] of values) {
      await assertFault(
        run(() => value),
        detail,
      );
      await assertFault(
        run(async () => value),
        detail,
      );
    }
  });

  test('is checked against returns, when that is asked for', async () => {
    const returns = Type.Object({ id: Type.String() });
    assert.equal((await run(() => ({ id: 'x' }), { returns })).text, '{"id":"x"}');
    await assertFault(
      run(() => ({ id: 5 }), { returns }),
      /does not match returns: \/id must be string/,
    );
    await assertFault(
      run(async () => ({}), { returns }),
      /does not match returns: \/id is required/,
    );
    for (const id of [Number.NaN, Number.POSITIVE_INFINITY]) {
      await assertFault(
        run(() => ({ id }), { returns: Type.Object({ id: Type.Number() }) }),
        new RegExp(`/id must be number \\(expected number, received ${id}\\)$`),
      );
    }
  });

  test('is not checked against returns with checkResults off, but projected', async (t) => {
    const router = new Router();
    const returns = Type.Object({ id: Type.Number() });
    router.rpc({ name: 'p', returns }, (() => ({
      id: 'x',
      password_hash: 'secret',
    })) as () => never);
    router.rpc({ name: 'leak', returns: Type.String() }, (() => ({ secret: 1 })) as () => never);
    const service = TestService.make(t, { router, checkResults: 'off' });
    const ask = (method: string) => service.ask({ method, id: 1 });
    assert.equal(await ask('p'), '{"jsonrpc":"2.0","id":1,"result":{"id":"x"}}');
    assert.match(String(await ask('leak')), /-32603/);
  });

  test('of which JSON keeps nothing is a fault that names the place, declared or not', async () => {
    const losses: [unknown, RegExp][] = [
      [new Map([[1, 2]]), /^the result is a Map, of which JSON keeps nothing/],
      [{ page: { items: new Set([1]) } }, /^the result at \/page\/items is a Set/],
      [{ user: Promise.resolve(1) }, /^the result at \/user is a Promise.*await it/],
      [[new Response('x')], /^the result at \/0 is a Response/],
      [{ 'a/b': new Error('secret') }, /^the result at \/a~1b is an Error/],
      [{ it: { toJSON: () => ({ x: new Map() }) } }, /^the result at \/it\/x is a Map/],
      [{ data: Buffer.from('abc') }, /^the result at \/data is a Buffer.*Type\.Base64/],
      [{ data: new Float64Array(2) }, /^the result at \/data is a Float64Array/],
      [{ data: new ArrayBuffer(2) }, /^the result at \/data is an ArrayBuffer/],
    ];
    for (const [value, detail] of losses) {
      for (const options of [{}, { returns: Type.Unknown() }, { returns: Type.Any() }]) {
        await assertFault(
          run(() => value, options),
          detail,
        );
      }
    }
  });

  test('an empty object, and a text that looks like one, are what they are', async () => {
    for (const [value, text] of [
      [{ a: {}, b: [] }, '{"a":{},"b":[]}'],
      [Object.create(null), '{}'],
      [Object.create(Object.create(null)), '{}'],
      ['{}', '"{}"'],
      [{ text: '{"0":1}{"type":"Buffer"' }, JSON.stringify({ text: '{"0":1}{"type":"Buffer"' })],
      [{ '0': 'a' }, '{"0":"a"}'],
      [{ type: 'Buffer', data: [1] }, '{"type":"Buffer","data":[1]}'],
    ] as const) {
      assert.deepEqual(await run(() => value), { ok: true, code: 0, text, faults: [] });
    }
  });
});

describe('a call', () => {
  test('is answered although the log fails', async () => {
    const router = new Router();
    router.rpc({ name: 'p' }, throwing);
    const caller = createCaller(router, { onFault: throwing });
    await assert.rejects(caller.call('p'), { code: -32603 });
  });

  test('with params without end, in this process, is a fault and no crash', async (t) => {
    const tree = Type.Recursive((This) => Type.Object({ next: Type.Optional(This) }));
    const endless: Record<string, unknown> = {};
    endless.next = endless;
    const router = new Router();
    router.rpc({ name: 'p', params: Type.Object({ tree }) }, () => 1);
    const { dispatcher, lines } = TestService.make(t, { router });
    const reply = await dispatcher.dispatch({ method: 'p', params: { tree: endless }, id: 1 });
    assert.match(JSON.stringify(reply), /-32603/);
    assert.match(String(lines.at(-1)?.fields.detail), /call stack/i);
  });
});

describe('the text of an error', () => {
  test('stays short in the log', async () => {
    for (const thrown of [new Error('x'.repeat(100_000)), { big: 'x'.repeat(100_000) }]) {
      const { faults } = await run(() => {
        throw thrown;
      });
      assert.ok((faults[0]?.detail ?? '').length <= 10_001);
      assert.ok((faults[0]?.detail ?? '').length > 1000);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from '@sinclair/typebox';
import fc from 'fast-check';
import { clockMs } from '../../src/core/base/clock.ts';
import { describe as describeError, type Fault } from '../../src/core/procedures/fault.ts';
import { invoke } from '../../src/core/procedures/invoke.ts';
import { LazyContext } from '../../src/core/procedures/lazy-context.ts';
import type { ProcedureOptions } from '../../src/core/procedures/types.ts';
import type { Outcome } from '../../src/core/protocol/reply.ts';
import { procedure, RpcError } from '../../src/index.ts';
import { importAnotherCopy } from '../files.ts';
import { seed } from '../seed.ts';

/** Of a notification: an outcome is then no finished reply. */
const context = new LazyContext(
  procedure({ name: 'p' }, () => null),
  undefined,
  undefined,
  clockMs() + 60_000,
);

interface Invoked {
  readonly outcome: Outcome | Promise<Outcome>;
  readonly faults: Fault[];
}

const run = (handler: () => unknown, options: ProcedureOptions = {}, params?: unknown): Invoked => {
  const faults: Fault[] = [];
  const onFault = (fault: Fault): void => {
    faults.push(fault);
  };
  const proc = procedure({ name: 'p', ...options }, handler as () => never);
  return { outcome: invoke(proc, params, context, { checkResults: 'refuse', onFault }), faults };
};

const errorOf = (outcome: Outcome): { code: number; message: string; data?: unknown } => {
  assert.equal(outcome.ok, false, outcome.text);
  const error = JSON.parse(outcome.text) as { code: number; message: string; data?: unknown };
  assert.equal(error.code, outcome.code);
  return error;
};

/** A -32603 whose ref leads to exactly one fault, of which the caller is told nothing else. */
const assertFault = async (invoked: Invoked, detail: RegExp): Promise<void> => {
  const { code, message, data, ...rest } = errorOf(await invoked.outcome);
  assert.deepEqual({ code, message, rest }, { code: -32603, message: 'Internal error', rest: {} });
  assert.equal(invoked.faults.length, 1);
  const [fault] = invoked.faults;
  assert.deepEqual(data, { ref: fault?.ref });
  assert.equal(fault?.method, 'p');
  assert.match(fault.detail, detail);
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
      const at = run(() => {
        throw value;
      });
      assert.ok(!(at.outcome instanceof Promise), 'a synchronous throw is answered synchronously');
      await assertFault(at, detail);
      await assertFault(
        run(() => Promise.reject(value)),
        detail,
      );
      await assertFault(
        run(async () => {
          throw value;
        }),
        detail,
      );
    });
  }

  test('an RpcError reaches the caller whole', async () => {
    const make = (): never => {
      throw new RpcError(42, 'Out of "stock"', { left: 0 });
    };
    for (const handler of [make, async () => make()]) {
      const { outcome, faults } = run(handler);
      assert.deepEqual(errorOf(await outcome), {
        code: 42,
        message: 'Out of "stock"',
        data: { left: 0 },
      });
      assert.deepEqual(faults, []);
    }
    const none = run(() => {
      throw new RpcError(0, 'zero');
    });
    assert.deepEqual(errorOf(await none.outcome), { code: 0, message: 'zero' });
    const falsy = run(() => {
      throw new RpcError(-1, '', null);
    });
    assert.deepEqual(errorOf(await falsy.outcome), { code: -1, message: '', data: null });
  });

  test('an RpcError of another copy of the package does too', async () => {
    const copy = await importAnotherCopy();
    assert.notEqual(copy.RpcError, RpcError);
    const { outcome } = run(() => {
      throw new copy.RpcError(7, 'foreign', [1]);
    });
    assert.deepEqual(errorOf(await outcome), { code: 7, message: 'foreign', data: [1] });
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
        }).outcome,
      ).message,
      'Symbol(m)',
    );
  });

  test('anything at all is answered', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        async (value) => {
          const { outcome } = run(() => {
            throw value;
          });
          assert.equal(errorOf(await outcome).code, -32603);
        },
      ),
      { seed },
    );
  });
});

/** Under a name that is not in the source: linters refuse a `then`, which is what these tests are about. */
const thenKey = ['t', 'hen'].join('');
const withThen = (target: object, get: () => unknown): object =>
  Object.defineProperty(target, thenKey, { get });

describe('what a procedure returns', () => {
  test('is answered synchronously when it is no promise', () => {
    for (const [value, text] of [
      [1, '1'],
      ['x', '"x"'],
      [null, 'null'],
      [undefined, 'null'],
      [{ a: [1] }, '{"a":[1]}'],
      [false, 'false'],
      [0, '0'],
      ['', '""'],
    ] as const) {
      assert.deepEqual(run(() => value).outcome, { ok: true, code: 0, text });
    }
  });

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
      const { outcome } = run(() => value);
      assert.ok(outcome instanceof Promise);
      assert.deepEqual(await outcome, { ok: true, code: 0, text });
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
    assert.deepEqual(await run(() => overridden).outcome, { ok: true, code: 0, text: '5' });
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
    assert.equal((await run(() => ({ id: 'x' }), { returns }).outcome).ok, true);
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
    const proc = procedure({ returns }, (() => 5) as () => never);
    const outcome = invoke(proc, undefined, context, { checkResults: 'off', onFault: throwing });
    assert.deepEqual(outcome, { ok: true, code: 0, text: '5' });
  });

  test('that does not match is sent and reported, once for many, where it is only logged', () => {
    const reports: Fault[] = [];
    const options = {
      checkResults: 'log',
      onFault: (fault: Fault) => reports.push(fault),
    } as const;
    const returns = Type.Object({ id: Type.String() });
    const proc = procedure({ name: 'p', returns }, (() => ({ id: 5, secret: 1 })) as () => never);
    for (let call = 0; call < 1000; call++) {
      const outcome = invoke(proc, undefined, context, options);
      assert.deepEqual(outcome, { ok: true, code: 0, text: '{"id":5}' });
    }
    assert.equal(reports.length, 1);
    assert.equal(reports[0]?.isSent, true);
    assert.match(reports[0].detail, /does not match returns: \/id must be string/);
    const failing = procedure({ name: 'p', returns }, (() => ({ id: 5 })) as () => never);
    const outcome = invoke(failing, undefined, context, { ...options, onFault: throwing });
    assert.deepEqual(outcome, { ok: true, code: 0, text: '{"id":5}' });
  });

  test('what returns does not name is never sent, checked or not', () => {
    for (const checkResults of ['refuse', 'log', 'off'] as const) {
      const returns = Type.Object({ id: Type.Number() });
      const proc = procedure({ returns }, () => ({ id: 1, password_hash: 'secret' }));
      const outcome = invoke(proc, undefined, context, { checkResults, onFault: throwing });
      assert.deepEqual(outcome, { ok: true, code: 0, text: '{"id":1}' });
      const leak = procedure({ returns: Type.String() }, (() => ({ secret: 1 })) as () => never);
      const faults: Fault[] = [];
      const onFault = (fault: Fault): number => faults.push(fault);
      const refused = invoke(leak, undefined, context, { checkResults, onFault }) as Outcome;
      assert.equal(refused.code, -32603);
      assert.match(faults[0]!.detail, /is an object where returns declares neither/);
    }
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

  test('an empty object, and a text that looks like one, are what they are', () => {
    for (const [value, text] of [
      [{ a: {}, b: [] }, '{"a":{},"b":[]}'],
      [Object.create(null), '{}'],
      ['{}', '"{}"'],
      [{ text: '{"0":1}{"type":"Buffer"' }, JSON.stringify({ text: '{"0":1}{"type":"Buffer"' })],
      [{ '0': 'a' }, '{"0":"a"}'],
      [{ type: 'Buffer', data: [1] }, '{"type":"Buffer","data":[1]}'],
    ] as const) {
      assert.deepEqual(run(() => value).outcome, { ok: true, code: 0, text });
    }
  });
});

describe('invoke', () => {
  test('answers params that are refused with the issues, and does not call', async () => {
    let calls = 0;
    const params = Type.Object({ n: Type.Number() });
    const { outcome, faults } = run(
      () => {
        calls += 1;
      },
      { params },
      { n: 'x' },
    );
    assert.deepEqual(errorOf(await outcome), {
      code: -32602,
      message: 'Invalid params',
      data: [{ path: '/n', message: 'must be number', expected: 'number', received: 'string' }],
    });
    assert.equal(calls, 0);
    assert.deepEqual(faults, []);
  });

  test('gives the handler the named params and the context', () => {
    const seen: unknown[] = [];
    const proc = procedure(
      { params: Type.Object({ a: Type.Number(), b: Type.Number({ default: 2 }) }) },
      (...args) => {
        seen.push(...args);
      },
    );
    void invoke(proc, [1], context, { checkResults: 'off', onFault: throwing });
    assert.deepEqual(seen, [{ a: 1, b: 2 }, context]);
    assert.equal(seen[1], context);
  });

  test('answers although the log fails', async () => {
    const proc = procedure({ name: 'p' }, throwing);
    const outcome = await invoke(proc, undefined, context, {
      checkResults: 'off',
      onFault: throwing,
    });
    assert.equal(errorOf(outcome).code, -32603);
  });

  test('params without end, from a caller of the dispatcher, are a fault and no crash', async () => {
    const tree = Type.Recursive((This) => Type.Object({ next: Type.Optional(This) }));
    const endless: Record<string, unknown> = {};
    endless.next = endless;
    await assertFault(
      run(() => 1, { params: Type.Object({ tree }) }, { tree: endless }),
      /call stack/i,
    );
  });
});

describe('the text of an error', () => {
  test('stays short', () => {
    assert.ok(describeError(new Error('x'.repeat(100_000))).length <= 10_001);
    assert.ok(describeError({ big: 'x'.repeat(100_000) }).length <= 10_001);
  });
});

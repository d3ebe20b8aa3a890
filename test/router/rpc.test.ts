import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from '@sinclair/typebox';
import {
  type CallContext,
  DuplicateProcedureError,
  defaultRouter,
  rpc as defaultRpc,
  Router,
} from '../../src/index.ts';
import { isRefused } from './run.ts';

const context = {} as CallContext;

/** Calls as invoke does. */
const call = (router: Router, name: string, params?: unknown): unknown => {
  const found = router.get(name);
  assert.ok(found, `${name} is registered`);
  return found.handler(found.bindParams(params) as never, context);
};

const pair = Type.Object({ a: Type.Number(), b: Type.Number({ default: 10 }) });

describe('rpc of a function', () => {
  test('registers it under its own name and gives it back', () => {
    const router = new Router();
    function echo(params: Record<string, unknown>): unknown {
      return params;
    }
    assert.equal(router.rpc(echo), echo);
    assert.deepEqual(router.list(), ['echo']);
    assert.deepEqual(call(router, 'echo', { x: 1 }), { x: 1 });
  });

  test('with options', () => {
    const router = new Router();
    const add = ({ a, b }: { a: number; b: number }): number => a + b;
    assert.equal(router.rpc({ params: pair, returns: Type.Number() }, add), add);
    router.rpc({ name: 'math.add', params: pair }, ({ a, b }) => a + b);
    assert.deepEqual(router.list(), ['add', 'math.add']);
    assert.equal(call(router, 'add', [1]), 11);
    assert.equal(call(router, 'math.add', { a: 1, b: 2 }), 3);
  });

  test('works detached, and on the default router', () => {
    const router = new Router();
    const { rpc } = router;
    rpc(function detached() {
      return 1;
    });
    assert.deepEqual(router.list(), ['detached']);
    defaultRpc(function onDefault() {
      return 2;
    });
    assert.equal(call(defaultRouter, 'onDefault'), 2);
    assert.equal(router.get('onDefault'), undefined);
  });

  test('refuses one without a name, and one whose name is none', () => {
    const { rpc } = new Router();
    isRefused(() => rpc(() => 1), /needs a name/);
    isRefused(() => rpc({}, () => 1), /needs a name/);
    isRefused(() => rpc(function f() {}.bind(undefined)), /the name "bound f" holds " "/);
  });

  test('refuses arguments in the wrong order, and none', () => {
    const rpc = new Router().rpc as (...args: unknown[]) => unknown;
    isRefused(() => rpc(function f() {}, { params: pair }), /the options come first/);
    isRefused(() => rpc(), /the options must be an object/);
    isRefused(() => rpc('name', () => 1), /the options must be an object .* got "name"/);
    isRefused(() => rpc({}, 'x'), /the handler must be a function/);
    // As an import in a circle is.
    for (const missing of [undefined, null]) {
      isRefused(
        () => rpc({ name: 'a' }, missing),
        /^procedure "a": the handler must be a function/,
      );
      isRefused(() => rpc({}, missing), /the handler must be a function/);
    }
    assert.deepEqual(new Router().list(), []);
  });
});

describe('rpc as a decorator', () => {
  test('registers static methods when the class is defined, bound to it', () => {
    const router = new Router();
    class Counter {
      static step = 5;

      @router.rpc
      static next(params: { from: number }): number {
        return params.from + Counter.step;
      }

      @router.rpc({ name: 'counter.add', params: pair, returns: Type.Number() })
      static add({ a, b }: { a: number; b: number }): number {
        return a + b + Counter.step;
      }
    }
    assert.deepEqual(router.list(), ['next', 'counter.add']);
    assert.equal(call(router, 'next', { from: 1 }), 6);
    assert.equal(call(router, 'counter.add', [1]), 16);
    assert.equal(Counter.next({ from: 2 }), 7);
  });

  test('registers instance methods when an instance is made, bound to it', () => {
    const router = new Router();
    class Greeter {
      readonly #greeting: string;

      constructor(greeting: string) {
        this.#greeting = greeting;
      }

      @router.rpc
      async hello(params: { name: string }): Promise<string> {
        return `${this.#greeting} ${params.name}`;
      }

      @router.rpc({ params: pair })
      sum({ a, b }: { a: number; b: number }): number {
        return a + b + this.#greeting.length;
      }
    }
    assert.deepEqual(router.list(), []);
    const greeter = new Greeter('hi');
    assert.deepEqual(router.list(), ['hello', 'sum']);
    assert.equal(router.get('hello')?.isAsync, true);
    assert.equal(router.get('hello')?.name, 'hello');
    assert.equal(call(router, 'sum', { a: 1 }), 13);
    assert.throws(() => new Greeter('hey'), DuplicateProcedureError);
    return Promise.all([
      call(router, 'hello', { name: 'Ann' }),
      greeter.hello({ name: 'Bob' }),
    ]).then((texts) => assert.deepEqual(texts, ['hi Ann', 'hi Bob']));
  });

  test('calls a subclass that overrides, as a call of the method would', () => {
    const router = new Router();
    class Base {
      @router.rpc
      name(): string {
        return 'base';
      }
    }
    class Derived extends Base {
      override name(): string {
        return `derived of ${super.name()}`;
      }
    }
    new Derived();
    assert.equal(call(router, 'name'), 'derived of base');
  });

  test('gets what decorators around it made of the method', () => {
    const router = new Router();
    const twice =
      (method: (this: unknown) => number, _context: ClassMethodDecoratorContext) => (): number =>
        method.call(undefined) * 2;
    class Numbers {
      @twice
      @router.rpc
      static outer(): number {
        return 1;
      }
      @router.rpc
      @twice
      static inner(): number {
        return 1;
      }
    }
    void Numbers;
    assert.equal(call(router, 'outer'), 2);
    assert.equal(call(router, 'inner'), 2);
  });

  test('finds a mistake when the class is defined', () => {
    const { rpc } = new Router();
    isRefused(() => {
      class Late {
        @rpc({ params: Type.Object({ d: Type.Date() }) })
        never(params: { d: Date }): Date {
          return params.d;
        }
      }
      return Late;
    }, /JSON has no Date/);
    isRefused(() => {
      class Named {
        @rpc
        'not a name'(): void {}
      }
      return Named;
    }, /decorator of not a name: /);
    isRefused(() => {
      const key = Symbol('secret');
      class Symbolic {
        @rpc
        [key](): void {}
      }
      return Symbolic;
    }, /must be a string, got symbol/);
  });

  test('refuses legacy decorators, and what is no method', () => {
    const rpc = new Router().rpc as unknown as (...args: unknown[]) => unknown;
    isRefused(() => rpc(function f() {}, 'method', {}), /remove experimentalDecorators/);
    const decorate = rpc({}) as (...args: unknown[]) => unknown;
    isRefused(() => decorate({}, 'method', {}), /remove experimentalDecorators/);
    isRefused(
      () => rpc(class {}, { kind: 'class', name: 'X' }),
      /decorates methods, this is a class/,
    );
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from '@sinclair/typebox';
import {
  createCaller,
  DuplicateProcedureError,
  handleRequest,
  type Procedure,
  procedure,
  RegistrationError,
  Router,
} from '../../src/index.ts';
import { importAnotherCopy } from '../files.ts';

const one = (): Procedure => procedure({ params: Type.Object({ n: Type.Number() }) }, ({ n }) => n);

const withNames = (...names: string[]): Router => {
  const router = new Router();
  for (const name of names) router.register(name, one());
  return router;
};

const isDuplicate =
  (key: string) =>
  (error: unknown): boolean =>
    error instanceof DuplicateProcedureError &&
    error.key === key &&
    error.message.includes(`"${key}"`);

describe('register', () => {
  test('files a procedure under its key, which becomes its name', () => {
    const router = new Router();
    const proc = procedure({ name: 'original' }, () => 1);
    router.register('math.add', proc);
    router.register('again', proc);
    assert.equal(router.get('math.add')?.name, 'math.add');
    assert.equal(router.get('again')?.name, 'again');
    assert.equal(proc.name, 'original');
    assert.equal(router.get('again')?.bindParams, proc.bindParams, 'compiled parts are shared');
    assert.deepEqual(router.list(), ['math.add', 'again']);
    assert.equal(router.size, 2);
  });

  test('refuses a stream that its own name would unsubscribe, under whatever name it comes', () => {
    const router = new Router();
    const stream = { unsubscribe: 'left' };
    const ticks = procedure({ stream }, function* ticks() {
      yield 1;
    });
    const refused = { name: 'RegistrationError', message: /^"left": option stream\.unsubscribe / };
    assert.throws(() => router.register('left', ticks), refused);
    const other = new Router();
    other.register('ft', ticks);
    assert.throws(() => router.merge(other, 'le'), refused);
    assert.deepEqual(router.list(), []);
    router.merge(other);
    assert.deepEqual(router.list(), ['ft']);
  });

  test('knows nothing that was not registered', () => {
    const router = withNames('a');
    for (const name of ['__proto__', 'constructor', 'toString', 'b', '']) {
      assert.equal(router.get(name), undefined);
    }
    router.register('constructor', one());
    assert.equal(router.get('constructor')?.name, 'constructor');
  });

  test('refuses a name that is taken, unless told to replace', () => {
    const router = withNames('a', 'b');
    const before = router.get('a');
    assert.throws(() => router.register('a', one()), isDuplicate('a'));
    assert.equal(router.get('a'), before);
    router.register('a', one(), { replace: true });
    assert.notEqual(router.get('a'), before);
    assert.deepEqual(router.list(), ['a', 'b']);
  });

  test('refuses names that are none, and what is no procedure', () => {
    const router = new Router();
    const untyped = router.register.bind(router) as (...args: unknown[]) => void;
    for (const name of ['', 'rpc.x', '9', '__proto__', 5, undefined]) {
      assert.throws(() => untyped(name, one()), RegistrationError);
    }
    for (const value of [undefined, null, () => 1, {}, 'x', { handler: () => 1 }]) {
      assert.throws(
        () => untyped('a', value),
        /"a" needs what procedure\(options, handler\) returns/,
      );
    }
    assert.deepEqual(router.list(), []);
  });
});

describe('merge', () => {
  test('takes a snapshot', () => {
    const router = new Router();
    const other = withNames('a');
    router.merge(other);
    other.register('b', one());
    other.register('a', one(), { replace: true });
    assert.deepEqual(router.list(), ['a']);
    assert.notEqual(router.get('a')?.bindParams, other.get('a')?.bindParams);
  });

  test('changes nothing when one name is taken', () => {
    const router = withNames('p.b');
    const before = router.get('p.b');
    assert.throws(() => router.merge(withNames('a', 'b', 'c'), 'p.'), isDuplicate('p.b'));
    assert.deepEqual(router.list(), ['p.b']);
    assert.equal(router.get('p.b'), before);
    router.merge(withNames('a', 'b', 'c'), 'p.', { replace: true });
    assert.deepEqual(router.list(), ['p.b', 'p.a', 'p.c']);
  });

  test('changes nothing when one name would be none', () => {
    const router = new Router();
    assert.throws(() => router.merge(withNames('a'), 'rpc.'), /reserved/);
    assert.throws(() => router.merge(withNames('a', 'x'.repeat(250)), 'prefix.'), /at most 256/);
    assert.throws(() => router.merge(withNames('a'), 'p '), /" " at position 1/);
    assert.throws(() => router.merge(withNames('proto__'), 'a.__'), /__proto__/);
    assert.deepEqual(router.list(), []);
  });

  test('with itself', () => {
    const router = withNames('a', 'b');
    router.merge(router, 'x.');
    assert.deepEqual(router.list(), ['a', 'b', 'x.a', 'x.b']);
    assert.throws(() => router.merge(router), isDuplicate('a'));
    router.merge(router, '', { replace: true });
    assert.equal(router.size, 4);
    const empty = new Router();
    empty.merge(empty);
    assert.equal(empty.size, 0);
  });

  test('refuses what is no router', () => {
    const merge = (...args: unknown[]): void => {
      (new Router() as unknown as { merge(...args: unknown[]): void }).merge(...args);
    };
    for (const value of [undefined, null, {}, [], new Map(), 'x']) {
      assert.throws(() => merge(value), /first argument must be a Router/);
    }
    assert.throws(() => merge(new Router(), 5), /prefix must be a string, got number/);
  });
});

describe('a router that is called', () => {
  test('is seen as it is at each call: after register, rpc, merge and replace', async () => {
    const router = new Router();
    const stateful = createCaller(router, { state: 1 });
    const both = async (method: string): Promise<unknown> => {
      const reply = (await handleRequest({ method, id: 1 }, router)) as { result?: unknown };
      const result: unknown = await stateful.call(method).catch(() => undefined);
      assert.deepEqual(result, reply.result);
      return result;
    };
    const returning = (value: string) => procedure({}, () => value);
    assert.equal(await both('a'), undefined);
    router.register('a', returning('a'));
    assert.equal(await both('a'), 'a');
    router.rpc({ name: 'b' }, () => 'b');
    assert.equal(await both('b'), 'b');
    const other = new Router();
    other.register('c', returning('c'));
    router.merge(other);
    assert.equal(await both('c'), 'c');
    router.register('a', returning('replaced'), { replace: true });
    assert.equal(await both('a'), 'replaced');
  });
});

describe('Router.is', () => {
  test('recognises routers, of another copy of the package too', async () => {
    const copy = await importAnotherCopy();
    assert.notEqual(copy.Router, Router);
    const foreign = new copy.Router();
    foreign.register('a', one());
    assert.ok(Router.is(foreign));
    assert.ok(!(foreign instanceof Router));
    const router = new Router();
    router.merge(foreign, 'x.');
    assert.deepEqual(router.list(), ['x.a']);
  });

  test('refuses everything else, and never throws', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('trap');
        },
        has: () => {
          throw new Error('trap');
        },
        getPrototypeOf: () => {
          throw new Error('trap');
        },
      },
    );
    const impostor = { [Symbol.for('tandem-rpc.Router')]: true };
    for (const value of [
      undefined,
      null,
      1,
      'x',
      {},
      [],
      new Map(),
      () => 1,
      Router,
      hostile,
      impostor,
    ]) {
      assert.equal(Router.is(value), false);
    }
    assert.equal(Router.is(new Router()), true);
    class Own extends Router {}
    assert.equal(Router.is(new Own()), true);
  });
});

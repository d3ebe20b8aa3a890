import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Middleware, procedure, Router } from '../../src/index.ts';
import { isRefused } from './run.ts';

const pass: Middleware = (_context, next) => next();

describe('use', () => {
  test('changes the router and returns it', () => {
    const router = new Router();
    assert.equal(router.use(pass), router);
    router.rpc({ name: 'p' }, () => 1);
    assert.deepEqual(
      router.get('p')?.links.map(({ run }) => run),
      [pass],
    );
  });

  test('comes before the first procedure, whichever way that one came', () => {
    const one = procedure({}, () => 1);
    const filled = new Router();
    filled.register('a', one);
    const ways: readonly ((router: Router) => void)[] = [
      (router) => router.register('p', one),
      (router) => void router.rpc(function p() {}),
      (router) => router.merge(filled),
      (router) => void router.procedure({}, () => 1),
    ];
    for (const way of ways) {
      const router = new Router();
      router.use(pass);
      way(router);
      isRefused(() => router.use((_context, next) => next()), /would run without this middleware;/);
      isRefused(
        () => router.use(pass),
        /^use: this router has procedures already, .*"pass".*first procedure/,
      );
    }
    isRefused(() => Router.from({ one }).use(pass), /has procedures already/);
    const empty = new Router();
    empty.merge(new Router());
    empty.use(pass);
  });

  for (const value of [undefined, null, true, 'auth', {}, [pass]]) {
    test(`refuses what is no function: ${JSON.stringify(value) ?? 'nothing'}`, () => {
      const router = new Router();
      isRefused(() => router.use(value as never), /^use: a middleware must be a function, got /);
      isRefused(
        () => router.procedure({ name: 'p', use: [pass, value] as never }, () => 1),
        /^procedure "p": use\[1\]: a middleware must be a function, got /,
      );
      isRefused(
        () => router.merge(new Router(), '', { use: [value] as never }),
        /^merge: use\[0\]: a middleware must be a function, got /,
      );
    });
  }

  test('refuses what is called otherwise than a function, several at once, and what is no list', () => {
    const router = new Router();
    isRefused(() => router.use(function* () {} as never), /generator function/);
    isRefused(() => router.use(class Auth {} as never), /class can't be called/);
    const use = router.use.bind(router) as (...args: unknown[]) => unknown;
    isRefused(() => use(pass, pass), /takes one middleware; call it once for each/);
    isRefused(
      () => procedure({ name: 'p', use: pass as never }, () => 1),
      /^procedure "p": option use must be a list of middleware functions/,
    );
    isRefused(
      () => procedure({ use: Object.assign([], { 1: pass }) as never }, () => 1),
      /use\[0\]: a middleware must be a function, got undefined/,
    );
    isRefused(
      () => router.merge(new Router(), '', { use: pass as never }),
      /option use must be a list/,
    );
  });
});

describe('the options of merge', () => {
  test('that nobody knows are refused: one may be an authorize with a typing error', () => {
    const router = new Router();
    const inner = new Router();
    inner.register(
      'a',
      procedure({}, () => 1),
    );
    const merge = (options: unknown) => router.merge(inner, '', options as never);
    isRefused(
      () => merge({ authorise: () => {} }),
      /unknown option "authorise"; did you mean authorize\? Known: replace, authorize, use$/,
    );
    for (const options of [null, 1, [], 'x'])
      isRefused(() => merge(options), /options must be an object/);
    for (const authorize of [true, 'admin', {}]) {
      isRefused(() => merge({ authorize }), /option authorize must be a function/);
    }
    assert.deepEqual(router.list(), []);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import { z } from 'zod';
import { fingerprint } from '../../../src/core/procedures/document/introspect.ts';
import { type Middleware, procedure, Router, type StreamOptions } from '../../../src/index.ts';

type Options = Parameters<typeof procedure>[0];

const assertDifferent = (prints: readonly string[]): void =>
  assert.equal(new Set(prints).size, prints.length);

describe('the fingerprint', () => {
  const of = (...entries: [string, Options][]): string => {
    const router = new Router();
    for (const [name, options] of entries)
      router.register(
        name,
        procedure(options, () => 1),
      );
    return fingerprint(router);
  };

  const print = (options: Options): string => of(['p', options]);

  test('is the same for the same registry, in any order', () => {
    const a: [string, Options] = ['a', { params: Type.Object({ x: Type.Number() }) }];
    const b: [string, Options] = ['b', {}];
    assert.equal(of(a, b), of(a, b));
    assert.equal(of(a, b), of(b, a));
    assert.match(of(), /^[0-9a-f]{64}$/);
  });

  test('differs with all that a procedure declares', () => {
    const params = (schema: TSchema): Options => ({ params: Type.Object({ x: schema }) });
    const streaming = (stream: StreamOptions): Options => ({ stream });
    const error = { code: 1, message: 'x' };
    const readOnly = { readOnly: true };
    const variants: readonly Options[] = [
      {},
      { doc: 'x' },
      { async: true },
      { placement: 'worker' },
      { placement: 'inline' },
      { group: 'g' },
      { group: 'h' },
      { timeoutMs: 1 },
      { maxConcurrency: 1 },
      { affinity: 'caller' },
      { returns: Type.Number() },
      { params: Type.Object({}) },
      { params: Type.Object({}, { additionalProperties: true }) },
      { params: z.object({ x: z.string() }) },
      params(Type.Number()),
      params(Type.Number({ default: 1 })),
      params(Type.Number({ minimum: 1 })),
      { params: Type.Object({ a: Type.Null(), b: Type.Null() }) },
      { params: Type.Object({ b: Type.Null(), a: Type.Null() }) },
      { ...params(Type.Number()), affinity: 'x' },
      { effects: readOnly },
      { effects: { ...readOnly, openWorld: false } },
      { effects: readOnly, cache: { maxAgeSeconds: 1 } },
      { httpApi: false },
      { errors: { A: error } },
      { errors: { B: error } },
      { errors: { A: { ...error, code: 2 } } },
      { errors: { A: { ...error, message: 'y' } } },
      { errors: { A: { ...error, data: Type.Number() } } },
      { errors: { A: { ...error, data: Type.String() } } },
      { stream: true as const },
      { yields: Type.Number() },
      { yields: Type.String() },
      streaming({ notification: 'y' }),
      streaming({ unsubscribe: 'y' }),
      streaming({ collect: true }),
      streaming({ drain: 'finish' }),
    ];
    assertDifferent([of(['q', {}]), ...variants.map(print)]);
    assert.equal(print({ effects: {}, errors: {} }), print({}));
    assert.equal(print(streaming({ drain: 'end' })), print({ stream: true }));
    assert.equal(
      print({ effects: { idempotent: true, readOnly: false } }),
      print({ effects: { readOnly: false, idempotent: true } }),
    );
  });

  test('does not depend on how many recursive types were made before', () => {
    const make = (): string => {
      const Tree = Type.Recursive((This) => Type.Object({ kids: Type.Array(This) }));
      return print({ params: Type.Object({ Tree }), returns: Tree });
    };
    assert.equal(make(), make());
  });
});

describe('the fingerprint and middleware', () => {
  const made = (links: readonly Middleware[], authorize?: () => undefined) => {
    const router = new Router();
    for (const link of links) router.use(link);
    router.rpc({ name: 'p', authorize }, () => 1);
    return fingerprint(router);
  };
  // Each call makes functions anew, as each thread does.
  const named = (): Middleware => (_context, next) => next();
  const edited = (): Middleware => (_context, next) => next({});

  test('is the same if the same functions run before the handler', () => {
    assert.equal(made([named()]), made([named()]));
    assert.equal(
      made([], () => undefined),
      made([], () => undefined),
    );
  });

  test('differs with a link more, an edited one, another order, another kind', () => {
    assertDifferent([
      made([]),
      made([named()]),
      made([edited()]),
      made([named(), edited()]),
      made([edited(), named()]),
      made([], () => undefined),
      made([], () => {
        throw new Error('no');
      }),
    ]);
  });
});

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

  test('is the same for the same registry, in any order', () => {
    const a: [string, Options] = ['a', { params: Type.Object({ x: Type.Number() }) }];
    const b: [string, Options] = ['b', {}];
    assert.equal(of(a, b), of(a, b));
    assert.equal(of(a, b), of(b, a));
    assert.match(of(), /^[0-9a-f]{64}$/);
  });

  test('differs with the names, schemas, docs and facts of placement', () => {
    const params = (schema: TSchema): Options => ({ params: Type.Object({ x: schema }) });
    const variants: [string, Options][] = [
      ['p', {}],
      ['q', {}],
      ['p', { doc: 'x' }],
      ['p', { async: true }],
      ['p', { placement: 'worker' }],
      ['p', { placement: 'inline' }],
      ['p', { group: 'g' }],
      ['p', { group: 'h' }],
      ['p', { timeoutMs: 1 }],
      ['p', { maxConcurrency: 1 }],
      ['p', { affinity: 'caller' }],
      ['p', { returns: Type.Number() }],
      ['p', { params: Type.Object({}) }],
      ['p', { params: Type.Object({}, { additionalProperties: true }) }],
      ['p', { params: z.object({ x: z.string() }) }],
      ['p', params(Type.Number())],
      ['p', params(Type.Number({ default: 1 }))],
      ['p', params(Type.Number({ minimum: 1 }))],
      ['p', { params: Type.Object({ a: Type.Null(), b: Type.Null() }) }],
      ['p', { params: Type.Object({ b: Type.Null(), a: Type.Null() }) }],
      ['p', { ...params(Type.Number()), affinity: 'x' }],
    ];
    assertDifferent(variants.map((variant) => of(variant)));
  });

  test('does not depend on how many recursive types were made before', () => {
    const make = (): string => {
      const Tree = Type.Recursive((This) => Type.Object({ kids: Type.Array(This) }));
      return of(['p', { params: Type.Object({ Tree }), returns: Tree }]);
    };
    assert.equal(make(), make());
  });

  test('differs with the effects, the declared errors, what a stream yields and its options', () => {
    const print = (options: Options): string => of(['p', options]);
    const streaming = (stream: StreamOptions): Options => ({ stream });
    const error = { code: 1, message: 'x' };
    assertDifferent(
      [
        {},
        { effects: { idempotent: true } },
        { effects: { idempotent: true, readOnly: false } },
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
      ].map(print),
    );
    assert.equal(print({ effects: {}, errors: {} }), print({}));
    assert.equal(print(streaming({ drain: 'end' })), print({ stream: true }));
    assert.equal(
      print({ effects: { idempotent: true, readOnly: false } }),
      print({ effects: { readOnly: false, idempotent: true } }),
    );
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

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import fc from 'fast-check';
import { seed } from '../../seed.ts';
import { build, refuses as refusesOptions } from './params.ts';

const compile = (members: Record<string, TSchema>) => build(members).bindParams;
const refuses = (params: Record<string, TSchema>, message: RegExp) =>
  refusesOptions({ params }, message);

describe('defaults', () => {
  test('stand in for missing members, required in TypeBox or not', () => {
    const bind = compile({
      a: Type.Number(),
      b: Type.Number({ default: 10 }),
      c: Type.Optional(Type.String({ default: 'x' })),
      d: Type.Optional(Type.Boolean()),
    });
    assert.deepEqual(bind({ a: 1 }), { a: 1, b: 10, c: 'x' });
    assert.deepEqual(bind([1]), { a: 1, b: 10, c: 'x' });
    assert.deepEqual(bind([1, 2]), { a: 1, b: 2, c: 'x' });
    assert.deepEqual(bind({ a: 1, b: 2, c: 'y', d: true }), { a: 1, b: 2, c: 'y', d: true });
  });

  test('falsy ones count', () => {
    const bind = compile({
      zero: Type.Number({ default: 0 }),
      no: Type.Boolean({ default: false }),
      empty: Type.String({ default: '' }),
      nothing: Type.Union([Type.Null(), Type.String()], { default: null }),
    });
    assert.deepEqual(bind(undefined), { zero: 0, no: false, empty: '', nothing: null });
  });

  test('null is a value, not a missing one', () => {
    assert.throws(() => compile({ a: Type.Number({ default: 1 }) })({ a: null }));
    const nullable = compile({ a: Type.Union([Type.Number(), Type.Null()], { default: 1 }) });
    assert.deepEqual(nullable({ a: null }), { a: null });
  });

  test('fill nested objects, arrays, tuples, records, unions, intersections', () => {
    const item = Type.Object({ n: Type.Number({ default: 1 }) });
    const bind = compile({
      object: Type.Object({ inner: item }),
      list: Type.Array(item),
      tuple: Type.Tuple([Type.String(), item]),
      record: Type.Record(Type.String(), item),
      union: Type.Union([
        Type.Object({ kind: Type.Literal('a'), x: Type.Number({ default: 1 }) }),
        Type.Object({ kind: Type.Literal('b'), x: Type.Number({ default: 2 }) }),
      ]),
      both: Type.Intersect([item, Type.Object({ m: Type.Number({ default: 2 }) })]),
    });
    assert.deepEqual(
      bind({
        object: { inner: {} },
        list: [{}, { n: 7 }],
        tuple: ['x', {}],
        record: { k: {} },
        union: { kind: 'b' },
        both: {},
      }),
      {
        object: { inner: { n: 1 } },
        list: [{ n: 1 }, { n: 7 }],
        tuple: ['x', { n: 1 }],
        record: { k: { n: 1 } },
        union: { kind: 'b', x: 2 },
        both: { n: 1, m: 2 },
      },
    );
  });

  test('a default is completed by the defaults inside it', () => {
    const bind = compile({
      options: Type.Object({ deep: Type.Number({ default: 3 }) }, { default: {} }),
    });
    assert.deepEqual(bind({}), { options: { deep: 3 } });
  });

  test('reach every level of a recursive type', () => {
    const tree = Type.Recursive((This) =>
      Type.Object({ v: Type.Number({ default: 0 }), kids: Type.Array(This, { default: [] }) }),
    );
    const bind = compile({ tree });
    assert.deepEqual(bind({ tree: { kids: [{ v: 1 }, { kids: [{}] }] } }), {
      tree: {
        v: 0,
        kids: [
          { v: 1, kids: [] },
          { v: 0, kids: [{ v: 0, kids: [] }] },
        ],
      },
    });
  });

  test('are a new value in every call', () => {
    const given = { list: [1] };
    const bind = compile({
      a: Type.Object({ list: Type.Array(Type.Number()) }, { default: given }),
    });
    const first = bind({}) as { a: { list: number[] } };
    first.a.list.push(2);
    given.list.push(3);
    assert.deepEqual(bind({}), { a: { list: [1] } });
  });

  test('what is complete is handed on as it came', () => {
    const bind = compile({
      a: Type.Number({ default: 1 }),
      b: Type.Array(Type.Object({ c: Type.Number({ default: 1 }) })),
    });
    const params = { a: 1, b: [{ c: 1 }] };
    assert.equal(bind(params), params);
    const partial = { a: 1, b: [{ c: 1 }, {}] };
    const bound = bind(partial) as typeof params;
    assert.equal(bound.b[0], partial.b[0]);
    assert.deepEqual(partial, { a: 1, b: [{ c: 1 }, {}] });
  });

  test('never mutate what was sent', () => {
    const inner = Type.Object({
      x: Type.Number({ default: 1 }),
      y: Type.Optional(Type.Array(Type.Number(), { default: [1, 2] })),
    });
    const bind = compile({
      a: Type.Optional(inner),
      b: Type.Array(inner, { default: [{}] }),
      c: Type.Record(Type.String(), inner, { default: {} }),
    });
    const sent = fc.record(
      { x: fc.integer(), y: fc.array(fc.integer()) },
      { requiredKeys: [], noNullPrototype: true },
    );
    const params = fc.record(
      {
        a: sent,
        b: fc.array(sent),
        c: fc.dictionary(fc.string(), sent, { noNullPrototype: true }),
      },
      { requiredKeys: [], noNullPrototype: true },
    );
    fc.assert(
      fc.property(params, (value) => {
        const before = JSON.stringify(value);
        freeze(value);
        const once = bind(value);
        assert.equal(JSON.stringify(value), before);
        assert.equal(bind(once), once, 'filling in is idempotent');
      }),
      { seed },
    );
  });

  test('one of a wrong type is refused at registration', () => {
    refuses({ a: Type.Number({ default: 'x' }) }, /params at \/a: the default "x" does not match/);
    refuses(
      {
        a: Type.Object({
          b: Type.Array(Type.Integer({ minimum: 5, default: 1 })),
          c: Type.Integer({ minimum: 5, default: 1 }),
        }),
      },
      /at \/a\/c: the default 1 does not match/,
    );
    refuses({ a: Type.Unknown({ default: () => 1 }) }, /at \/a: the default must be a JSON value/);
    refuses({ a: Type.Unknown({ default: new Date(0) }) }, /must be a JSON value/);
    refuses({ a: Type.Unknown({ default: 1n }) }, /must be a JSON value/);
  });

  test('one that calls for itself is refused at registration', () => {
    const tree = Type.Recursive((This) =>
      Type.Object({ next: Type.Optional({ ...This, default: {} }) }),
    );
    refuses({ tree }, /at \/tree\/next: the default calls for itself without end/);
  });
});

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const member of Object.values(value)) freeze(member);
  Object.freeze(value);
}

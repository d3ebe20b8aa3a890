import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { getProcedureSchema, procedure, RpcError } from '../../../src/index.ts';
import { Counted } from '../../fixtures/counted.ts';
import { build, refuses as refusesOptions } from './params.ts';

/** More than any of these needs in linear time, and nothing beside 2^60. */
const most = 100_000;

/** How often a value is looked into until it is taken or refused. */
function looks(schema: TSchema, v: unknown, isTaken: boolean): number {
  const { bindParams } = build({ v: schema });
  const counted = new Counted({ v }, most);
  if (isTaken) bindParams(counted.value);
  else assert.throws(() => bindParams(counted.value), RpcError);
  return counted.reads;
}

/** Twice the depth, twice the work: the same number of looks for each level. */
function assertLinear(schema: TSchema, nest: (inner: unknown) => unknown, good: unknown): void {
  const nested = (depth: number, end: unknown): unknown =>
    depth === 0 ? end : nest(nested(depth - 1, end));
  for (const [end, isTaken] of [
    [good, true],
    ['bad', false],
  ] as const) {
    const [a, b, c] = [15, 30, 60].map((depth) => looks(schema, nested(depth, end), isTaken));
    assert.equal(c! - b!, 2 * (b! - a!), `${a}, ${b}, ${c} looks`);
  }
}

const refuses = (schema: TSchema, message: RegExp) =>
  refusesOptions({ params: { v: schema } }, message);

const operators = ['+', '-', '*'];

describe('the work that a value buys grows as the value does', () => {
  test('three operators, 60 levels deep: taken or refused', () => {
    const tree = Type.Recursive((This) =>
      Type.Union([
        Type.Number(),
        ...operators.map((op) => Type.Object({ left: This, op: Type.Literal(op) })),
      ]),
    );
    assertLinear(tree, (left) => ({ left, op: '*' }), 1);
  });

  test('where nothing does', () => {
    const list = Type.Recursive((This) =>
      Type.Union([Type.Number(), Type.Array(This), Type.Tuple([This]), Type.Array(This)]),
    );
    assertLinear(list, (inner) => [inner], 1);
    const record = Type.Recursive((This) =>
      Type.Union([Type.Number(), Type.Record(Type.String(), This), Type.Object({ a: This })]),
    );
    assertLinear(record, (a) => ({ a }), 1);
    const not = Type.Recursive((This) =>
      Type.Intersect([
        Type.Not(Type.Object({ a: Type.Not(This) })),
        Type.Not(Type.Object({ a: Type.Not(This), b: Type.Null() })),
        Type.Not(Type.Literal('bad')),
      ]),
    );
    assertLinear(not, (a) => ({ a }), 1);
  });

  test('where both parts of an intersection hold the type, defaults included', () => {
    const both = Type.Recursive((This) =>
      Type.Intersect([
        Type.Object({ a: Type.Optional(This), b: Type.Number({ default: 1 }) }),
        Type.Object({ a: Type.Optional(This), c: Type.Object({}, { default: {} }) }),
      ]),
    );
    assertLinear(both, (a) => ({ a }), {});
  });

  test('where types share types', () => {
    const types = Array.from({ length: 64 }, (_, index) => {
      const next = index === 63 ? Type.Number() : Type.Ref(`T${index + 1}`);
      return [`T${index}`, Type.Union([next, Type.Object({ a: next }), next])];
    });
    // Each is the next in place, twice: 2^64 ways to one number.
    const module = (entries: unknown[]): TSchema =>
      Type.Module(Object.fromEntries(entries as [string, TSchema][])).Import('T0') as TSchema;
    refuses(module(types), /held against more than 256 schemas/);
    const shared = types.map(([name], index) => {
      const next = index === 63 ? Type.Number() : Type.Ref(`T${index + 1}`);
      const either = Type.Union([Type.Object({ a: next }), Type.Object({ a: next, b: next })]);
      return [name, Type.Union([Type.Number(), either])];
    });
    assertLinear(module(shared), (a) => ({ a }), 1);
    assert.ok(
      getProcedureSchema(procedure({ returns: module(shared) }, () => null)).return_type.length <
        1_000_000,
      'its text has an end',
    );
  });

  test('a small value of a type with a thousand members', () => {
    const wide = wideObject({}, 1000);
    assert.ok(looks(wide, {}, true) < 20);
    assert.ok(looks(wide, { m999: 1 }, true) < 20);
    assert.equal(looks(wide, { m999: 1, m998: 1 }, true) - looks(wide, { m999: 1 }, true), 2);
    looks(wide, { m999: 'x' }, false);
  });

  test('sets in sets', () => {
    const set = Type.Recursive((This) =>
      Type.Union([Type.Number(), Type.Array(This, { uniqueItems: true })]),
    );
    assertLinear(set, (inner) => [1, inner], 2);
  });
});

describe('refused at registration is what would cost too much', () => {
  test('a type that doubles with each level, written out', () => {
    let type: TSchema = Type.Number();
    for (let level = 0; level < 30; level += 1) type = Type.Object({ a: type, b: type });
    refuses(type, /at most 10000 parts, written out/);
    const parts = (count: number) =>
      Type.Tuple(Array.from({ length: count - 2 }, () => Type.Number()));
    assert.doesNotThrow(() =>
      procedure({ name: 'p', params: Type.Object({ v: parts(10_000) }) }, () => null),
    );
    refuses(parts(10_001), /at most 10000 parts/);
  });

  test('long unions, unless literals tell the alternatives apart', () => {
    const union = (length: number, of: (index: number) => TSchema): TSchema =>
      Type.Union(Array.from({ length }, (_, index) => of(index)));
    const plain = (index: number) => Type.Object({ [`a${index}`]: Type.Number() });
    refuses(union(256, plain), /held against more than 256 schemas; tell the alternatives/);
    // The union is one of them.
    looks(union(255, plain), { a254: 1 }, true);
    const tagged = (index: number) =>
      Type.Object({ a: Type.Number(), tag: Type.Literal(`t${index}`) });
    assert.ok(looks(union(1000, tagged), { a: 1, tag: 't999' }, true) < 20);
    assert.ok(looks(union(1000, tagged), { a: 'x', tag: 't999' }, false) < 3000);
    const literal = (index: number) => Type.Literal(`t${index}`);
    looks(union(1000, literal), 't999', true);
    looks(union(1000, literal), 't1000', false);
  });

  test('alternatives that overlap at one member of theirs', () => {
    const member = (name: string) =>
      Type.Union(
        Array.from({ length: 20 }, (_, index) => Type.Object({ [name + index]: Type.Null() })),
      );
    const type = Type.Union(
      Array.from({ length: 20 }, (_, index) => Type.Object({ a: member(`m${index}_`) })),
    );
    refuses(type, /parts of it overlap so that one value would be held against more than 256/);
  });

  test('a default that calls for 2^20 others', () => {
    const types: [string, TSchema][] = Array.from({ length: 20 }, (_, index) => [
      `T${index}`,
      Type.Object({
        a: Type.Ref(`T${index + 1}`, { default: {} }),
        b: Type.Ref(`T${index + 1}`, { default: {} }),
      }),
    ]);
    const module = Type.Module(Object.fromEntries([...types, ['T20', Type.Object({})]]));
    refuses(module.Import('T0') as TSchema, /for more than 256 others/);
  });
});

/** An object type of so many optional numbers, m0, m1 ..., beside some members. */
function wideObject(members: Record<string, TSchema>, count: number): TSchema {
  const optional = Array.from({ length: count }, (_, n) => [`m${n}`, Type.Optional(Type.Number())]);
  return Type.Object({ ...members, ...Object.fromEntries(optional) });
}

test('a type with a thousand members takes what TypeBox takes, wherever a value has its members', () => {
  const members = { id: Type.Number(), note: Type.Optional(Type.String()) };
  const type = wideObject(members, 1000);
  const typeBox = TypeCompiler.Compile(type);
  class Row {
    id = 1;
    readonly given: unknown;
    constructor(given: unknown) {
      this.given = given;
    }
    get m5(): unknown {
      return this.given;
    }
  }
  const values: unknown[] = [
    { id: 1 },
    { id: 1, m7: 2, other: 'x' },
    { id: 1, m7: 'x' },
    { id: 1, m7: undefined },
    { id: 1, note: 1 },
    { id: undefined },
    { m7: 2 },
    Object.create(null),
    Object.assign(Object.create(null), { id: 1, note: 1 }),
    Object.assign(Object.create(null), { id: 1, note: 'x' }),
    Object.assign(Object.create({ m9: 1 }), { id: 1 }),
    Object.assign(Object.create({ m9: 'x' }), { id: 1 }),
    new Row(1),
    new Row('x'),
    Object.defineProperty({ id: 1 }, 'm3', { value: 1 }),
    Object.defineProperty({ id: 1 }, 'm3', { value: 'x' }),
    [],
  ];
  const verdicts = values.map((value) => {
    const isTaken = typeBox.Check(value);
    looks(type, value, isTaken);
    return isTaken;
  });
  assert.ok(verdicts.filter((isTaken) => isTaken).length > 4, String(verdicts));
  assert.ok(verdicts.filter((isTaken) => !isTaken).length > 4, String(verdicts));
});

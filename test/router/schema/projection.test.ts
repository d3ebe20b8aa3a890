import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TSchema } from '@sinclair/typebox';
import { type Procedure, procedure, Type } from '../../../src/index.ts';
import { Counted } from '../../fixtures/counted.ts';

const rulesOf = (schema: TSchema): NonNullable<Procedure['result']> => {
  const { result: rules } = procedure({ name: 'p', returns: schema }, () => null as never);
  assert.ok(rules);
  return rules;
};

/** What is sent of a result, as its receiver reads it. */
const sent = (schema: TSchema, result: unknown): unknown => {
  const text = JSON.stringify(rulesOf(schema).project(result));
  return text === undefined ? undefined : JSON.parse(text);
};

const mismatch = (schema: TSchema, result: unknown): string | undefined => {
  const { project, mismatchOf } = rulesOf(schema);
  return mismatchOf(project(result));
};

const refuses = (schema: TSchema, result: unknown, detail: RegExp): void => {
  assert.throws(
    () => rulesOf(schema).project(result),
    (error) => {
      assert.ok(error instanceof Error && error.name === 'ResultFault', String(error));
      assert.match(error.message, detail);
      return true;
    },
  );
};

const user = Type.Object({ id: Type.Number(), name: Type.String() });
const row = { id: 1, name: 'Ann', password_hash: 'secret', token: { value: 'secret' } };

describe('what is not declared is never sent', () => {
  const cases: readonly (readonly [string, TSchema, unknown, unknown])[] = [
    ['of an object', user, row, { id: 1, name: 'Ann' }],
    ['of a class', user, Object.assign(new (class Row {})(), row), { id: 1, name: 'Ann' }],
    [
      'of the items of an array',
      Type.Array(user),
      [row, row],
      [
        { id: 1, name: 'Ann' },
        { id: 1, name: 'Ann' },
      ],
    ],
    [
      'of a member',
      Type.Object({ user }),
      { user: row, extra: row },
      { user: { id: 1, name: 'Ann' } },
    ],
    ['where an object may be null', Type.Union([user, Type.Null()]), row, { id: 1, name: 'Ann' }],
    ['of a tuple', Type.Tuple([user]), [row, row], [{ id: 1, name: 'Ann' }]],
    [
      'of the values of a record',
      Type.Record(Type.String(), user),
      { a: row },
      { a: { id: 1, name: 'Ann' } },
    ],
    [
      'by names that a record does not take',
      Type.Record(Type.String({ pattern: '^a$' }), Type.Number()),
      { a: 1, b: 2 },
      { a: 1 },
    ],
    [
      'of an intersection',
      Type.Intersect([user, Type.Object({ age: Type.Number() })]),
      { ...row, age: 2 },
      { id: 1, name: 'Ann', age: 2 },
    ],
    [
      'of a member that both parts of an intersection have',
      Type.Intersect([
        Type.Object({ a: Type.Object({ x: Type.Number() }) }),
        Type.Object({ a: Type.Object({ y: Type.Number() }) }),
      ]),
      { a: { x: 1, y: 2, z: 3 } },
      { a: { x: 1, y: 2 } },
    ],
    [
      'of an intersection with a union',
      Type.Intersect([
        Type.Object({ id: Type.Number() }),
        Type.Union([Type.Object({ a: Type.Number() }), Type.Object({ b: Type.Number() })]),
      ]),
      { ...row, b: 2 },
      { id: 1, b: 2 },
    ],
    ['of what an object says it is in JSON', user, { toJSON: () => row }, { id: 1, name: 'Ann' }],
    [
      'from members that a record inherits its name for',
      Type.Record(Type.String(), user),
      JSON.parse('{"__proto__":{"id":1,"name":"Ann","x":1}}'),
      JSON.parse('{"__proto__":{"id":1,"name":"Ann"}}'),
    ],
  ];
  for (const [name, schema, result, expected] of cases) {
    test(name, () => {
      assert.deepEqual(sent(schema, result), expected);
      assert.equal(mismatch(schema, result), undefined);
      assert.equal(rulesOf(schema).isOpen, false);
    });
  }

  test('unless additionalProperties keeps it, or projects it', () => {
    const kept = Type.Object({ id: Type.Number() }, { additionalProperties: true });
    assert.deepEqual(sent(kept, row), row);
    assert.equal(rulesOf(kept).isOpen, true);
    const each = Type.Object({ id: Type.Number() }, { additionalProperties: user });
    assert.deepEqual(sent(each, { id: 1, owner: row }), { id: 1, owner: { id: 1, name: 'Ann' } });
  });

  test('the result itself is not changed', () => {
    const result = structuredClone(row);
    sent(user, result);
    assert.deepEqual(result, row);
  });

  test('in place of a text or a number: an object or an array there is refused', () => {
    refuses(
      Type.Object({ owner: Type.String() }),
      { owner: row },
      /^the result at \/owner is an object where returns declares neither/,
    );
    refuses(
      Type.Array(Type.Union([Type.String(), Type.Null()])),
      ['a', [row]],
      /at \/1 is an array where/,
    );
    refuses(user, [row], /^the result is an array where returns declares an object/);
    refuses(Type.Array(user), row, /^the result is an object where returns declares an array/);
    refuses(Type.Void(), row, /^the result is an object where/);
  });

  test('the place in the log never holds more of a name than 64 characters', () => {
    const schema = Type.Record(Type.String(), Type.Number());
    refuses(schema, { ['k'.repeat(5000)]: row }, /^the result at \/k{64}… is an object/);
  });
});

describe('a union', () => {
  const circle = Type.Object({ kind: Type.Literal('circle'), r: Type.Number() });
  const square = Type.Object({ kind: Type.Literal('square'), side: Type.Number() });

  test('is told apart by a literal', () => {
    const shape = Type.Union([circle, square]);
    assert.deepEqual(sent(shape, { kind: 'square', side: 2, r: 1, secret: 1 }), {
      kind: 'square',
      side: 2,
    });
    assert.match(mismatch(shape, { kind: 'square', r: 1 })!, /side is required/);
  });

  test('is told apart by its checks, which strict variants pass too', () => {
    const strict = { additionalProperties: false };
    const either = Type.Union([
      Type.Object({ a: Type.Number() }, strict),
      Type.Object({ b: Type.String() }, strict),
    ]);
    assert.deepEqual(sent(either, { b: 'x', secret: 1 }), { b: 'x' });
    assert.equal(mismatch(either, { b: 'x', secret: 1 }), undefined);
  });

  test('of variants that match alike keeps the members of all of them', () => {
    const either = Type.Union([
      Type.Object({ a: Type.Number() }),
      Type.Object({ a: Type.Number(), b: Type.String() }),
    ]);
    assert.deepEqual(sent(either, { a: 1, b: 'x', secret: 1 }), { a: 1, b: 'x' });
  });

  test('that matches nothing sends no name that no variant declares', () => {
    const shape = Type.Union([circle, square]);
    assert.deepEqual(sent(shape, { kind: 'line', r: 1, secret: 1 }), { kind: 'line', r: 1 });
    assert.notEqual(mismatch(shape, { kind: 'line', r: 1 }), undefined);
  });

  test('of texts, arrays and objects takes each for what it is', () => {
    const any = Type.Union([Type.String(), Type.Array(user), user]);
    for (const [result, expected] of [
      ['x', 'x'],
      [[row], [{ id: 1, name: 'Ann' }]],
      [row, { id: 1, name: 'Ann' }],
      [new Date(0), '1970-01-01T00:00:00.000Z'],
    ] as const) {
      assert.deepEqual(sent(any, result), expected);
    }
  });
});

describe('a type that holds itself', () => {
  const list = Type.Recursive((This) =>
    Type.Object({ v: Type.Number(), next: Type.Optional(This) }),
  );

  test('is projected all the way', () => {
    assert.deepEqual(sent(list, { v: 1, s: 1, next: { v: 2, s: 2 } }), { v: 1, next: { v: 2 } });
    const modules = Type.Module({
      A: Type.Object({ b: Type.Optional(Type.Ref('B')) }),
      B: Type.Object({ a: Type.Optional(Type.Ref('A')), n: Type.Number() }),
    });
    assert.deepEqual(sent(modules.Import('A'), { b: { n: 1, s: 1, a: { s: 1 } } }), {
      b: { n: 1, a: {} },
    });
  });

  test('a value that holds itself is refused', () => {
    const loop: Record<string, unknown> = { v: 1 };
    loop.next = loop;
    refuses(list, loop, /^the result at \/next is circular: it is the result again/);
    let deep: unknown = null;
    for (let i = 0; i < 100_000; i++) deep = { v: 1n, next: deep };
    refuses(list, deep, /^the result nests too deeply/);
  });

  test('a union whose variants have no literal costs time in proportion to the value', () => {
    const tree = Type.Recursive((This) =>
      Type.Union([
        Type.Object({ a: Type.Number(), next: Type.Optional(This) }),
        Type.Object({ b: Type.Number(), next: Type.Optional(This) }),
      ]),
    );
    const { project } = rulesOf(tree);
    const looks = (depth: number): number => {
      let value: unknown = { b: 1 };
      for (let level = 0; level < depth; level++)
        value = { [level % 2 === 0 ? 'a' : 'b']: 1, next: value };
      const counted = new Counted(value, 1_000_000);
      project(counted.value);
      return counted.reads;
    };
    const [a, b, c] = [20, 40, 80].map(looks) as [number, number, number];
    assert.equal(c - b, 2 * (b - a), `${a}, ${b}, ${c} looks`);
  });
});

describe('an object of which JSON keeps nothing', () => {
  const losses: readonly (readonly [unknown, RegExp])[] = [
    [new Map([[1, 2]]), /is a Map, of which JSON keeps nothing: return Object\.fromEntries/],
    [new Set([1]), /is a Set.*\[\.\.\.set\]/],
    [Promise.resolve(1), /is a Promise.*: await it/],
    [new TypeError('secret'), /is a TypeError.*throw it/],
    [/x/, /is a RegExp/],
    [new Response('x'), /is a Response.*response\.json/],
    [
      Buffer.from('abc'),
      /is a Buffer, which JSON writes out byte by byte: declare Type\.Base64\(\)/,
    ],
    [new Uint8Array(3), /is an? Uint8Array, which JSON writes out/],
  ];
  for (const [value, detail] of losses) {
    const name = (value as object).constructor.name;
    test(`is refused where an object, an array, a record or a text is declared: ${name}`, () => {
      for (const schema of [
        Type.Object({ a: Type.Optional(Type.Number()) }),
        Type.Array(Type.Number()),
        Type.Record(Type.String(), Type.Number()),
        Type.String(),
      ]) {
        refuses(Type.Object({ it: schema }), { it: value }, new RegExp(`at /it ${detail.source}`));
      }
    });
  }

  test('an empty plain object is one, of whichever prototype', () => {
    for (const empty of [{}, Object.create(null), Object.create(Object.create(null))])
      assert.deepEqual(sent(Type.Object({}), empty), {});
  });

  test('an object whose members are getters of its class is read by them', () => {
    class Account {
      get id(): number {
        return 1;
      }
      get secret(): number {
        return 2;
      }
    }
    assert.deepEqual(sent(Type.Object({ id: Type.Number() }), new Account()), { id: 1 });
  });
});

describe('bytes', () => {
  test('of any view become base64', () => {
    const schema = Type.Object({ data: Type.Base64() });
    const view = new Uint8Array(new Uint8Array([0, 1, 2, 3, 4]).buffer, 1, 3);
    assert.deepEqual(sent(schema, { data: view }), { data: 'AQID' });
    assert.deepEqual(sent(schema, { data: Buffer.from('abc') }), { data: 'YWJj' });
    assert.deepEqual(sent(Type.Union([Type.Base64(), user]), Buffer.from('abc')), 'YWJj');
    assert.equal(mismatch(schema, { data: view }), undefined);
    assert.match(mismatch(schema, { data: 'no base64' })!, /\/data must have the format byte/);
  });

  test('in another form are refused with what to do', () => {
    const schema = Type.Object({ data: Type.Base64() });
    for (const data of [new ArrayBuffer(3), new SharedArrayBuffer(3), new Float64Array(1)])
      refuses(schema, { data }, /^the result at \/data is an? \w+ where .* return a Uint8Array/);
  });
});

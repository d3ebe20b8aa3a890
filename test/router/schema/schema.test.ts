import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TObject, TypeRegistry } from '@sinclair/typebox';
import fc from 'fast-check';
import { getProcedureSchema, model, procedure, Type } from '../../../src/index.ts';
import { seed } from '../../seed.ts';
import { bind, issues, refuses } from './params.ts';

const refusesParams = (params: unknown, message: RegExp) => refuses({ params }, message);

const pair = Type.Object({ a: Type.Number(), b: Type.Number() });

describe('binding params', () => {
  test('a required member must be there whatever its schema takes', () => {
    for (const open of [
      Type.Unknown(),
      Type.Any(),
      Type.Union([Type.Unknown(), Type.Number()]),
      Type.Union([Type.Union([Type.String(), Type.Any()]), Type.Null()]),
      Type.Intersect([Type.Unknown(), Type.Unknown()]),
      Type.Not(Type.String()),
      Type.Union([Type.Not(Type.String()), Type.Number()]),
    ]) {
      const schema = Type.Object({ a: open });
      assert.deepEqual(bind(schema, { a: null }), { a: null });
      assert.deepEqual(
        issues(schema, {}).map(({ path, received }) => [path, received]),
        [['/a', 'undefined']],
      );
      assert.notEqual(
        procedure({ name: 'p', returns: schema }, () => null as never).result?.mismatchOf({}),
        undefined,
      );
    }
  });

  test('too many positional ones are refused', () => {
    assert.deepEqual(issues(pair, [1, 2, 3]), [
      {
        path: '',
        message: 'must be at most 2 positional arguments (a, b), got 3',
        expected: '{ a: number; b: number }',
        received: 'array',
      },
    ]);
    const one = Type.Object({ a: Type.Number() });
    assert.equal(
      issues(one, [1, 2])[0]?.message,
      'must be at most 1 positional argument (a), got 2',
    );
  });

  test('unknown names are refused, unless the schema says otherwise', () => {
    assert.deepEqual(issues(pair, { a: 1, b: 2, c: 3 }), [
      { path: '/c', message: 'is not known here', expected: 'never', received: 'number' },
    ]);
    assert.match(
      issues(Type.Object({ limit: Type.Optional(Type.Number()) }), { limti: 1 })[0]!.message,
      /did you mean limit\?/,
    );
    const open = Type.Object({ a: Type.Number() }, { additionalProperties: true });
    assert.deepEqual(bind(open, { a: 1, c: 'x' }), { a: 1, c: 'x' });
    const typed = Type.Object({ a: Type.Number() }, { additionalProperties: Type.String() });
    assert.deepEqual(bind(typed, { a: 1, c: 'x' }), { a: 1, c: 'x' });
    assert.equal(issues(typed, { a: 1, c: 2 })[0]?.path, '/c');
    assert.deepEqual(bind(open, [1]), { a: 1 });
    assert.equal(issues(open, [1, 2]).length, 1);
  });

  test('a nested object is open, as JSON Schema has it, and a nested model is not', () => {
    const open = Type.Object({ user: Type.Object({ id: Type.String() }) });
    assert.deepEqual(bind(open, { user: { id: 'x', more: 1 } }), { user: { id: 'x', more: 1 } });
    const strict = Type.Object({ user: model({ id: Type.String() }) });
    assert.equal(issues(strict, { user: { id: 'x', more: 1 } })[0]?.path, '/user/more');
  });

  test('the schema that was given is not changed', () => {
    const schema = Type.Object({
      a: Type.Number({ default: 1 }),
      b: Type.Object({ c: Type.String({ default: 'x' }) }),
    });
    const before = structuredClone(JSON.parse(JSON.stringify(schema)) as unknown);
    bind(schema, { b: {} });
    assert.deepEqual(JSON.parse(JSON.stringify(schema)), before);
  });

  test('Type.Integer means what it means in JSON Schema', () => {
    const schema = Type.Object({ n: Type.Integer() });
    assert.deepEqual(bind(schema, { n: 1e21 }), { n: 1e21 });
    assert.deepEqual(issues(schema, { n: 1.5 }), [
      { path: '/n', message: 'must be an integer', expected: 'number', received: 'number' },
    ]);
    const safe = Type.Object({ n: Type.Integer({ maximum: Number.MAX_SAFE_INTEGER }) });
    assert.equal(issues(safe, { n: 1e21 }).length, 1);
  });

  test('no path changes a prototype, whatever the members are called', () => {
    const schema = Type.Object(
      {
        list: Type.Array(Type.Object({ x: Type.Number({ default: 1 }) }), { default: [] }),
        map: Type.Record(Type.String(), Type.Object({ x: Type.Number({ default: 1 }) }), {
          default: {},
        }),
      },
      { additionalProperties: Type.Unknown() },
    );
    const { bindParams } = procedure({ name: 'p', params: schema }, () => null);
    const key = fc.constantFrom('__proto__', 'constructor', 'prototype', 'x', 'y');
    fc.assert(
      fc.property(fc.array(fc.tuple(key, key), { maxLength: 4 }), (pairs) => {
        const inner = pairs.map(([a, b]) => `"${a}":{"${b}":{"polluted":1}}`).join(',');
        const params: unknown = JSON.parse(
          `{${inner === '' ? '' : `${inner},`}"map":{"__proto__":{}},"list":[{"__proto__":{}}]}`,
        );
        const before = JSON.stringify(params);
        const bound = bindParams(params) as { map: object; list: object[] };
        assert.equal(JSON.stringify(params), before);
        assert.equal(({} as { polluted?: unknown }).polluted, undefined);
        for (const one of [bound, bound.map, ...bound.list]) {
          assert.equal(Object.getPrototypeOf(one), Object.prototype);
        }
        assert.ok(Object.hasOwn(bound.map, '__proto__'));
      }),
      { seed },
    );
  });
});

describe('issues', () => {
  test('name the place, the rule, the type expected and the type received', () => {
    const schema = Type.Object({
      id: Type.String({ minLength: 2, maxLength: 4 }),
      tags: Type.Array(Type.Union([Type.String(), Type.Number()])),
      'a/b~c': Type.Boolean(),
      role: Type.Union([Type.Literal('admin'), Type.Literal('user')]),
      at: Type.String({ format: 'date' }),
    });
    assert.deepEqual(
      issues(schema, { id: 'abcde', tags: ['x', null], 'a/b~c': 1, role: 'root', at: 'today' }),
      [
        {
          path: '/id',
          message: 'must be a string of at most 4 characters',
          expected: 'string',
          received: 'string',
        },
        {
          path: '/tags/1',
          message: 'must be string | number',
          expected: 'string | number',
          received: 'null',
        },
        { path: '/a~1b~0c', message: 'must be boolean', expected: 'boolean', received: 'number' },
        {
          path: '/role',
          message: 'must be "admin" | "user"',
          expected: '"admin" | "user"',
          received: 'string',
        },
        {
          path: '/at',
          message: 'must have the format date',
          expected: 'string',
          received: 'string',
        },
      ],
    );
  });

  test('stay small when the names that were sent are long', () => {
    const [issue] = issues(Type.Object({}), { ['x'.repeat(1_000_000)]: 1 });
    assert.ok(issue!.path.length < 100);
  });

  test('never hold the value', () => {
    const secret = 'hunter2';
    const schema = Type.Object({
      n: Type.Number(),
      u: Type.Union([Type.Number(), Type.Null()]),
      o: pair,
      f: Type.String({ format: 'email' }),
    });
    const found = JSON.stringify(issues(schema, { n: secret, u: secret, o: secret, f: secret }));
    assert.ok(!found.includes(secret), found);
  });

  test('go into the variant that is meant', () => {
    const circle = Type.Object({ kind: Type.Literal('circle'), r: Type.Number() });
    const square = Type.Object({ kind: Type.Literal('square'), a: Type.Number() });
    const schema = Type.Object({
      shape: Type.Union([circle, square]),
      maybe: Type.Union([pair, Type.Null()]),
    });
    assert.deepEqual(
      issues(schema, { shape: { kind: 'square', a: 'x' }, maybe: { a: 1, b: 'x' } }).map(
        ({ path }) => path,
      ),
      ['/shape/a', '/maybe/b'],
    );
    assert.deepEqual(
      issues(schema, { shape: { kind: 'line' }, maybe: 7 }).map(({ path }) => path),
      ['/shape', '/maybe'],
    );
  });

  test('reach into tuples, records, intersections and recursive types', () => {
    const tree = Type.Recursive((This) =>
      Type.Object({ v: Type.Number(), kids: Type.Optional(Type.Array(This)) }),
    );
    const schema = Type.Object({
      tuple: Type.Tuple([Type.String(), Type.Number()]),
      record: Type.Record(Type.String(), Type.Number()),
      both: Type.Intersect([Type.Object({ a: Type.Number() }), Type.Object({ b: Type.Number() })]),
      tree,
    });
    const params = {
      tuple: ['x', 'y'],
      record: { ok: 1, bad: '1' },
      both: { a: 1, b: '2' },
      tree: { v: 1, kids: [{ v: 2 }, { v: 3, kids: [{ v: '4' }] }] },
    };
    assert.deepEqual(
      issues(schema, params).map(({ path }) => path),
      ['/tuple/1', '/record/bad', '/both/b', '/tree/kids/1/kids/0/v'],
    );
  });

  test('a string that is too long is not matched against the pattern', () => {
    // Degree 2: a million spaces would take minutes.
    const schema = Type.Object({ s: Type.String({ pattern: '\\s+$', maxLength: 100 }) });
    const [issue] = issues(schema, { s: `${' '.repeat(1_000_000)}x` });
    assert.match(issue!.message, /at most 100/);
  });

  test('take one more match of each pattern, however deep the text lies', (t) => {
    const text = Type.String({ pattern: '^[a-z]+$' });
    const deep = Type.Object({ a: Type.Object({ b: Type.Array(Type.Object({ c: text })) }) });
    const value = `${'a'.repeat(100)}-`;
    const tests = t.mock.method(RegExp.prototype, 'test');
    const [issue] = issues(deep, { a: { b: [{ c: value }] } });
    assert.equal(issue!.path, '/a/b/0/c');
    const ofValue = tests.mock.calls.filter((call) => call.arguments[0] === value);
    assert.equal(ofValue.length, 2);
  });
});

describe('refused at registration', () => {
  test('an unknown format, with the place and the known ones', () => {
    refusesParams(
      Type.Object({ user: Type.Object({ mail: Type.String({ format: 'emial' }) }) }),
      /params at \/user\/mail: unknown format "emial"; did you mean email\? Known: .*date-time.*uuid/,
    );
  });

  test('take patterns of polynomial time with a maxLength of their own, which documents show', () => {
    const text = (options: object) =>
      Type.Object({ s: Type.String({ pattern: 'foo.*bar', ...options }) });
    const limitOf = (schema: TObject): unknown =>
      getProcedureSchema(procedure({ name: 'p', params: schema }, () => null)).parameters[0]!
        .schema_.maxLength;
    assert.equal(limitOf(text({})), 117);
    assert.equal(limitOf(text({ maxLength: 20 })), 20);
    assert.equal(limitOf(Type.Object({ s: Type.String({ pattern: '^foo' }) })), undefined);
    const fits = `foo${'😀'.repeat(111)}bar`;
    assert.deepEqual(bind(text({}), { s: fits }), { s: fits });
    assert.match(issues(text({}), { s: `${fits}x` })[0]!.message, /at most 117 characters$/);
    assert.match(issues(text({}), { s: 'foo' })[0]!.message, /must match the pattern foo/);
    const results = procedure({ name: 'p', returns: text({}) }, () => ({ s: fits }));
    assert.equal(results.result!.mismatchOf({ s: fits }), undefined);
    assert.match(results.result!.mismatchOf({ s: `${fits}x` })!, /at most 117/);
  });

  test('a kind that was registered is used', () => {
    TypeRegistry.Set('Even', (_schema, value) => typeof value === 'number' && value % 2 === 0);
    const schema = Type.Object({
      n: Type.Unsafe<number>({ [Symbol.for('TypeBox.Kind')]: 'Even' }),
    });
    assert.deepEqual(bind(schema, { n: 2 }), { n: 2 });
    assert.equal(issues(schema, { n: 1 })[0]?.path, '/n');
  });

  test('one schema with an $id, optional in one place', () => {
    const point = Type.Object({ x: Type.Number() }, { $id: 'Point' });
    const list = Type.Recursive((This) => Type.Object({ next: Type.Optional(This) }));
    for (const [type, value] of [
      [point, { x: 1 }],
      [list, { next: { next: {} } }],
    ] as const) {
      const schema = Type.Object({ a: type, b: Type.Optional(type), c: Type.Readonly(type) });
      assert.deepEqual(bind(schema, { a: value, c: value }), { a: value, c: value });
      assert.deepEqual(bind(schema, { a: value, b: value, c: value }).b, value);
      assert.equal(issues(schema, { a: value, b: 1, c: value })[0]?.path, '/b');
      assert.equal(issues(schema, { b: value, c: value })[0]?.path, '/a');
    }
  });
});

describe('params that hold themselves', () => {
  test('stay strict all the way', () => {
    const schema = Type.Recursive((This) =>
      Type.Object({ v: Type.Number(), next: Type.Optional(This) }),
    );
    assert.deepEqual(bind(schema, { v: 1, next: { v: 2 } }), { v: 1, next: { v: 2 } });
    assert.equal(issues(schema, { v: 1, next: { v: 2, w: 3 } })[0]?.path, '/next/w');
  });
});

describe('results', () => {
  test('of nothing may be declared as void', () => {
    const check = procedure({ name: 'p', returns: Type.Void() }, () => null as never).result!
      .mismatchOf;
    assert.equal(check(undefined), undefined);
    assert.match(check(1)!, /must be null/);
  });
});

describe('bytes', () => {
  const schema = Type.Object({ data: Type.Base64({ maxBytes: 4 }) });

  test('are a Uint8Array for the handler, of its own memory', () => {
    const given = { data: 'AAEC' };
    const { data } = bind(schema, given) as { data: Uint8Array };
    assert.deepEqual(data, new Uint8Array([0, 1, 2]));
    assert.equal(data.buffer.byteLength, 3);
    assert.deepEqual(given, { data: 'AAEC' });
    assert.deepEqual(bind(schema, ['']), { data: new Uint8Array(0) });
  });

  test('are decoded wherever they stand', () => {
    const item = Type.Union([Type.Base64(), Type.Null()]);
    const nested = Type.Object({ list: Type.Array(item), by: Type.Record(Type.String(), item) });
    assert.deepEqual(bind(nested, { list: ['AQ==', null], by: { 'a\n\r\u2028\u2029': 'Ag==' } }), {
      list: [new Uint8Array([1]), null],
      by: { 'a\n\r\u2028\u2029': new Uint8Array([2]) },
    });
  });

  test('that are no base64 are refused, with one answer each', () => {
    for (const text of [
      // The low bytes of these characters are A, and -, which Node's decoder takes for base64url.
      'AA\u0141A',
      '\u4e2d\u4e2dAA',
      'AAE',
      'AAE*',
      'AA-_',
      'A===',
      'AA==AA==',
      'AB=C',
      'AAEC\n',
      ' AAE',
      '====',
    ]) {
      assert.deepEqual(
        issues(schema, { data: text }),
        [
          {
            path: '/data',
            message: 'must have the format byte',
            expected: 'string',
            received: 'string',
          },
        ],
        text,
      );
    }
    assert.equal(issues(schema, { data: [1] })[0]?.received, 'array');
  });

  test('beyond maxBytes are refused to the byte', () => {
    assert.equal((bind(schema, { data: 'AAECAw==' }).data as Uint8Array).length, 4);
    assert.equal(issues(schema, { data: 'AAECAwQ=' })[0]?.message, 'must be at most 4 bytes');
    assert.match(issues(schema, { data: 'AAAA'.repeat(1000) })[0]!.message, /at most 4 bytes/);
  });

  test('of 5 MB are taken, and refused where one character of them is wrong', () => {
    const large = Type.Object({ data: Type.Base64() });
    const bytes = Buffer.alloc(5_000_000, 'tandem');
    const text = bytes.toString('base64');
    const bound = bind(large, { data: text }).data as Uint8Array;
    assert.ok(Buffer.from(bound.buffer).equals(bytes));
    assert.equal(
      issues(large, { data: `${text.slice(0, 4_000_000)}*${text.slice(4_000_001)}` }).length,
      1,
    );
  });
});

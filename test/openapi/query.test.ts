import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Kind, type TSchema, TypeRegistry } from '@sinclair/typebox';
import fc from 'fast-check';
import { z } from 'zod';
import { Operations } from '../../src/extras/openapi/operation.ts';
import { type QueryRules, readQuery } from '../../src/extras/openapi/query.ts';
import { Router, Type } from '../../src/index.ts';
import { cases as runs, seed } from '../seed.ts';

const router = new Router();
router.rpc(
  {
    name: 'all',
    params: {
      s: Type.Optional(Type.String()),
      n: Type.Optional(Type.Number()),
      i: Type.Optional(Type.Integer()),
      f: Type.Optional(Type.Boolean()),
      nothing: Type.Optional(Type.Null()),
      sn: Type.Optional(Type.Union([Type.String(), Type.Number()])),
      any: Type.Optional(Type.Unknown()),
      nn: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
      lit: Type.Optional(Type.Union([Type.Literal(1), Type.Literal(2)])),
      word: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b')])),
      mix: Type.Optional(Type.Union([Type.Boolean(), Type.Number()])),
      tags: Type.Optional(Type.Array(Type.String())),
      ids: Type.Optional(Type.Array(Type.Integer())),
      oneOrMore: Type.Optional(Type.Union([Type.Integer(), Type.Array(Type.Integer())])),
      pairs: Type.Optional(Type.Array(Type.Array(Type.Integer()))),
      tuple: Type.Optional(Type.Tuple([Type.Integer(), Type.Boolean()])),
      near: Type.Optional(Type.Object({ lat: Type.Number() })),
      data: Type.Optional(Type.Base64()),
      tree: Type.Optional(Type.Recursive((This) => Type.Array(This))),
    },
  },
  () => null,
);
router.rpc(
  { name: 'open', params: Type.Object({}, { additionalProperties: Type.Integer() }) },
  () => null,
);

router.rpc({ name: 'none' }, () => null);

TypeRegistry.Set('Even', (_schema, value) => Number(value) % 2 === 0);
/** Of a kind of the program: its notes are all that is known of it. */
const even = (notes: object) => ({ ...notes, [Kind]: 'Even' }) as unknown as TSchema;
router.rpc(
  {
    name: 'rare',
    params: {
      level: Type.Unsafe<number>({ ...Type.Integer(), enum: [1, 2] }),
      both: Type.Intersect([Type.Union([Type.String(), Type.Number()]), Type.Number()]),
      map: Type.Record(Type.String(), Type.Number()),
      many: Type.Recursive((This) => Type.Union([Type.Integer(), Type.Array(This)])),
      node: Type.Recursive((This) => Type.Object({ next: Type.Optional(This) })),
      even: even({ type: ['integer', 'null'] }),
      listed: even({ enum: [2, 4] }),
      silent: even({}),
    },
  },
  () => null,
);
router.rpc(
  {
    name: 'zod',
    params: z.object({ a: z.int().nullable(), b: z.array(z.int()), c: z.literal([1, 2]) }),
  },
  () => null,
);

const table = new Map(router.list().map((name) => [name, router.get(name)!]));
const operations = new Operations(table, [], false);
const all: QueryRules = operations.find('all')!;

function read(query: string, rules = all, maxDepth = 30, bytesName?: string): unknown {
  const found = readQuery(query, rules, maxDepth, bytesName);
  return 'reason' in found ? found.reason : JSON.parse(`{${found.members}}`);
}

describe('the params of a query', () => {
  /** Beside those of cases/reads.ts. */
  const cases: readonly (readonly [query: string, params: object])[] = [
    ['', {}],
    // Where a string may stand, each text is itself.
    ['s', { s: '' }],
    ['s=null', { s: 'null' }],
    ['any=%7B%7D', { any: '{}' }],
    ['word=a', { word: 'a' }],
    ['s=a+b%2Bc', { s: 'a b+c' }],
    ['s=%22%5C%00%0A', { s: '"\\\0\n' }],
    ['s=%C3%A9%F0%9F%98%80', { s: 'é😀' }],
    ['data=AA%3D%3D', { data: 'AA==' }],
    // Numbers of JSON, and no others.
    ['n=1e3', { n: 1000 }],
    ['n=-0.5', { n: -0.5 }],
    ['n=1E%2B2', { n: 100 }],
    ['i=5', { i: 5 }],
    ['i=1.5', { i: 1.5 }],
    ...[
      '',
      '%2B1',
      '0x10',
      'Infinity',
      'NaN',
      '%201',
      '1%20',
      '01',
      '1.',
      '.5',
      '1e',
      '1_000',
      '１',
    ].map((text): [string, object] => [`n=${text}`, { n: decodeURIComponent(text) }]),
    // true and false, and no others.
    ['f=false', { f: false }],
    ...['1', '0', 'TRUE', 'yes', ''].map((text): [string, object] => [`f=${text}`, { f: text }]),
    ['nothing=null', { nothing: null }],
    ['nothing=', { nothing: '' }],
    ['n=null', { n: 'null' }],
    // Objects as JSON.
    ['near=%20%7B%20%7D%20', { near: {} }],
    ['near=%7B%22lat%22:1', { near: '{"lat":1' }],
    ['near=%7B%7D,%22s%22:1', { near: '{},"s":1' }],
    ['near=[1]', { near: '[1]' }],
    ['near%5Blat%5D=1', { 'near[lat]': '1' }],
    // Arrays: an item each time, or JSON where no item is a string.
    ['tags=a,b', { tags: ['a,b'] }],
    ['tags=%5B%22a%22%5D', { tags: ['["a"]'] }],
    ['tags=', { tags: [''] }],
    ['ids=1', { ids: [1] }],
    ['ids=1&s=x&ids=2', { ids: [1, 2], s: 'x' }],
    ['ids=%5B%5D', { ids: [] }],
    ['ids=1,2', { ids: ['1,2'] }],
    ['ids=1&ids=x', { ids: [1, 'x'] }],
    ['oneOrMore=1', { oneOrMore: 1 }],
    ['oneOrMore=1&oneOrMore=2', { oneOrMore: [1, 2] }],
    ['pairs=%5B%5B1,2%5D%5D', { pairs: [[1, 2]] }],
    ['pairs=%5B1%5D&pairs=%5B2%5D', { pairs: [[1], [2]] }],
    ['tuple=1&tuple=true', { tuple: [1, true] }],
    ['tree=%5B%5B%5D%5D', { tree: [[]] }],
    ['tree=x', { tree: ['x'] }],
    // Names that nobody declared.
    ['zz=1', { zz: '1' }],
    ['=1', { '': '1' }],
    ['a%22%7D=1', { 'a"}': '1' }],
  ];

  for (const [query, params] of cases) {
    test(query === '' ? 'none' : query, () => assert.deepEqual(read(query), params));
  }

  test('are read through references, unions, intersections, notes and schemas of other libraries', () => {
    for (const [query, params] of [
      ['level=1', { level: 1 }],
      ['both=5', { both: 5 }],
      ['map=%7B%7D', { map: {} }],
      ['many=1&many=2', { many: [1, 2] }],
      ['many=%5B%5B1%5D%5D', { many: [[1]] }],
      ['node=%7B%7D', { node: {} }],
      ['even=4', { even: 4 }],
      ['even=null', { even: null }],
      ['listed=2', { listed: 2 }],
      ['silent=4', { silent: '4' }],
    ] as const) {
      assert.deepEqual(read(query, operations.find('rare')!), params, query);
    }
    const zod = operations.find('zod')!;
    assert.deepEqual(read('a=null&b=1&c=2', zod), { a: null, b: [1], c: 2 });
  });

  test('__proto__ is a name like others', () => {
    const params = read('__proto__=1&constructor=2') as object;
    assert.deepEqual(Object.entries(params), [
      ['__proto__', '1'],
      ['constructor', '2'],
    ]);
  });

  test('a name that takes one value and comes twice is refused', () => {
    for (const [query, name] of [
      ['n=1&n=1', 'n'],
      ['s=a&s=b', 's'],
      ['near=1&near=2', 'near'],
      ['zz=1&zz=2', 'zz'],
    ]) {
      assert.equal(read(query!), `"${name}" takes one value, and the query has 2`);
    }
    assert.equal(
      read('toString=1&toString=2&toString=3'),
      '"toString" takes one value, and the query has 3',
    );
  });

  test('encoded bytes that are not UTF-8 are refused; a % that encodes nothing is itself', () => {
    for (const query of ['s=%ff', 'n=1&s=%C3', '%ff=1', 's=%ED%A0%80', 's=a%C3b']) {
      assert.equal(read(query), 'the query is not percent-encoded UTF-8', query);
    }
    for (const query of ['s=%', 's=100%', 's=%zz', 's=%C']) {
      assert.deepEqual(read(query), { s: query.slice(2) });
    }
  });

  test('a long name is shown by its beginning', () => {
    const name = 'x'.repeat(5000);
    assert.equal(
      read(`${name}=1&${name}=2`),
      `"${'x'.repeat(80)}…" takes one value, and the query has 2`,
    );
  });

  test('the param that is the body is refused in the query', () => {
    assert.match(String(read('data=AA%3D%3D&i=1', all, 30, 'data')), /^"data" is the body/);
    assert.deepEqual(read('i=1', all, 30, 'data'), { i: 1 });
  });

  test('names that the schema allows without naming them are read by its rest', () => {
    const open = operations.find('open')!;
    assert.deepEqual(read('a=1&b=x', open), { a: 1, b: 'x' });
    assert.match(String(read('a=1&a=2', open)), /takes one value/);
    assert.deepEqual(read('a=1&b=2&b=3', operations.find('none')!), { a: '1', b: ['2', '3'] });
    assert.equal(operations.find('zod')!.others, undefined);
  });

  test('JSON that is deeper than allowed stays a text', () => {
    const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    assert.deepEqual(read(`pairs=${deep(3)}`, all, 3), { pairs: [[[]]] });
    assert.deepEqual(read(`pairs=${deep(4)}`, all, 3), { pairs: [deep(4)] });
    assert.deepEqual(read(`ids=${deep(8000)}`, all, 30), { ids: [deep(8000)] });
  });

  test('any text is itself, or the JSON that it is, and nothing gets out of its place (generated)', () => {
    const name = fc.oneof(fc.constantFrom(...all.params.keys()), fc.string({ unit: 'binary' }));
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json({ maxDepth: 3 }),
      fc.constantFrom('{},"a":1', '1,"a":1', '"', '\\', '],[', '1e400', '-0', 'null', 'true'),
    );
    const query = fc.uniqueArray(fc.tuple(name, text), { selector: ([key]) => key, maxLength: 5 });
    fc.assert(
      fc.property(query, (pairs) => {
        // A lone surrogate can't be sent.
        const sent = [...new URLSearchParams(pairs as [string, string][])];
        const found = readQuery(new URLSearchParams(sent).toString(), all, 30);
        if ('reason' in found) {
          assert.ok(new Set(sent.map(([key]) => key)).size < sent.length, found.reason);
          return;
        }
        const params = JSON.parse(`{${found.members}}`) as Record<string, unknown>;
        assert.deepEqual(Object.keys(params).sort(), sent.map(([key]) => key).sort());
        for (const [key, said] of sent) {
          const value = Object.getOwnPropertyDescriptor(params, key)?.value as unknown;
          const [one] = Array.isArray(value) && value.length === 1 ? value : [value];
          if (one === said || value === said) continue;
          const json: unknown = JSON.parse(said);
          assert.ok(isDeepStrictEqual(one, json) || isDeepStrictEqual(value, json), said);
        }
      }),
      { seed, numRuns: runs(30) },
    );
  });
});

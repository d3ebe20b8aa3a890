/** Each keyword of the table, by what JSON Schema 2020-12 says: checked in params and in results, or refused at registration. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Kind, type TSchema } from '@sinclair/typebox';
import type { Ajv2020 as AjvClass } from 'ajv/dist/2020.js';
import { keywords } from '../../../src/core/schema/keywords.ts';
import { uncheckedKeywords } from '../../../src/core/schema/reading.ts';
import { Router, Type } from '../../../src/index.ts';
import { run } from '../run.ts';

// CommonJS, whose types do not fit an ES module's default import.
const { Ajv2020 } = createRequire(import.meta.url)('ajv/dist/2020.js') as {
  Ajv2020: typeof AjvClass;
};
const ajv = new Ajv2020({ strict: false, validateFormats: false });

interface Checked {
  readonly schema: TSchema;
  readonly right: readonly unknown[];
  readonly wrong: readonly unknown[];
  /** Why ajv can't tell. */
  readonly notInAjv?: string;
}

const members = { a: Type.Optional(Type.String()), b: Type.Optional(Type.String()) };
const open = { additionalProperties: true };
const plain = (name: string, schema: object): TSchema => ({ ...schema, [Kind]: name }) as TSchema;

const checked: Readonly<Record<string, readonly Checked[]>> = {
  minLength: [{ schema: Type.String({ minLength: 2 }), right: ['ab'], wrong: ['a', 1] }],
  maxLength: [
    { schema: Type.String({ maxLength: 1 }), right: ['a', ''], wrong: ['ab'] },
    { schema: Type.Integer({ maxLength: 1 } as object), right: [1, 123], wrong: ['a', 1.5] },
  ],
  maxBytes: [
    {
      schema: Type.Base64({ maxBytes: 1 }),
      right: ['YQ=='],
      wrong: ['YWI='],
      notInAjv: 'a keyword of this package',
    },
  ],
  format: [
    {
      schema: Type.String({ format: 'date' }),
      right: ['2024-02-29'],
      wrong: ['2023-02-29'],
      notInAjv: 'formats need a package of their own there',
    },
  ],
  pattern: [{ schema: Type.String({ pattern: '^a' }), right: ['ab'], wrong: ['ba'] }],
  minimum: [{ schema: Type.Number({ minimum: 2 }), right: [2], wrong: [1.9] }],
  exclusiveMinimum: [{ schema: Type.Number({ exclusiveMinimum: 2 }), right: [2.1], wrong: [2] }],
  maximum: [{ schema: Type.Number({ maximum: 2 }), right: [2], wrong: [2.1] }],
  exclusiveMaximum: [{ schema: Type.Number({ exclusiveMaximum: 2 }), right: [1.9], wrong: [2] }],
  multipleOf: [{ schema: Type.Number({ multipleOf: 2 }), right: [4, 0], wrong: [3] }],
  minItems: [{ schema: Type.Array(Type.Null(), { minItems: 1 }), right: [[null]], wrong: [[]] }],
  maxItems: [{ schema: Type.Array(Type.Null(), { maxItems: 0 }), right: [[]], wrong: [[null]] }],
  uniqueItems: [
    {
      schema: Type.Array(Type.Unknown(), { uniqueItems: true }),
      right: [
        [1, true],
        [{ a: 1 }, { a: 2 }],
      ],
      wrong: [
        [1, 1],
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    },
  ],
  contains: [
    {
      schema: Type.Array(Type.Number(), { contains: Type.Literal(1) }),
      right: [[2, 1]],
      wrong: [[], [2]],
    },
  ],
  minContains: [
    {
      schema: Type.Array(Type.Number(), { contains: Type.Literal(1), minContains: 2 }),
      right: [[1, 1]],
      wrong: [[1, 2]],
    },
  ],
  maxContains: [
    {
      schema: Type.Array(Type.Number(), { contains: Type.Literal(1), maxContains: 1 }),
      right: [[1, 2]],
      wrong: [[1, 1]],
    },
  ],
  minProperties: [
    { schema: Type.Object(members, { minProperties: 1 }), right: [{ a: 'x' }], wrong: [{}] },
  ],
  maxProperties: [
    {
      schema: Type.Object(members, { maxProperties: 1 }),
      right: [{ a: 'x' }],
      wrong: [{ a: '', b: '' }],
    },
  ],
  dependentRequired: [
    {
      schema: Type.Object(members, { dependentRequired: { a: ['b'] } }),
      right: [{}, { b: '' }, { a: '', b: '' }],
      wrong: [{ a: '' }],
    },
  ],
  propertyNames: [
    {
      schema: Type.Object({}, { ...open, propertyNames: Type.String({ maxLength: 2 }) }),
      right: [{}, { ab: 1 }],
      wrong: [{ abc: 1 }],
    },
    {
      schema: Type.Record(Type.String(), Type.Number(), {
        propertyNames: Type.Union([Type.Literal('a'), Type.Literal('b')]),
      }),
      right: [{ a: 1 }],
      wrong: [{ c: 1 }],
    },
  ],
  required: [
    {
      schema: plain('Object', { type: 'object', properties: {}, required: ['a'] }),
      right: [{ a: null }],
      wrong: [{}],
    },
    {
      schema: plain('Object', {
        type: 'object',
        properties: {},
        required: ['a'],
        additionalProperties: Type.Number(),
      }),
      right: [{ a: 1 }, { a: 1, b: 2 }],
      wrong: [{ b: 1 }, { a: 'x' }],
    },
  ],
  properties: [{ schema: Type.Object(members), right: [{ a: 'x' }, {}], wrong: [{ a: 1 }, [], 1] }],
  patternProperties: [
    {
      schema: Type.Object(
        { ab: Type.Optional(Type.Number()) },
        { patternProperties: { '^a': Type.Number({ minimum: 2 }) }, additionalProperties: false },
      ),
      right: [{}, { ab: 2, ac: 3 }],
      wrong: [{ ab: 1 }, { ac: 1 }],
    },
    {
      schema: Type.Record(Type.String({ pattern: '^n' }), Type.Number(), {
        additionalProperties: false,
      }),
      right: [{ na: 1 }],
      wrong: [{ na: 'x' }],
    },
    {
      schema: Type.Record(Type.String(), Type.Number()),
      right: [{ 'a\nb': 1, 'c\u2028d': 2 }],
      wrong: [{ 'a\nb': 'x' }, { 'a\u2028b': 'x' }],
      notInAjv: 'the document has additionalProperties',
    },
  ],
  additionalProperties: [
    {
      schema: Type.Object(members, { additionalProperties: Type.Number() }),
      right: [{ a: 'x', c: 1 }],
      wrong: [{ c: 'x' }],
    },
  ],
  unevaluatedProperties: [
    {
      schema: Type.Intersect(
        [
          Type.Object({ 'a.b': Type.Number() }),
          Type.Object({ user$id: Type.Number(), 'a(b': Type.Optional(Type.Number()) }),
        ],
        { unevaluatedProperties: Type.String() },
      ),
      right: [{ 'a.b': 1, user$id: 1, 'a(b': 1, more: 'x' }],
      wrong: [{ 'a.b': 1, user$id: 1, axb: 1 }],
    },
    {
      schema: Type.Intersect(
        [
          Type.Object({ k: Type.String() }),
          Type.Union([Type.Object({ a: Type.Number() }), Type.Object({ b: Type.Number() })]),
        ],
        { unevaluatedProperties: Type.Never() },
      ),
      right: [
        { k: '', a: 1 },
        { k: '', b: 1 },
        { k: '', a: 1, b: 1 },
      ],
      wrong: [{ k: '' }],
    },
  ],
  anyOf: [
    { schema: Type.Union([Type.String(), Type.Null()]), right: ['', null], wrong: [1] },
    {
      schema: Type.Integer({ anyOf: [Type.Integer({ minimum: 2 }), Type.Integer({ maximum: 0 })] }),
      right: [2, 0],
      wrong: [1, 2.5],
    },
  ],
  prefixItems: [
    {
      schema: Type.Array(Type.String(), { prefixItems: [Type.Number()] }),
      right: [[], [1], [1, 'a']],
      wrong: [['a'], [1, 1]],
    },
  ],
  allOf: [
    {
      schema: Type.String({ allOf: [Type.String({ minLength: 1 })] }),
      right: ['a'],
      wrong: ['', 1],
    },
    {
      schema: Type.Intersect([Type.Number({ minimum: 1 }), Type.Number({ maximum: 2 })]),
      right: [1, 2],
      wrong: [0, 3],
    },
  ],
  items: [
    { schema: Type.Array(Type.Number()), right: [[], [1]], wrong: [['x'], 1] },
    {
      schema: Type.Tuple([Type.Number(), Type.String()]),
      right: [[1, 'x']],
      wrong: [['x', 1]],
      notInAjv: 'TypeBox writes a tuple as draft 7 does',
    },
  ],
  not: [
    { schema: Type.Not(Type.String()), right: [1, null], wrong: ['x'] },
    { schema: Type.String({ not: Type.Literal('a') }), right: ['b'], wrong: ['a', 1] },
  ],
  enum: [
    { schema: Type.Integer({ enum: [1, 2, 3] }), right: [1, 3], wrong: [7, '1'] },
    {
      schema: Type.Unknown({ enum: [{ a: 1 }, [0]] }),
      right: [{ a: 1 }, [0]],
      wrong: [{ a: 2 }, [], 0],
    },
  ],
  const: [
    { schema: Type.String({ const: 'a' }), right: ['a'], wrong: ['b', 1] },
    { schema: Type.Array(Type.Number(), { const: [1] }), right: [[1]], wrong: [[], [1, 1]] },
    { schema: Type.Literal(1), right: [1], wrong: [2, '1'] },
    { schema: { ...Type.Base64(), const: 'YQ==' }, right: ['YQ=='], wrong: ['Yg=='] },
  ],
};

/** Keywords that say nothing of a value by themselves, and the type, which each schema here has. */
const silent = ['type', 'contentEncoding', 'contentMediaType', '$defs', 'then', 'else'];

test('every keyword of the table has cases', () => {
  const tested = [...Object.keys(checked), ...uncheckedKeywords.keys(), ...silent];
  assert.deepEqual(
    keywords.flatMap(({ name }) => (tested.includes(name) ? [] : [name])),
    [],
  );
});

for (const [keyword, cases] of Object.entries(checked)) {
  test(`${keyword} is checked in params and in results`, async () => {
    for (const { schema, right, wrong, notInAjv } of cases) {
      const router = new Router();
      router.rpc({ name: 'params', params: Type.Object({ value: schema }) }, () => null);
      let result: unknown;
      router.rpc({ name: 'returns', returns: schema }, () => result as never);
      const document = JSON.parse(JSON.stringify(schema)) as object;
      const validate = notInAjv === undefined ? ajv.compile(document) : undefined;
      for (const value of [...right, ...wrong]) {
        const isRight = right.includes(value);
        const about = `${JSON.stringify(schema)} with ${JSON.stringify(value)}`;
        assert.equal((await run(router, 'params', { value })).code, isRight ? 0 : -32602, about);
        result = value;
        assert.equal((await run(router, 'returns')).ok, isRight, `${about}, returned`);
        if (validate !== undefined) assert.equal(validate(value), isRight, `${about}, by ajv`);
      }
    }
  });
}

test('what is within not is never filled, and members with a default stay required there', async () => {
  const router = new Router();
  const value = Type.Not(Type.Object({ a: Type.Number({ default: 1 }) }));
  router.rpc({ name: 'p', params: Type.Object({ value }) }, ({ value: given }) => given as never);
  assert.equal((await run(router, 'p', { value: {} })).text, '{}');
  assert.equal((await run(router, 'p', { value: { a: 1 } })).code, -32602);
});

test('members without a name of their own are filled and decoded', async () => {
  const router = new Router();
  const member = Type.Object({ n: Type.Number({ default: 1 }), bytes: Type.Base64() });
  const value = Type.Object({}, { additionalProperties: member });
  router.rpc({ name: 'p', params: Type.Object({ value }) }, ({ value: given }) => {
    const { x } = given as Record<string, { n: number; bytes: Uint8Array }>;
    return [x?.n, x?.bytes instanceof Uint8Array] as never;
  });
  assert.equal((await run(router, 'p', { value: { x: { bytes: 'YQ==' } } })).text, '[1,true]');
});

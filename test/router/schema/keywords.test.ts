/**
 * Each keyword of the table, by what JSON Schema 2020-12 says: its check in params and in results, its message, document, type and
 * comparison. refusals.test.ts has those that registration refuses.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Kind, type TSchema } from '@sinclair/typebox';
import type { Ajv2019 as AjvClass } from 'ajv/dist/2019.js';
import { Comparison } from '../../../src/core/schema/compare.ts';
import { readJsonSchema, readTypeBox } from '../../../src/core/schema/json-schema.ts';
import { keywords } from '../../../src/core/schema/keywords.ts';
import type { SchemaNode } from '../../../src/core/schema/model.ts';

import { type JsonSchema, writeJson } from '../../../src/core/schema/write-json.ts';
import { typeText } from '../../../src/core/schema/write-type.ts';
import { Router, Type } from '../../../src/index.ts';
import { run } from '../run.ts';

// CommonJS, whose types do not fit an ES module's default import. Documents write tuples with a list of `items`, which the
// draft 2020-12 no longer reads.
const { Ajv2019 } = createRequire(import.meta.url)('ajv/dist/2019.js') as {
  Ajv2019: typeof AjvClass;
};
const ajv = new Ajv2019({ strict: false, validateFormats: false });

interface Checked {
  readonly schema: TSchema;
  readonly right: readonly unknown[];
  readonly wrong: readonly unknown[];
  /** What the caller is told of the first wrong value. */
  readonly message: string;
  /** undefined: that of the schema without the keyword. */
  readonly type?: string;
  /**
   * What `tandem diff` says of params if the keyword comes; that it goes breaks no caller. undefined: documents write other
   * keywords instead.
   */
  readonly comes?: readonly string[];
  /** Why ajv can't tell. */
  readonly notInAjv?: string;
}

const members = { a: Type.Optional(Type.String()), b: Type.Optional(Type.String()) };
const open = { additionalProperties: true };
const plain = (name: string, schema: object): TSchema => ({ ...schema, [Kind]: name }) as TSchema;

/** Keywords that set a limit where there was none. */
const limits: readonly (readonly [
  keyword: string,
  schema: TSchema,
  right: unknown,
  wrong: unknown,
  message: string,
])[] = [
  ['pattern', Type.String({ pattern: '^a' }), 'ab', 'ba', 'must match the pattern ^a'],
  ['minimum', Type.Number({ minimum: 2 }), 2, 1.9, 'must be at least 2'],
  ['exclusiveMinimum', Type.Number({ exclusiveMinimum: 2 }), 2.1, 2, 'must be more than 2'],
  ['maximum', Type.Number({ maximum: 2 }), 2, 2.1, 'must be at most 2'],
  ['exclusiveMaximum', Type.Number({ exclusiveMaximum: 2 }), 1.9, 2, 'must be less than 2'],
  ['multipleOf', Type.Number({ multipleOf: 2 }), 4, 3, 'must be a multiple of 2'],
  [
    'maxItems',
    Type.Array(Type.Null(), { maxItems: 0 }),
    [],
    [null],
    'must be an array of at most 0 items',
  ],
];

const checked: Readonly<Record<string, readonly Checked[]>> = {
  ...Object.fromEntries(
    limits.map(([keyword, schema, right, wrong, message]) => {
      const comes = [`! ${keyword}: was not limited, is ${JSON.stringify(schema[keyword])}`];
      return [keyword, [{ schema, right: [right], wrong: [wrong], message, comes }]];
    }),
  ),
  minLength: [
    {
      schema: Type.String({ minLength: 2 }),
      right: ['ab', '👍a', '\ud83d\ud83d'],
      wrong: ['a', 1, '👍'],
      message: 'must be a string of at least 2 characters',
      comes: ['! minLength: was 0, is 2'],
    },
  ],
  maxLength: [
    {
      schema: Type.String({ maxLength: 1 }),
      right: ['a', '', '👍', '\ud83d'],
      wrong: ['ab', '\ud83d\ud83d', '\udc4d\ud83d'],
      message: 'must be a string of at most 1 character',
      comes: ['! maxLength: was not limited, is 1'],
    },
    {
      schema: Type.Integer({ maxLength: 1 } as object),
      right: [1, 123],
      wrong: ['a', 1.5],
      message: 'must be number',
      comes: [],
    },
  ],
  maxBytes: [
    {
      schema: Type.Base64({ maxBytes: 1 }),
      right: ['YQ=='],
      wrong: ['YWI='],
      message: 'must be at most 1 byte',
      comes: ['! maxBytes: was not limited, is 1'],
      notInAjv: 'a keyword of this package',
    },
  ],
  format: [
    {
      schema: Type.String({ format: 'date' }),
      right: ['2024-02-29'],
      wrong: ['2023-02-29'],
      message: 'must have the format date',
      comes: ['! format: was not limited, is "date"'],
      notInAjv: 'formats need a package of their own there',
    },
  ],
  minItems: [
    {
      schema: Type.Array(Type.Null(), { minItems: 1 }),
      right: [[null]],
      wrong: [[]],
      message: 'must be an array of at least 1 item',
      comes: ['! minItems: was 0, is 1'],
    },
  ],
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
      message: 'must hold no item twice',
      comes: ['! uniqueItems: was false, is true'],
    },
  ],
  contains: [
    {
      schema: Type.Array(Type.Number(), { contains: Type.Literal(1) }),
      right: [[2, 1]],
      wrong: [[], [2]],
      message: 'must be number[]',
      comes: ['? contains: was not limited, is {"const":1,"type":"number"}'],
    },
  ],
  minContains: [
    {
      schema: Type.Array(Type.Number(), { contains: Type.Literal(1), minContains: 2 }),
      right: [[1, 1]],
      wrong: [[1, 2]],
      message: 'must be number[]',
      comes: ['? minContains: was not limited, is 2'],
    },
    {
      schema: Type.Array(Type.Number(), {
        contains: Type.Literal(1),
        minContains: 0,
        maxContains: 1,
      }),
      right: [[], [2], [2, 1]],
      wrong: [[1, 1]],
      message: 'must be number[]',
      comes: ['? minContains: was not limited, is 0'],
    },
    {
      schema: Type.Array(Type.Number(), { minContains: 1 }),
      right: [[], [2]],
      wrong: [['x']],
      message: 'must be number',
      comes: ['? minContains: was not limited, is 1'],
    },
  ],
  maxContains: [
    {
      schema: Type.Array(Type.Number(), { contains: Type.Literal(1), maxContains: 1 }),
      right: [[1, 2]],
      wrong: [[1, 1]],
      message: 'must be number[]',
      comes: ['? maxContains: was not limited, is 1'],
    },
  ],
  minProperties: [
    {
      schema: Type.Object(members, { minProperties: 1 }),
      right: [{ a: 'x' }],
      wrong: [{}],
      message: 'must be an object with at least 1 member',
      comes: ['! minProperties: was 0, is 1'],
    },
  ],
  maxProperties: [
    {
      schema: Type.Object(members, { maxProperties: 1 }),
      right: [{ a: 'x' }],
      wrong: [{ a: '', b: '' }],
      message: 'must be an object with at most 1 member',
      comes: ['! maxProperties: was not limited, is 1'],
    },
  ],
  dependentRequired: [
    {
      schema: Type.Object(members, { dependentRequired: { a: ['b'] } }),
      right: [{}, { b: '' }, { a: '', b: '' }],
      wrong: [{ a: '' }],
      message: 'is required',
      comes: ['? dependentRequired: was not limited, is {"a":["b"]}'],
    },
  ],
  propertyNames: [
    {
      schema: Type.Object({}, { ...open, propertyNames: Type.String({ maxLength: 2 }) }),
      right: [{}, { ab: 1 }],
      wrong: [{ abc: 1 }],
      message: 'has a name that is not allowed here',
      comes: ['? propertyNames: was not limited, is {"type":"string","maxLength":2}'],
    },
    {
      schema: Type.Record(Type.String(), Type.Number(), {
        propertyNames: Type.Union([Type.Literal('a'), Type.Literal('b')]),
      }),
      right: [{ a: 1 }],
      wrong: [{ c: 1 }],
      message: 'has a name that is not allowed here',
      comes: [
        '? propertyNames: was not limited, is {"anyOf":[{"const":"a","type":"string"},{"const":"b","type":...',
      ],
    },
  ],
  required: [
    {
      schema: plain('Object', { type: 'object', properties: {}, required: ['a'] }),
      right: [{ a: null }],
      wrong: [{}],
      message: 'is required',
      type: '{ a: unknown }',
      comes: ['! .a it is required now'],
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
      message: 'is required',
      type: '{ a: number; [name: string]: number }',
      comes: ['! .a it is required now'],
    },
  ],
  properties: [
    {
      schema: Type.Object(members),
      right: [{ a: 'x' }, {}],
      wrong: [{ a: 1 }, [], 1],
      message: 'must be string',
      type: '{ a?: string; b?: string }',
      comes: ['! .a it no longer takes any value', '! .b it no longer takes any value'],
    },
  ],
  patternProperties: [
    {
      schema: Type.Object(
        { ab: Type.Optional(Type.Number()) },
        { patternProperties: { '^a': Type.Number({ minimum: 2 }) }, additionalProperties: false },
      ),
      right: [{}, { ab: 2, ac: 3 }],
      wrong: [{ ab: 1 }, { ac: 1 }],
      message: 'must be at least 2',
      type: '{ ab?: number; [name: string]: number | undefined }',
      comes: ['? patternProperties: was [], is ["^a"]'],
    },
    {
      schema: Type.Record(Type.String({ pattern: '^n' }), Type.Number(), {
        additionalProperties: false,
      }),
      right: [{ na: 1 }],
      wrong: [{ na: 'x' }],
      message: 'must be number',
      type: 'Record<string, number>',
      comes: ['? patternProperties: was [], is ["^n"]'],
    },
    {
      schema: Type.Record(Type.String(), Type.Number()),
      right: [{ 'a\nb': 1, '\r': 2, 'c\u2028d': 3, '\u2029': 4 }],
      wrong: [{ 'a\nb': 'x' }, { '\r': 'x' }, { 'a\u2028b': 'x' }, { '\u2029': 'x' }],
      message: 'must be number',
      type: 'Record<string, number>',
    },
  ],
  additionalProperties: [
    {
      schema: Type.Object(members, { additionalProperties: Type.Number() }),
      right: [{ a: 'x', c: 1 }],
      wrong: [{ c: 'x' }],
      message: 'must be number',
      type: '{ a?: string; b?: string; [name: string]: number | string | undefined }',
      comes: [],
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
      message: 'must be string',
      type: '{ "a.b": number } & { user$id: number; "a(b"?: number }',
      comes: [],
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
      message: 'must be { a: number } | { b: number }',
      type: '{ k: string } & ({ a: number } | { b: number })',
      comes: ['? unevaluatedProperties: is it taken still?'],
    },
  ],
  anyOf: [
    {
      schema: Type.Union([Type.String(), Type.Null()]),
      right: ['', null],
      wrong: [1],
      message: 'must be string | null',
      type: 'string | null',
      comes: ['! it no longer takes any value'],
    },
    {
      schema: Type.Integer({ anyOf: [Type.Integer({ minimum: 2 }), Type.Integer({ maximum: 0 })] }),
      right: [2, 0],
      wrong: [1, 2.5],
      message: 'must be number',
      type: 'number',
    },
  ],
  prefixItems: [
    {
      schema: Type.Array(Type.String(), { prefixItems: [Type.Number()] }),
      right: [[], [1], [1, 'a']],
      wrong: [['a'], [1, 1]],
      message: 'must be number',
      type: '[number, ...string[]]',
    },
    {
      schema: Type.Array(Type.String(), {
        prefixItems: [Type.Number(), Type.Number()],
        maxItems: 1,
      }),
      right: [[], [1]],
      wrong: [['a'], [1, 1]],
      message: 'must be number',
      type: '[number]',
    },
  ],
  allOf: [
    {
      schema: Type.String({ allOf: [Type.String({ minLength: 1 })] }),
      right: ['a'],
      wrong: ['', 1],
      message: 'must be a string of at least 1 character',
      type: 'string',
      comes: ['! it no longer takes any value'],
    },
    {
      schema: Type.Intersect([Type.Number({ minimum: 1 }), Type.Number({ maximum: 2 })]),
      right: [1, 2],
      wrong: [0, 3],
      message: 'must be at least 1',
      type: 'number',
      comes: ['! it no longer takes any value'],
    },
  ],
  items: [
    {
      schema: Type.Array(Type.Number()),
      right: [[], [1]],
      wrong: [['x'], 1],
      message: 'must be number',
      type: 'number[]',
      comes: ['! [] it no longer takes any value'],
    },
    {
      schema: Type.Tuple([Type.Number(), Type.String()]),
      right: [[1, 'x']],
      wrong: [['x', 1]],
      message: 'must be number',
      type: '[number, string]',
      comes: ['! [0] it no longer takes any value', '! [1] it no longer takes any value'],
    },
  ],
  not: [
    {
      schema: Type.Not(Type.String()),
      right: [1, null],
      wrong: ['x'],
      message: 'is not allowed here',
      comes: ['? not: was not limited, is {"type":"string"}'],
    },
    {
      schema: Type.String({ not: Type.Literal('a') }),
      right: ['b'],
      wrong: ['a', 1],
      message: 'is not allowed here',
    },
  ],
  enum: [
    {
      schema: Type.Integer({ enum: [1, 2, 3] }),
      right: [1, 3],
      wrong: [7, '1'],
      message: 'must be 1 | 2 | 3',
      type: '1 | 2 | 3',
    },
    {
      schema: Type.Unknown({ enum: [{ a: 1 }, [0]] }),
      right: [{ a: 1 }, [0]],
      wrong: [{ a: 2 }, [], 0],
      message: 'must be { a: 1 } | [0]',
      type: '{ a: 1 } | [0]',
    },
  ],
  const: [
    {
      schema: Type.String({ const: 'a' }),
      right: ['a'],
      wrong: ['b', 1],
      message: 'must be "a"',
      type: '"a"',
      comes: ['! only certain values are taken now'],
    },
    {
      schema: Type.Array(Type.Number(), { const: [1] }),
      right: [[1]],
      wrong: [[], [1, 1]],
      message: 'must be [1]',
      type: 'number[] & [1]',
    },
    {
      schema: Type.Literal(1),
      right: [1],
      wrong: [2, '1'],
      message: 'must be 1',
      type: '1',
      comes: ['! only certain values are taken now'],
    },
    {
      schema: { ...Type.Base64(), const: 'YQ==' },
      right: ['YQ=='],
      wrong: ['Yg=='],
      message: 'must be "YQ=="',
      type: 'string & "YQ=="',
    },
  ],
};

/** Keywords that say nothing of a value by themselves, and the type, which each schema here has. */
const silent = ['type', 'contentEncoding', 'contentMediaType', '$defs', 'then', 'else'];

test('every keyword of the table has cases', () => {
  const tested = [...Object.keys(checked), ...silent];
  const missing = keywords.filter(({ name, instead }) => !instead && !tested.includes(name));
  assert.deepEqual(missing, []);
});

for (const [keyword, cases] of Object.entries(checked)) {
  test(`${keyword} is checked in params and in results, documented, typed and compared`, async () => {
    for (const { schema, right, wrong, message, type, comes, notInAjv } of cases) {
      const router = new Router();
      router.rpc({ name: 'params', params: Type.Object({ value: schema }) }, () => null);
      let result: unknown;
      router.rpc({ name: 'returns', returns: schema }, () => result as never);
      const node = readTypeBox(schema, 'a schema', false);
      const document = writeJson(node);
      const validate = notInAjv === undefined ? ajv.compile(document) : undefined;
      for (const value of [...right, ...wrong]) {
        const isRight = right.includes(value);
        const about = `${JSON.stringify(schema)} with ${JSON.stringify(value)}`;
        assert.equal((await run(router, 'params', { value })).code, isRight ? 0 : -32602, about);
        result = value;
        assert.equal((await run(router, 'returns')).ok, isRight, `${about}, returned`);
        if (validate !== undefined) assert.equal(validate(value), isRight, `${about}, by ajv`);
      }
      const refusal = await run(router, 'params', { value: wrong[0] });
      const [issue] = (JSON.parse(refusal.text) as { data: { message: string }[] }).data;
      assert.deepEqual(
        { message: issue?.message, type: typeText(node), comes: linesOf(keyword, document) },
        { message, type: type ?? typeText(readDocument(without(document, keyword))), comes },
      );
    }
  });
}

function without(document: JsonSchema, keyword: string): JsonSchema {
  return Object.fromEntries(Object.entries(document).filter(([name]) => name !== keyword));
}

function readDocument(json: JsonSchema): SchemaNode {
  return readJsonSchema(json, 'a schema', { strictness: 'document', bytes: true });
}

/** What the comparison says if a keyword of a document comes. */
function linesOf(keyword: string, document: JsonSchema): string[] | undefined {
  if (!(keyword in document)) return undefined;
  const [before, after] = [readDocument(without(document, keyword)), readDocument(document)];
  // A closed object takes fewer members without their declaration.
  if (document.additionalProperties !== false)
    assert.deepEqual(new Comparison('params').within(after, before), [], `${keyword} goes`);
  return new Comparison('params')
    .within(before, after)
    .map(({ kind, path, reason }) =>
      [kind === 'breaking' ? '!' : '?', path, reason].filter((part) => part !== '').join(' '),
    );
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

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type TSchema, Type } from '@sinclair/typebox';
import fc from 'fast-check';
import { readJsonSchema, readTypeBox } from '../../../src/core/schema/json-schema.ts';
import { kindOf } from '../../../src/core/schema/typebox.ts';
import { type JsonSchema, writeJson } from '../../../src/core/schema/write-json.ts';
import { typeText as textOf } from '../../../src/core/schema/write-type.ts';
import { anyText } from '../../any-text.ts';
import { cases, seed } from '../../seed.ts';

function typeText(schema: TSchema | JsonSchema, options?: { readonly isShort?: boolean }): string {
  const node =
    kindOf(schema) === undefined
      ? readJsonSchema(schema, 'a schema', { strictness: 'document' })
      : readTypeBox(schema as TSchema, 'a schema', false);
  return textOf(node, options);
}

const id = Type.Object({ id: Type.String() });

/** What TypeBox alone writes, and what is written inline. test/codegen/types.test.ts has the types of all schemas. */
const table: [string, TSchema, string][] = [
  ['void answers null', Type.Void(), 'null'],
  ['not', Type.Not(Type.String()), 'unknown'],
  ['string literal', Type.Literal('a"b'), '"a\\"b"'],
  ['template literal', Type.TemplateLiteral([Type.Literal('id-'), Type.Number()]), 'string'],
  [
    'array of an intersection',
    Type.Array(Type.Intersect([id, Type.Object({ n: Type.Number() })])),
    '({ id: string } & { n: number })[]',
  ],
  ['empty tuple', Type.Tuple([]), '[]'],
  ['empty open object', Type.Object({}), 'Record<string, unknown>'],
  [
    'open object',
    Type.Object({ a: Type.String() }, { additionalProperties: true }),
    '{ a: string; [name: string]: unknown }',
  ],
  [
    'record',
    Type.Record(Type.String(), Type.Union([Type.Number(), Type.Null()])),
    'Record<string, number | null>',
  ],
  [
    'record of named keys',
    Type.Record(Type.Union([Type.Literal('a'), Type.Literal('b')]), Type.Number()),
    '{ a: number; b: number }',
  ],
  ['union without repeats', Type.Union([Type.Number(), Type.Integer()]), 'number'],
  [
    'union in an intersection',
    Type.Intersect([
      Type.Union([id, Type.Object({ n: Type.Number() })]),
      Type.Object({ z: Type.Null() }),
    ]),
    '({ id: string } | { n: number }) & { z: null }',
  ],
];

describe('typeText', () => {
  for (const [name, schema, expected] of table) {
    test(name, () => {
      assert.equal(typeText(schema), expected);
      const document = writeJson(readTypeBox(schema, 'a schema', false));
      assert.equal(typeText(document), expected, 'the same for its document');
    });
  }

  const tree = Type.Recursive((This) => Type.Object({ v: Type.Number(), kids: Type.Array(This) }), {
    $id: 'Tree',
  });
  const lists = Type.Module({
    A: Type.Object({ b: Type.Optional(Type.Ref('B')) }),
    B: Type.Object({ a: Type.Optional(Type.Ref('A')) }),
    C: Type.String(),
    D: Type.Object({ c: Type.Ref('C') }),
  });

  test('a recursive type refers to itself by its name', () => {
    assert.equal(typeText(Type.Array(tree)), '{ v: number; kids: Tree[] }[]');
    assert.equal(typeText(lists.Import('A')), '{ b?: { a?: A } }');
    assert.equal(typeText(lists.Import('D')), '{ c: string }');
  });

  test('names become identifiers that mean no other type', () => {
    const named = (name: string): string =>
      /\{ a\?: (.*) \}/.exec(
        typeText({ $id: name, type: 'object', properties: { a: { $ref: name } } }),
      )?.[1] ?? '';
    assert.equal(named('a b'), 'AB');
    assert.equal(named('9'), '_9');
    assert.equal(named(''), 'Schema');
    assert.equal(named('string'), 'String');
    assert.equal(named('record'), 'Record_');
  });

  test('members called like keywords of JSON Schema are members', () => {
    const This = { $ref: 'N' };
    const schema = {
      $id: 'N',
      type: 'object',
      properties: { default: This, const: This, enum: This, $ref: { type: 'string' } },
    };
    assert.equal(typeText(schema), '{ default?: N; const?: N; enum?: N; $ref?: string }');
  });
});

describe('nothing of a schema leaves its literal', () => {
  const nasty = fc.oneof(
    anyText(12),
    fc.constantFrom(
      '*/',
      '/*',
      '//',
      '";',
      "'",
      '`$' + '{x}`',
      '\n',
      '\r',
      '\u2028',
      '\u2029',
      '\\',
      '\\"',
      '"*/x',
      '}; evil(); //',
    ),
    fc
      .array(fc.constantFrom('*', '/', '"', '\\', '\n', ';', '}'), { maxLength: 6 })
      .map((parts) => parts.join('')),
  );
  const outsideStrings = /^[A-Za-z0-9_$ {}[\]()|&:;?,<>.+-]*$/;

  const assertContained = (text: string): void => {
    assert.ok(!text.includes('*/'), text);
    assert.ok(!/[\n\r\u2028\u2029]/.test(text), text);
    assert.match(text.replace(/"(?:[^"\\]|\\.)*"/g, ''), outsideStrings);
  };

  test('literals keep their value', () => {
    fc.assert(
      fc.property(nasty, (value) => {
        const text = typeText(Type.Literal(value));
        assertContained(text);
        assert.equal(JSON.parse(text), value);
      }),
      { seed, numRuns: cases(200) },
    );
  });

  test('member names, enums, ids, references, types and formats', () => {
    fc.assert(
      fc.property(nasty, nasty, (a, b) => {
        const schema: JsonSchema = {
          $id: a,
          type: 'object',
          properties: Object.fromEntries([
            [a, { enum: [a, b] }],
            [b, { $ref: a }],
            ['type', { type: a }],
            ['string', { type: 'string', format: a, pattern: b, description: a }],
          ]),
          required: [b],
        };
        assertContained(typeText(schema));
      }),
      { seed, numRuns: cases(200) },
    );
  });
});

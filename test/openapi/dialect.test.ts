/** How each shape is spelled in the OpenAPI document. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describedProcedure } from '../../src/core/procedures/document/introspect.ts';
import { tableOf } from '../../src/core/procedures/router.ts';
import type { JsonSchema } from '../../src/core/schema/write-json.ts';
import type { OpenApiDocument } from '../../src/extras/openapi/document.ts';
import { Router, Type } from '../../src/index.ts';
import hard, { hardShapes } from '../fixtures/openapi/hard-shapes.ts';
import { documentOf } from './hard-document.ts';

/** The schema of a procedure's result. */
function resultOf({ paths }: OpenApiDocument, name = 'p'): JsonSchema {
  const success = paths[`/api/${name}`]?.post?.responses['200'] ?? assert.fail(name);
  assert.ok('content' in success);
  return success.content?.['application/json']?.schema ?? assert.fail(name);
}

/** The document of procedures that return what JSON Schema of any library says. */
function documentOfResults(results: Readonly<Record<string, JsonSchema>>): OpenApiDocument {
  const described = Object.entries(results).map(([name, returns]) => {
    const description = { name, hasOrder: false, isAsync: false, returns };
    return [name, describedProcedure(description)] as const;
  });
  return documentOf(new Map(described));
}

const $ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe('the OpenAPI document of hard shapes', () => {
  for (const { name, schema, spelled: expected } of hardShapes) {
    test(`spells ${name}`, () => {
      const router = new Router();
      router.rpc({ name: 'p', returns: Type.Object({ [name]: schema }) }, () => null as never);
      const properties = resultOf(documentOf(tableOf(router))).properties as JsonSchema;
      assert.deepEqual(properties[name], expected);
    });
  }

  test('has components that refer to themselves', () => {
    const { components } = documentOf(tableOf(hard));
    const { schemas } = components;
    assert.deepEqual(schemas.treeNode, {
      type: 'object',
      properties: { kids: { type: 'array', items: { $ref: '#/components/schemas/treeNode' } } },
      required: ['kids'],
    });
    // TypeScript has no type of an array that holds itself, without an object between.
    assert.deepEqual(schemas.TextOrMany, {
      anyOf: [{ type: 'string' }, { type: 'array', items: {} }],
    });
    const names = Object.keys(schemas);
    assert.deepEqual(
      names.filter((name) => !/^[A-Za-z][A-Za-z0-9]*$/.test(name)),
      [],
    );
  });
});

describe('shapes of other libraries', () => {
  const cases: readonly (readonly [given: JsonSchema, expected: JsonSchema])[] = [
    [
      { type: ['string', 'null'], minLength: 1, description: 'A text.' },
      { description: 'A text.', anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] },
    ],
    [{ type: ['string'] }, { type: 'string' }],
    [
      { type: ['string', 'null'], enum: ['a', null] },
      { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] },
    ],
    [
      { enum: ['a', 'b'], default: 'a' },
      { type: 'string', enum: ['a', 'b'], default: 'a' },
    ],
    [
      { enum: [1, 2], type: 'integer' },
      { type: 'integer', enum: [1, 2] },
    ],
    [{ const: 'x' }, { type: 'string', enum: ['x'] }],
    [{ const: 0.5 }, { type: 'number' }],
    [{ const: { a: 1 } }, { const: { a: 1 } }],
    [
      { type: 'array', prefixItems: [{ type: 'string' }, true], items: false },
      { type: 'array', prefixItems: [{ type: 'string' }, {}], maxItems: 2 },
    ],
    [
      { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' }, minItems: 1 },
      { type: 'array', prefixItems: [{ type: 'string' }], minItems: 1 },
    ],
    [{ type: 'array' }, { type: 'array', items: {} }],
    [
      { type: 'array', items: false },
      { type: 'array', items: {}, maxItems: 0 },
    ],
    [
      { type: 'object', patternProperties: { a: { type: 'string' }, b: true } },
      { type: 'object', additionalProperties: true },
    ],
    [
      { type: 'object', properties: { x: true }, patternProperties: { '^a': { type: 'string' } } },
      { type: 'object', properties: { x: {} }, additionalProperties: true },
    ],
    [
      {
        type: 'object',
        patternProperties: { '^a': { type: 'string' } },
        additionalProperties: { type: 'number' },
      },
      { type: 'object', additionalProperties: true },
    ],
    [
      {
        type: 'object',
        propertyNames: { type: 'string' },
        additionalProperties: { type: 'number' },
      },
      { type: 'object', additionalProperties: { type: 'number' } },
    ],
    [
      { oneOf: [{ type: 'string' }, { type: 'number' }, false] },
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
    ],
    [{ anyOf: [false] }, { not: {} }],
    [
      {
        allOf: [{ type: 'object', properties: { a: true } }],
        unevaluatedProperties: false,
      },
      {
        type: 'object',
        allOf: [{ type: 'object', properties: { a: {} } }],
        unevaluatedProperties: false,
      },
    ],
    [{ type: 'number', not: { const: 1 } }, { allOf: [{ type: 'number' }, {}] }],
  ];

  test('are spelled as those of TypeBox', () => {
    for (const [given, expected] of cases) {
      const document = documentOfResults({ p: { type: 'object', properties: { x: given } } });
      const properties = resultOf(document).properties as JsonSchema;
      assert.deepEqual(properties.x, expected, JSON.stringify(given));
    }
  });
});

describe('unions of components', () => {
  const tagged = (tag: unknown, name = 'kind', required = [name]) => ({
    type: 'object',
    properties: { [name]: { const: tag } },
    required,
  });
  const union = (one: JsonSchema, other: JsonSchema) => {
    const anyOf = [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/B' }];
    return resultOf(documentOfResults({ p: { anyOf, $defs: { A: one, B: other } } }));
  };

  test('have a discriminator only where a required text tells them apart', () => {
    const mapping = { a: '#/components/schemas/A', b: '#/components/schemas/B' };
    assert.deepEqual(union(tagged('a'), tagged('b')), {
      oneOf: [$ref('A'), $ref('B')],
      discriminator: { propertyName: 'kind', mapping },
    });
    const plain = { anyOf: [$ref('A'), $ref('B')] };
    assert.deepEqual(union(tagged('a'), tagged('a')), plain);
    assert.deepEqual(union(tagged(1), tagged(2)), plain);
    assert.deepEqual(union(tagged('a'), tagged('b', 'type')), plain);
    assert.deepEqual(union(tagged('a', 'kind', []), tagged('b')), plain);
    assert.deepEqual(union(tagged('a'), { type: 'object' }), plain);
  });
});

describe('unions of objects that have no names', () => {
  const variant = (tag: string, more: JsonSchema = {}) => ({
    type: 'object',
    properties: { kind: { type: 'string', enum: [tag] }, ...more },
    required: ['kind'],
  });

  test('get some where a member tells them apart, one for each content', () => {
    const union = { anyOf: [variant('circle'), variant('box')] };
    // Within one of them stands another union.
    const inner = { anyOf: [variant('circle', { size: { type: 'number' } }), variant('line')] };
    const document = documentOfResults({
      a: { type: 'array', items: union },
      b: { anyOf: [variant('outer', { inner }), variant('end')] },
      box: { $id: 'Box', type: 'string' },
    });
    assert.deepEqual(resultOf(document, 'a').items, {
      oneOf: [$ref('Circle'), $ref('Box2')],
      discriminator: {
        propertyName: 'kind',
        mapping: { circle: '#/components/schemas/Circle', box: '#/components/schemas/Box2' },
      },
    });
    const { schemas } = document.components;
    const names = ['Box', 'Circle', 'Box2', 'Outer', 'End', 'Circle2', 'Line', 'Problem'];
    assert.deepEqual(Object.keys(schemas), names);
    assert.deepEqual(schemas.Circle, variant('circle'));
    const { properties } = schemas.Outer ?? assert.fail();
    const found = (properties as Record<string, JsonSchema>).inner;
    assert.deepEqual(found?.oneOf, [$ref('Circle2'), $ref('Line')]);
  });
});

describe('names of components', () => {
  test('have letters and digits, and differ in more than case', () => {
    const ids = ['.', '1x', 'Problem', 'a.b', 'aB', 'a_B', 'problem'];
    const results = ids.map(($id, index) => [`p${index}`, { $id, type: 'string' }] as const);
    const { schemas } = documentOfResults(Object.fromEntries(results)).components;
    const given = ['Schema', 'Schema1x', 'Problem2', 'aB', 'aB2', 'aB3', 'problem3'];
    assert.deepEqual(Object.keys(schemas), [...given, 'Problem']);
  });
});

describe('types that are arrays of themselves', () => {
  test('have any items where no object stands between', () => {
    const to = (name: string) => ({ $ref: `#/$defs/${name}` });
    const $defs = {
      Direct: { type: 'array', items: to('Direct') },
      One: { anyOf: [{ type: 'string' }, to('Two')] },
      Two: { type: 'array', items: to('One') },
      Held: { type: 'array', items: { type: 'object', properties: { more: to('Held') } } },
      Map: { type: 'array', items: { type: 'object', additionalProperties: to('Map') } },
      Pages: { type: 'array', items: to('Page') },
      Page: { type: 'object', properties: { more: to('Pages') } },
      User: { type: 'object', properties: { list: { type: 'array', items: to('Direct') } } },
    };
    const prefixItems = Object.keys($defs).map(to);
    const { schemas } = documentOfResults({ p: { type: 'array', prefixItems, $defs } }).components;
    assert.deepEqual(schemas.Direct, { type: 'array', items: {} });
    assert.deepEqual(schemas.One, { anyOf: [{ type: 'string' }, $ref('Two')] });
    assert.deepEqual(schemas.Two, { type: 'array', items: {} });
    assert.match(JSON.stringify(schemas.Held), /"more":\{"\$ref"/);
    assert.match(JSON.stringify(schemas.Map), /"additionalProperties":\{"\$ref"/);
    assert.deepEqual(schemas.Pages, { type: 'array', items: $ref('Page') });
    assert.match(JSON.stringify(schemas.User), /"items":\{"\$ref"/);
  });
});

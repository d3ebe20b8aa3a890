/** How each shape is spelled in the OpenAPI document, and that the whole is what validators and linters take. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { doAll } from '../../src/core/base/timer.ts';
import { tableOf } from '../../src/core/procedures/router.ts';
import type { JsonSchema } from '../../src/core/schema/write-json.ts';
import {
  type DocumentFacts,
  type OpenApiDocument,
  openApiOf,
} from '../../src/extras/openapi/document.ts';
import { Operations } from '../../src/extras/openapi/operation.ts';
import { Spelling } from '../../src/extras/openapi/shapes.ts';
import { Router, Type } from '../../src/index.ts';
import hard, { hardShapes } from '../fixtures/openapi/hard-shapes.ts';
import { lintFindings, openApiFaults } from './validator.ts';

const facts: DocumentFacts = {
  httpPath: '/api',
  title: 'hard',
  httpAuth: 'bearer',
  publicUrl: '',
  asksWho: false,
};

/** As it is sent: what JSON drops is not part of it. */
function documentOf(router: Router, given: Partial<DocumentFacts> = {}): OpenApiDocument {
  const all = { ...facts, ...given };
  const operations = new Operations(tableOf(router), [], all.asksWho);
  return JSON.parse(JSON.stringify(openApiOf(operations, all))) as OpenApiDocument;
}

/** What the spelling makes of a schema of any library. */
function spelled(schema: JsonSchema, components: Record<string, JsonSchema> = {}): JsonSchema {
  return JSON.parse(JSON.stringify(new Spelling(components, ['Problem']).of(schema))) as JsonSchema;
}

describe('the validators', () => {
  test('refuse what is no OpenAPI document', async () => {
    const router = new Router();
    router.rpc({ name: 'p' }, () => 1);
    const document = documentOf(router);
    assert.deepEqual(await openApiFaults(document), []);
    assert.deepEqual(await lintFindings(document), []);
    const wrong = { ...document, paths: { '/a': { get: { responses: { 200: {} } } } } };
    assert.notDeepEqual(await openApiFaults(wrong), []);
    assert.notDeepEqual(await lintFindings(wrong), []);
    const schema = { type: 'text' };
    const badSchema = { ...document, components: { schemas: { A: schema } } };
    assert.notDeepEqual(await openApiFaults(badSchema), []);
  });
});

describe('the OpenAPI document of hard shapes', () => {
  test('is valid by the official schema and has no finding of redocly', async () => {
    for (const given of [
      {},
      { asksWho: true, httpAuth: 'header:X-Api-Key', publicUrl: 'https://example.org/v1' },
    ]) {
      const document = documentOf(hard, given);
      assert.deepEqual(await openApiFaults(document), []);
      assert.deepEqual(await lintFindings(document), []);
    }
  });

  for (const { name, schema, spelled: expected } of hardShapes) {
    test(`spells ${name}`, () => {
      const router = new Router();
      router.rpc({ name: 'p', returns: Type.Object({ [name]: schema }) }, () => null as never);
      const { paths } = documentOf(router);
      const success = paths['/api/p']?.post?.responses['200'] ?? assert.fail();
      assert.ok('content' in success);
      const properties = success.content?.['application/json']?.schema.properties as JsonSchema;
      assert.deepEqual(properties[name], expected);
    });
  }

  test('has components that refer to themselves', () => {
    const { components } = documentOf(hard);
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
      { anyOf: [{ type: 'string', const: 'a', enum: ['a'] }, { type: 'null' }] },
    ],
    [
      { enum: ['a', 'b'], default: 'a' },
      { type: 'string', enum: ['a', 'b'], default: 'a' },
    ],
    [
      { enum: [1, 2], type: 'integer' },
      { type: 'integer', enum: [1, 2] },
    ],
    [{ enum: [null] }, { type: 'null' }],
    [{ const: 'x' }, { type: 'string', const: 'x', enum: ['x'] }],
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
      { type: 'array', items: true },
      { type: 'array', items: {} },
    ],
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
      { type: 'object', patternProperties: { '^(?!.*)$': {} } },
      { type: 'object', additionalProperties: false },
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
      { type: 'object', properties: { a: false, b: { type: 'string' } }, required: ['a', 'b'] },
      { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] },
    ],
    [
      { oneOf: [{ type: 'string' }, { type: 'number' }, false] },
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
    ],
    [{ anyOf: [false] }, { not: {} }],
    [{ type: 'object', unevaluatedProperties: false }, { type: 'object' }],
    [{ type: 'number', not: { const: 1 } }, { type: 'number' }],
  ];

  test('are spelled as those of TypeBox', () => {
    for (const [given, expected] of cases) {
      assert.deepEqual(spelled(given), expected, JSON.stringify(given));
    }
  });

  test('stay as they are when they are spelled again', () => {
    for (const [, expected] of cases) assert.deepEqual(spelled(expected), expected);
  });
});

describe('unions of components', () => {
  const $ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const tagged = (tag: unknown, name = 'kind', required = [name]) => ({
    type: 'object',
    properties: { [name]: { const: tag } },
    required,
  });
  const union = (one: JsonSchema, other: JsonSchema) =>
    spelled({ anyOf: [$ref('A'), $ref('B')] }, { A: one, B: other });

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
    properties: { kind: { type: 'string', const: tag, enum: [tag] }, ...more },
    required: ['kind'],
  });

  test('get some where a member tells them apart, one for each content', () => {
    const spelling = new Spelling({ Box: {} }, ['Problem']);
    const union = { anyOf: [variant('circle'), variant('box')] };
    const first = spelling.of(union);
    assert.deepEqual(first, {
      oneOf: [{ $ref: '#/components/schemas/Circle' }, { $ref: '#/components/schemas/Box2' }],
      discriminator: {
        propertyName: 'kind',
        mapping: { circle: '#/components/schemas/Circle', box: '#/components/schemas/Box2' },
      },
    });
    assert.deepEqual(spelling.of(union), first);
    // Within one of them stands another union.
    const inner = { anyOf: [variant('circle', { size: { type: 'number' } }), variant('line')] };
    spelling.of({ anyOf: [variant('outer', { inner }), variant('box')] });
    const components = doAll(spelling.components());
    assert.deepEqual(Object.keys(components), [
      'Box',
      'Circle',
      'Box2',
      'Outer',
      'Circle2',
      'Line',
    ]);
    assert.deepEqual(components.Circle, variant('circle'));
    const { properties } = components.Outer ?? assert.fail();
    const found = (properties as Record<string, JsonSchema>).inner;
    assert.deepEqual(found?.oneOf, [
      { $ref: '#/components/schemas/Circle2' },
      { $ref: '#/components/schemas/Line' },
    ]);
  });
});

describe('names of components', () => {
  test('have letters and digits, and differ in more than case', () => {
    const names = ['a.b', 'aB', 'a_B', 'problem', '1x', '.', 'Problem'];
    const spelling = new Spelling(Object.fromEntries(names.map((name) => [name, {}])), ['Problem']);
    const given = Object.keys(doAll(spelling.components()));
    assert.deepEqual(given, ['aB', 'aB2', 'aB3', 'problem2', 'Schema1x', 'Schema', 'Problem3']);
    assert.equal(new Set(given.map((name) => name.toLowerCase())).size, names.length);
    assert.ok(!given.some((name) => name.toLowerCase() === 'problem'));
  });
});

describe('types that are arrays of themselves', () => {
  const $ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  test('have any items where no object stands between', () => {
    const spelling = new Spelling(
      {
        Direct: { type: 'array', items: $ref('Direct') },
        One: { anyOf: [{ type: 'string' }, $ref('Two')] },
        Two: { type: 'array', items: $ref('One') },
        Held: { type: 'array', items: { type: 'object', properties: { more: $ref('Held') } } },
        Map: { type: 'array', items: { type: 'object', additionalProperties: $ref('Map') } },
        User: { type: 'object', properties: { list: { type: 'array', items: $ref('Direct') } } },
      },
      [],
    );
    const { Direct, One, Two, ...others } = doAll(spelling.components());
    assert.deepEqual(Direct, { type: 'array', items: {} });
    assert.deepEqual(One, { anyOf: [{ type: 'string' }, $ref('Two')] });
    assert.deepEqual(Two, { type: 'array', items: {} });
    assert.match(JSON.stringify(others.Held), /"more":\{"\$ref"/);
    assert.match(JSON.stringify(others.Map), /"additionalProperties":\{"\$ref"/);
    assert.match(JSON.stringify(others.User), /"items":\{"\$ref"/);
  });
});

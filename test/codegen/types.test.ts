import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { generate, runsCommands } from './command.ts';
import { compiledAll } from './compile.ts';

/** The document of one method with this result, and these components. */
function documentOf(result: unknown, schemas: object = {}, more: object = {}): object {
  return {
    openrpc: '1.3.2',
    info: { title: 'x', version: '1' },
    methods: [{ name: 'm', params: [], result: { name: 'r', schema: result }, ...more }],
    components: { schemas },
  };
}

/** What the last test compiles: one run of the compiler takes a second of CPU. */
const generated: string[] = [];

/** The generated types of results, each on one line. */
function resultTypes(text: string): string[] {
  return Array.from(text.matchAll(/result:([\s\S]*?);\n {2}\};\n/g), ([, type = '']) =>
    type.replace(/\s*\n\s*/g, ' ').trim(),
  );
}

/** A reference to a schema among the components. */
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const User = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };

const types: readonly (readonly [what: string, schema: unknown, type: string])[] = [
  ['nothing declared', undefined, 'unknown'],
  ['{}', {}, 'unknown'],
  ['true', true, 'unknown'],
  ['false', false, 'never'],
  ['a schema that is none', 'string', 'unknown'],
  ['an unknown type', { type: 'file' }, 'unknown'],
  ['integer', { type: 'integer' }, 'number'],
  ['a list of types', { type: ['string', 'null', 'integer'] }, 'string | null | number'],
  ['nullable', { type: 'string', nullable: true }, 'string | null'],
  ['a nullable reference', { $ref: '#/components/schemas/User', nullable: true }, 'User | null'],
  ['const', { const: 'a' }, "'a'"],
  ['a const object', { const: { a: [1, null], 'b c': true } }, "{ a: [1, null]; 'b c': true }"],
  ['enum', { enum: ['a', 1, null, true] }, "'a' | 1 | null | true"],
  ['an enum of one value twice', { enum: ['a', 'a'] }, "'a'"],
  ['an empty enum', { enum: [] }, 'never'],
  ['an array', { type: 'array', items: { type: 'string' } }, 'string[]'],
  ['an array of a union', { type: 'array', items: { enum: [1, 2] } }, '(1 | 2)[]'],
  ['an array of anything', { type: 'array' }, 'unknown[]'],
  ['items without a type', { items: { type: 'number' } }, 'number[]'],
  ['an array that is empty', { type: 'array', maxItems: 0 }, '[]'],
  [
    'a tuple',
    { type: 'array', items: [{ type: 'string' }, { type: 'number' }] },
    '[string, number]',
  ],
  [
    'a tuple with optional elements',
    { type: 'array', items: [{ type: 'string' }, { enum: [1, 2] }], minItems: 1 },
    '[string, (1 | 2)?]',
  ],
  [
    'a tuple with a rest, 2020-12',
    { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } },
    '[string, ...number[]]',
  ],
  ['an object', { type: 'object' }, 'Record<string, unknown>'],
  [
    'an object without members',
    { type: 'object', additionalProperties: false },
    'Record<string, never>',
  ],
  [
    'a record',
    { type: 'object', additionalProperties: { type: 'number' } },
    '{ [name: string]: number }',
  ],
  [
    'a record of patterns',
    { type: 'object', patternProperties: { '^a': { type: 'number' }, '^b': { type: 'string' } } },
    '{ [name: string]: number | string }',
  ],
  [
    'members and a rest',
    { properties: { a: { type: 'string' } }, additionalProperties: { type: 'number' } },
    '{ a?: string; [name: string]: number | string | undefined }',
  ],
  [
    'members with odd names',
    { properties: { 'a b': {}, __proto__x: {}, '1': {}, "it's": {}, new: {} } },
    "{ '1'?: unknown; 'a b'?: unknown; __proto__x?: unknown; 'it\\'s'?: unknown; new?: unknown; }",
  ],
  ['anyOf', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string | null'],
  [
    'oneOf within anyOf',
    { anyOf: [{ oneOf: [{ const: 1 }, { const: 2 }] }, { const: 3 }] },
    '1 | 2 | 3',
  ],
  ['anyOf with anything', { anyOf: [{ type: 'string' }, {}] }, 'unknown'],
  ['allOf', { allOf: [User, { $ref: '#/components/schemas/User' }] }, '{ id: string } & User'],
  ['allOf of one', { allOf: [{ $ref: '#/components/schemas/User' }], default: {} }, 'User'],
  [
    'allOf with a union',
    { allOf: [{ anyOf: [{ const: 1 }, { const: 2 }] }, { type: 'number' }] },
    '1 | 2',
  ],
  [
    'members beside alternatives',
    { ...User, anyOf: [{ required: ['id'] }, { properties: { b: { type: 'number' } } }] },
    '{ id: string }',
  ],
  [
    'members that another part of the allOf demands',
    { allOf: [{ properties: { a: { type: 'string' }, b: {} } }, { required: ['a'] }] },
    '{ a: string; b?: unknown }',
  ],
  [
    'members that are demanded beside the alternatives that have them',
    {
      required: ['a'],
      oneOf: [{ properties: { a: { const: 1 } } }, { $ref: '#/components/schemas/User' }],
    },
    '{ a: 1 } | User',
  ],
  [
    'members that are demanded of a reference',
    { allOf: [{ $ref: '#/components/schemas/User' }, { type: 'object', required: ['name'] }] },
    'User & { name: unknown }',
  ],
  [
    'a reference beside members',
    { $ref: '#/components/schemas/User', properties: { b: { type: 'number' } }, required: ['b'] },
    '{ b: number } & User',
  ],
  [
    'a reference beside what says no more',
    { $ref: '#/components/schemas/User', type: 'object', description: 'x', definitions: {} },
    'User',
  ],
  [
    'one alternative that is any object',
    { anyOf: [{ type: 'object' }] },
    'Record<string, unknown>',
  ],
  ['a type beside alternatives', { type: 'string', anyOf: [{ const: 'a' }] }, "'a'"],
  ['not', { not: {} }, 'never'],
  ['a format', { type: 'array', items: { type: 'string', format: 'date' } }, 'string /* date */[]'],
  ['bigger numbers', { enum: [-1, 1.5, 1e21] }, '-1 | 1.5 | 1e+21'],
];

describe('types', () => {
  runsCommands();
  let text = '';
  before(async () => {
    const methods = types.map(([, schema], index) => ({
      // In the order of the file, which is sorted by name.
      name: `m${1000 + index}`,
      params: [],
      result: { name: 'r', schema },
    }));
    text = await generate({ ...documentOf({}, { User }), methods });
    generated.push(text);
  });

  for (const [index, [what, , type]] of types.entries()) {
    test(what, () => assert.equal(resultTypes(text)[index], type));
  }
});

describe('references', () => {
  runsCommands();
  const targets: Record<string, unknown> = {
    'a component': '#/components/schemas/User',
    'an escaped name': '#/components/schemas/User%20of~1ours',
    'a place in another method': '#/methods/0/result/schema/anyOf/1',
  };
  for (const [what, $ref] of Object.entries(targets)) {
    test(`lead to ${what}`, async () => {
      const schemas = { User, 'User of/ours': User };
      const text = await generate(documentOf({ anyOf: [{ $ref }, User] }, schemas));
      assert.match(text, /\nexport interface \w+ \{\n {2}id: string;\n\}\n/);
    });
  }

  for (const [what, schema] of Object.entries({
    $defs: {
      $ref: '#/$defs/Tree',
      $defs: { Tree: { properties: { kid: { $ref: '#/$defs/Tree' } } } },
    },
    'an $id': { $id: 'Tree', properties: { kid: { $ref: 'Tree' } } },
    'the schema itself': { title: 'Tree', properties: { kid: { $ref: '#' } } },
  })) {
    test(`lead to ${what} of their own schema`, async () => {
      assert.match(
        await generate(documentOf(schema)),
        /export interface Tree \{\n {2}kid\?: Tree;\n\}/,
      );
    });
  }

  test('of one name to two types give two types', async () => {
    const method = (name: string, type: string) => {
      const schema = { $ref: '#/$defs/X', $defs: { X: { properties: { a: { type } } } } };
      return { name, params: [], result: { name: 'r', schema } };
    };
    const methods = [method('a', 'string'), method('b', 'number')];
    const text = await generate({ ...documentOf({}), methods });
    assert.match(text, /interface X \{\n {2}a\?: string;/);
    assert.match(text, /interface X_2 \{\n {2}a\?: number;/);
  });

  test('take names that TypeScript has, and ours, to others', async () => {
    const names = ['string', 'Contract', 'Record', 'class', '1st', '', 'Ünï', 'a-b', 'a_b', 'A-b'];
    const schemas = Object.fromEntries(names.map((name) => [name, { enum: [name] }]));
    const anyOf = names.map((name) => ({
      $ref: `#/components/schemas/${encodeURIComponent(name)}`,
    }));
    generated.push(await generate(documentOf({ anyOf }, schemas)));
  });

  test('in a circle are broken where TypeScript could not follow, and nowhere else', async () => {
    const schemas = {
      A: ref('B'),
      B: { anyOf: [ref('A'), { type: 'string' }] },
      Self: ref('Self'),
      Both: { allOf: [ref('Both'), { properties: { a: ref('Both') } }] },
      Fine: {
        anyOf: [{ type: 'array', items: ref('Fine') }, { additionalProperties: ref('Fine') }],
      },
      Pair: { type: 'array', items: [ref('Pair'), ref('Fine')] },
    };
    const anyOf = Object.keys(schemas).map(ref);
    const text = await generate(documentOf({ properties: { anyOf: { anyOf } } }, schemas));
    generated.push(text);
    assert.match(text, /export type Fine = Fine\[\] \| \{ \[name: string\]: Fine \};/);
    assert.match(text, /export type Pair = \[Pair, Fine\];/);
    assert.match(text, /export type Self = unknown;/);
    assert.match(text, /export type Both = \{ a\?: Both \};/);
  });
});

describe('methods', () => {
  runsCommands();
  const method = (more: object): Promise<string> => generate(documentOf({}, {}, more));

  test('by position only take a tuple', async () => {
    const params = [
      { name: 'from', schema: { type: 'string' }, required: true },
      { name: 'to', schema: { type: 'string' } },
      { name: 'n', schema: { type: 'number' }, required: true },
      { name: 'more', schema: { enum: [1, 2] } },
    ];
    const text = await method({ params, paramStructure: 'by-position' });
    assert.match(text, /params: \[from: string, to: string \| null, n: number, more\?: 1 \| 2\];/);
    generated.push(text);
    const odd = await method({
      params: [
        { name: 'class', schema: {}, required: true },
        { name: 'default', schema: {}, required: true },
        { name: 'from', schema: {} },
      ],
      paramStructure: 'by-position',
    });
    assert.match(odd, /params: \[class_: unknown, default_: unknown, from\?: unknown\];/);
    const unnamed = await method({
      params: [{ name: 'a b', schema: {} }],
      paramStructure: 'by-position',
    });
    assert.match(unnamed, /params: \[\(unknown\)\?\];/);
    generated.push(unnamed);
    generated.push(odd);
  });

  test('may be none', async () => {
    const text = await generate({
      openrpc: '1.3.2',
      info: { title: 'x', version: '1' },
      methods: [],
    });
    assert.match(text, /^export interface Contract \{\}$/m);
  });

  test('have their errors by name: as they are declared, by their component, or by their message', async () => {
    const components = { errors: { Gone: { code: 1, message: 'It has gone' } } };
    const errors = [
      { $ref: '#/components/errors/Gone' },
      { code: 2, message: 'Not found!' },
      { code: 3, message: 'not found' },
      { code: 4, message: '' },
      { code: 1.5, message: 'no code' },
      'none',
    ];
    const text = await generate({ ...documentOf({}, {}, { errors }), components });
    const found = [...text.matchAll(/(\w+): \{ code: (\d); data: unknown \}/g)];
    assert.deepEqual(
      found.map(([, name, code]) => [name, code]),
      [
        ['Gone', '1'],
        ['NOT_FOUND', '2'],
        ['NOT_FOUND_2', '3'],
        ['ERROR', '4'],
      ],
    );
  });

  test('have the effects by which a call may be repeated, where the document says so', async () => {
    const effects = { readOnly: true, idempotent: true, destructive: false, openWorld: true };
    const text = await method({ 'x-effects': effects });
    assert.match(text, /result: unknown;\n {4}effects: \{ readOnly: true; idempotent: true \};/);
    generated.push(text);
    for (const other of [{ readOnly: false }, { destructive: true }, { openWorld: false }]) {
      const declared = await method({ 'x-effects': other });
      assert.match(declared, /result: unknown;\n {4}effects: object;/);
      generated.push(declared);
    }
    for (const none of [{ readOnly: 'true' }, {}, [], null, undefined])
      assert.doesNotMatch(await method({ 'x-effects': none }), /effects/);
  });

  test('take any bytes, and return bytes that a Blob takes', async () => {
    const bytes = { type: 'string', format: 'byte', contentEncoding: 'base64' };
    const holding = (more: object) => ({ type: 'object', properties: { data: bytes, ...more } });
    const schemas = {
      Inner: holding({}),
      Sent: holding({ inner: ref('Inner') }),
      Got: holding({ inner: ref('Inner'), more: ref('Only') }),
      Only: holding({}),
      Bytes: { type: 'number' },
    };
    const params = [
      { name: 'raw', schema: bytes, required: true },
      { name: 'sent', schema: ref('Sent') },
    ];
    const text = await generate(
      documentOf(ref('Got'), schemas, {
        params,
        'x-stream': { yields: { anyOf: [bytes, ref('Bytes')] } },
      }),
    );
    assert.match(text, /import type \{ Bytes, Method \} from/);
    assert.match(text, /raw: Uint8Array;/);
    assert.match(text, /yields: Bytes \| Bytes_2;/);
    const typeOfData = (name: string) =>
      new RegExp(`interface ${name} \\{[^}]*?data\\?: (\\w+);`).exec(text)?.[1];
    assert.deepEqual(
      ['Got', 'Only', 'Sent', 'Inner'].map((name) => [name, typeOfData(name)]),
      [
        ['Got', 'Bytes'],
        ['Only', 'Bytes'],
        // What params hold takes any bytes, wherever else it is found.
        ['Sent', 'Uint8Array'],
        ['Inner', 'Uint8Array'],
      ],
    );
    generated.push(text);
    // A type that is not one of results after all leaves no import that nothing uses.
    const both = await generate(
      documentOf(
        ref('Got'),
        { Got: holding({}) },
        {
          params: [{ name: 'a', schema: { type: 'array', items: ref('Got') } }],
        },
      ),
    );
    assert.match(both, /import type \{ Method \} from/);
    generated.push(both);
  });

  test('are sorted by name, so that the order of a document is no drift', async () => {
    const methods = ['b', 'a', 'B', 'a.b'].map((name) => ({ name, params: [] }));
    const text = await generate({ ...documentOf({}), methods });
    assert.equal(text, await generate({ ...documentOf({}), methods: [...methods].reverse() }));
    assert.ok(text.indexOf('  B: {') < text.indexOf('  a: {'));
  });

  test('may be references, and their params and results too', async () => {
    const document = {
      ...documentOf({}),
      methods: [{ $ref: '#/components/x-methods/add' }],
      components: {
        'x-methods': {
          add: {
            name: 'add',
            params: [{ $ref: '#/components/contentDescriptors/A' }],
            result: { $ref: '#/components/contentDescriptors/A' },
          },
        },
        contentDescriptors: { A: { name: 'a', required: true, schema: { type: 'number' } } },
      },
    };
    assert.match(await generate(document), /params: \{ a: number \};\n {4}result: number;/);
  });

  test('have doc comments: their own, and those of members with what types can not say', async () => {
    const params = [
      {
        name: 'a',
        summary: 'The first.',
        schema: { type: 'string', pattern: '^a*/$', maxLength: 3, default: 'a', deprecated: true },
      },
    ];
    const text = await method({
      params,
      summary: 'Adds.',
      description: 'At length.',
      deprecated: true,
    });
    assert.ok(
      text.includes('  /**\n   * Adds.\n   *\n   * At length.\n   * @deprecated\n   */\n  m: {'),
    );
    const doc = ['The first.', '@deprecated', '@pattern ^a*\\/$', '@maxLength 3', '@default "a"'];
    assert.ok(text.includes(doc.map((line) => `       * ${line}\n`).join('')), text);
  });
});

test('the generated files compile', (t) => {
  for (const { errors } of compiledAll(t, generated)) assert.equal(errors, '');
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { RegistrySchema } from '../../src/index.ts';
import { temporaryFolder } from '../files.ts';
import { generate, refusal, runsCommands } from './command.ts';
import { compiled, compiledAll } from './compile.ts';

const code = [
  "x'; export const injected = globalThis.process; //",
  'x"; export const injected = 1; //',
  '*/ export const injected = 1; /*',
  '**//**/ export const injected = 1;',
  `\`$\{injected}\``,
  'a\nexport const injected = 1;',
  'a\r\nexport const injected = 1;\rexport const more = 1;',
  'a\u2028export const injected = 1;\u2029export const more = 1;',
  '}\n}\nexport const injected = 1; {{',
  '{}; export const injected = 1; type X = {',
  '\\',
  "\\'; export const injected = 1; //",
  '\\u0027; export const injected = 1; //',
  '/',
  '@ts-expect-error',
  '@ts-nocheck',
  '\u202e\u2066 reversed \u2069',
  '\u0000\u001b[2J\u007f\u009b',
  '\ud800',
  '\u{e0001}',
  '__proto__',
  'constructor',
  'prototype',
  '{{name}}',
  '$& $1 $`',
];

/** `text` in every place of a document that the generated file says something of. */
function saidEverywhere(text: string): object {
  const schema = {
    type: 'object',
    title: text,
    description: text,
    format: text,
    pattern: text,
    tsType: text,
    tsEnumNames: [text],
    // From entries: in a literal __proto__ would be the prototype.
    properties: Object.fromEntries([
      [text, { type: 'string', description: text, default: text, format: text }],
      ['list', { type: 'array', items: { type: 'string', format: text } }],
      ['constant', { const: text }],
      ['deep', { const: Object.fromEntries([[text, [text]]]) }],
      ['choice', { enum: [text, `${text} `] }],
      ['kind', { type: text }],
      ['limit', { type: 'number', minimum: text, default: { [text]: text } }],
    ]),
    required: [text],
    patternProperties: { [text]: { type: 'string' } },
  };
  const pointer = text.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('%', '%25');
  const descriptor = { name: text, summary: text, description: text, schema };
  return {
    openrpc: text,
    info: { title: text, version: text, description: text },
    methods: [
      {
        name: text,
        summary: text,
        description: text,
        tags: [{ name: text }],
        params: [
          descriptor,
          { name: 'other', schema: { $ref: `#/components/schemas/${pointer}` } },
        ],
        result: descriptor,
        errors: [{ code: 1, message: text, data: text }],
        'x-additional-params': schema,
      },
      { name: `${text}2`, params: [descriptor], paramStructure: 'by-position', result: descriptor },
      {
        name: `${text}3`,
        params: [],
        'x-errors': Object.fromEntries([[text, { code: 2, message: text, data: schema }]]),
      },
    ],
    components: { schemas: Object.fromEntries([[text, schema]]) },
  };
}

describe('a document that wants to be code', () => {
  // As it comes: from JSON, where __proto__ is a member like any other.
  const documents = code.map((text) => JSON.parse(JSON.stringify(saidEverywhere(text))) as unknown);
  runsCommands();
  let texts: readonly string[] = [];
  let results: ReturnType<typeof compiledAll> = [];
  before(async () => {
    texts = await Promise.all(documents.map(generate));
    results = compiledAll({ after }, texts);
  });

  for (const [index, text] of code.entries()) {
    test(JSON.stringify(text), () => {
      assert.deepEqual(results[index], { errors: '', script: 'export {};' });
      assert.doesNotMatch(texts[index] ?? '', /[\p{Cf}\u2028\u2029\r]|(?!\n)\p{Cc}/u);
      assert.equal(Object.hasOwn(Object.prototype, 'list'), false);
    });
  }
});

/** A document whose one result is this. */
function documentOf(schema: unknown, more: object = {}): object {
  const result = { name: 'r', schema };
  return {
    openrpc: '1.3.2',
    info: { title: 'x', version: '1' },
    methods: [{ name: 'm', params: [], result }],
    ...more,
  };
}

/** A document as text, since `JSON.stringify` fails at such a depth. */
function nested(levels: number): string {
  const schema = `${'{"items":'.repeat(levels)}{}${'}'.repeat(levels)}`;
  return JSON.stringify(documentOf('here')).replace('"here"', schema);
}

describe('a document that leads elsewhere', () => {
  runsCommands();
  for (const $ref of [
    'file:///etc/passwd',
    'http://127.0.0.1:1/schema.json',
    'https://example.com/schema.json#/definitions/A',
    './other.json',
    '../../../etc/passwd',
    'other.json#/definitions/A',
    '/etc/passwd',
    'C:\\secret.json',
    'data:application/json,{}',
    '//example.com/x',
    'User',
    '',
  ]) {
    test(`by $ref ${JSON.stringify($ref)} is refused in one line`, async () => {
      const line = await refusal(documentOf({ items: { $ref } }));
      assert.ok(line.includes(JSON.stringify($ref)), line);
      assert.match(line, /^methods\[0\]\.result at \/\*: the \$ref .* leads out of the document/);
    });
  }

  test('to a file that is there does not have it read', async (t) => {
    const file = join(temporaryFolder(t), 'secret.json');
    writeFileSync(file, '{"type":"string"}');
    for (const $ref of [file, pathToFileURL(file).href]) {
      assert.match(await refusal(documentOf({ $ref })), /leads out of the document/);
    }
  });

  for (const $ref of [
    '#/nowhere',
    '#/components/schemas/None',
    '#/methods/1',
    '#/methods/-1',
    '#/methods/length',
    '#/constructor',
    '#/__proto__',
    '#/info/title/length',
    '#name',
    '#/%zz',
  ]) {
    test(`to ${$ref}, which is not in it, is told so`, async () => {
      assert.equal(
        await refusal(documentOf({ $ref })),
        `methods[0].result: the $ref ${JSON.stringify($ref)} leads nowhere in the document`,
      );
    });
  }
});

describe('a document without an end', () => {
  runsCommands();
  test('of references from one to the next', async (t) => {
    const count = 20_000;
    const schemas = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `A${index}`,
        { $ref: `#/components/schemas/A${(index + 1) % count}` },
      ]),
    );
    const text = await generate(
      documentOf({ $ref: '#/components/schemas/A0' }, { components: { schemas } }),
    );
    assert.match(text, /export type A0 = unknown;/);
    assert.deepEqual(compiled(t, text), { errors: '', script: 'export {};' });
  });

  test('of methods and params that refer to themselves is refused', async () => {
    const self = { $ref: '#/methods/0' };
    assert.match(await refusal(documentOf({}, { methods: [self] })), /leads to itself/);
    const params = [{ $ref: '#/components/a' }];
    const components = { a: { $ref: '#/components/b' }, b: { $ref: '#/components/a' } };
    const methods = [{ name: 'm', params }];
    assert.match(await refusal(documentOf({}, { methods, components })), /leads to itself/);
  });

  test('in depth is refused, and before that nothing is lost', async () => {
    assert.match(await generate(nested(150)), /unknown(\[\]){150}/);
    assert.match(await refusal(nested(5_000)), /nests deeper than 200 levels/);
    assert.match(await refusal(nested(500_000)), /nests deeper than 200 levels/);
  });

  test('of 50,000 procedures and 5 MB gives a file', async () => {
    const schema = {
      type: 'object',
      properties: {
        id: { type: 'string', format: 'uuid' },
        next: { $ref: '#/components/schemas/A' },
      },
    };
    const methods = Array.from({ length: 50_000 }, (_, index) => ({
      name: `space${index % 100}.procedure${index}`,
      params: [{ name: 'a', schema, required: true }],
      result: { name: 'r', schema: { type: 'integer' } },
    }));
    const document = documentOf({}, { methods, components: { schemas: { A: schema } } });
    assert.ok(JSON.stringify(document).length > 5_000_000);
    const text = await generate(document);
    assert.equal(text.match(/^ {2}'space\d+\.procedure\d+': \{$/gm)?.length, 50_000);
  });
});

/** With a fault in these, nothing ends, or a gigabyte is written. */
describe('a document that would double at each level does not, and compiles', () => {
  runsCommands();
  const nest = (wrap: (inner: object) => object): object =>
    Array.from({ length: 60 }).reduce<object>(wrap, { type: 'string' });
  const documents = {
    'by named members beside others': nest((a) => ({
      properties: { a, b: { const: 1 } },
      required: ['a', 'b'],
      additionalProperties: { type: 'number' },
    })),
    'by patterns beside named members': nest((a) => ({
      properties: { a },
      patternProperties: { '^x': { type: 'number' }, '^y': { type: 'null' } },
    })),
    'by a type that is named twice': nest((items) => ({
      type: ['array', 'object', 'array', 'object'],
      items,
    })),
  };
  for (const [how, schema] of Object.entries(documents)) {
    test(how, async (t) => {
      const text = await generate(documentOf(schema));
      assert.ok(text.length < 100_000, `${text.length} characters`);
      assert.equal(compiled(t, text).errors, '');
    });
  }
});

describe('an introspection document', () => {
  runsCommands();
  const registryOf = (schema: unknown, name = 'm'): RegistrySchema =>
    JSON.parse(
      JSON.stringify(
        Object.fromEntries([
          [
            name,
            {
              name,
              namespace: null,
              parameters: [{ name, type: name, schema_: schema, required: true }],
              return_type: name,
              return_schema: schema,
              doc: name,
              is_async: false,
              errors: Object.fromEntries([[name, { code: 1, message: name, data: schema }]]),
            },
          ],
        ]),
      ),
    ) as RegistrySchema;

  test('that wants to be code is text', async (t) => {
    const texts = code.map((text) => {
      const schema = { $id: text, properties: Object.fromEntries([[text, { $ref: text }]]) };
      return generate(registryOf(schema, text));
    });
    for (const result of compiledAll(t, await Promise.all(texts))) {
      assert.deepEqual(result, { errors: '', script: 'export {};' });
    }
  });

  test('that leads elsewhere is refused', async () => {
    const document = registryOf({ $ref: 'file:///etc/passwd' });
    assert.match(await refusal(document), /leads out of the document/);
  });

  test('whose types lead to each other for ever is refused, or ends', async () => {
    const chain = (count: number, linkTo: (next: object) => object): unknown => ({
      $ref: 'A0',
      $defs: Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          `A${index}`,
          linkTo({ $ref: `A${(index + 1) % count}` }),
        ]),
      ),
    });
    assert.match(await generate(registryOf(chain(200, (next) => next))), /result: unknown;/);
    const items = (next: object): object => ({ type: 'array', items: next });
    assert.match(await generate(registryOf(chain(200, items))), /type A0 = A1\[\];/);
    assert.match(await refusal(registryOf(chain(100_000, items))), /at most 300 are read/);
  });

  test('whose types all lead to each other gives a type for each', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `A${index}`);
    const refs = names.map((name) => [`to${name}`, { $ref: name }]);
    const schema = { type: 'object', properties: Object.fromEntries(refs) };
    const $defs = Object.fromEntries(names.map((name) => [name, schema]));
    const text = await generate(registryOf({ $ref: 'A0', $defs }));
    assert.equal(text.match(/^export interface A\d+ \{$/gm)?.length, 200);
  });
});

describe('what is no document', () => {
  runsCommands();
  for (const [methods, says] of [
    [[1], /methods\[0\]: a method needs a name/],
    [[{ params: [] }], /methods\[0\]: a method needs a name/],
    [[{ name: 'a' }, { name: 'a' }], /methods\[1\]: the name "a" is taken already/],
    [[{ name: 'a', params: [{}] }], /methods\[0\]\.params\[0\]: a param needs a name/],
    [
      [{ name: 'a', params: [{ name: 'x' }, { name: 'x' }] }],
      /methods\[0\]\.params\[1\]: the name "x" is taken already/,
    ],
  ] as const) {
    test(`methods: ${JSON.stringify(methods)}`, async () => {
      assert.match(await refusal(documentOf({}, { methods })), says);
    });
  }

  test('and members of the wrong kind say nothing', async () => {
    const methods = [{ name: 'a', params: {}, result: 1, errors: 'x', description: {}, tags: 1 }];
    assert.match(
      await generate(documentOf({}, { methods, components: [] })),
      /a: \{\n {4}params: Record<string, never>;\n {4}result: unknown;\n {2}\};/,
    );
  });
});

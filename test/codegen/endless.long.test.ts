/**
 * Documents that say little and would take for ever, or a gigabyte, where something is written or looked at
 * more than once. Nothing here measures time: with such a fault these tests do not end.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RegistrySchema } from '../../src/index.ts';
import { generate, runsCommands } from './command.ts';
import { compiledAll } from './compile.ts';

function nested(levels: number, wrap: (inner: object) => object): object {
  let schema: object = { type: 'string' };
  for (let level = 0; level < levels; level += 1) schema = wrap(schema);
  return schema;
}

function textOf(schema: unknown): Promise<string> {
  const methods = [{ name: 'm', params: [], result: { name: 'r', schema } }];
  return generate({ openrpc: '1.3.2', methods });
}

function registryOf(schema_: Record<string, unknown>): RegistrySchema {
  const parameters = [{ name: 'a', type: 'x', schema_, required: true }];
  const rest = { namespace: null, return_type: 'x', return_schema: {}, doc: null, is_async: false };
  return { m: { name: 'm', parameters, ...rest } };
}

describe('a document that would double at each level', () => {
  runsCommands();
  const schemas = {
    'by named members beside others': nested(60, (a) => ({
      properties: { a, b: { const: 1 } },
      required: ['a', 'b'],
      additionalProperties: { type: 'number' },
    })),
    'by patterns beside named members': nested(60, (a) => ({
      properties: { a },
      patternProperties: { '^x': { type: 'number' }, '^y': { type: 'null' } },
    })),
    'by a type that is named twice': nested(60, (items) => ({
      type: ['array', 'object', 'array', 'object'],
      items,
    })),
  };

  test('does not, and compiles', async (t) => {
    const texts = await Promise.all(Object.values(schemas).map(textOf));
    for (const text of texts) assert.ok(text.length < 100_000, `${text.length} characters`);
    for (const { errors } of compiledAll(t, texts)) assert.equal(errors, '');
  });

  test('has the types of short members in the one for all others', async () => {
    const schema = nested(1, (a) => ({
      properties: { a },
      additionalProperties: { type: 'null' },
    }));
    assert.match(
      await textOf(schema),
      /\{ a\?: string; \[name: string\]: null \| string \| undefined \}/,
    );
  });
});

describe('an introspection document', () => {
  runsCommands();
  test('whose types all lead to each other gives a type for each', async () => {
    const count = 200;
    const names = Array.from({ length: count }, (_, index) => `A${index}`);
    const refs = names.map((name) => [`to${name}`, { $ref: name }]);
    const schema = { type: 'object', properties: Object.fromEntries(refs) };
    const $defs = Object.fromEntries(names.map((name) => [name, schema]));
    const text = await generate(registryOf({ $ref: 'A0', $defs }));
    assert.equal(text.match(/^export interface A\d+ \{$/gm)?.length, count);
  });
});

/**
 * Documents that say little and would take for ever, or a gigabyte, where something is written or looked at
 * more than once. Nothing here measures time: with such a fault these tests do not end.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RegistrySchema } from '../../src/index.ts';
import { compareParams, generate, runsCommands } from './command.ts';
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

describe('a document that says much', () => {
  runsCommands();

  test('names that are demanded around many alternatives are not copied into each', async () => {
    const names = Array.from({ length: 15_000 }, (_, index) => `n${index}`);
    const members = (name: string): object => ({ [name]: { type: 'string' } });
    const oneOf = names.map((name) => ({ required: [`x${name}`], properties: members(name) }));
    const text = await textOf({ required: names, oneOf });
    assert.match(text, /\| \{ n0: string; xn0: unknown \}\n/);
    assert.ok(text.length < 900_000, `${text.length} characters`);
  });

  test('a million blank lines before a text are left out', async () => {
    const methods = [{ name: 'm', description: `${'\n'.repeat(1_000_000)}Text.`, params: [] }];
    assert.match(
      await generate({ openrpc: '1.3.2', methods }),
      /\n {2}\/\*\* Text\. \*\/\n {2}m: \{/,
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

describe('two schemas that double with each level', () => {
  runsCommands();

  test('are compared up to a number of pairs', async () => {
    const level = (n: number, leaf: object): object => {
      if (n === 0) return leaf;
      const half = (inner: object) => ({ type: 'object', properties: { a: level(n - 1, inner) } });
      return { anyOf: [half(leaf), half({ ...leaf, title: 'x' })] };
    };
    const lines = await compareParams(level(9, { type: 'string' }), level(9, { type: 'number' }));
    assert.ok(lines.length > 0);
    assert.deepEqual(
      lines.filter((line) => !line.startsWith('?')),
      [],
    );
  });
});

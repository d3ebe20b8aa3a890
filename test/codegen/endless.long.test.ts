/**
 * Documents that say little and would take for ever, or a gigabyte, where something is written or looked at
 * more than once. Nothing here measures time: with such a fault these tests do not end.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { generate } from '../../src/client/codegen/generate.ts';
import { openRpcOfRegistry } from '../../src/core/procedures/document/openrpc.ts';
import { ValueIds } from '../../src/core/procedures/schema/value-ids.ts';
import type { RegistrySchema } from '../../src/index.ts';
import { compiledAll } from './compile.ts';

function nested(levels: number, wrap: (inner: object) => object): object {
  let schema: object = { type: 'string' };
  for (let level = 0; level < levels; level += 1) schema = wrap(schema);
  return schema;
}

function textOf(schema: unknown): string {
  const methods = [{ name: 'm', params: [], result: { name: 'r', schema } }];
  return generate({ openrpc: '1.3.2', methods }).text;
}

function registryOf(schema_: Record<string, unknown>): RegistrySchema {
  const parameters = [{ name: 'a', type: 'x', schema_, required: true }];
  const rest = { namespace: null, return_type: 'x', return_schema: {}, doc: null, is_async: false };
  return { m: { name: 'm', parameters, ...rest } };
}

describe('a document that would double at each level', () => {
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

  test('does not, and compiles', (t) => {
    const texts = Object.values(schemas).map(textOf);
    for (const text of texts) assert.ok(text.length < 100_000, `${text.length} characters`);
    for (const { errors } of compiledAll(t, texts)) assert.equal(errors, '');
  });

  test('has the types of short members in the one for all others', () => {
    const schema = nested(1, (a) => ({
      properties: { a },
      additionalProperties: { type: 'null' },
    }));
    assert.match(
      textOf(schema),
      /\{ a\?: string; \[name: string\]: null \| string \| undefined \}/,
    );
  });
});

test('names that are demanded around many alternatives are not copied into each', () => {
  const names = Array.from({ length: 15_000 }, (_, index) => `n${index}`);
  const members = (name: string): object => ({ [name]: { type: 'string' } });
  const oneOf = names.map((name) => ({ required: [`x${name}`], properties: members(name) }));
  const text = textOf({ required: names, oneOf });
  assert.match(text, /\| \{ n0: string \}\n/);
  assert.ok(text.length < 600_000, `${text.length} characters`);
});

test('a million blank lines before a text are left out', () => {
  const methods = [{ name: 'm', description: `${'\n'.repeat(1_000_000)}Text.`, params: [] }];
  assert.match(generate({ openrpc: '1.3.2', methods }).text, /\n {2}\/\*\* Text\. \*\/\n {2}m: \{/);
});

describe('an introspection document', () => {
  test('whose types all lead to each other gives a type for each', () => {
    const count = 200;
    const names = Array.from({ length: count }, (_, index) => `A${index}`);
    const refs = names.map((name) => [`to${name}`, { $ref: name }]);
    const schema = { type: 'object', properties: Object.fromEntries(refs) };
    const document = openRpcOfRegistry(
      registryOf({ $ref: 'A0', $defs: Object.fromEntries(names.map((name) => [name, schema])) }),
    );
    assert.equal(generate(document).text.match(/^export interface A\d+ \{$/gm)?.length, count);
  });

  test('is looked at once, however deep it nests', () => {
    let reads = 0;
    const leaf = {
      get type() {
        reads += 1;
        return 'string';
      },
    };
    const identities = new ValueIds();
    let value: object = leaf;
    const seen = new Set<number>();
    for (let level = 0; level < 100; level += 1) {
      value = { level: [value], type: 'object' };
      seen.add(identities.of(value));
    }
    assert.deepEqual([reads, seen.size], [1, 100]);
  });

  test('has one identity for equal values, whatever the order of their members', () => {
    const identities = new ValueIds();
    const one = identities.of({ a: 1, b: { c: [1, 'x'], d: null } });
    assert.equal(identities.of({ b: { d: null, c: [1, 'x'] }, a: 1 }), one);
    for (const other of [
      { a: '1', b: { c: [1, 'x'], d: null } },
      { a: 1, b: { c: ['x', 1], d: null } },
      { a: 1, b: { c: { 0: 1, 1: 'x' }, d: null } },
      { a: 1, b: { c: [1, 'x'], d: {} } },
    ]) {
      assert.notEqual(identities.of(other), one);
    }
  });
});

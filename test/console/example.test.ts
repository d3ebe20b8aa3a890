/** docs/console.md, "Trying procedures": the example that the editor begins with. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TObject, TSchema } from '@sinclair/typebox';
import { readTypeBox } from '../../src/core/schema/json-schema.ts';
import { exampleParams } from '../../src/extras/console/example.ts';
import { Router, Type } from '../../src/index.ts';

const schemas: Record<string, TObject> = {
  numbers: Type.Object({
    a: Type.Number(),
    b: Type.Integer({ minimum: 10, maximum: 12 }),
    c: Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 5 }),
    d: Type.Integer({ multipleOf: 25, minimum: 100 }),
  }),
  strings: Type.Object({
    email: Type.String({ format: 'email' }),
    day: Type.String({ format: 'date' }),
    id: Type.String({ format: 'uuid' }),
    long: Type.String({ minLength: 40 }),
    short: Type.String({ maxLength: 2 }),
    code: Type.String({ pattern: '^[A-Z]{3}$', examples: ['ABC'] }),
  }),
  choices: Type.Object({
    literal: Type.Literal('x'),
    union: Type.Union([Type.Literal('a'), Type.Literal('b')]),
    either: Type.Union([Type.Object({ kind: Type.Literal('one') }), Type.Null()]),
    flag: Type.Boolean(),
    nothing: Type.Null(),
  }),
  nested: Type.Object({
    list: Type.Array(Type.Object({ n: Type.Integer() }), { minItems: 3 }),
    pair: Type.Tuple([Type.String(), Type.Number()]),
    record: Type.Record(Type.String(), Type.Number()),
    both: Type.Intersect([Type.Object({ a: Type.Number() }), Type.Object({ b: Type.String() })]),
    anything: Type.Unknown(),
  }),
  'a type that holds itself': Type.Object({
    root: Type.Recursive((This) =>
      Type.Object({ value: Type.Integer(), children: Type.Array(This) }),
    ),
  }),
  'types of a module': Type.Object({
    line: Type.Module({
      Sku: Type.String({ examples: ['MUG-001'] }),
      Line: Type.Object({ sku: Type.Ref('Sku'), next: Type.Array(Type.Ref('Sku')) }),
    }).Import('Line'),
  }),
};

function exampleOf(schema: TSchema): unknown {
  return exampleParams(readTypeBox(schema, 'a schema', false));
}

describe('the example of params', () => {
  for (const [kind, params] of Object.entries(schemas)) {
    it(`is accepted by the procedure: ${kind}`, () => {
      const router = new Router();
      const name = 'procedure';
      router.rpc({ name, params }, () => null);
      const example = exampleOf(params) as object;
      assert.deepEqual(Object.keys(example), Object.keys(params.properties));
      assert.doesNotThrow(() => router.get(name)?.bindParams(example));
    });
  }

  it('tells arguments of one type apart, and leaves optional ones out', () => {
    const optional = Type.Optional(Type.Number());
    const params = Type.Object({ a: Type.Number(), b: Type.Number(), c: optional });
    assert.deepEqual(exampleOf(params), { a: 2, b: 3 });
  });

  it('has what is declared: an example, else a default', () => {
    const size = Type.Integer({ default: 10 });
    const word = Type.String({ default: 'tee', examples: ['mug'] });
    assert.deepEqual(exampleOf(Type.Object({ size, word })), { size: 10, word: 'mug' });
  });

  it('is there if no value is known that fits, or none exists', () => {
    const code = Type.String({ pattern: '^[0-9]{7}Z$' });
    assert.deepEqual(exampleOf(Type.Object({ code })), { code: 'hello' });
    const Endless = Type.Recursive((This) => Type.Object({ next: This }));
    assert.match(JSON.stringify(exampleOf(Endless)), /^(\{"next":)+null\}+$/);
  });
});

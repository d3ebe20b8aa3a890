/** What the facade knows of one procedure: which have URLs, their methods, how their params are read, what they return. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Kind, type TSchema, TypeRegistry } from '@sinclair/typebox';
import { z } from 'zod';
import {
  describedProcedure,
  describeProcedure,
} from '../../src/core/procedures/document/introspect.ts';
import type { ProcedureOptions } from '../../src/core/procedures/types.ts';
import { type Operation, Operations } from '../../src/extras/openapi/operation.ts';
import type { ParamKinds } from '../../src/extras/openapi/query.ts';
import { procedure, Type } from '../../src/index.ts';

/** As it is in its own process, and as a gateway has it: both must know the same. */
function operation(options: ProcedureOptions, handler: () => unknown = () => 1): Operation {
  const own = procedure({ ...options, name: 'p' } as { name: string }, handler);
  const described = describedProcedure(JSON.parse(JSON.stringify(describeProcedure(own))));
  const [here, there] = [own, described].map(
    (each) => new Operations(new Map([['p', each]]), [], false).find('p') ?? assert.fail(),
  );
  assert.ok(here && there);
  const { procedure: _own, ...facts } = here;
  const { procedure: _described, ...others } = there;
  assert.deepEqual(shown(others), shown(facts));
  return here;
}

function shown({ params, others, ...facts }: Omit<Operation, 'procedure'>): unknown {
  return {
    ...facts,
    params: [...params].map(([name, one]) => [name, text(one)]),
    others: others && text(others),
  };
}

/** `string|number`, `array<integer>`. */
function text({ kinds, items }: ParamKinds, depth = 0): string {
  const inside = items === undefined || depth > 2 ? '' : `<${text(items, depth + 1)}>`;
  const words = [...kinds].sort().map((kind) => (kind === 'array' ? `array${inside}` : kind));
  return words.join('|');
}

const scalars = 'boolean|null|number|object|string';

const any = `array<array<array<array|${scalars}>|${scalars}>|${scalars}>|${scalars}`;

describe('the kinds of a param', () => {
  const Node = Type.Recursive((This) => Type.Object({ next: Type.Optional(This) }), {
    $id: 'Node',
  });
  const Many = Type.Recursive((This) => Type.Union([Type.String(), Type.Array(This)]));
  const cases: readonly (readonly [TSchema, string, isFlat: boolean])[] = [
    [Type.String(), 'string', true],
    [Type.Integer(), 'number', true],
    [Type.Boolean({ default: true }), 'boolean', true],
    [Type.Literal(1), 'number', true],
    [Type.Union([Type.Literal('a'), Type.Literal(2), Type.Null()]), 'null|number|string', true],
    [Type.Union([Type.Integer(), Type.Null()]), 'null|number', true],
    [Type.Union([Type.String(), Type.Number()]), 'number|string', true],
    [Type.Enum({ a: 'x', b: 'y' }), 'string', true],
    [Type.Unsafe<string>({ ...Type.String(), enum: ['a', 'b'] }), 'string', true],
    [Type.Array(Type.Integer()), 'array<number>', true],
    [Type.Array(Type.Union([Type.String(), Type.Null()])), 'array<null|string>', true],
    [Type.Tuple([Type.Number(), Type.String()]), 'array<number|string>', true],
    [Type.Array(Type.Array(Type.String())), 'array<array<string>>', false],
    [Type.Union([Type.Array(Type.String()), Type.Null()]), 'array<string>|null', false],
    [Type.Union([Type.String(), Type.Array(Type.String())]), 'array<string>|string', false],
    [Type.Object({ lat: Type.Number() }), 'object', false],
    [Type.Array(Type.Object({})), 'array<object>', false],
    [Type.Record(Type.String(), Type.Number()), 'object', false],
    [Type.Intersect([Type.Object({}), Type.Object({})]), 'object', false],
    [Type.Intersect([Type.Union([Type.String(), Type.Number()]), Type.String()]), 'string', true],
    [Type.Unknown(), any, false],
    [Type.Any(), any, false],
    [Type.Never(), '', true],
    [Node, 'object', false],
    [Many, 'array<array<array<array|string>|string>|string>|string', false],
    [Type.String({ format: 'date-time' }), 'string', true],
    [Type.Base64(), 'string', true],
  ];

  test('are what its schema allows, through references, unions and intersections', () => {
    for (const [schema, expected, isFlat] of cases) {
      const { params } = operation({ params: Type.Object({ x: schema }) });
      const one = params.get('x') ?? assert.fail();
      assert.equal(text(one), expected, JSON.stringify(schema));
      assert.equal(one.isFlat, isFlat, JSON.stringify(schema));
    }
  });

  test('of kinds of the program are what their notes say', () => {
    TypeRegistry.Set('Even', (_schema, value) => Number(value) % 2 === 0);
    for (const [notes, expected] of [
      [{ type: 'integer' }, 'number'],
      [{ type: ['integer', 'null'] }, 'null|number'],
      [{ enum: [2, '4'] }, 'number|string'],
      [{}, any],
    ] as const) {
      const x = { ...notes, [Kind]: 'Even' } as unknown as TSchema;
      const { params } = operation({ params: Type.Object({ x }) });
      assert.equal(text(params.get('x') ?? assert.fail()), expected);
    }
  });

  test('of other libraries are read from their JSON Schema', () => {
    const { params, others } = operation({
      params: z.object({
        a: z.enum(['x', 'y']).nullable(),
        b: z.array(z.int()),
        c: z.literal([1, 'z']),
      }),
    });
    assert.deepEqual(
      [...params].map(([name, one]) => `${name} ${text(one)}`),
      ['a null|string', 'b array<number>', 'c number|string'],
    );
    assert.equal(others, undefined);
  });

  test('of other names are there where those are allowed', () => {
    assert.equal(operation({ params: Type.Object({}) }).others, undefined);
    const rest = operation({ params: Type.Object({}, { additionalProperties: Type.Integer() }) });
    assert.equal(rest.others && text(rest.others), 'number');
    for (const open of [{}, { params: Type.Object({}, { additionalProperties: true }) }]) {
      const { others } = operation(open);
      assert.equal(others && text(others), any);
    }
  });
});

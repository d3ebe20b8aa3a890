/** Equal schemas of the four libraries, generated from plain data. */
import { type TSchema, Type } from '@sinclair/typebox';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type Type as ArkType, type } from 'arktype';
import fc from 'fast-check';
import * as v from 'valibot';
import { z } from 'zod';

/** A schema as data, of what all four libraries have. */
export type Recipe =
  | {
      readonly kind: 'string' | 'number' | 'integer';
      readonly least?: number;
      readonly most?: number;
    }
  | { readonly kind: 'boolean' | 'null' | 'unknown' }
  | { readonly kind: 'literals'; readonly values: readonly (string | number)[] }
  | { readonly kind: 'array'; readonly of: Recipe; readonly least?: number; readonly most?: number }
  | { readonly kind: 'tuple' | 'union'; readonly of: readonly Recipe[] }
  | { readonly kind: 'record'; readonly of: Recipe }
  | ObjectRecipe;

export interface ObjectRecipe {
  readonly kind: 'object';
  readonly members: Readonly<
    Record<string, { readonly of: Recipe; readonly isOptional?: boolean }>
  >;
}

type Limits = { readonly least?: number | undefined; readonly most?: number | undefined };

/** How a library writes each kind. Objects take no undeclared members. */
interface Builders<Schema> {
  text(limits: Limits): Schema;
  number(limits: Limits & { readonly isInteger: boolean }): Schema;
  readonly boolean: Schema;
  readonly null: Schema;
  readonly unknown: Schema;
  literals(values: readonly (string | number)[]): Schema;
  array(of: Schema, limits: Limits): Schema;
  tuple(of: readonly Schema[]): Schema;
  union(of: readonly Schema[]): Schema;
  record(of: Schema): Schema;
  object(members: readonly (readonly [name: string, of: Schema, isOptional: boolean])[]): Schema;
}

function build<Schema>(recipe: Recipe, by: Builders<Schema>): Schema {
  switch (recipe.kind) {
    case 'string':
      return by.text(recipe);
    case 'number':
    case 'integer':
      return by.number({ ...recipe, isInteger: recipe.kind === 'integer' });
    case 'boolean':
    case 'null':
    case 'unknown':
      return by[recipe.kind];
    case 'literals':
      return by.literals(recipe.values);
    case 'array':
      return by.array(build(recipe.of, by), recipe);
    case 'tuple':
    case 'union':
      return by[recipe.kind](recipe.of.map((one) => build(one, by)));
    case 'record':
      return by.record(build(recipe.of, by));
    case 'object':
      return by.object(
        Object.entries(recipe.members).map(([name, { of, isOptional = false }]) => [
          name,
          build(of, by),
          isOptional,
        ]),
      );
  }
}

function defined(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

const typebox: Builders<TSchema> = {
  text: ({ least, most }) => Type.String(defined({ minLength: least, maxLength: most })),
  number: ({ least, most, isInteger }) =>
    Type[isInteger ? 'Integer' : 'Number'](defined({ minimum: least, maximum: most })),
  boolean: Type.Boolean(),
  null: Type.Null(),
  unknown: Type.Unknown(),
  literals: (values) => Type.Union(values.map((value) => Type.Literal(value))),
  array: (of, { least, most }) => Type.Array(of, defined({ minItems: least, maxItems: most })),
  tuple: (of) => Type.Tuple([...of]),
  union: (of) => Type.Union([...of]),
  record: (of) => Type.Record(Type.String(), of),
  object: (members) =>
    Type.Object(
      Object.fromEntries(
        members.map(([name, of, isOptional]) => [name, isOptional ? Type.Optional(of) : of]),
      ),
      { additionalProperties: false },
    ),
};

const ofZod: Builders<z.ZodType> = {
  text: ({ least, most }) => {
    const text = least === undefined ? z.string() : z.string().min(least);
    return most === undefined ? text : text.max(most);
  },
  number: ({ least, most, isInteger }) => {
    const all = isInteger ? z.number().int() : z.number();
    const from = least === undefined ? all : all.min(least);
    return most === undefined ? from : from.max(most);
  },
  boolean: z.boolean(),
  null: z.null(),
  unknown: z.unknown(),
  literals: (values) => z.literal([...values]),
  array: (of, { least, most }) => {
    const all = least === undefined ? z.array(of) : z.array(of).min(least);
    return most === undefined ? all : all.max(most);
  },
  tuple: (of) => z.tuple([...of] as [z.ZodType, ...z.ZodType[]]),
  union: (of) => z.union([...of]),
  record: (of) => z.record(z.string(), of),
  object: (members) =>
    z.strictObject(
      Object.fromEntries(
        members.map(([name, of, isOptional]) => [name, isOptional ? of.optional() : of]),
      ),
    ),
};

type Valibot = v.GenericSchema;

const ofValibot: Builders<Valibot> = {
  text: ({ least, most }) => {
    const text: v.GenericSchema<string> =
      least === undefined ? v.string() : v.pipe(v.string(), v.minLength(least));
    return most === undefined ? text : v.pipe(text, v.maxLength(most));
  },
  number: ({ least, most, isInteger }) => {
    const all: v.GenericSchema<number> = isInteger ? v.pipe(v.number(), v.integer()) : v.number();
    const from = least === undefined ? all : v.pipe(all, v.minValue(least));
    return most === undefined ? from : v.pipe(from, v.maxValue(most));
  },
  boolean: v.boolean(),
  null: v.null(),
  unknown: v.unknown(),
  literals: (values) => v.picklist([...values]),
  array: (of, { least, most }) => {
    const all: v.GenericSchema<unknown[]> =
      least === undefined ? v.array(of) : v.pipe(v.array(of), v.minLength(least));
    return most === undefined ? all : v.pipe(all, v.maxLength(most));
  },
  tuple: (of) => v.strictTuple([...of]),
  union: (of) => v.union([...of]),
  record: (of) => v.record(v.string(), of),
  object: (members) =>
    v.strictObject(
      Object.fromEntries(
        members.map(([name, of, isOptional]) => [name, isOptional ? v.optional(of) : of]),
      ),
    ),
};

/** arktype's own types are computed of the text of a definition: here it is data. */
const define = type as unknown as (definition: unknown) => ArkType<unknown>;

/** A bound on the left side of a name needs one on the right. */
function range(what: string, { least, most }: Limits): string {
  if (least === undefined) return most === undefined ? what : `${what} <= ${most}`;
  return most === undefined ? `${what} >= ${least}` : `${least} <= ${what} <= ${most}`;
}

const ofArk: Builders<ArkType<unknown>> = {
  text: (limits) => define(range('string', limits)),
  number: ({ isInteger, ...limits }) =>
    define(range(isInteger ? 'number.integer' : 'number', limits)),
  boolean: define('boolean'),
  null: define('null'),
  unknown: define('unknown'),
  literals: (values) => define(['===', ...values]),
  array: (of, { least, most }) => {
    const from = least === undefined ? of.array() : of.array().atLeastLength(least);
    return most === undefined ? from : from.atMostLength(most);
  },
  tuple: (of) => define([...of]),
  union: (of) => of.reduce((all, one) => all.or(one) as ArkType<unknown>),
  record: (of) => define({ '[string]': of }),
  object: (members) =>
    define({
      '+': 'reject',
      ...Object.fromEntries(
        members.map(([name, of, isOptional]) => [isOptional ? `${name}?` : name, of]),
      ),
    }),
};

/** The same schema as each library writes it. */
export function librariesOf(recipe: ObjectRecipe) {
  return {
    typebox: build(recipe, typebox),
    zod: build(recipe, ofZod),
    valibot: toStandardJsonSchema(build(recipe, ofValibot)),
    arktype: build(recipe, ofArk),
  };
}

const count = fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined, freq: 2 });
const limits = fc
  .record({
    least: count,
    most: fc.option(fc.integer({ min: 2, max: 4 }), { nil: undefined, freq: 2 }),
  })
  .map(defined);
const names = ['a', 'b', 'id', 'x-y'];

const { recipe } = fc.letrec<{ recipe: Recipe }>((tie) => {
  const of = tie('recipe');
  return {
    recipe: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc
        .tuple(fc.constantFrom('string' as const, 'number' as const, 'integer' as const), limits)
        .map(([kind, some]) => ({ kind, ...some })),
      fc.record({ kind: fc.constantFrom('boolean' as const, 'null' as const, 'unknown' as const) }),
      fc
        .subarray(['a', 'ab', 1, 2], { minLength: 1 })
        .map((values) => ({ kind: 'literals' as const, values })),
      fc.tuple(of, limits).map(([one, some]) => ({ kind: 'array' as const, of: one, ...some })),
      fc.record({
        kind: fc.constantFrom('tuple' as const, 'union' as const),
        of: fc.array(of, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ kind: fc.constant('record' as const), of }),
      { weight: 3, arbitrary: objectOf(of) },
    ),
  };
});

function objectOf(of: fc.Arbitrary<Recipe>): fc.Arbitrary<ObjectRecipe> {
  const member = fc.record({ of, isOptional: fc.boolean() });
  const members = fc.dictionary(fc.constantFrom(...names), member, {
    maxKeys: 3,
    noNullPrototype: true,
  });
  return fc.record({ kind: fc.constant('object' as const), members });
}

/** Any schema of params. */
export const recipes: fc.Arbitrary<ObjectRecipe> = objectOf(recipe);

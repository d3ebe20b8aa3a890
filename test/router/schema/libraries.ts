/** Equal schemas of the four libraries, generated. */
import { type TSchema, Type } from '@sinclair/typebox';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type Type as ArkType, type } from 'arktype';
import fc from 'fast-check';
import * as v from 'valibot';
import { z } from 'zod';

/** One schema, as each library writes it. */
interface Libraries {
  readonly typebox: TSchema;
  readonly zod: z.ZodType;
  readonly valibot: v.GenericSchema;
  readonly arktype: ArkType<unknown>;
}

interface Limits {
  readonly least?: number | undefined;
  readonly most?: number | undefined;
}

/** arktype's own types are computed of the text of a definition: here it is data. */
const ark = type as unknown as (definition: unknown) => ArkType<unknown>;

function defined(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** A schema of zod within limits. */
function within<T extends { min(least: number): T; max(most: number): T }>(
  all: T,
  { least, most }: Limits,
): T {
  const from = least === undefined ? all : all.min(least);
  return most === undefined ? from : from.max(most);
}

/** A definition of arktype within limits: a bound on the left side of a name needs one on the right. */
function range(what: string, { least, most }: Limits): ArkType<unknown> {
  if (least !== undefined && most !== undefined) return ark(`${least} <= ${what} <= ${most}`);
  if (least !== undefined) return ark(`${what} >= ${least}`);
  return ark(most === undefined ? what : `${what} <= ${most}`);
}

function textOf({ least, most }: Limits): Libraries {
  const from: v.GenericSchema<string> =
    least === undefined ? v.string() : v.pipe(v.string(), v.minLength(least));
  return {
    typebox: Type.String(defined({ minLength: least, maxLength: most })),
    zod: within(z.string(), { least, most }),
    valibot: most === undefined ? from : v.pipe(from, v.maxLength(most)),
    arktype: range('string', { least, most }),
  };
}

function numberOf({ least, most }: Limits, isInteger: boolean): Libraries {
  const all: v.GenericSchema<number> = isInteger ? v.pipe(v.number(), v.integer()) : v.number();
  const from = least === undefined ? all : v.pipe(all, v.minValue(least));
  return {
    typebox: Type[isInteger ? 'Integer' : 'Number'](defined({ minimum: least, maximum: most })),
    zod: within(isInteger ? z.number().int() : z.number(), { least, most }),
    valibot: most === undefined ? from : v.pipe(from, v.maxValue(most)),
    arktype: range(isInteger ? 'number.integer' : 'number', { least, most }),
  };
}

function arrayOf({ typebox, zod, valibot, arktype }: Libraries, { least, most }: Limits) {
  const all: v.GenericSchema<unknown[]> = v.array(valibot);
  const from = least === undefined ? all : v.pipe(all, v.minLength(least));
  const arks = least === undefined ? arktype.array() : arktype.array().atLeastLength(least);
  return {
    typebox: Type.Array(typebox, defined({ minItems: least, maxItems: most })),
    zod: within(z.array(zod), { least, most }),
    valibot: most === undefined ? from : v.pipe(from, v.maxLength(most)),
    arktype: most === undefined ? arks : arks.atMostLength(most),
  };
}

type Member = readonly [name: string, member: { readonly of: Libraries; isOptional: boolean }];

/** An object that takes no undeclared members. */
function objectOf(members: readonly Member[]): Libraries {
  const each = <T>(entry: (name: string, of: Libraries, isOptional: boolean) => [string, T]) =>
    Object.fromEntries(members.map(([name, { of, isOptional }]) => entry(name, of, isOptional)));
  return {
    typebox: Type.Object(
      each((name, { typebox }, isOptional) => [
        name,
        isOptional ? Type.Optional(typebox) : typebox,
      ]),
      { additionalProperties: false },
    ),
    zod: z.strictObject(
      each((name, { zod }, isOptional) => [name, isOptional ? zod.optional() : zod]),
    ),
    valibot: v.strictObject(
      each((name, { valibot }, isOptional) => [name, isOptional ? v.optional(valibot) : valibot]),
    ),
    arktype: ark({
      '+': 'reject',
      ...each((name, { arktype }, isOptional) => [isOptional ? `${name}?` : name, arktype]),
    }),
  };
}

const plain: readonly Libraries[] = [
  { typebox: Type.Boolean(), zod: z.boolean(), valibot: v.boolean(), arktype: ark('boolean') },
  { typebox: Type.Null(), zod: z.null(), valibot: v.null(), arktype: ark('null') },
  { typebox: Type.Unknown(), zod: z.unknown(), valibot: v.unknown(), arktype: ark('unknown') },
];

const maybe = (min: number, max: number) =>
  fc.option(fc.integer({ min, max }), { nil: undefined, freq: 2 });
const limits: fc.Arbitrary<Limits> = fc.record({ least: maybe(0, 2), most: maybe(2, 4) });

const { object } = fc.letrec<{ any: Libraries; object: Libraries }>((tie) => {
  const of = tie('any');
  const list = fc.array(of, { minLength: 1, maxLength: 3 });
  const member = fc.record({ of, isOptional: fc.boolean() });
  return {
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      limits.map(textOf),
      fc.tuple(limits, fc.boolean()).map(([some, isInteger]) => numberOf(some, isInteger)),
      fc.constantFrom(...plain),
      fc.subarray(['a', 'ab', 1, 2], { minLength: 1 }).map((values) => ({
        typebox: Type.Union(values.map((value) => Type.Literal(value))),
        zod: z.literal(values),
        valibot: v.picklist(values),
        arktype: ark(['===', ...values]),
      })),
      fc.tuple(of, limits).map(([one, some]) => arrayOf(one, some)),
      list.map((all) => ({
        typebox: Type.Tuple(all.map(({ typebox }) => typebox)),
        zod: z.tuple(all.map(({ zod }) => zod) as [z.ZodType, ...z.ZodType[]]),
        valibot: v.strictTuple(all.map(({ valibot }) => valibot)),
        arktype: ark(all.map(({ arktype }) => arktype)),
      })),
      list.map((all) => ({
        typebox: Type.Union(all.map(({ typebox }) => typebox)),
        zod: z.union(all.map(({ zod }) => zod)),
        valibot: v.union(all.map(({ valibot }) => valibot)),
        arktype: all
          .map(({ arktype }) => arktype)
          .reduce((one, other) => one.or(other) as ArkType<unknown>),
      })),
      of.map(({ typebox, zod, valibot, arktype }) => ({
        typebox: Type.Record(Type.String(), typebox),
        zod: z.record(z.string(), zod),
        valibot: v.record(v.string(), valibot),
        arktype: ark({ '[string]': arktype }),
      })),
      { weight: 3, arbitrary: tie('object') },
    ),
    object: fc
      .dictionary(fc.constantFrom('a', 'b', 'id', 'x-y'), member, {
        maxKeys: 3,
        noNullPrototype: true,
      })
      .map((members) => objectOf(Object.entries(members))),
  };
});

/** Any schema of params. */
export const libraries = object.map(({ valibot, ...others }) => ({
  ...others,
  valibot: toStandardJsonSchema(valibot),
  // What a failure shows.
  [fc.toStringMethod]: () => JSON.stringify(others.typebox),
}));

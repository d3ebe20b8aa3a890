import type {
  OptionalKind,
  Static,
  TArray,
  TIntersect,
  TObject,
  TProperties,
  TSchema,
  TTuple,
  TUnion,
} from '@sinclair/typebox';
import type { filled } from './filled.ts';
import type { Shape } from './shape.ts';
import type { StandardSchema } from './standard.ts';

// The types of the two sides of a schema: what a caller sends, and what a handler gets. They differ by defaults
// (Type.Number({ default: 1 })) and, in schemas of other libraries, by transformations.

/** What the results of a procedure are declared with. */
export type ResultSchema = TSchema | StandardSchema;

type TypesOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>;

/** The type of a handler's params; any object where none are declared. */
export type ParamsOf<Params> = [Params] extends [TSchema]
  ? Params['static']
  : [Params] extends [StandardSchema]
    ? TypesOf<Params>['output']
    : [Params] extends [Shape]
      ? TObject<Mutable<Params>>['static']
      : Record<string, unknown>;

/** The type of a result that a handler may return; any type where none is declared. */
export type ResultOf<Returns> = [Returns] extends [TSchema]
  ? Static<Returns>
  : [Returns] extends [StandardSchema]
    ? TypesOf<Returns>['output']
    : unknown;

/** The type of a result as its caller gets it. */
export type ReceivedOf<Returns> = [Returns] extends [TSchema]
  ? Returns['static']
  : [Returns] extends [StandardSchema]
    ? TypesOf<Returns>['output']
    : unknown;

/** What a caller sends: members with a default may be left out. */
export type Input<Params> = [Params] extends [TSchema]
  ? SchemaInput<Params>
  : [Params] extends [StandardSchema]
    ? TypesOf<Params>['input']
    : [Params] extends [Shape]
      ? MembersInput<Mutable<Params>>
      : Record<string, unknown>;

type Mutable<S extends Shape> = { -readonly [K in keyof S as K extends string ? K : never]: S[K] };

type SchemaInput<S> =
  S extends TObject<infer P>
    ? MembersInput<P>
    : S extends TArray<infer Item>
      ? SchemaInput<Item>[]
      : S extends TUnion<infer Variants>
        ? SchemaInput<Variants[number]>
        : S extends TTuple<infer Items>
          ? { [Index in keyof Items]: SchemaInput<Items[Index]> }
          : S extends TIntersect<infer Parts>
            ? AllInputs<Parts>
            : S extends TSchema
              ? Static<S>
              : never;

type AllInputs<Parts extends readonly unknown[]> = Parts extends readonly [
  infer First,
  ...infer Rest,
]
  ? SchemaInput<First> & AllInputs<Rest>
  : unknown;

type IsLeft<S> = S extends { readonly [filled]: true } | { [OptionalKind]: 'Optional' }
  ? true
  : false;

type MembersInput<P extends TProperties> = {
  [K in keyof P as IsLeft<P[K]> extends true ? never : K]: SchemaInput<P[K]>;
} & {
  [K in keyof P as IsLeft<P[K]> extends true ? K : never]?: SchemaInput<P[K]>;
} extends infer Members
  ? { [K in keyof Members]: Members[K] }
  : never;

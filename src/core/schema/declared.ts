import type {
  Kind,
  OptionalKind,
  Static,
  TArray,
  TIntersect,
  TObject,
  TProperties,
  TSchema,
  TTuple,
  TUnion,
  TVoid,
} from '@sinclair/typebox';
import { RegistrationError } from '../base/registration-error.ts';
import { isPlain } from '../base/value-kinds.ts';
import type { filled } from './type.ts';
import { kindOf } from './typebox.ts';

/**
 * A schema of another library: zod 4.2 and later, arktype, valibot with `toStandardJsonSchema`. What the two
 * specifications of https://standardschema.dev name, validation and JSON Schema.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema: {
      readonly input: (options: JsonSchemaOptions) => Record<string, unknown>;
      readonly output: (options: JsonSchemaOptions) => Record<string, unknown>;
    };
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

interface JsonSchemaOptions {
  readonly target: 'draft-07' | 'draft-2020-12';
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Also a function: arktype's types are. */
export function isStandard(value: unknown): value is StandardSchema {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    typeof (value as Partial<StandardSchema>)['~standard'] === 'object'
  );
}

/** Members with the schema of each: `{ id: Type.String() }` instead of `Type.Object({ id: Type.String() })`. */
export type Shape = { readonly [name: string]: TSchema } & {
  // A schema is an object of members too: without this, Type.String() would be a shape.
  readonly [Kind]?: never;
};

/** What the params of a procedure are declared with. */
export type ParamsSchema = TObject | Shape | StandardSchema;

export const paramsForms =
  'a TypeBox object (Type.Object({...}) or model({...})), an object of schemas, or a schema of zod 4.2 and later, arktype, or valibot with toStandardJsonSchema';

export function isShape(declared: object): declared is Shape {
  return kindOf(declared as TSchema) === undefined && isPlain(declared);
}

/** @throws RegistrationError for a member that is no schema of TypeBox */
export function assertShape(shape: Shape, where: string): void {
  for (const [name, member] of Object.entries(shape)) {
    if (typeof member === 'object' && member !== null && kindOf(member) !== undefined) continue;
    const hint = isStandard(member)
      ? "take the library's own object, such as z.object({...}), for all of them"
      : 'build each with Type, imported from tandem-rpc';
    throw new RegistrationError(
      `${where}: ${JSON.stringify(name.slice(0, 64))} is no TypeBox schema in this object of schemas: ${hint}`,
    );
  }
}

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

/**
 * What JSON makes of `T`: a date is text, a member that may be undefined is optional, `toJSON` is honoured, functions and
 * symbols are left out. A type that JSON leaves as it is keeps its name.
 */
export type JsonOf<T> = Part<T, 'result'>;

/** Stands in a result for what JSON can't carry, so that a caller who uses it is told. Exists only in types. */
export interface JsonCannotCarry<What extends string> {
  readonly '~cannot': What;
}

/** What JSON.stringify leaves out of an object, and writes as null into an array. */
type Omitted = symbol | ((...args: never) => unknown) | (abstract new (...args: never) => unknown);

/** What a function without a result returns. */
export type Nothing = undefined | Static<TVoid>;

/** Type aliases and inferred types of JSON values, which are told by one comparison. No interface is among them. */
type Plain =
  | string
  | number
  | boolean
  | null
  | readonly Plain[]
  | { readonly [name: string]: Plain };

type Binary = ArrayBufferView | ArrayBuffer | SharedArrayBuffer;
type Lost =
  | bigint
  | Omitted
  | Binary
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | PromiseLike<unknown>;

type Refused<T> = T extends bigint
  ? JsonCannotCarry<'a bigint: return a string'>
  : T extends symbol
    ? JsonCannotCarry<'a symbol'>
    : T extends Omitted
      ? JsonCannotCarry<'a function'>
      : T extends Binary
        ? JsonCannotCarry<'bytes: declare Type.Base64() in returns'>
        : T extends ReadonlyMap<unknown, unknown>
          ? JsonCannotCarry<'a Map: return Object.fromEntries(map)'>
          : T extends ReadonlySet<unknown>
            ? JsonCannotCarry<'a Set: return [...set]'>
            : JsonCannotCarry<'a promise: await it'>;

/**
 * @typeParam Mode `result`: what JSON makes of `T`. `check`: `T` itself if JSON leaves it as it is, else a type that `T` is not
 * assignable to. Two modes, since a type that holds itself can't ask for its own result.
 */
type Part<T, Mode extends 'result' | 'check'> = unknown extends T
  ? T
  : T extends Plain | Nothing
    ? T
    : T extends Lost
      ? Refused<T>
      : T extends { toJSON(...args: never): infer Json }
        ? Mode extends 'check'
          ? never
          : Kept<Json, Mode>
        : Kept<T, Mode>;

type Kept<T, Mode extends 'result' | 'check'> = T extends readonly unknown[]
  ? Items<T, Mode>
  : T extends object
    ? Mode extends 'check'
      ? CheckedMembers<T>
      : [T] extends [CheckedMembers<T>]
        ? T
        : Members<T>
    : T;

/** `Item<V>[]` can hold itself, since the compiler looks into it only when it is used. A mapped tuple can't. */
type Items<T extends readonly unknown[], Mode extends 'result' | 'check'> = T extends (infer V)[]
  ? V[] extends T
    ? Item<V, Mode>[]
    : { [Index in keyof T]: Item<T[Index], Mode> }
  : readonly T[number][] extends T
    ? readonly Item<T[number], Mode>[]
    : { [Index in keyof T]: Item<T[Index], Mode> };

type Item<T, Mode extends 'result' | 'check'> = unknown extends T
  ? T
  : T extends Nothing | Omitted
    ? null
    : Part<T, Mode>;

type CheckedMembers<T> = [Fate<T, keyof T>] extends ['kept']
  ? { [Name in keyof T]: Part<T[Name], 'check'> }
  : never;

type Members<T> = [Fate<T, keyof T>] extends ['kept']
  ? { [Name in keyof T]: Part<T[Name], 'result'> }
  : Flat<
      {
        [Name in keyof T as Fate<T, Name> extends 'kept' ? Name : never]: Part<T[Name], 'result'>;
      } & {
        [Name in keyof T as Fate<T, Name> extends 'optional' ? Name : never]?: Part<
          Exclude<T[Name], Nothing | Omitted>,
          'result'
        >;
      }
    >;

type Flat<Both> = Both extends unknown ? { [Name in keyof Both]: Both[Name] } : never;

type Fate<T, Name extends keyof T> = Name extends symbol
  ? 'gone'
  : unknown extends T[Name]
    ? 'kept'
    : [Extract<T[Name], Omitted | Nothing>] extends [never]
      ? 'kept'
      : [Extract<T[Name], Omitted>] extends [never]
        ? Record<never, never> extends Pick<T, Name>
          ? 'kept'
          : 'optional'
        : [Exclude<T[Name], Omitted | Nothing>] extends [never]
          ? 'gone'
          : 'optional';

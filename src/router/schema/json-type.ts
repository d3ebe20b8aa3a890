import type { Static, TVoid } from '@sinclair/typebox';

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

/** What becomes of a member. */
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

import {
  type ArrayOptions,
  type IntegerOptions,
  type JavaScriptTypeBuilder,
  type NumberOptions,
  type ObjectOptions,
  type SchemaOptions,
  type StringOptions,
  type TArray,
  type TBoolean,
  type TInteger,
  type TLiteral,
  type TLiteralValue,
  type TNumber,
  type TObject,
  type TOptional,
  type TOptionalWithFlag,
  type TProperties,
  type TSchema,
  type TString,
  type TUnion,
  Type as TypeBox,
} from '@sinclair/typebox';
import { type Base64Options, base64, type TBase64 } from './bytes.ts';
import type { Filled } from './filled.ts';

interface HasDefault {
  default: NonNullable<unknown> | null;
}

/**
 * TypeBox's own `Type`, with the types that only procedures have. A schema with a default says so in its type: callers may
 * leave the member out, and handlers always have it, `Type.Optional` or not.
 */
export interface TypeBuilder extends JavaScriptTypeBuilder {
  /** Bytes: base64 text in JSON, a Uint8Array for the handler. */
  Base64(options?: Base64Options): TBase64;

  String(options: StringOptions & HasDefault): Filled<TString>;
  String(options?: StringOptions): TString;
  Number(options: NumberOptions & HasDefault): Filled<TNumber>;
  Number(options?: NumberOptions): TNumber;
  Integer(options: IntegerOptions & HasDefault): Filled<TInteger>;
  Integer(options?: IntegerOptions): TInteger;
  Boolean(options: SchemaOptions & HasDefault): Filled<TBoolean>;
  Boolean(options?: SchemaOptions): TBoolean;
  Literal<const T extends TLiteralValue>(
    value: T,
    options: SchemaOptions & HasDefault,
  ): Filled<TLiteral<T>>;
  Literal<const T extends TLiteralValue>(value: T, options?: SchemaOptions): TLiteral<T>;
  Array<T extends TSchema>(items: T, options: ArrayOptions & HasDefault): Filled<TArray<T>>;
  Array<T extends TSchema>(items: T, options?: ArrayOptions): TArray<T>;
  Object<T extends TProperties>(
    properties: T,
    options: ObjectOptions & HasDefault,
  ): Filled<TObject<T>>;
  Object<T extends TProperties>(properties: T, options?: ObjectOptions): TObject<T>;
  Union<T extends [TSchema, TSchema, ...TSchema[]]>(
    types: [...T],
    options: SchemaOptions & HasDefault,
  ): Filled<TUnion<T>>;
  Union<T extends TSchema[]>(
    types: [...T],
    options?: SchemaOptions,
  ): ReturnType<typeof TypeBox.Union<T>>;
  Optional<T extends Filled<TSchema>>(schema: T): T;
  Optional<T extends TSchema>(schema: T, enable: true): TOptional<T>;
  Optional<T extends TSchema>(schema: T): TOptionalWithFlag<T, true>;
}

// The overloads say more of the types than TypeBox does: the functions are TypeBox's own. Copied, not inherited: Node 26
// refuses to assign to an object whose prototype is a module namespace.
export const Type = Object.assign({ Base64: base64 }, TypeBox) as TypeBuilder;

import {
  type ArrayOptions,
  type IntegerOptions,
  type JavaScriptTypeBuilder,
  Kind,
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
  TypeRegistry,
} from '@sinclair/typebox';
import { type Bytes, base64Length, bytesFit } from './bytes.ts';

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

/** Exists only in types: marks a schema that has a default. */
export declare const filled: unique symbol;

/** A schema with a default: a caller may leave the member out, a handler always gets it. */
export type Filled<S extends TSchema> = S & { readonly [filled]: true };

/** A TypeBox object that refuses unknown members. `Static<typeof M>` is its type. */
export function model<Properties extends TProperties>(
  properties: Properties,
  options: ObjectOptions = {},
): TObject<Properties> {
  return TypeBox.Object(properties, { additionalProperties: false, ...options });
}

/** The kind of {@link base64} schemas. */
export const bytesKind = 'Base64';

export interface Base64Options {
  /** Most bytes. */
  readonly maxBytes?: number;
  /** What the bytes are, e.g. `image/png`: shown in the documents, not checked. */
  readonly mediaType?: string;
  readonly description?: string;
  readonly title?: string;
}

/** Bytes that travel as base64 text. A handler takes and returns them as a Uint8Array. */
export interface TBase64 extends TSchema {
  [Kind]: typeof bytesKind;
  // `TBase64['static']` is what comes, `Static<TBase64>` what is sent, which sets params: there any Uint8Array is taken.
  static: unknown[] extends this['params'] ? Bytes : Uint8Array;
  type: 'string';
  format: 'byte';
  contentEncoding: 'base64';
}

/** Makes a {@link TBase64}: a string in JSON, in base64 with padding (RFC 4648, section 4). */
export function base64(options: Base64Options = {}): TBase64 {
  registerBytes();
  const { maxBytes, mediaType, ...rest } = options;
  if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes >= 0))
    throw new TypeError(`Type.Base64: maxBytes must be a whole number of bytes, got ${maxBytes}`);
  return {
    ...rest,
    [Kind]: bytesKind,
    type: 'string',
    format: 'byte',
    contentEncoding: 'base64',
    ...(mediaType === undefined ? {} : { contentMediaType: mediaType }),
    ...(maxBytes === undefined ? {} : { maxBytes, maxLength: base64Length(maxBytes) }),
  } as unknown as TBase64;
}

/** Makes TypeBox know the kind. Idempotent. */
function registerBytes(): void {
  if (!TypeRegistry.Has(bytesKind))
    TypeRegistry.Set<TSchema>(bytesKind, (schema, value) =>
      bytesFit(value, schema.maxBytes as number | undefined),
    );
}

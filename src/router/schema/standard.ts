import type { TSchema } from '@sinclair/typebox';
import { messageOf } from '../../base/message-of.ts';
import { RegistrationError } from '../registration-error.ts';
import { fromJsonSchema } from './from-json-schema.ts';

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

/** The library of a schema, for messages. */
export function vendorOf(schema: StandardSchema): string {
  const { vendor } = schema['~standard'] as { readonly vendor?: unknown };
  return typeof vendor === 'string' && vendor !== '' ? vendor : 'of a library without a name';
}

/** Libraries whose JSON Schema has the members in another order than their schema. */
const unordered = new Set(['arktype']);

export function hasOrder(schema: StandardSchema): boolean {
  return !unordered.has(schema['~standard'].vendor);
}

/**
 * One side of a schema, as if it had been written with TypeBox: what callers send, or what a handler returns.
 *
 * @param where begins each message, e.g. `procedure "add": params`
 * @throws RegistrationError for a schema that can't say what it takes
 */
export function sideOf(schema: StandardSchema, side: 'input' | 'output', where: string): TSchema {
  const { version, validate, jsonSchema } = schema['~standard'];
  const vendor = vendorOf(schema);
  if (version !== 1) {
    throw new RegistrationError(
      `${where}: this schema (${vendor}) has another version of Standard Schema than 1, the one known here`,
    );
  }
  if (typeof validate !== 'function' || typeof jsonSchema?.[side] !== 'function') {
    throw new RegistrationError(
      `${where}: this schema (${vendor}) does not say what it is in JSON Schema; take zod 4.2 or later, arktype, or toStandardJsonSchema of @valibot/to-json-schema`,
    );
  }
  return fromJsonSchema(jsonSchemaOf(schema, side, where), where);
}

function jsonSchemaOf(schema: StandardSchema, side: 'input' | 'output', where: string): unknown {
  const { jsonSchema } = schema['~standard'];
  const vendor = vendorOf(schema);
  // valibot has no JSON Schema for a check of one's own, which params may well have: the check itself still runs.
  const libraryOptions =
    vendor === 'valibot' && side === 'input' ? { errorMode: 'ignore' } : undefined;
  const options = libraryOptions === undefined ? {} : { libraryOptions };
  try {
    const json = jsonSchema[side]({ target: 'draft-07', ...options });
    // A copy: what the library changes later must not change a procedure.
    return JSON.parse(JSON.stringify(json)) as unknown;
  } catch (cause) {
    const advice =
      side === 'output'
        ? '; declare returns as what is sent, such as a string in place of a date'
        : '';
    throw new RegistrationError(
      `${where}: ${vendor} can't say what this is in JSON Schema: ${messageOf(cause)}${advice}`,
      { cause },
    );
  }
}

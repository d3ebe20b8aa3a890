import type { TSchema } from '@sinclair/typebox';

/** Exists only in types: marks a schema that has a default. */
export declare const filled: unique symbol;

/** A schema with a default: a caller may leave the member out, a handler always gets it. */
export type Filled<S extends TSchema> = S & { readonly [filled]: true };

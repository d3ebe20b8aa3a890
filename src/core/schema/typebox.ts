import { isDeepStrictEqual } from 'node:util';
import {
  Kind,
  OptionalKind,
  ReadonlyKind,
  TransformKind,
  type TSchema,
  TypeRegistry,
} from '@sinclair/typebox';
import { bytesKind } from './type.ts';

// What the schemas of TypeBox have beside JSON Schema: a kind.

/** Kinds that TypeBox can check and JSON cannot carry, with what to write instead. */
const foreignKinds = new Map([
  ['Date', "Type.String({ format: 'date-time' })"],
  ['BigInt', "Type.String({ pattern: '^-?[0-9]+$' })"],
  ['Uint8Array', 'Type.Base64()'],
  ['RegExp', 'Type.String({ pattern })'],
  ...['AsyncIterator', 'Constructor', 'Function', 'Iterator', 'Promise', 'Symbol', 'Argument'].map(
    (kind) => [kind, 'a type that JSON has'] as const,
  ),
]);

/** The kinds whose schemas are JSON Schema. */
const kinds = new Set(
  (
    'Any Unknown Never Undefined Void Null Boolean Integer Number String TemplateLiteral Literal Array Tuple Object Record ' +
    'Union Intersect Not Ref This Import'
  ).split(' '),
).add(bytesKind);

/** Whether a kind is one of TypeBox's own, and not one of the program's. */
export function isTypeBoxKind(kind: string): boolean {
  return kinds.has(kind);
}

/** The check that the program gave to TypeBox's TypeRegistry. */
export function checkOfKind(kind: string, schema: object): (value: unknown) => boolean {
  return (value) => TypeRegistry.Get(kind)?.(schema as TSchema, value) ?? false;
}

export const noSchema = 'not a TypeBox schema; build it with Type, imported from tandem-rpc';

export function kindFault(schema: unknown, kind: string | undefined): string | undefined {
  if (kind === undefined) return noSchema;
  const substitute = foreignKinds.get(kind);
  if (substitute !== undefined) return `JSON has no ${kind}; use ${substitute}`;
  if (!kinds.has(kind) && !TypeRegistry.Has(kind)) {
    return `the kind ${JSON.stringify(kind)} is not in TypeBox's TypeRegistry; set its check there first`;
  }
  if (TransformKind in (schema as object)) {
    return 'Type.Transform is not applied to calls; declare the JSON type and convert it in the handler';
  }
  return undefined;
}

/** The kind of a schema of TypeBox. The symbol is global, so other copies of TypeBox use the same. */
export function kindOf(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  const kind: unknown = (schema as TSchema)[Kind];
  return typeof kind === 'string' ? kind : undefined;
}

/** Whether two schemas are one type. The marks of Type.Optional and Type.Readonly describe the member, not its type. */
export function isSameType(a: object, b: object): boolean {
  const plain = { [OptionalKind]: undefined, [ReadonlyKind]: undefined };
  return isDeepStrictEqual({ ...a, ...plain }, { ...b, ...plain });
}

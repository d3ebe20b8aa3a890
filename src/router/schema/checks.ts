import { Kind, type TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { holdsDefault, kindOf, mapChildren } from './schema-tree.ts';

export type Check = (value: unknown) => boolean;

/**
 * The checks of one schema and of its parts. A part is compiled when it is first asked for: unions with
 * defaults at registration, the rest only to explain a refusal.
 */
export interface Checks {
  of(schema: TSchema): Check;
  /** What a Ref, This or Import stands for. */
  resolve(schema: TSchema): TSchema | undefined;
}

export function createChecks(root: TSchema): Checks {
  const named = new Map<string, TSchema>();
  collectNamed(root, named);
  const references = [...named.values()];
  const compiled = new WeakMap<TSchema, Check>();
  return {
    of(schema) {
      let check = compiled.get(schema);
      if (check === undefined) {
        const typeCheck = TypeCompiler.Compile(schema, references);
        check = (value) => typeCheck.Check(value);
        compiled.set(schema, check);
      }
      return check;
    },
    resolve: (schema) => (typeof schema.$ref === 'string' ? named.get(schema.$ref) : undefined),
  };
}

function collectNamed(schema: TSchema, named: Map<string, TSchema>): void {
  if (typeof schema.$id === 'string') named.set(schema.$id, schema);
  mapChildren(schema, (child) => {
    collectNamed(child, named);
    return child;
  });
}

/** TypeBox resolves a This only within the check of its own root: as a Ref its parts compile alone too. */
export function thisAsRef(schema: TSchema): TSchema {
  return kindOf(schema) === 'This' ? { ...schema, [Kind]: 'Ref' } : schema;
}

/**
 * TypeBox looks whether a required member is there at all where its schema is `unknown`, and forgets to where a union
 * or an intersection comes to the same: `{}` then passes for `{ a: unknown | number }`.
 */
export function openAsUnknown(schema: TSchema): TSchema {
  if (!isOpen(schema)) return schema;
  const { anyOf: _union, allOf: _intersection, ...others } = schema;
  return { ...others, [Kind]: 'Unknown' } as TSchema;
}

/** Takes every value, and has no part whose defaults could be filled in. */
function isOpen(schema: TSchema): boolean {
  const parts: unknown = schema.anyOf ?? schema.allOf;
  if (!Array.isArray(parts) || schema.unevaluatedProperties !== undefined) return false;
  const isAny = (part: TSchema) => ['Any', 'Unknown'].includes(kindOf(part) ?? '');
  if (kindOf(schema) === 'Intersect') return parts.every(isAny);
  return kindOf(schema) === 'Union' && parts.some(isAny) && !holdsDefault(schema);
}

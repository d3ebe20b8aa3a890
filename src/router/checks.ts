import { Kind, type TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { kindOf, mapChildren } from './schema-tree.ts';

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

import type { JsonSchema } from '../../src/core/schema/write-json.ts';
import type { ProcedureSchema } from '../state/registry.ts';

/** A place in a JSON text. */
export interface Place {
  /** Names of members that lead there; `*` for an item of a list. */
  readonly path: readonly string[];
  /** Whether the name of a member is to come, or its value. */
  readonly isName: boolean;
  /** Names that are there already. */
  readonly present: readonly string[];
  /** Where what was typed of it begins. */
  readonly from: number;
}

/** The schema of all params of a procedure, as one object. */
export function paramsSchema({ parameters }: ProcedureSchema): JsonSchema {
  const definitions: Record<string, unknown> = {};
  for (const { schema_ } of parameters) {
    Object.assign(definitions, schema_.definitions, schema_.$defs);
  }
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, schema_ }) => [name, schema_])),
    $defs: definitions,
  };
}

/** What the schema allows at a place, as JSON text. */
export function suggestionsAt(root: JsonSchema, { path, isName, present }: Place): string[] {
  let schemas = alternatives(root, root);
  for (const name of path) {
    schemas = schemas.flatMap((schema) => {
      const next = name === '*' ? schema.items : asObject(schema.properties)[name];
      return next === undefined ? [] : alternatives(asObject(next), root);
    });
  }
  const found = isName
    ? schemas
        .flatMap((schema) => Object.keys(asObject(schema.properties)))
        .filter((name) => !present.includes(name))
        .map((name) => `${JSON.stringify(name)}: `)
    : schemas.flatMap(valuesOf).map((value) => JSON.stringify(value));
  return [...new Set(found)];
}

/** The values that a schema names. */
function valuesOf(schema: JsonSchema): readonly unknown[] {
  if ('const' in schema) return [schema.const];
  if (schema.type === 'boolean') return [true, false];
  if (schema.type === 'null') return [null];
  return asList(schema.enum ?? schema.examples);
}

/** A schema that holds itself is followed this far. */
const maxHops = 16;

/** The schema itself, or those that it stands for or lets choose from. */
function alternatives(schema: JsonSchema, root: JsonSchema, hops = 0): readonly JsonSchema[] {
  if (hops > maxHops) return [];
  if (typeof schema.$ref === 'string') {
    return alternatives(targetOf(schema.$ref, root), root, hops + 1);
  }
  const parts = asList(schema.anyOf ?? schema.oneOf ?? schema.allOf);
  if (parts.length === 0) return [schema];
  return parts.flatMap((part) => alternatives(asObject(part), root, hops + 1));
}

function targetOf(ref: string, root: JsonSchema): JsonSchema {
  if (ref === '#' || ref === root.$id) return root;
  const name = ref.replace(/^#\/(\$defs|definitions)\//, '');
  const definitions = asObject(root.$defs);
  return Object.hasOwn(definitions, name) ? asObject(definitions[name]) : (named(ref, root) ?? {});
}

/** The part of a schema that has an id: what refers to it may stand anywhere. */
function named(id: string, value: unknown): JsonSchema | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if ((value as JsonSchema).$id === id) return value as JsonSchema;
  for (const part of Object.values(value)) {
    const found = named(id, part);
    if (found !== undefined) return found;
  }
  return undefined;
}

function asObject(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonSchema)
    : {};
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

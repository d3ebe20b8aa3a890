import type { JsonSchema } from '../../src/core/procedures/schema/schema-tree.ts';

export type { JsonSchema };

/** A schema, and the one whose definitions its references lead to. */
export interface Placed {
  readonly schema: JsonSchema;
  readonly root: JsonSchema;
}

/** Follows `$ref`, as far as it leads within the root. */
export function resolve({ schema, root }: Placed): Placed {
  let found = schema;
  for (let hops = 0; hops < 16 && typeof found.$ref === 'string'; hops++) {
    const target = targetOf(found.$ref, root);
    if (target === undefined) return { schema: {}, root };
    found = target;
  }
  return { schema: found, root };
}

function targetOf(ref: string, root: JsonSchema): JsonSchema | undefined {
  if (ref === '#' || ref === root.$id) return root;
  const definitions = { ...asObject(root.definitions), ...asObject(root.$defs) };
  const name = ref.replace(/^#\/(\$defs|definitions)\//, '');
  if (Object.hasOwn(definitions, name)) return asObject(definitions[name]);
  return namedIn(root).get(ref);
}

const known = new WeakMap<JsonSchema, ReadonlyMap<string, JsonSchema>>();

/** The parts of a schema that have an id, by it: what refers to them may stand anywhere. */
function namedIn(root: JsonSchema): ReadonlyMap<string, JsonSchema> {
  let named = known.get(root);
  if (named === undefined) {
    named = gather(root, new Map());
    known.set(root, named);
  }
  return named;
}

function gather(value: unknown, named: Map<string, JsonSchema>): Map<string, JsonSchema> {
  if (typeof value !== 'object' || value === null) return named;
  const { $id } = value as JsonSchema;
  if (typeof $id === 'string' && !named.has($id)) named.set($id, value as JsonSchema);
  for (const part of Object.values(value)) gather(part, named);
  return named;
}

export function asObject(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonSchema)
    : {};
}

function asList(value: unknown): readonly JsonSchema[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

/** How a value is filled in. */
export type Kind =
  | { readonly kind: 'choice'; readonly values: readonly unknown[] }
  | { readonly kind: 'variants'; readonly variants: readonly JsonSchema[] }
  | { readonly kind: 'text' | 'number' | 'switch' | 'null' | 'json' }
  | {
      readonly kind: 'object';
      readonly members: readonly (readonly [string, JsonSchema])[];
      readonly required: ReadonlySet<string>;
    }
  | { readonly kind: 'list'; readonly items: JsonSchema }
  | { readonly kind: 'tuple'; readonly items: readonly JsonSchema[] };

const json: Kind = { kind: 'json' };

/** @param schema resolved */
export function kindOf(schema: JsonSchema): Kind {
  if ('const' in schema) return { kind: 'choice', values: [schema.const] };
  if (Array.isArray(schema.enum)) return { kind: 'choice', values: schema.enum };
  const variants = asList(schema.anyOf ?? schema.oneOf);
  if (variants.length > 0) {
    const isChoice = variants.every((variant) => 'const' in variant);
    return isChoice
      ? { kind: 'choice', values: variants.map((variant) => variant.const) }
      : { kind: 'variants', variants };
  }
  switch (schema.type) {
    case 'string':
      return { kind: 'text' };
    case 'number':
    case 'integer':
      return { kind: 'number' };
    case 'boolean':
      return { kind: 'switch' };
    case 'null':
      return { kind: 'null' };
    case 'array':
      return listKind(schema);
    case 'object':
      return objectKind(schema);
    default:
      return json;
  }
}

function listKind(schema: JsonSchema): Kind {
  const items = Array.isArray(schema.prefixItems) ? schema.prefixItems : schema.items;
  if (Array.isArray(items)) return { kind: 'tuple', items: asList(items) };
  return { kind: 'list', items: asObject(items) };
}

function objectKind(schema: JsonSchema): Kind {
  const members = Object.entries(asObject(schema.properties)).map(
    ([name, member]) => [name, asObject(member)] as const,
  );
  // Names that the schema leaves open are written as JSON.
  if (members.length === 0 || schema.patternProperties !== undefined) return json;
  const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
  return { kind: 'object', members, required };
}

/** In few words, for people who choose between schemas. */
export function labelOf(placed: Placed): string {
  const { schema } = resolve(placed);
  if (typeof schema.title === 'string') return schema.title;
  if (typeof schema.$id === 'string') return schema.$id;
  if ('const' in schema) return JSON.stringify(schema.const);
  const { properties } = schema;
  if (properties !== undefined) {
    const literal = Object.entries(asObject(properties)).find(
      ([, one]) => 'const' in asObject(one),
    );
    if (literal !== undefined)
      return `${literal[0]}: ${JSON.stringify(asObject(literal[1]).const)}`;
    return `{ ${Object.keys(asObject(properties)).slice(0, 3).join(', ')} }`;
  }
  return typeof schema.type === 'string' ? schema.type : 'any';
}

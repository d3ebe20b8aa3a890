import { isObject, type JsonObject, listOf, own } from './json.ts';

/** The names of members that a value must have. */
export interface Names {
  has(name: unknown): boolean;
}

/** The union of two sets, without a copy of either: a schema with many required members may have many alternatives. */
export function either(some: ReadonlySet<unknown>, others: Names | undefined): Names {
  if (others === undefined) return some;
  if (some.size === 0) return others;
  return { has: (name) => some.has(name) || others.has(name) };
}

/** The names in `required` of a schema and of the parts of its allOf, all of which describe the same value. */
export function requiredOf(schema: JsonObject): ReadonlySet<unknown> {
  return new Set(partsOf(schema).flatMap((one) => listOf(one, 'required')));
}

/** Required members that no part of the schema describes, where a part is a reference: the referred type has them. */
export function demandedOfReferences(schema: JsonObject, required: ReadonlySet<unknown>): string[] {
  const parts = partsOf(schema);
  if (required.size === 0 || !parts.some((one) => Object.hasOwn(one, '$ref'))) return [];
  const described = new Set(
    parts.flatMap((one) => {
      const properties = own(one, 'properties');
      return isObject(properties) ? Object.keys(properties) : [];
    }),
  );
  return [...required].filter(
    (name): name is string => typeof name === 'string' && !described.has(name),
  );
}

function partsOf(schema: JsonObject): JsonObject[] {
  return [schema, ...listOf(schema, 'allOf').filter(isObject)];
}

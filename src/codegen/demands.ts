import { isObject, type JsonObject, listOf, own } from './json.ts';

/** Which members a value must have. */
export interface Names {
  has(name: unknown): boolean;
}

/** Both, without a copy of either: many alternatives may stand in a schema that demands much. */
export function either(some: ReadonlySet<unknown>, others: Names | undefined): Names {
  if (others === undefined) return some;
  if (some.size === 0) return others;
  return { has: (name) => some.has(name) || others.has(name) };
}

/** What `required` names in a schema and in the parts of its allOf, which are all of one value. */
export function requiredOf(schema: JsonObject): ReadonlySet<unknown> {
  return new Set(partsOf(schema).flatMap((one) => listOf(one, 'required')));
}

/** Members that are demanded beside a reference and described in no part: it is meant to have them. */
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

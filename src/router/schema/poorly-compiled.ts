import type { TSchema } from '@sinclair/typebox';
import { forEachChild, isSchema, kindOf } from './schema-tree.ts';

/** An object of more members is checked by the matcher: TypeBox's code searches all names for each member. */
const mostMembers = 256;

/**
 * Whether TypeBox's code for a schema is slow or wrong. Slow: it hashes unique items with big integers (3 us a byte),
 * and searches all names of a long object for each member. Wrong: where a record, or the schema of an object's other
 * members, has a schema for other members itself, it checks the record in place of its member, or one member's member
 * in place of another.
 */
export function isPoorlyCompiled(schema: TSchema): boolean {
  if (schema.uniqueItems === true) return true;
  const rest = restOf(schema);
  switch (kindOf(schema)) {
    case 'Record':
      return rest !== undefined;
    case 'Object':
      if (Object.keys(schema.properties as object).length > mostMembers) return true;
      break;
  }
  return rest !== undefined && holdsRest(rest);
}

/** The schema of the members that the schema does not name. */
function restOf(schema: TSchema): TSchema | undefined {
  const { additionalProperties, unevaluatedProperties } = schema;
  return [additionalProperties, unevaluatedProperties].find(isSchema);
}

function holdsRest(schema: TSchema): boolean {
  let found = restOf(schema) !== undefined;
  forEachChild(schema, (child) => {
    found ||= holdsRest(child);
  });
  return found;
}

import { Kind, type TSchema } from '@sinclair/typebox';
import { isSchema, kindOf, listOf } from './schema-tree.ts';

/** The members of an object schema, or of several that one value matches together. */
export interface ObjectShape {
  readonly properties: Readonly<Record<string, TSchema>>;
  readonly required: ReadonlySet<string>;
  /** `true` or a schema: members without a name of their own are taken. */
  readonly additional: unknown;
  /** The check counts members, so that one that is absent must not be there as undefined. */
  readonly isCounted: boolean;
}

export function objectShape(schema: TSchema): ObjectShape {
  return {
    properties: schema.properties as Record<string, TSchema>,
    required: new Set(listOf<string>(schema.required)),
    additional: schema.additionalProperties,
    isCounted: schema.minProperties !== undefined || schema.maxProperties !== undefined,
  };
}

/** The shape of an intersection of objects; undefined where a part is no object, or parts take the rest differently. */
export function objectShapeOfAll(
  parts: readonly TSchema[],
  unevaluated: unknown,
): ObjectShape | undefined {
  if (!parts.every((part) => kindOf(part) === 'Object' && part.$id === undefined)) return undefined;
  const shapes = parts.map(objectShape);
  const rests = [unevaluated, ...shapes.map(({ additional }) => additional)].filter(
    (rest) => rest === true || isSchema(rest),
  );
  if (rests.length > 1) return undefined;
  const members = new Map<string, TSchema[]>();
  for (const { properties } of shapes) {
    for (const [name, member] of Object.entries(properties))
      members.set(name, [...(members.get(name) ?? []), member]);
  }
  return {
    properties: Object.fromEntries([...members].map(([name, all]) => [name, together(all)])),
    required: new Set(shapes.flatMap(({ required }) => [...required])),
    additional: rests[0],
    isCounted: shapes.some(({ isCounted }) => isCounted),
  };
}

function together(schemas: readonly TSchema[]): TSchema {
  const [only] = schemas;
  if (only !== undefined && schemas.length === 1) return only;
  return { [Kind]: 'Intersect', allOf: schemas } as unknown as TSchema;
}

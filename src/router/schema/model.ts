import { type ObjectOptions, type TObject, type TProperties, Type } from '@sinclair/typebox';

/** A TypeBox object that refuses unknown members. `Static<typeof M>` is its type. */
export function model<Properties extends TProperties>(
  properties: Properties,
  options: ObjectOptions = {},
): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

import { Kind, type TObject, type TSchema } from '@sinclair/typebox';
import { RegistrationError } from '../registration-error.ts';
import { kindOf } from './schema-tree.ts';
import { isStandard, type StandardSchema } from './standard.ts';

/** Members with the schema of each: `{ id: Type.String() }` in place of `Type.Object({ id: Type.String() })`. */
export type Shape = { readonly [name: string]: TSchema } & {
  // A schema is an object of members too: without this, Type.String() would be a shape.
  readonly [Kind]?: never;
};

/** What the params of a procedure are declared with. */
export type ParamsSchema = TObject | Shape | StandardSchema;

export const paramsForms =
  'a TypeBox object (Type.Object({...}) or model({...})), an object of schemas, or a schema of zod 4.2 and later, arktype, or valibot with toStandardJsonSchema';

export function isShape(declared: object): declared is Shape {
  if (kindOf(declared as TSchema) !== undefined) return false;
  const prototype: unknown = Object.getPrototypeOf(declared);
  return prototype === Object.prototype || prototype === null;
}

/** @throws RegistrationError for a member that is no schema of TypeBox */
export function assertShape(shape: Shape, where: string): void {
  for (const [name, member] of Object.entries(shape)) {
    if (typeof member === 'object' && member !== null && kindOf(member) !== undefined) continue;
    const hint = isStandard(member)
      ? "take the library's own object, such as z.object({...}), for all of them"
      : 'build each with Type, imported from tandem-rpc';
    throw new RegistrationError(
      `${where}: ${JSON.stringify(name.slice(0, 64))} is no TypeBox schema in this object of schemas: ${hint}`,
    );
  }
}

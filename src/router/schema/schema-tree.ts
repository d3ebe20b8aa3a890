import { Kind, type TSchema } from '@sinclair/typebox';

/** Visits a child of a schema. All code that walks schemas goes through `mapChildren`, the only list of their children. */
export type VisitChild = (child: TSchema, segment: string) => TSchema;

/**
 * A shallow copy of `schema` (symbols included) with each child replaced by what `visit` returns.
 *
 * @param visit gets the child and the step from the value to it: `/name`, `/*` for items and members of
 *   any name, `/0` in a tuple, '' where the child describes the same value (unions, $defs)
 */
export function mapChildren(schema: TSchema, visit: VisitChild): TSchema {
  const copy: TSchema = { ...schema };
  const one = (key: string, segment: string): void => {
    if (isSchema(copy[key])) copy[key] = visit(copy[key], segment);
  };
  const list = (key: string, segment: (index: number) => string): void => {
    const children: unknown = copy[key];
    if (!Array.isArray(children)) return;
    copy[key] = children.map((child: TSchema, index) => visit(child, segment(index)));
  };
  const named = (key: string, segment: (name: string) => string): void => {
    const children: unknown = copy[key];
    if (!isSchema(children)) return;
    // `fromEntries` keeps a member called __proto__ a member.
    copy[key] = Object.fromEntries(
      Object.entries(children).map(([name, child]) => [
        name,
        visit(child as TSchema, segment(name)),
      ]),
    );
  };
  named('properties', (name) => `/${escapePointer(name)}`);
  named('patternProperties', () => '/*');
  named('$defs', () => '');
  for (const key of ['anyOf', 'oneOf', 'allOf']) list(key, () => '');
  if (Array.isArray(copy.items)) list('items', (index) => `/${index}`);
  else one('items', '/*');
  for (const key of ['contains', 'additionalProperties', 'unevaluatedProperties']) one(key, '/*');
  // Type.Never is { not: {} }; this {} is not a schema of TypeBox's.
  if (kindOf(schema) !== 'Never') one('not', '');
  return copy;
}

export function forEachChild(
  schema: TSchema,
  visit: (child: TSchema, segment: string) => void,
): void {
  mapChildren(schema, (child, segment) => {
    visit(child, segment);
    return child;
  });
}

/** The schema with each of its parts, the innermost first, replaced by what `change` returns. */
export function mapTree(schema: TSchema, change: (node: TSchema) => TSchema): TSchema {
  return change(mapChildren(schema, (child) => mapTree(child, change)));
}

/** Schemas by their $id. */
export type Names = ReadonlyMap<string, TSchema>;

/** The named schemas within `root`. Of several with one $id the first counts, as in TypeBox's compiler. */
export function namesIn(root: TSchema): Names {
  const names = new Map<string, TSchema>();
  const visit = (schema: TSchema): void => {
    const { $id } = schema;
    if (typeof $id === 'string' && !names.has($id)) names.set($id, schema);
    forEachChild(schema, visit);
  };
  visit(root);
  return names;
}

/** The schema that a Ref, This or Import refers to. */
export function targetOf(schema: TSchema, names: Names): TSchema | undefined {
  return typeof schema.$ref === 'string' ? names.get(schema.$ref) : undefined;
}

/** The id that a `$ref` names. */
export function refId($ref: string): string {
  return $ref.replace(/^#\/(?:\$defs|definitions)\//, '');
}

/** The list itself, or an empty one in place of anything else. */
export function listOf<Item = TSchema>(value: unknown): Item[] {
  return Array.isArray(value) ? (value as Item[]) : [];
}

/** The members in the order to check them: literals, which tell objects apart, before members that may be large. */
export function literalsFirst(properties: Readonly<Record<string, TSchema>>): [string, TSchema][] {
  const rank = (schema: TSchema): number => (kindOf(schema) === 'Literal' ? 0 : 1);
  return Object.entries(properties).sort(([, a], [, b]) => rank(a) - rank(b));
}

/** Whether a part of the schema has a default. */
export function holdsDefault(schema: TSchema): boolean {
  let found = false;
  forEachChild(schema, (child) => {
    found ||= child.default !== undefined || holdsDefault(child);
  });
  return found;
}

/** Whether the schema or a part of it has a name or refers to one. */
export function holdsName(schema: TSchema): boolean {
  let found = schema.$id !== undefined || schema.$ref !== undefined;
  forEachChild(schema, (child) => {
    found ||= holdsName(child);
  });
  return found;
}

/** The TypeBox kind; undefined for a plain JSON Schema. The symbol is global, so other copies of TypeBox use the same. */
export function kindOf(schema: TSchema): string | undefined {
  const kind: unknown = schema[Kind];
  return typeof kind === 'string' ? kind : undefined;
}

/** A name as a segment of a JSON Pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Whether a value is an object, as every schema is: a TypeBox schema or a plain one. */
export function isSchema(value: unknown): value is TSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

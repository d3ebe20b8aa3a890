import { Kind, type TSchema } from '@sinclair/typebox';

/** What a schema's children are, in one place: everything that walks schemas goes through here. */
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
    // From entries: a member called __proto__ stays a member.
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
  // Type.Never is { not: {} }, whose {} is no schema of TypeBox's.
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

/** The first of each $id, as TypeBox's compiler takes it for all that have it. */
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

/** What a Ref, This or Import stands for. */
export function targetOf(schema: TSchema, names: Names): TSchema | undefined {
  return typeof schema.$ref === 'string' ? names.get(schema.$ref) : undefined;
}

/** The members in the order to check them: what tells objects apart comes before what may be large. */
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

/** Whether a part of the schema, or itself, has a name or leads to one. */
export function holdsName(schema: TSchema): boolean {
  let found = schema.$id !== undefined || schema.$ref !== undefined;
  forEachChild(schema, (child) => {
    found ||= holdsName(child);
  });
  return found;
}

/** The TypeBox kind, undefined for a plain JSON Schema. The symbol is global: other copies agree on it. */
export function kindOf(schema: TSchema): string | undefined {
  const kind: unknown = schema[Kind];
  return typeof kind === 'string' ? kind : undefined;
}

/** RFC 6901. */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Of TypeBox or plain. */
export function isSchema(value: unknown): value is TSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

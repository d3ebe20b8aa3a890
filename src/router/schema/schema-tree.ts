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
    if (isObject(copy[key])) copy[key] = visit(copy[key], segment);
  };
  const list = (key: string, segment: (index: number) => string): void => {
    const children: unknown = copy[key];
    if (!Array.isArray(children)) return;
    copy[key] = children.map((child: TSchema, index) => visit(child, segment(index)));
  };
  const named = (key: string, segment: (name: string) => string): void => {
    const children: unknown = copy[key];
    if (!isObject(children)) return;
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

/** Whether a part of the schema has a default. */
export function holdsDefault(schema: TSchema): boolean {
  let found = false;
  forEachChild(schema, (child) => {
    found ||= child.default !== undefined || holdsDefault(child);
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

function isObject(value: unknown): value is TSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

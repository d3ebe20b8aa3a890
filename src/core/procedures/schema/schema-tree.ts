import { Kind, PatternStringExact, type TSchema, Type } from '@sinclair/typebox';
import { keywords } from './keywords.ts';

/**
 * Visits a child of a schema. All code that walks schemas goes through `mapChildren`.
 *
 * @param segment the step from the value to what the child describes: `/name`, `/*` for items and members of any name,
 *   `/0` in a tuple, '' for the value itself (unions, $defs)
 */
export type VisitChild<Result> = (child: TSchema, segment: string, keyword: string) => Result;

const holders = keywords.flatMap(({ name, children }) =>
  children === undefined ? [] : [{ name, ...children }],
);

/**
 * The schema with each child replaced by what `visit` returns: a shallow copy (symbols included), or the schema itself
 * if all children stay.
 */
function mapChildren(schema: TSchema, visit: VisitChild<TSchema>): TSchema {
  let copy: TSchema | undefined;
  const replace = (name: string, held: unknown): void => {
    copy ??= { ...schema };
    copy[name] = held;
  };
  for (const { name, one, list, map } of holders) {
    const held: unknown = schema[name];
    if (typeof held !== 'object' || held === null) continue;
    const isList = Array.isArray(held);
    const step = isList ? list : map;
    if (step !== undefined) {
      const children = Object.entries(held) as [string, TSchema][];
      const made = children.map(([key, child]) => visit(child, segmentOf(step, key), name));
      if (made.every((child, index) => child === children[index]?.[1])) continue;
      // `fromEntries` keeps a member called __proto__ a member.
      const members = children.map(([key], index) => [key, made[index]] as const);
      replace(name, isList ? made : Object.fromEntries(members));
    } else if (!isList && one !== undefined && kindOf(schema) !== 'Never') {
      // Type.Never is { not: {} }; this {} is not a schema of TypeBox's.
      const made = visit(held as TSchema, segmentOf(one, ''), name);
      if (made !== held) replace(name, made);
    }
  }
  return copy ?? schema;
}

function segmentOf(step: string, key: string): string {
  return step === 'key' ? `/${escapePointer(key)}` : step;
}

/** Longest name in a path that is shown. The caller chooses names. */
const maxSegment = 64;

/** A step of a JSON Pointer for people: `/name`, cut if the name is long. */
export function shownSegment(name: string): string {
  return `/${escapePointer(name.length > maxSegment ? `${name.slice(0, maxSegment)}…` : name)}`;
}

export function forEachChild(schema: TSchema, visit: VisitChild<void>): void {
  mapChildren(schema, (child, segment, keyword) => {
    visit(child, segment, keyword);
    return child;
  });
}

/** Whether a test holds of the schema or of a part of it. */
export function someWithin(schema: TSchema, test: (node: TSchema) => boolean): boolean {
  let found = test(schema);
  forEachChild(schema, (child) => {
    found ||= someWithin(child, test);
  });
  return found;
}

/**
 * The schema with each of its parts, the innermost first, replaced by what `change` returns. A part that stands in two
 * places becomes two: the overlap of schemas is about places. What is within `not` is copied, not changed: there a value
 * is never completed.
 */
export function mapTree(schema: TSchema, change: (node: TSchema) => TSchema): TSchema {
  return change({
    ...mapChildren(schema, (child, _segment, keyword) =>
      mapTree(child, keyword === 'not' ? (node) => node : change),
    ),
  });
}

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

export function refId($ref: string): string {
  return $ref.replace(/^#\/(?:\$defs|definitions)\//, '');
}

/** The list itself, or an empty one instead of anything else. */
export function listOf<Item = TSchema>(value: unknown): Item[] {
  return Array.isArray(value) ? (value as Item[]) : [];
}

/** The value of a key, which `make` makes the first time. */
export function cached<Key, Value>(
  values: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  let value = values.get(key);
  if (value === undefined) {
    value = make();
    values.set(key, value);
  }
  return value;
}

export interface Member {
  readonly name: string;
  readonly schema: TSchema;
  readonly isRequired: boolean;
}

/** A member that is required and not declared has the schema of all such members. Each object schema is read once: it may have a thousand members, and a batch a thousand bad calls. */
const membersOfSchemas = new WeakMap<TSchema, readonly Member[]>();

export function membersOf(schema: TSchema): readonly Member[] {
  return cached(membersOfSchemas, schema, () => {
    const required = new Set(listOf<string>(schema.required));
    const properties = (schema.properties ?? {}) as Record<string, TSchema>;
    const declared = Object.entries(properties).map(([name, member]) => ({
      name,
      schema: member,
      isRequired: required.has(name),
    }));
    const undeclared = [...required].filter((name) => !Object.hasOwn(properties, name));
    return [
      ...declared,
      ...undeclared.map((name) => ({ name, schema: restOf(schema), isRequired: true })),
    ];
  });
}

/** The schema of an object's members that it does not declare. */
function restOf({ additionalProperties: rest }: TSchema): TSchema {
  if (isSchema(rest)) return rest;
  return rest === false ? Type.Never() : Type.Unknown();
}

const recordsOfSchemas = new WeakMap<
  TSchema,
  readonly [names: RegExp, member: TSchema] | undefined
>();

/**
 * What a Record says of members: which names they have, and their schema. The pattern of `Type.Record(Type.String(), ...)`
 * means every name, and without the flag `s` a name with a line break would pass unchecked.
 */
export function recordOf(schema: TSchema): readonly [names: RegExp, member: TSchema] | undefined {
  return cached(recordsOfSchemas, schema, () => {
    const [first] = Object.entries((schema.patternProperties ?? {}) as Record<string, TSchema>);
    if (first === undefined) return undefined;
    const [pattern, member] = first;
    return [new RegExp(pattern, pattern === PatternStringExact ? 's' : ''), member];
  });
}

/** Whether a part of the schema has a default. */
export function holdsDefault(schema: TSchema): boolean {
  return someWithin(schema, (node) => node !== schema && node.default !== undefined);
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

/** A JSON Schema without TypeBox's symbols. */
export type JsonSchema = Record<string, unknown>;

/** Ids that Type.Recursive made up, and ids as `plainSchema` numbers them. */
export const madeUpId = /^T\d+$/;

/**
 * A schema as plain JSON. Type.Recursive makes ids up by counting all recursive types of the thread. They are numbered
 * anew here, so that replicas that have made other types before give the same document.
 */
export function plainSchema(schema: TSchema): JsonSchema {
  const ids = new Map<string, string>();
  const renumber = (id: unknown): unknown =>
    typeof id === 'string' && madeUpId.test(id) ? cached(ids, id, () => `T${ids.size}`) : id;
  const convert = (node: TSchema): TSchema => {
    const { $id, $ref } = node;
    const named: TSchema = { ...node };
    if ($id !== undefined) named.$id = renumber($id) as string;
    if ($ref !== undefined) named.$ref = renumber($ref);
    // JSON Schema has neither type: a result that is void arrives as null, and undefined never arrives.
    if (named.type === 'void') named.type = 'null';
    if (named.type === 'undefined') {
      delete named.type;
      named.not = {};
    }
    // `recordOf` takes this pattern for every name. In JSON Schema it leaves out names with a line break.
    const ofEveryName: unknown = node.patternProperties?.[PatternStringExact];
    if (kindOf(node) === 'Record' && ofEveryName !== undefined) {
      delete named.patternProperties;
      named.additionalProperties = ofEveryName;
    }
    return mapChildren(named, convert);
  };
  return JSON.parse(JSON.stringify(convert(schema))) as JsonSchema;
}

/** The members that are not undefined, in their order. */
export function defined<T extends object>(members: { [K in keyof T]: T[K] | undefined }): T {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as T;
}

/** `mapChildren` for schemas that were read from JSON, where a child may be true or false. */
export function mapPlain(
  schema: JsonSchema,
  visit: (child: JsonSchema, segment: string, keyword: string) => JsonSchema,
): JsonSchema {
  // `mapChildren` reads only keywords, and a plain JSON Schema has the same keywords.
  return mapChildren(schema as unknown as TSchema, (child, segment, keyword) =>
    isSchema(child) ? (visit(child, segment, keyword) as TSchema) : child,
  );
}

/** The named schemas within a plain one, by id. Of several with one id the first counts. */
export function plainNamesIn(
  schema: JsonSchema,
  names = new Map<string, JsonSchema>(),
): Map<string, JsonSchema> {
  const { $id, $defs, $ref } = schema;
  if (typeof $id === 'string' && typeof $ref !== 'string' && !names.has($id))
    names.set($id, schema);
  if (isSchema($defs)) {
    for (const [name, one] of Object.entries($defs as Record<string, unknown>)) {
      if (isSchema(one) && !names.has(name)) names.set(name, one as JsonSchema);
    }
  }
  forEachPlain(schema, (child) => plainNamesIn(child, names));
  return names;
}

export function forEachPlain(
  schema: JsonSchema,
  visit: (child: JsonSchema, segment: string, keyword: string) => void,
): void {
  mapPlain(schema, (child, segment, keyword) => {
    visit(child, segment, keyword);
    return child;
  });
}

import {
  type KeywordRow,
  keywords,
  keywordsOf,
  type LimitedType,
} from '../../core/schema/keywords.ts';
import type { References } from './document.ts';
import { canonicalText, isObject, type JsonObject, listOf, own } from './text.ts';

/** A schema, and the document that its references lead into. */
export interface Place {
  readonly schema: unknown;
  /** The outermost schema around it. See References. */
  readonly root: unknown;
  readonly references: References;
}

/** What a value must be valid under: each of the schemas. No schema at all takes everything. */
export type Part = readonly Place[];

/** A keyword that the comparison has no rules for. */
export interface Opaque {
  readonly keyword: string;
  /** Two equal texts stand for the same values; undefined: nothing equals this one. */
  readonly text: string | undefined;
}

/**
 * Values of one JSON type. Every schema is a list of shapes: a value is valid if one of them takes it. A shape with opaque
 * keywords stands for some of the values that its other members describe.
 */
export type Shape = ConstantShape | LimitedShape;
export type LimitedShape = NumberShape | StringShape | ArrayShape | ObjectShape;

interface Common {
  readonly opaque: readonly Opaque[];
}

/** One value. null, true and false are always of this shape. */
export interface ConstantShape extends Common {
  readonly type: 'constant';
  readonly value: unknown;
}

interface Limited extends Common {
  /** The values of the keywords of which the larger or the smaller counts. */
  readonly limits: Readonly<Record<string, number>>;
}

export interface NumberShape extends Limited {
  readonly type: 'number';
  readonly isInteger: boolean;
  readonly multiples: readonly number[];
}

interface StringShape extends Limited {
  readonly type: 'string';
}

export interface ArrayShape extends Limited {
  readonly type: 'array';
  readonly first: readonly Part[];
  /** The items after `first`; undefined: there are none. */
  readonly rest: Part | undefined;
  readonly uniqueItems: boolean;
}

export interface ObjectShape extends Limited {
  readonly type: 'object';
  readonly members: ReadonlyMap<string, Part>;
  readonly required: ReadonlySet<string>;
  /** Members without a name here; `unsaid`: the schema says nothing of them; undefined: there are none. */
  readonly others: Part | 'unsaid' | undefined;
}

const unlimited = { limits: {}, opaque: [] };
const anyNumber: NumberShape = { type: 'number', isInteger: false, multiples: [], ...unlimited };
const anyString: StringShape = { type: 'string', ...unlimited };
const anyArray: ArrayShape = {
  type: 'array',
  first: [],
  rest: [],
  uniqueItems: false,
  ...unlimited,
};
export const anyObject: ObjectShape = {
  type: 'object',
  members: new Map(),
  required: new Set(),
  others: 'unsaid',
  ...unlimited,
};

function constant(value: unknown, opaque: readonly Opaque[] = []): ConstantShape {
  return { type: 'constant', value, opaque };
}

/** All values: what a schema without keywords takes. */
export const anything: readonly Shape[] = [
  constant(null),
  constant(true),
  constant(false),
  anyNumber,
  anyString,
  anyArray,
  { ...anyObject, others: [] },
];

const limiting = rowsByType((compare) => compare === 'larger' || compare === 'smaller');
const textual = rowsByType((compare) => ['equal', 'assertion', 'never'].includes(compare ?? ''));

function rowsByType(
  test: (compare: KeywordRow['compare']) => boolean,
): ReadonlyMap<LimitedType | undefined, readonly KeywordRow[]> {
  const types = ['number', 'string', 'array', 'object', undefined] as const;
  return new Map(
    types.map((type) => [type, keywordsOf(type).filter(({ compare }) => test(compare))]),
  );
}

/** The keywords of a type of which the larger or the smaller counts. */
export function limitsOf(type: LimitedType): readonly KeywordRow[] {
  return limiting.get(type) ?? [];
}

/** Thrown if a schema has too many alternatives, or leads to itself without an end. */
export class BeyondComparison extends Error {}

/** Most alternatives of a schema, once unions within unions and intersections are written out. */
const maxShapes = 256;
/** Most references, unions and intersections within each other, without a level of the value between them. */
export const maxNesting = 64;

/** @throws BeyondComparison */
export function shapesOf(part: Part): readonly Shape[] {
  const shapes = part.reduce<readonly Shape[]>(
    (shapes, place) => product(shapes, readSchema(place, 0)),
    anything,
  );
  return shapes === anything ? shapes : shapes.filter((shape) => !isEmpty(shape));
}

/** Whether the limits of a shape leave no value. */
function isEmpty(shape: Shape): boolean {
  if (shape.type === 'constant') return false;
  const { limits } = shape;
  if (Object.keys(limits).length < 2) return false;
  const given = (way: 'larger' | 'smaller'): number[] =>
    limitsOf(shape.type).flatMap(({ name, compare }) =>
      compare === way ? (limits[name] ?? []) : [],
    );
  const [low, high] = [Math.max(...given('larger')), Math.min(...given('smaller'))];
  const isOpen = limits.exclusiveMinimum === low || limits.exclusiveMaximum === high;
  return low > high || (low === high && isOpen);
}

/** What a reference leads to. */
export function targetOf($ref: string, place: Place): Place {
  const { schema, root } = place.references.resolve($ref, { ...place, path: 'a schema' });
  return { ...place, schema, root };
}

function readSchema(place: Place, nesting: number): readonly Shape[] {
  const { schema } = place;
  if (schema === false) return [];
  if (!isObject(schema)) return anything;
  if (nesting > maxNesting) throw new BeyondComparison('it leads to itself');
  const inner = (one: unknown): readonly Shape[] =>
    readSchema({ ...place, schema: one }, nesting + 1);
  let shapes = typed(schema, place);
  const narrow = (more: readonly Shape[]): void => {
    shapes = product(shapes, more);
  };
  if (Object.hasOwn(schema, 'const')) narrow([constant(own(schema, 'const'))]);
  const values = own(schema, 'enum');
  if (Array.isArray(values)) narrow(values.map((value: unknown) => constant(value)));
  const $ref = own(schema, '$ref');
  if (typeof $ref === 'string') narrow(readSchema(targetOf($ref, place), nesting + 1));
  for (const one of listOf(schema, 'allOf')) narrow(inner(one));
  const [anyOf, oneOf] = [listOf(schema, 'anyOf'), listOf(schema, 'oneOf')];
  if (anyOf.length > 0) narrow(anyOf.flatMap(inner));
  if (oneOf.length > 0) narrow(oneOfShapes(oneOf.map(inner)));
  return shapes;
}

/** Exactly one alternative must take a value: the same as any, if no two take one value. */
function oneOfShapes(alternatives: readonly (readonly Shape[])[]): readonly Shape[] {
  const overlaps = alternatives.some((shapes, index) =>
    alternatives
      .slice(index + 1)
      .some((others) => shapes.some((a) => others.some((b) => !areDisjoint(a, b)))),
  );
  const shapes = alternatives.flat();
  return overlaps ? shapes.map((shape) => withOpaque(shape, [unequalled('oneOf')])) : shapes;
}

function product(a: readonly Shape[], b: readonly Shape[]): readonly Shape[] {
  if (b === anything) return a;
  const shapes =
    a === anything ? b : a.flatMap((one) => b.flatMap((other) => intersect(one, other) ?? []));
  if (shapes.length > maxShapes) throw new BeyondComparison('it has too many alternatives');
  return shapes;
}

const jsonTypes = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']);

/** Keywords that `typed` reads. */
const ownKeywords = new Set([
  'type',
  'required',
  'additionalItems',
  ...keywords.filter((row) => row.type ?? row.compare).map(({ name }) => name),
]);

/** What the keywords other than those of unions and intersections leave of each type. */
function typed(schema: JsonObject, place: Place): readonly Shape[] {
  if (!Object.keys(schema).some((name) => ownKeywords.has(name))) return anything;
  const type = own(schema, 'type');
  const types = Array.isArray(type) ? type : type === undefined ? undefined : [type];
  const takes = (name: string): boolean => types === undefined || types.includes(name);
  const strange = types?.filter((one) => !jsonTypes.has(one as string)) ?? [];
  if (strange.length > 0)
    throw new BeyondComparison(`it has the type ${canonicalText(strange[0])}`);
  const shapes: Shape[] = [];
  if (takes('null')) shapes.push(constant(null));
  if (takes('boolean')) shapes.push(constant(true), constant(false));
  if (takes('number') || takes('integer')) {
    const multiple = own(schema, 'multipleOf');
    shapes.push({
      ...limited(anyNumber, schema),
      isInteger: !takes('number'),
      multiples: typeof multiple === 'number' ? [multiple] : [],
    });
  }
  if (takes('string')) shapes.push(limited(anyString, schema));
  if (takes('array')) shapes.push(arrayOf(schema, place));
  if (takes('object')) shapes.push(objectOf(schema, place));
  const opaque = opaqueOf(schema, undefined);
  return opaque.length === 0 ? shapes : shapes.map((shape) => withOpaque(shape, opaque));
}

/** A shape with what the table of keywords says of its type. */
function limited<S extends LimitedShape>(shape: S, schema: JsonObject): S {
  const limits: Record<string, number> = {};
  for (const { name } of limitsOf(shape.type)) {
    const value = own(schema, name);
    if (typeof value === 'number') limits[name] = value;
  }
  return { ...shape, limits, opaque: opaqueOf(schema, shape.type) };
}

function partAt(place: Place, schema: unknown): Part {
  return [{ ...place, schema }];
}

function arrayOf(schema: JsonObject, place: Place): ArrayShape {
  const items = own(schema, 'items');
  const prefix = own(schema, 'prefixItems');
  // Before the draft 2020-12, a list of `items` was what `prefixItems` is now.
  const first = Array.isArray(prefix) ? prefix : Array.isArray(items) ? items : [];
  const behind = Array.isArray(items) ? own(schema, 'additionalItems') : items;
  const { limits, ...shape } = limited(anyArray, schema);
  const { maxItems = Infinity } = limits;
  return {
    ...shape,
    limits: behind === false ? { ...limits, maxItems: Math.min(maxItems, first.length) } : limits,
    first: first.map((one) => partAt(place, one)),
    rest: behind === false ? undefined : behind === undefined ? [] : partAt(place, behind),
    uniqueItems: own(schema, 'uniqueItems') === true,
  };
}

/** Patterns that every name matches, in the forms that generators of schemas write. */
const everyName = new Set(['', '^', '.*', '^.*$', '^(.*)$']);

function objectOf(schema: JsonObject, place: Place): ObjectShape {
  const properties = own(schema, 'properties');
  const members = isObject(properties) ? Object.entries(properties) : [];
  const additional = own(schema, 'additionalProperties');
  const patterns = own(schema, 'patternProperties');
  const [pattern, ...more] = isObject(patterns) ? Object.entries(patterns) : [];
  const isRecord = pattern !== undefined && more.length === 0 && everyName.has(pattern[0]);
  const ofAll = isRecord ? partAt(place, pattern[1]) : [];
  const shape = limited(anyObject, schema);
  return {
    ...shape,
    members: new Map(
      members.map(([name, one]) => [name, [...partAt(place, one), ...ofAll]] as const),
    ),
    required: new Set(
      listOf(schema, 'required').filter((name): name is string => typeof name === 'string'),
    ),
    others: othersOf(),
    opaque: isRecord
      ? shape.opaque.filter(({ keyword }) => keyword !== 'patternProperties')
      : shape.opaque,
  };

  function othersOf(): ObjectShape['others'] {
    if (isRecord) return ofAll;
    if (additional === undefined && pattern === undefined) {
      // Of `{ type: 'object' }` alone, any object is meant.
      return own(schema, 'type') !== undefined && properties === undefined ? [] : 'unsaid';
    }
    // A name that matches a pattern is no additional one.
    if (pattern !== undefined || additional === undefined) return [];
    return additional === false ? undefined : partAt(place, additional);
  }
}

/** The keywords of a type that are compared by their texts. */
function opaqueOf(schema: JsonObject, type: LimitedType | undefined): Opaque[] {
  const present = (textual.get(type) ?? []).filter(({ name }) => Object.hasOwn(schema, name));
  return present.map(({ name, compare }) => {
    const text = canonicalText(own(schema, name));
    // The same reference may lead to different schemas in two documents.
    const isUnequalled = compare === 'never' || /"\$(?:\w*[rR]ef)"/.test(text);
    return isUnequalled ? unequalled(name) : { keyword: name, text: `${name} ${text}` };
  });
}

function unequalled(keyword: string): Opaque {
  return { keyword, text: undefined };
}

function withOpaque(shape: Shape, more: readonly Opaque[]): Shape {
  return { ...shape, opaque: [...shape.opaque, ...more] };
}

/** The values that both shapes take; undefined: there are none. */
function intersect(a: Shape, b: Shape): Shape | undefined {
  if (!sameType(a, b)) return undefined;
  const opaque = a.opaque.length === 0 ? b.opaque : [...a.opaque, ...b.opaque];
  if (a.type === 'constant') return constantWithin(a.value, b, opaque);
  if (b.type === 'constant') return constantWithin(b.value, a, opaque);
  const common = { opaque, limits: stricter(a, b) };
  if (a.type === 'number' && b.type === 'number') {
    const multiples = [...new Set([...a.multiples, ...b.multiples])];
    return { ...a, ...common, isInteger: a.isInteger || b.isInteger, multiples };
  }
  if (a.type === 'array' && b.type === 'array') return { ...arrays(a, b), ...common };
  if (a.type === 'object' && b.type === 'object') return { ...objects(a, b), ...common };
  return { ...a, ...common };
}

function constantWithin(
  value: unknown,
  shape: Shape,
  opaque: readonly Opaque[],
): Shape | undefined {
  const answer = accepts({ ...shape, opaque: [] }, value);
  if (answer === false) return undefined;
  return constant(value, answer === undefined ? [...opaque, unequalled('enum')] : opaque);
}

function stricter(a: LimitedShape, b: LimitedShape): Record<string, number> {
  const limits: Record<string, number> = { ...a.limits, ...b.limits };
  for (const { name, compare } of limitsOf(a.type)) {
    const [one, other] = [a.limits[name], b.limits[name]];
    if (one !== undefined && other !== undefined)
      limits[name] = compare === 'larger' ? Math.max(one, other) : Math.min(one, other);
  }
  return limits;
}

function arrays(a: ArrayShape, b: ArrayShape): ArrayShape {
  const length = Math.max(a.first.length, b.first.length);
  const itemAt = (shape: ArrayShape, index: number) => shape.first[index] ?? shape.rest;
  return {
    ...a,
    first: Array.from(
      { length },
      (_, index) => both(itemAt(a, index), itemAt(b, index)) ?? [never],
    ),
    rest: both(a.rest, b.rest),
    uniqueItems: a.uniqueItems || b.uniqueItems,
  };
}

function objects(a: ObjectShape, b: ObjectShape): ObjectShape {
  const names = new Set([...a.members.keys(), ...b.members.keys()]);
  const memberOf = (shape: ObjectShape, name: string): Part | undefined => {
    const part = shape.members.get(name) ?? shape.others;
    return part === 'unsaid' ? [] : part;
  };
  const others =
    a.others === 'unsaid' ? b.others : both(a.others, b.others === 'unsaid' ? [] : b.others);
  return {
    ...a,
    members: new Map(
      [...names].map((name) => [name, both(memberOf(a, name), memberOf(b, name)) ?? [never]]),
    ),
    required: new Set([...a.required, ...b.required]),
    others,
  };
}

/** Takes no value, and holds no reference. */
const never: Place = { schema: false, root: false, references: undefined as never };

function both(a: Part | undefined, b: Part | undefined): Part | undefined {
  return a === undefined || b === undefined ? undefined : [...a, ...b];
}

/** undefined: the rules can't tell. */
type Answer = boolean | undefined;

/** Whether the shape takes the value. Runs no pattern: the author of a document may have written one that takes for ever. */
export function accepts(shape: Shape, value: unknown): Answer {
  if (!sameType(shape, constant(value))) return false;
  return every([acceptsKnown(shape, value), shape.opaque.length === 0 ? true : undefined]);
}

function acceptsKnown(shape: Shape, value: unknown): Answer {
  if (shape.type === 'constant') return canonicalText(shape.value) === canonicalText(value);
  for (const { name, check } of limitsOf(shape.type)) {
    const limit = shape.limits[name];
    if (limit !== undefined && check?.(limit as never)(value) === false) return false;
  }
  switch (shape.type) {
    case 'string':
      return true;
    case 'number': {
      const number = value as number;
      if (shape.isInteger && !Number.isInteger(number)) return false;
      // The remainder of fractions is inexact.
      const divides = (step: number): Answer =>
        Number.isSafeInteger(step) && Number.isSafeInteger(number)
          ? number % step === 0
          : undefined;
      return every(shape.multiples.map(divides));
    }
    case 'array': {
      const { first, rest, uniqueItems } = shape;
      const items = value as readonly unknown[];
      if (uniqueItems && new Set(items.map(canonicalText)).size < items.length) return false;
      return every(items.map((item, index) => partAccepts(first[index] ?? rest, item)));
    }
    case 'object': {
      const object = value as JsonObject;
      for (const name of shape.required) if (!Object.hasOwn(object, name)) return false;
      return every(
        Object.entries(object).map(([name, member]) =>
          partAccepts(shape.members.get(name) ?? shape.others, member),
        ),
      );
    }
  }
}

function partAccepts(part: Part | 'unsaid' | undefined, value: unknown): Answer {
  if (part === undefined) return false;
  if (part === 'unsaid') return true;
  const answers = shapesOf(part).map((shape) => accepts(shape, value));
  return answers.includes(true) || (answers.includes(undefined) ? undefined : false);
}

function every(answers: readonly Answer[]): Answer {
  if (answers.includes(false)) return false;
  return answers.includes(undefined) ? undefined : true;
}

/** Levels of members that are looked at: discriminants lie near to the top. */
const maxDepth = 3;

/** Whether it is certain that no value has both shapes. */
export function areDisjoint(a: Shape, b: Shape, depth = 0): boolean {
  if (!sameType(a, b)) return true;
  if (a.type === 'constant') return accepts(b, a.value) === false;
  if (b.type === 'constant') return accepts(a, b.value) === false;
  if (a.type === 'number' && b.type === 'number') {
    const { minimum: lowA = -Infinity, maximum: highA = Infinity } = a.limits;
    const { minimum: lowB = -Infinity, maximum: highB = Infinity } = b.limits;
    return highA < lowB || highB < lowA;
  }
  if (a.type !== 'object' || b.type !== 'object' || depth >= maxDepth) return false;
  // A member that one of them requires tells them apart, if it has no value that suits both.
  return [...new Set([...a.required, ...b.required])].some((name) => {
    const [one, other] = [a.members.get(name), b.members.get(name)];
    if (one === undefined || other === undefined) return false;
    const others = shapesOf(other);
    return shapesOf(one).every((shape) =>
      others.every((second) => areDisjoint(shape, second, depth + 1)),
    );
  });
}

/** The shape's type as the keyword `type` names it. */
export function typeOf(shape: Shape): string {
  return shape.type === 'number' && shape.isInteger ? 'integer' : jsonTypeOf(shape);
}

function jsonTypeOf(shape: Shape): string {
  if (shape.type !== 'constant') return shape.type;
  const { value } = shape;
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

/** Whether values of both shapes have one JSON type. */
export function sameType(a: Shape, b: Shape): boolean {
  return jsonTypeOf(a) === jsonTypeOf(b);
}

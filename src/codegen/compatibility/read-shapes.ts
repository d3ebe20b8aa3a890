import { isObject, type JsonObject, own } from '../json.ts';
import { areDisjoint } from './disjoint.ts';
import { intersect } from './intersect.ts';
import {
  type ArrayShape,
  anyArray,
  anyNumber,
  anyObject,
  anyString,
  anything,
  canonicalText,
  constant,
  type ObjectShape,
  type Opaque,
  type Part,
  type Place,
  type Shape,
} from './shapes.ts';

/** Thrown where a schema has too many alternatives, or leads to itself without an end. */
export class BeyondComparison extends Error {}

/** Most alternatives of a schema, once unions within unions and intersections are written out. */
const maxShapes = 256;
/** Most references, unions and intersections within each other, without a level of the value between them. */
const maxNesting = 64;

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
  switch (shape.type) {
    case 'constant':
      return false;
    case 'number': {
      const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = shape;
      return (
        minimum > maximum ||
        exclusiveMinimum >= Math.min(maximum, exclusiveMaximum) ||
        exclusiveMaximum <= minimum
      );
    }
    case 'string':
      return shape.minLength > shape.maxLength;
    case 'array':
      return shape.minItems > shape.maxItems;
    case 'object':
      return shape.minProperties > shape.maxProperties;
  }
}

/** The part with what its schemas refer to in their place, where they are nothing but references. */
export function followed(part: Part): Part {
  return part.map((place) => {
    let current = place;
    for (let steps = 0; steps < maxNesting; steps++) {
      const { schema } = current;
      const $ref = isObject(schema) ? own(schema, '$ref') : undefined;
      if (typeof $ref !== 'string' || Object.keys(schema as object).length > 1) return current;
      current = targetOf($ref, current);
    }
    return current;
  });
}

function targetOf($ref: string, place: Place): Place {
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
  if (typeof $ref === 'string') {
    narrow(readSchema(targetOf($ref, place), nesting + 1));
  }
  const { allOf, anyOf, oneOf } = listsOf(schema);
  for (const one of allOf) narrow(inner(one));
  if (anyOf.length > 0) narrow(anyOf.flatMap(inner));
  if (oneOf.length > 0) narrow(oneOfShapes(oneOf.map(inner)));
  return shapes;
}

/** Exactly one alternative must take a value: the same as any, where no two take one value. */
function oneOfShapes(alternatives: readonly (readonly Shape[])[]): readonly Shape[] {
  const overlaps = alternatives.some((shapes, index) =>
    alternatives
      .slice(index + 1)
      .some((others) => shapes.some((a) => others.some((b) => !areDisjoint(a, b, shapesOf)))),
  );
  const shapes = alternatives.flat();
  if (!overlaps) return shapes;
  return shapes.map((shape) => withOpaque(shape, [{ keyword: 'oneOf', text: undefined }]));
}

function product(a: readonly Shape[], b: readonly Shape[]): readonly Shape[] {
  if (a === anything) return capped(b);
  if (b === anything) return a;
  return capped(a.flatMap((one) => b.flatMap((other) => intersect(one, other, shapesOf) ?? [])));
}

function capped(shapes: readonly Shape[]): readonly Shape[] {
  if (shapes.length > maxShapes) throw new BeyondComparison('it has too many alternatives');
  return shapes;
}

function listsOf(schema: JsonObject) {
  const list = (name: string): readonly unknown[] => {
    const value = own(schema, name);
    return Array.isArray(value) ? value : [];
  };
  return { allOf: list('allOf'), anyOf: list('anyOf'), oneOf: list('oneOf') };
}

/** What the keywords other than those of unions and intersections leave of each type. */
function typed(schema: JsonObject, place: Place): readonly Shape[] {
  if (!Object.keys(schema).some((name) => ownKeywords.has(name))) return anything;
  const type = own(schema, 'type');
  const types = Array.isArray(type) ? type : type === undefined ? undefined : [type];
  const takes = (name: string): boolean => types === undefined || types.includes(name);
  const opaque = opaqueOf(schema, always);
  const strange = types?.filter((one) => !jsonTypes.has(one as string)) ?? [];
  if (strange.length > 0)
    throw new BeyondComparison(`it has the type ${canonicalText(strange[0])}`);
  const shapes: Shape[] = [];
  if (takes('null')) shapes.push(constant(null));
  if (takes('boolean')) shapes.push(constant(true), constant(false));
  if (takes('number') || takes('integer')) shapes.push(numberOf(schema, !takes('number')));
  if (takes('string')) shapes.push(stringOf(schema));
  if (takes('array')) shapes.push(arrayOf(schema, place));
  if (takes('object')) shapes.push(objectOf(schema, place));
  return opaque.length === 0 ? shapes : shapes.map((shape) => withOpaque(shape, opaque));
}

const always = ['not', 'if', 'then', 'else', '$dynamicRef', '$recursiveRef'];
const ofStrings = ['pattern', 'format', 'contentEncoding', 'contentMediaType'];
const ofArrays = ['contains', 'minContains', 'maxContains'];
const ofObjects = ['propertyNames', 'dependentRequired', 'dependentSchemas', 'dependencies'];

/** Keywords that `typed` reads. */
const ownKeywords = new Set(
  [
    'type',
    always,
    ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum', 'multipleOf'],
    ['minLength', 'maxLength', ofStrings],
    ['items', 'prefixItems', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems'],
    ['unevaluatedItems', ofArrays],
    ['properties', 'required', 'additionalProperties', 'patternProperties'],
    ['minProperties', 'maxProperties', 'unevaluatedProperties', ofObjects],
  ].flat(2),
);

const jsonTypes = new Set(['null', 'boolean', 'number', 'integer', 'string', 'array', 'object']);

function numberOf(schema: JsonObject, isInteger: boolean): Shape {
  const multiple = own(schema, 'multipleOf');
  return {
    ...anyNumber,
    isInteger,
    minimum: limit(schema, 'minimum', anyNumber.minimum),
    exclusiveMinimum: limit(schema, 'exclusiveMinimum', anyNumber.exclusiveMinimum),
    maximum: limit(schema, 'maximum', anyNumber.maximum),
    exclusiveMaximum: limit(schema, 'exclusiveMaximum', anyNumber.exclusiveMaximum),
    multiples: typeof multiple === 'number' ? [multiple] : [],
  };
}

function stringOf(schema: JsonObject): Shape {
  return {
    ...anyString,
    minLength: limit(schema, 'minLength', anyString.minLength),
    maxLength: limit(schema, 'maxLength', anyString.maxLength),
    opaque: opaqueOf(schema, ofStrings),
  };
}

function arrayOf(schema: JsonObject, place: Place): ArrayShape {
  const at = (one: unknown): Part => [{ ...place, schema: one }];
  const items = own(schema, 'items');
  const prefix = own(schema, 'prefixItems');
  // Before the draft 2020-12, a list of `items` was what `prefixItems` is now.
  const first = Array.isArray(prefix) ? prefix : Array.isArray(items) ? items : [];
  const behind = Array.isArray(items) ? own(schema, 'additionalItems') : items;
  return {
    ...anyArray,
    first: first.map(at),
    rest: behind === false ? undefined : behind === undefined ? [] : at(behind),
    minItems: limit(schema, 'minItems', anyArray.minItems),
    maxItems: Math.min(
      limit(schema, 'maxItems', anyArray.maxItems),
      behind === false ? first.length : anyArray.maxItems,
    ),
    uniqueItems: own(schema, 'uniqueItems') === true,
    opaque: [...opaqueOf(schema, ofArrays), ...unequalled(schema, ['unevaluatedItems'])],
  };
}

/** Patterns that every name matches, in the forms that generators of schemas write. */
const everyName = new Set(['', '^', '.*', '^.*$', '^(.*)$']);

function objectOf(schema: JsonObject, place: Place): ObjectShape {
  const at = (one: unknown): Part => [{ ...place, schema: one }];
  const properties = own(schema, 'properties');
  const members = isObject(properties) ? Object.entries(properties) : [];
  const required = own(schema, 'required');
  const additional = own(schema, 'additionalProperties');
  const patterns = own(schema, 'patternProperties');
  const [pattern, ...more] = isObject(patterns) ? Object.entries(patterns) : [];
  const isRecord = pattern !== undefined && more.length === 0 && everyName.has(pattern[0]);
  const ofAll = isRecord ? at(pattern[1]) : [];
  const named = members.map(([name, one]) => [name, [...at(one), ...ofAll]] as const);
  return {
    ...anyObject,
    members: new Map(named),
    required: new Set(
      Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [],
    ),
    others: othersOf(),
    minProperties: limit(schema, 'minProperties', anyObject.minProperties),
    maxProperties: limit(schema, 'maxProperties', anyObject.maxProperties),
    opaque: [
      ...opaqueOf(schema, ofObjects),
      // Which names `additionalProperties` and `unevaluatedProperties` are about depends on the keywords beside them.
      ...unequalled(schema, isRecord ? [] : ['patternProperties']),
      ...unequalled(schema, ['unevaluatedProperties']),
    ],
  };

  function othersOf(): ObjectShape['others'] {
    if (isRecord) return ofAll;
    if (additional === undefined && pattern === undefined) {
      // Of `{ type: 'object' }` alone, any object is meant.
      return own(schema, 'type') !== undefined && properties === undefined ? [] : 'unsaid';
    }
    // A name that matches a pattern is no additional one.
    if (pattern !== undefined || additional === undefined) return [];
    return additional === false ? undefined : at(additional);
  }
}

function limit(schema: JsonObject, keyword: string, otherwise: number): number {
  const value = own(schema, keyword);
  return typeof value === 'number' ? value : otherwise;
}

/** The keywords that the schema has, each with the text of its value. */
function opaqueOf(schema: JsonObject, keywords: readonly string[]): Opaque[] {
  return keywords.flatMap((keyword) => {
    if (!Object.hasOwn(schema, keyword)) return [];
    const text = canonicalText(own(schema, keyword));
    // The same reference may lead to different schemas in two documents.
    return [{ keyword, text: /"\$(?:\w*[rR]ef)"/.test(text) ? undefined : `${keyword} ${text}` }];
  });
}

function unequalled(schema: JsonObject, keywords: readonly string[]): Opaque[] {
  return opaqueOf(schema, keywords).map(({ keyword }) => ({ keyword, text: undefined }));
}

function withOpaque(shape: Shape, more: readonly Opaque[]): Shape {
  return { ...shape, opaque: [...shape.opaque, ...more] };
}

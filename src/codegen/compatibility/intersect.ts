import { accepts } from './accepts.ts';
import {
  type ArrayShape,
  constant,
  type NumberShape,
  type ObjectShape,
  type Opaque,
  type Part,
  type Place,
  type ReadShapes,
  type Shape,
  type StringShape,
  sameType,
} from './shapes.ts';

/** The values that both shapes take; undefined: there are none. */
export function intersect(a: Shape, b: Shape, read: ReadShapes): Shape | undefined {
  if (!sameType(a, b)) return undefined;
  const opaque = a.opaque.length === 0 ? b.opaque : [...a.opaque, ...b.opaque];
  if (a.type === 'constant') return constantWithin(a.value, b, opaque, read);
  if (b.type === 'constant') return constantWithin(b.value, a, opaque, read);
  if (a.type === 'number') return { ...numbers(a, b as NumberShape), opaque };
  if (a.type === 'string') return { ...strings(a, b as StringShape), opaque };
  if (a.type === 'array') return { ...arrays(a, b as ArrayShape), opaque };
  return { ...objects(a, b as ObjectShape), opaque };
}

function constantWithin(
  value: unknown,
  shape: Shape,
  opaque: readonly Opaque[],
  read: ReadShapes,
): Shape | undefined {
  const verdict = accepts({ ...shape, opaque: [] }, value, read);
  if (verdict === false) return undefined;
  const unsure = { keyword: 'enum', text: undefined };
  return constant(value, verdict === undefined ? [...opaque, unsure] : opaque);
}

function numbers(a: NumberShape, b: NumberShape): NumberShape {
  return {
    ...a,
    isInteger: a.isInteger || b.isInteger,
    minimum: Math.max(a.minimum, b.minimum),
    exclusiveMinimum: Math.max(a.exclusiveMinimum, b.exclusiveMinimum),
    maximum: Math.min(a.maximum, b.maximum),
    exclusiveMaximum: Math.min(a.exclusiveMaximum, b.exclusiveMaximum),
    multiples: [...new Set([...a.multiples, ...b.multiples])],
  };
}

function strings(a: StringShape, b: StringShape): StringShape {
  return {
    ...a,
    minLength: Math.max(a.minLength, b.minLength),
    maxLength: Math.min(a.maxLength, b.maxLength),
  };
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
    minItems: Math.max(a.minItems, b.minItems),
    maxItems: Math.min(a.maxItems, b.maxItems),
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
    minProperties: Math.max(a.minProperties, b.minProperties),
    maxProperties: Math.min(a.maxProperties, b.maxProperties),
  };
}

/** Takes no value, and holds no reference. */
const never: Omit<Place, 'references'> & { readonly references: never } = {
  schema: false,
  root: false,
  references: undefined as never,
};

function both(a: Part | undefined, b: Part | undefined): Part | undefined {
  return a === undefined || b === undefined ? undefined : [...a, ...b];
}

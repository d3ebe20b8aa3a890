import type { References } from '../references.ts';

/** A schema, and the document that its references lead into. */
export interface Place {
  readonly schema: unknown;
  /** The outermost schema around it. See References. */
  readonly root: unknown;
  readonly references: References;
}

/** What a value must be valid under: each of the schemas. No schema at all takes everything. */
export type Part = readonly Place[];

/** Reads a part. A parameter of what read-shapes.ts uses itself, since imports go one way. */
export type ReadShapes = (part: Part) => readonly Shape[];

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
export type Shape = ConstantShape | NumberShape | StringShape | ArrayShape | ObjectShape;

interface Common {
  readonly opaque: readonly Opaque[];
}

/** One value. null, true and false are always of this shape. */
export interface ConstantShape extends Common {
  readonly type: 'constant';
  readonly value: unknown;
}

export interface NumberShape extends Common {
  readonly type: 'number';
  readonly isInteger: boolean;
  readonly minimum: number;
  readonly exclusiveMinimum: number;
  readonly maximum: number;
  readonly exclusiveMaximum: number;
  readonly multiples: readonly number[];
}

export interface StringShape extends Common {
  readonly type: 'string';
  readonly minLength: number;
  readonly maxLength: number;
}

export interface ArrayShape extends Common {
  readonly type: 'array';
  readonly first: readonly Part[];
  /** The items behind `first`; undefined: there are none. */
  readonly rest: Part | undefined;
  readonly minItems: number;
  readonly maxItems: number;
  readonly uniqueItems: boolean;
}

export interface ObjectShape extends Common {
  readonly type: 'object';
  readonly members: ReadonlyMap<string, Part>;
  readonly required: ReadonlySet<string>;
  /** Members without a name here; `unsaid`: the schema says nothing of them; undefined: there are none. */
  readonly others: Part | 'unsaid' | undefined;
  readonly minProperties: number;
  readonly maxProperties: number;
}

const none: readonly Opaque[] = [];
const unbounded = Number.POSITIVE_INFINITY;

export const anyNumber: NumberShape = {
  type: 'number',
  isInteger: false,
  minimum: -unbounded,
  exclusiveMinimum: -unbounded,
  maximum: unbounded,
  exclusiveMaximum: unbounded,
  multiples: [],
  opaque: none,
};

export const anyString: StringShape = {
  type: 'string',
  minLength: 0,
  maxLength: unbounded,
  opaque: none,
};

export const anyArray: ArrayShape = {
  type: 'array',
  first: [],
  rest: [],
  minItems: 0,
  maxItems: unbounded,
  uniqueItems: false,
  opaque: none,
};

export const anyObject: ObjectShape = {
  type: 'object',
  members: new Map(),
  required: new Set(),
  others: 'unsaid',
  minProperties: 0,
  maxProperties: unbounded,
  opaque: none,
};

export function constant(value: unknown, opaque: readonly Opaque[] = none): ConstantShape {
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

/** The shape's type as the keyword `type` names it. */
export function typeOf(shape: Shape): string {
  if (shape.type === 'number' && shape.isInteger) return 'integer';
  return shape.type === 'constant' ? typeOfValue(shape.value) : shape.type;
}

/** The JSON type of a value. */
function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Whether values of both shapes have one JSON type. */
export function sameType(a: Shape, b: Shape): boolean {
  const [one, other] = [typeOf(a), typeOf(b)];
  return one === other || (isNumeric(one) && isNumeric(other));
}

function isNumeric(type: string): boolean {
  return type === 'number' || type === 'integer';
}

/** JSON text of a value, the same for equal values. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`).join()}}`;
}

import { inspect, isDeepStrictEqual } from 'node:util';
import { FormatRegistry } from '@sinclair/typebox';
import { counted } from '../base/text.ts';

export type Check = (value: unknown) => boolean;

/** The JSON types whose values keywords limit. */
export type LimitedType = 'number' | 'string' | 'array' | 'object';

/**
 * What Tandem knows of a keyword of JSON Schema. A new keyword is a row here: the checks, the messages, the documents,
 * the tags of generated contracts and the comparison of contracts read it.
 */
export interface Keyword {
  /** The type whose values the keyword is about; undefined: values of any type. */
  readonly type?: LimitedType;
  /** What the keyword's own value must be. Registration refuses others. */
  readonly takes?: keyof typeof ownValues;
  /** Makes the check of a value of `type`. */
  readonly check?: (limit: never) => Check;
  /**
   * The same as an expression of code over the value `v`, for a check that is as short as a call of it. `rest` writes a call
   * of the check, for the values that the expression does not decide.
   */
  readonly code?: (v: string, limit: number, rest: () => string) => string;
  /** What a caller is told whose value does not pass. */
  readonly message?: (limit: unknown) => string;
  /** The check may take long, so it comes after the others, and is not repeated to find out why a value was refused. */
  readonly isLast?: true;
  /** It describes a value and rules none out. */
  readonly describes?: true;
  /** Generated contracts have a tag for it. */
  readonly isDocumented?: true;
  /** How contracts are compared. */
  readonly compare?: KeywordComparison;
  /** The keyword holds schemas. */
  readonly holdsSchemas?: true;
  /** It rules values out and no node has it: what to write instead. */
  readonly instead?: string;
}

export interface KeywordComparison {
  /** Whether every value that keeps `limit` keeps `other`. */
  readonly implies: (limit: never, other: never) => boolean;
  /** The limit that rules nothing out. */
  readonly none?: unknown;
  /** What it means if values had no such limit before. */
  readonly isNew: 'breaking' | 'unknown';
  /** What it means if they had one that does not imply the other. */
  readonly isOther: 'breaking' | 'unknown';
}

/** Only an equal value of the keyword stands for the same values. */
const equal: KeywordComparison = {
  implies: isDeepStrictEqual,
  isNew: 'unknown',
  isOther: 'unknown',
};

/** The same, and the keyword rules values out wherever it stands. */
const assertion: KeywordComparison = { ...equal, isNew: 'breaking' };

const operators = {
  '>=': { words: 'at least', holds: (size: number, limit: number) => size >= limit },
  '>': { words: 'more than', holds: (size: number, limit: number) => size > limit },
  '<=': { words: 'at most', holds: (size: number, limit: number) => size <= limit },
  '<': { words: 'less than', holds: (size: number, limit: number) => size < limit },
};

type Operator = keyof typeof operators;

/** What the own values of keywords must be. */
const ownValues = {
  number: { words: 'a finite number', holds: (value: unknown) => Number.isFinite(value) },
  step: {
    words: 'a number above 0, such as 0.01',
    holds: (value: unknown) => Number.isFinite(value) && (value as number) > 0,
  },
  count: {
    words: 'a whole number, 0 or more',
    holds: (value: unknown) => Number.isInteger(value) && (value as number) >= 0,
  },
  string: { words: 'a string', holds: (value: unknown) => typeof value === 'string' },
  boolean: { words: 'true or false', holds: (value: unknown) => typeof value === 'boolean' },
};

/** What is wrong with a keyword's own value. */
export function ownValueFault({ takes }: Keyword, value: unknown): string | undefined {
  if (takes === undefined || ownValues[takes].holds(value)) return undefined;
  const shown = inspect(value, { depth: 0, maxStringLength: 64 });
  return `must be ${ownValues[takes].words}, not ${shown}`;
}

/** What a limit is compared with. */
function sizeOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return codePointsIn(value);
  return Array.isArray(value) ? value.length : Object.keys(value as object).length;
}

export function codePointsIn(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length; at++) {
    const isPair =
      (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
    if (isPair) pairs++;
  }
  return text.length - pairs;
}

const boundCode: Readonly<
  Record<LimitedType, (v: string, operator: Operator, limit: number, rest: () => string) => string>
> = {
  number: (v, operator, limit) => `${v} ${operator} ${limit}`,
  // One or two units of UTF-16 make a code point, so that the number of units decides for most texts.
  string: (v, operator, limit, rest) =>
    operator === '<='
      ? `(${v}.length <= ${limit} || (${v}.length <= ${2 * limit} && ${rest()}))`
      : `(${v}.length >= ${2 * limit - 1} || (${v}.length >= ${limit} && ${rest()}))`,
  array: (v, operator, limit) => `${v}.length ${operator} ${limit}`,
  object: (v, operator, limit) => `Object.keys(${v}).length ${operator} ${limit}`,
};

/** What is counted of a value: characters of a string. */
const counts = {
  number: undefined,
  string: { value: 'a string of', unit: 'character' },
  array: { value: 'an array of', unit: 'item' },
  object: { value: 'an object with', unit: 'member' },
};

function bound(type: LimitedType, operator: Operator): Keyword {
  const { words, holds } = operators[operator];
  const count = counts[type];
  return {
    type,
    takes: type === 'number' ? 'number' : 'count',
    check: (limit: number) => (value) => holds(sizeOf(value), limit),
    code: (v, limit, rest) => boundCode[type](v, operator, limit, rest),
    message: (limit) =>
      count === undefined
        ? `must be ${words} ${String(limit)}`
        : `must be ${count.value} ${words} ${counted(limit as number, count.unit)}`,
    isDocumented: true,
    compare: {
      implies: operators[operator.startsWith('>') ? '>=' : '<='].holds,
      none: type !== 'number' && operator === '>=' ? 0 : undefined,
      isNew: 'breaking',
      isOther: 'breaking',
    },
  };
}

/** The digits of a number, without zeros at the end, and their power of ten: 19.99 is 1999 and -2. */
function decimalOf(value: number): { readonly digits: bigint; readonly exponent: number } {
  const [, whole = '', fraction = '', exponent] =
    /^(-?\d)(?:\.(\d+))?e(.+)$/.exec(value.toExponential()) ?? [];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** Whether a number is a multiple of `step`, both as their decimal texts say: `%` finds a remainder in 0.3 % 0.1. */
function isMultipleOf(step: number): Check {
  const { digits, exponent } = decimalOf(step);
  const places = Math.max(0, -exponent);
  // Powers of ten are exact up to 1e22. A text of up to 15 digits stands for one double, and each of those for one text.
  const power = places <= 22 ? Number(`1e${places}`) : Number.NaN;
  const scaledStep = exponent < 0 ? Number(digits) : step;
  return (given) => {
    const value = given as number;
    const scaled = Math.round(value * power);
    if (Math.abs(scaled) < 1e15) return scaled / power === value && scaled % scaledStep === 0;
    if (value === 0 || !Number.isFinite(value)) return value === 0;
    const decimal = decimalOf(value);
    const shift = decimal.exponent - exponent;
    // Digits that go further than those of the step do not end in 0.
    return shift >= 0 && (decimal.digits * 10n ** BigInt(shift)) % digits === 0n;
  };
}

const rows: Readonly<Record<string, Keyword>> = {
  minLength: bound('string', '>='),
  maxLength: bound('string', '<='),
  format: {
    type: 'string',
    takes: 'string',
    check: (name: string) => (value) => FormatRegistry.Get(name)?.(value as string) === true,
    message: (name) => `must have the format ${String(name)}`,
    isLast: true,
    isDocumented: true,
    compare: assertion,
  },
  pattern: {
    type: 'string',
    takes: 'string',
    check: (source: string) => {
      const pattern = new RegExp(source, 'u');
      return (value) => pattern.test(value as string);
    },
    message: (source) => `must match the pattern ${String(source)}`,
    isLast: true,
    isDocumented: true,
    compare: assertion,
  },
  contentEncoding: { type: 'string', describes: true, compare: assertion },
  contentMediaType: { type: 'string', describes: true, compare: assertion },

  minimum: bound('number', '>='),
  exclusiveMinimum: bound('number', '>'),
  maximum: bound('number', '<='),
  exclusiveMaximum: bound('number', '<'),
  multipleOf: {
    type: 'number',
    takes: 'step',
    check: isMultipleOf,
    code: (v, step, rest) =>
      Number.isSafeInteger(step)
        ? `(Math.abs(${v}) <= ${Number.MAX_SAFE_INTEGER} ? ${v} % ${step} === 0 : ${rest()})`
        : rest(),
    message: (step) => `must be a multiple of ${String(step)}`,
    isDocumented: true,
    compare: { ...assertion, implies: (step: number, other: number) => isMultipleOf(other)(step) },
  },

  minItems: bound('array', '>='),
  maxItems: bound('array', '<='),
  // The checks of a schema share what they know of equal items, so that items within items are compared once.
  uniqueItems: {
    type: 'array',
    takes: 'boolean',
    message: () => 'must hold no item twice',
    isLast: true,
    isDocumented: true,
    compare: {
      implies: (isUnique: boolean, other: boolean) => isUnique || !other,
      none: false,
      isNew: 'breaking',
      isOther: 'breaking',
    },
  },
  minProperties: bound('object', '>='),
  maxProperties: bound('object', '<='),
  propertyNames: { type: 'object', compare: equal },
  dependentRequired: { type: 'object', compare: equal },
  dependentSchemas: {
    type: 'object',
    compare: equal,
    instead: 'write a union of objects with and without the member',
  },
  dependencies: {
    type: 'object',
    compare: equal,
    instead: 'write dependentRequired, or a union of objects with and without the member',
  },

  // Of a type that JSON Schema does not have, as a note.
  type: { compare: equal },

  properties: { type: 'object', holdsSchemas: true },
  patternProperties: { type: 'object', compare: equal, holdsSchemas: true },
  $defs: { holdsSchemas: true },
  anyOf: { holdsSchemas: true },
  oneOf: {
    holdsSchemas: true,
    instead: 'write a union (anyOf), whose variants a literal member tells apart',
  },
  allOf: { holdsSchemas: true },
  prefixItems: { type: 'array', holdsSchemas: true },
  items: { type: 'array', holdsSchemas: true },
  contains: { type: 'array', compare: equal, holdsSchemas: true },
  minContains: { type: 'array', takes: 'count', compare: equal },
  maxContains: { type: 'array', takes: 'count', compare: equal },
  unevaluatedItems: { type: 'array', compare: equal, instead: 'write a tuple' },
  additionalProperties: { type: 'object', holdsSchemas: true },
  unevaluatedProperties: {
    type: 'object',
    compare: equal,
    holdsSchemas: true,
    instead: 'write additionalProperties',
  },
  not: { compare: equal, holdsSchemas: true },
  if: { compare: equal, instead: 'write a union of the cases' },
  ...Object.fromEntries(['then', 'else'].map((name) => [name, { compare: equal }])),
  $dynamicRef: { compare: equal, instead: 'write a reference to a named type' },
  $recursiveRef: { compare: equal, instead: 'write a reference to a named type' },
};

export interface KeywordRow extends Keyword {
  readonly name: string;
}

export const keywords: readonly KeywordRow[] = Object.entries(rows).map(([name, row]) => ({
  name,
  ...row,
}));

const byType = new Map<LimitedType | undefined, KeywordRow[]>();
for (const row of keywords) byType.set(row.type, [...(byType.get(row.type) ?? []), row]);

const byName = new Map(keywords.map((row) => [row.name, row]));

export function keywordNamed(name: string): KeywordRow | undefined {
  return byName.get(name);
}

/** A keyword with what a node says of it. */
export interface Limit {
  readonly row: KeywordRow;
  readonly limit: unknown;
}

/** The keywords of a type that limit the values of a node, or of what else holds limits under their names. */
export function limitsOf(holder: object, type: LimitedType | undefined): readonly Limit[] {
  const limits = holder as Readonly<Record<string, unknown>>;
  const rows = (type && byType.get(type)) ?? [];
  return rows.flatMap((row) => {
    const limit = limits[row.name];
    return limit === undefined ? [] : [{ row, limit }];
  });
}

import { FormatRegistry } from '@sinclair/typebox';
import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { lengthOf } from '../../schema/bytes.ts';
import { bytesKind } from './type.ts';

export type Check = (value: unknown) => boolean;

/** The JSON types whose values keywords limit. */
export type LimitedType = 'number' | 'string' | 'array' | 'object';

/**
 * What Tandem knows of a keyword of JSON Schema. A new keyword is a row here: the checks, the messages, the walks through a
 * schema, the tags of generated contracts and the comparison of contracts read it.
 */
export interface Keyword {
  /** The type whose values the keyword is about; undefined: values of any type. */
  readonly type?: LimitedType;
  /** The only kind of schema that has it. */
  readonly kind?: string;
  /** The type of the keyword's own value; one of another type is ignored. */
  readonly takes?: 'number' | 'string' | 'boolean' | 'object';
  /** Makes the check of a value of `type`. */
  readonly check?: (limit: never) => Check;
  /** The same as an expression of code over the value `v`, for a check that is as short as a call of it. */
  readonly code?: (v: string, limit: unknown) => string;
  /** What a caller is told whose value does not pass. */
  readonly message?: (limit: unknown) => string;
  /** The check may take long, so it comes after the others, and is not repeated to find out why a value was refused. */
  readonly isLast?: true;
  /** Generated contracts have a tag for it. */
  readonly isDocumented?: true;
  /**
   * How contracts are compared. `larger`, `smaller`: of two limits that one counts. `equal`: only equal texts stand for
   * the same values. `assertion`: the same, and it rules values out wherever it stands. `never`: what it says depends on the
   * keywords beside it, so that nothing equals it.
   */
  readonly compare?: 'larger' | 'smaller' | 'equal' | 'assertion' | 'never';
  /**
   * The keyword holds schemas: one, a list, or a map of them, with the step from a value to what they are about. `key`:
   * the member of that name or the item at that index; `/*`: all members or items; '': the value itself.
   */
  readonly children?: Readonly<Partial<Record<'one' | 'list' | 'map', 'key' | '/*' | ''>>>;
}

const operators = {
  '>=': (size: number, limit: number) => size >= limit,
  '>': (size: number, limit: number) => size > limit,
  '<=': (size: number, limit: number) => size <= limit,
  '<': (size: number, limit: number) => size < limit,
};

/** What a limit is compared with. */
function sizeOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return Object.keys(value as object).length;
}

const sizeCode: Readonly<Record<LimitedType, (v: string) => string>> = {
  number: (v) => v,
  string: (v) => `${v}.length`,
  array: (v) => `${v}.length`,
  object: (v) => `Object.keys(${v}).length`,
};

function bound(type: LimitedType, operator: keyof typeof operators, words: string): Keyword {
  const holds = operators[operator];
  return {
    type,
    takes: 'number',
    check: (limit: number) => (value) => holds(sizeOf(value), limit),
    code: (v, limit) => `${sizeCode[type](v)} ${operator} ${String(limit)}`,
    message: (limit) => `${words} ${String(limit)}`,
    isDocumented: true,
    compare: operator.startsWith('>') ? 'larger' : 'smaller',
  };
}

/** Rows of keywords that are compared by their texts, and that Tandem knows no more of. */
function opaque(
  compare: 'equal' | 'assertion' | 'never',
  type: LimitedType | undefined,
  ...names: readonly string[]
): Record<string, Keyword> {
  const row = type === undefined ? { compare } : { type, compare };
  return Object.fromEntries(names.map((name) => [name, row]));
}

const rows: Readonly<Record<string, Keyword>> = {
  maxBytes: {
    type: 'string',
    kind: bytesKind,
    takes: 'number',
    check: (most: number) => (value) => lengthOf(value as string) <= most,
    message: (most) => `must be at most ${String(most)} bytes`,
  },
  minLength: bound('string', '>=', 'must be a string of a length of at least'),
  maxLength: bound('string', '<=', 'must be a string of a length of at most'),
  format: {
    type: 'string',
    takes: 'string',
    check: (name: string) => (value) => FormatRegistry.Get(name)?.(value as string) === true,
    message: (name) => `must have the format ${String(name)}`,
    isLast: true,
    isDocumented: true,
    compare: 'assertion',
  },
  pattern: {
    type: 'string',
    takes: 'string',
    check: (source: string) => {
      const pattern = new RegExp(source);
      return (value) => pattern.test(value as string);
    },
    message: (source) => `must match the pattern ${String(source)}`,
    isLast: true,
    isDocumented: true,
    compare: 'assertion',
  },
  ...opaque('assertion', 'string', 'contentEncoding', 'contentMediaType'),

  minimum: bound('number', '>=', 'must be at least'),
  exclusiveMinimum: bound('number', '>', 'must be more than'),
  maximum: bound('number', '<=', 'must be at most'),
  exclusiveMaximum: bound('number', '<', 'must be less than'),
  multipleOf: {
    type: 'number',
    takes: 'number',
    check: (step: number) => (value) => (value as number) % step === 0,
    code: (v, step) => `${v} % ${String(step)} === 0`,
    message: (step) => `must be a multiple of ${String(step)}`,
    isDocumented: true,
  },

  minItems: bound('array', '>=', 'must be an array of a length of at least'),
  maxItems: bound('array', '<=', 'must be an array of a length of at most'),
  // The checks of a schema share what they know of equal items, so that items within items are compared once.
  uniqueItems: {
    type: 'array',
    takes: 'boolean',
    message: () => 'must hold no item twice',
    isLast: true,
    isDocumented: true,
  },
  minProperties: bound('object', '>=', 'must be an object with a number of members of at least'),
  maxProperties: bound('object', '<=', 'must be an object with a number of members of at most'),
  dependentRequired: {
    type: 'object',
    takes: 'object',
    check: (needs: Readonly<Record<string, readonly string[]>>) => {
      const has = (value: object, name: string): boolean =>
        Object.hasOwn(value, name) && (value as Record<string, unknown>)[name] !== undefined;
      return (value) =>
        Object.entries(needs).every(
          ([name, others]) =>
            !has(value as object, name) || others.every((other) => has(value as object, other)),
        );
    },
    message: (needs) => `must have the members that others require: ${JSON.stringify(needs)}`,
    compare: 'equal',
  },
  propertyNames: { type: 'object', compare: 'equal', children: { one: '/*' } },
  required: { type: 'object' },
  ...opaque('equal', 'object', 'dependentSchemas', 'dependencies'),

  // In the order in which schemas are walked.
  properties: { type: 'object', children: { map: 'key' } },
  patternProperties: { type: 'object', compare: 'never', children: { map: '/*' } },
  $defs: { children: { map: '' } },
  anyOf: { children: { list: '' } },
  oneOf: { children: { list: '' } },
  allOf: { children: { list: '' } },
  prefixItems: { type: 'array', children: { list: 'key' } },
  items: { type: 'array', children: { list: 'key', one: '/*' } },
  contains: { type: 'array', compare: 'equal', children: { one: '/*' } },
  ...opaque('equal', 'array', 'minContains', 'maxContains'),
  ...opaque('never', 'array', 'unevaluatedItems'),
  additionalProperties: { type: 'object', children: { one: '/*' } },
  unevaluatedProperties: { type: 'object', compare: 'never', children: { one: '/*' } },
  not: { compare: 'equal', children: { one: '' } },
  ...opaque('equal', undefined, 'if', 'then', 'else', '$dynamicRef', '$recursiveRef'),
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

/** The rows of a type, or those of all types. */
export function keywordsOf(type: LimitedType | undefined): readonly KeywordRow[] {
  return byType.get(type) ?? [];
}

/** What Tandem knows of a kind of TypeBox's schemas that JSON can carry. */
export interface KindRow {
  /** What it takes; `any`: arrays and objects, as its parts do; `open`: what nobody knows. */
  readonly shape: 'scalar' | 'bytes' | 'array' | 'object' | 'any' | 'open';
  /** The check of the value of the expression `v`, if the kind has no parts. */
  readonly code?: (v: string, schema: Readonly<Record<string, unknown>>) => string;
  /** Keywords limit its values as those of this type. */
  readonly limitedAs?: LimitedType;
  /** undefined may pass, so that a check of the value does not tell whether a member is there. */
  readonly mayBeUndefined?: true;
}

const anything: KindRow = { shape: 'open', code: () => 'true', mayBeUndefined: true };
const text: KindRow = {
  shape: 'scalar',
  code: (v) => `typeof ${v} === "string"`,
  limitedAs: 'string',
};
const reference: KindRow = { shape: 'any', mayBeUndefined: true };

const kinds: Readonly<Record<string, KindRow>> = {
  Any: anything,
  Unknown: anything,
  Never: { shape: 'scalar', code: () => 'false' },
  Undefined: { shape: 'scalar', code: (v) => `${v} === undefined`, mayBeUndefined: true },
  Void: {
    shape: 'scalar',
    code: (v) =>
      TypeSystemPolicy.AllowNullVoid
        ? `(${v} === undefined || ${v} === null)`
        : `${v} === undefined`,
    mayBeUndefined: true,
  },
  Null: { shape: 'scalar', code: (v) => `${v} === null` },
  Boolean: { shape: 'scalar', code: (v) => `typeof ${v} === "boolean"` },
  Literal: { shape: 'scalar', code: (v, schema) => `${v} === ${JSON.stringify(schema.const)}` },
  Integer: { shape: 'scalar', code: (v) => `Number.isInteger(${v})`, limitedAs: 'number' },
  Number: {
    shape: 'scalar',
    code: (v) => (TypeSystemPolicy.AllowNaN ? `typeof ${v} === "number"` : `Number.isFinite(${v})`),
    limitedAs: 'number',
  },
  String: text,
  TemplateLiteral: text,
  [bytesKind]: { shape: 'bytes' },
  Array: { shape: 'array' },
  Tuple: { shape: 'array' },
  Object: { shape: 'object' },
  Record: { shape: 'object' },
  Union: { shape: 'any' },
  Intersect: reference,
  Not: { shape: 'open', mayBeUndefined: true },
  Ref: reference,
  This: reference,
  Import: reference,
};

/** The row of a kind; undefined: a kind of somebody's own, or one that JSON can't carry. */
export function kindNamed(name: string | undefined): KindRow | undefined {
  return name !== undefined && Object.hasOwn(kinds, name) ? kinds[name] : undefined;
}

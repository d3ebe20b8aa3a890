import { FormatRegistry, type TSchema, TypeRegistry } from '@sinclair/typebox';
import { TypeSystemPolicy } from '@sinclair/typebox/system';
import { kindOf } from './schema-tree.ts';

export type Check = (value: unknown) => boolean;

/** The check of a schema without parts: a string, a number, a literal, a custom kind. */
export function valueCheck(schema: TSchema): Check {
  const kind = kindOf(schema) ?? '';
  switch (kind) {
    case 'Any':
    case 'Unknown':
      return () => true;
    case 'Never':
      return () => false;
    case 'Boolean':
      return (value) => typeof value === 'boolean';
    case 'Null':
      return (value) => value === null;
    case 'Undefined':
      return (value) => value === undefined;
    case 'Void':
      return (value) => TypeSystemPolicy.IsVoidLike(value);
    case 'Literal':
      return (value) => value === schema.const;
    case 'Integer':
      return both((value) => Number.isInteger(value), rangeCheck(schema));
    case 'Number':
      return both((value) => TypeSystemPolicy.IsNumberLike(value), rangeCheck(schema));
    case 'String':
    case 'TemplateLiteral':
      return stringCheck(schema);
    default:
      return (value) => TypeRegistry.Get(kind)?.(schema, value) ?? false;
  }
}

function both(first: Check, second: Check): Check {
  return (value) => first(value) && second(value);
}

/** The number that the schema has for `keyword`; undefined: none. */
export function boundOf(schema: TSchema, keyword: string): number | undefined {
  const bound: unknown = schema[keyword];
  return typeof bound === 'number' ? bound : undefined;
}

function rangeCheck(schema: TSchema): Check {
  const least = boundOf(schema, 'minimum');
  const most = boundOf(schema, 'maximum');
  const above = boundOf(schema, 'exclusiveMinimum');
  const below = boundOf(schema, 'exclusiveMaximum');
  const step = boundOf(schema, 'multipleOf');
  return (given) => {
    const value = given as number;
    return (
      (least === undefined || value >= least) &&
      (most === undefined || value <= most) &&
      (above === undefined || value > above) &&
      (below === undefined || value < below) &&
      (step === undefined || value % step === 0)
    );
  };
}

/** Checks the length before the pattern: the pattern may take too long on a longer string. */
function stringCheck(schema: TSchema): Check {
  const isPlain = kindOf(schema) === 'String';
  const fits = sizeCheck(isPlain ? schema : {}, 'minLength', 'maxLength');
  const pattern = typeof schema.pattern === 'string' ? new RegExp(schema.pattern) : undefined;
  const format: unknown = isPlain ? schema.format : undefined;
  return (value) =>
    typeof value === 'string' &&
    fits(value.length) &&
    (pattern === undefined || pattern.test(value)) &&
    (typeof format !== 'string' || FormatRegistry.Get(format)?.(value) === true);
}

/** Whether a size lies between two bounds of a schema. */
export function sizeCheck(
  schema: Readonly<Record<string, unknown>>,
  leastKey: string,
  mostKey: string,
): (size: number) => boolean {
  const least = boundOf(schema as TSchema, leastKey) ?? 0;
  const most = boundOf(schema as TSchema, mostKey) ?? Number.POSITIVE_INFINITY;
  return (size) => size >= least && size <= most;
}

import { isObject } from '../json.ts';
import {
  type ArrayShape,
  canonicalText,
  constant,
  type NumberShape,
  type ObjectShape,
  type Part,
  type ReadShapes,
  type Shape,
  sameType,
} from './shapes.ts';

/** undefined: the rules can't tell. */
type Verdict = boolean | undefined;

/** Whether the shape takes the value. Runs no pattern: the author of a document may have written one that takes for ever. */
export function accepts(shape: Shape, value: unknown, read: ReadShapes): Verdict {
  if (!sameType(shape, constant(value))) return false;
  return every([acceptsKnown(shape, value, read), shape.opaque.length === 0 ? true : undefined]);
}

function acceptsKnown(shape: Shape, value: unknown, read: ReadShapes): Verdict {
  switch (shape.type) {
    case 'constant':
      return canonicalText(shape.value) === canonicalText(value);
    case 'number':
      return numberAccepts(shape, value as number);
    case 'string': {
      // Code points, as JSON Schema counts.
      const length = Array.from(value as string).length;
      return length >= shape.minLength && length <= shape.maxLength;
    }
    case 'array':
      return arrayAccepts(shape, value as readonly unknown[], read);
    case 'object':
      return isObject(value) && objectAccepts(shape, value, read);
  }
}

function numberAccepts(shape: NumberShape, value: number): Verdict {
  if (shape.isInteger && !Number.isInteger(value)) return false;
  if (value < shape.minimum || value > shape.maximum) return false;
  if (value <= shape.exclusiveMinimum || value >= shape.exclusiveMaximum) return false;
  return every(
    shape.multiples.map((multiple) =>
      // The remainder of fractions is inexact.
      Number.isSafeInteger(multiple) && Number.isSafeInteger(value)
        ? value % multiple === 0
        : undefined,
    ),
  );
}

function arrayAccepts(shape: ArrayShape, values: readonly unknown[], read: ReadShapes): Verdict {
  const { first, rest, minItems, maxItems, uniqueItems } = shape;
  if (values.length < minItems || values.length > maxItems) return false;
  if (uniqueItems && new Set(values.map(canonicalText)).size < values.length) return false;
  return every(
    values.map((value, index) => {
      const part = first[index] ?? rest;
      return part === undefined ? false : partAccepts(part, value, read);
    }),
  );
}

function objectAccepts(
  shape: ObjectShape,
  value: Readonly<Record<string, unknown>>,
  read: ReadShapes,
): Verdict {
  const names = Object.keys(value);
  if (names.length < shape.minProperties || names.length > shape.maxProperties) return false;
  for (const name of shape.required) if (!Object.hasOwn(value, name)) return false;
  return every(
    names.map((name) => {
      const part = shape.members.get(name) ?? shape.others;
      if (part === undefined) return false;
      return part === 'unsaid' ? true : partAccepts(part, value[name], read);
    }),
  );
}

function partAccepts(part: Part, value: unknown, read: ReadShapes): Verdict {
  return some(read(part).map((shape) => accepts(shape, value, read)));
}

function every(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes(false)) return false;
  return verdicts.includes(undefined) ? undefined : true;
}

function some(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes(true)) return true;
  return verdicts.includes(undefined) ? undefined : false;
}

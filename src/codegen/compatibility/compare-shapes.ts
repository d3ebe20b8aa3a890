import { breaking, type Direction, type Finding, memberPath, unknown } from './findings.ts';
import type {
  ArrayShape,
  NumberShape,
  ObjectShape,
  Opaque,
  Part,
  Shape,
  StringShape,
} from './shapes.ts';

/** What the comparison of two shapes asks for the parts within them. */
export interface Inner {
  readonly direction: Direction;
  within(a: Part, b: Part, path: string): readonly Finding[];
}

/** Why a value of the shape `a` may be none of `b`, which has the same type; empty: each is. */
export function compareShapes(a: Shape, b: Shape, inner: Inner): readonly Finding[] {
  return [...compareKnown(a, b, inner), ...compareOpaque(a, b, inner)];
}

function compareKnown(a: Shape, b: Shape, inner: Inner): readonly Finding[] {
  if (a.type === 'number' && b.type === 'number') return compareNumbers(a, b, inner);
  if (a.type === 'string' && b.type === 'string') return compareStrings(a, b, inner);
  if (a.type === 'array' && b.type === 'array') return compareArrays(a, b, inner);
  if (a.type === 'object' && b.type === 'object') return compareObjects(a, b, inner);
  const isParams = inner.direction === 'params';
  return [
    breaking(
      '',
      isParams ? 'only certain values are taken now' : 'it is no longer one of certain values',
    ),
  ];
}

function compareNumbers(a: NumberShape, b: NumberShape, inner: Inner): Finding[] {
  const findings = [
    ...bound('minimum', a.minimum, b.minimum, lowest(a) >= b.minimum, inner),
    ...bound('exclusiveMinimum', a.exclusiveMinimum, b.exclusiveMinimum, isAbove(a, b), inner),
    ...bound('maximum', a.maximum, b.maximum, highest(a) <= b.maximum, inner),
    ...bound('exclusiveMaximum', a.exclusiveMaximum, b.exclusiveMaximum, isBelow(a, b), inner),
  ];
  const isWhole = a.isInteger || a.multiples.some(Number.isInteger);
  if (b.isInteger && !isWhole) {
    findings.push(
      breaking(
        '',
        inner.direction === 'params' ? 'only integers are taken now' : 'it may be a fraction now',
      ),
    );
  }
  const steps = a.isInteger ? [1, ...a.multiples] : a.multiples;
  for (const step of b.multiples) {
    if (steps.some((one) => one === step || (isSafe(one, step) && one % step === 0))) continue;
    const change = told('multipleOf', a.multiples[0], step, inner);
    findings.push(a.multiples.length > 0 ? unknown('', change) : breaking('', change));
  }
  return findings;
}

/** The lowest value, or a limit below all values. */
function lowest({ minimum, exclusiveMinimum, isInteger }: NumberShape): number {
  if (!isInteger) return Math.max(minimum, exclusiveMinimum);
  return Math.max(Math.ceil(minimum), Math.floor(exclusiveMinimum) + 1);
}

function highest({ maximum, exclusiveMaximum, isInteger }: NumberShape): number {
  if (!isInteger) return Math.min(maximum, exclusiveMaximum);
  return Math.min(Math.floor(maximum), Math.ceil(exclusiveMaximum) - 1);
}

function isAbove(a: NumberShape, b: NumberShape): boolean {
  return (
    b.exclusiveMinimum === Number.NEGATIVE_INFINITY ||
    lowest(a) > b.exclusiveMinimum ||
    a.exclusiveMinimum >= b.exclusiveMinimum
  );
}

function isBelow(a: NumberShape, b: NumberShape): boolean {
  return (
    b.exclusiveMaximum === Number.POSITIVE_INFINITY ||
    highest(a) < b.exclusiveMaximum ||
    a.exclusiveMaximum <= b.exclusiveMaximum
  );
}

function isSafe(...values: readonly number[]): boolean {
  return values.every(Number.isSafeInteger);
}

function compareStrings(a: StringShape, b: StringShape, inner: Inner): Finding[] {
  return [
    ...bound('minLength', a.minLength, b.minLength, a.minLength >= b.minLength, inner),
    ...bound('maxLength', a.maxLength, b.maxLength, a.maxLength <= b.maxLength, inner),
  ];
}

function compareArrays(a: ArrayShape, b: ArrayShape, inner: Inner): Finding[] {
  const mostOfA = a.rest === undefined ? Math.min(a.maxItems, a.first.length) : a.maxItems;
  const findings = [
    ...bound('minItems', a.minItems, b.minItems, a.minItems >= b.minItems, inner),
    ...bound('maxItems', mostOfA, b.maxItems, mostOfA <= b.maxItems, inner),
  ];
  if (b.uniqueItems && !a.uniqueItems && mostOfA > 1) {
    findings.push(
      breaking(
        '',
        inner.direction === 'params' ? 'items must be unique now' : 'items may repeat now',
      ),
    );
  }
  const length = Math.max(a.first.length, b.first.length);
  for (let index = 0; index < Math.min(length, mostOfA); index++) {
    findings.push(
      ...itemWithin(a.first[index] ?? a.rest, b.first[index] ?? b.rest, `[${index}]`, inner),
    );
  }
  if (mostOfA > length) findings.push(...itemWithin(a.rest, b.rest, '[]', inner));
  return findings;
}

/** A position that `b` does not have is a matter of `maxItems`. */
function itemWithin(
  a: Part | undefined,
  b: Part | undefined,
  path: string,
  inner: Inner,
): readonly Finding[] {
  return a === undefined || b === undefined ? [] : inner.within(a, b, path);
}

function compareObjects(a: ObjectShape, b: ObjectShape, inner: Inner): Finding[] {
  const isParams = inner.direction === 'params';
  const findings: Finding[] = [];
  for (const name of b.required) {
    if (a.required.has(name)) continue;
    findings.push(
      breaking(memberPath('', name), isParams ? 'it is required now' : 'it may be missing now'),
    );
  }
  // Who reads a result passes over members that its contract does not name.
  const othersOfB = b.others === undefined && !isParams ? 'unsaid' : b.others;
  for (const name of new Set([...a.members.keys(), ...b.members.keys()])) {
    const one = a.members.get(name) ?? a.others;
    const other = b.members.get(name) ?? othersOfB;
    // Nobody sends a member that the schema neither names nor speaks of.
    if (one === undefined || one === 'unsaid' || other === 'unsaid') continue;
    const path = memberPath('', name);
    if (other === undefined) findings.push(breaking(path, 'it is no longer taken'));
    else findings.push(...inner.within(one, other, path));
  }
  if (a.others !== undefined && a.others !== 'unsaid' && othersOfB !== 'unsaid') {
    if (othersOfB === undefined)
      findings.push(breaking('', 'members of other names are no longer taken'));
    else findings.push(...inner.within(a.others, othersOfB, '.*'));
  }
  const least = Math.max(a.minProperties, a.required.size);
  const isClosed = a.others === undefined || a.others === 'unsaid';
  const most = Math.min(a.maxProperties, isClosed ? a.members.size : a.maxProperties);
  return [
    ...findings,
    ...bound('minProperties', a.minProperties, b.minProperties, least >= b.minProperties, inner),
    ...bound('maxProperties', a.maxProperties, b.maxProperties, most <= b.maxProperties, inner),
  ];
}

/** A keyword that `b` has must stand in `a` too: the values that it leaves are not looked at. */
function compareOpaque(a: Shape, b: Shape, inner: Inner): Finding[] {
  return b.opaque.flatMap(({ keyword, text }) => {
    const same = a.opaque.filter((one) => one.keyword === keyword);
    if (text !== undefined && same.some((one) => one.text === text)) return [];
    const isNew = same.length === 0 && assertions.has(keyword);
    const [before, after] =
      inner.direction === 'params' ? [same, [{ keyword, text }]] : [[{ keyword, text }], same];
    const change = `${keyword}: was ${shown(before)}, is ${shown(after)}`;
    return [isNew ? breaking('', change) : unknown('', change)];
  });
}

/** Keywords that rule values out wherever they stand. */
const assertions = new Set(['pattern', 'format', 'contentEncoding', 'contentMediaType']);

function shown([one]: readonly Opaque[]): string {
  if (one === undefined) return 'not limited';
  return one.text === undefined ? 'something' : one.text.slice(one.keyword.length + 1);
}

function bound(keyword: string, a: number, b: number, isWithin: boolean, inner: Inner): Finding[] {
  return isWithin ? [] : [breaking('', told(keyword, a, b, inner))];
}

function told(keyword: string, a: number | undefined, b: number, { direction }: Inner): string {
  const [before, after] = direction === 'params' ? [a, b] : [b, a];
  const text = (value: number | undefined): string =>
    value === undefined || !Number.isFinite(value) ? 'not limited' : String(value);
  return `${keyword}: was ${text(before)}, is ${text(after)}`;
}

import { keywords } from '../../core/schema/keywords.ts';
import {
  type ArrayShape,
  accepts,
  anything,
  areDisjoint,
  BeyondComparison,
  type LimitedShape,
  limitsOf,
  maxNesting,
  type NumberShape,
  type ObjectShape,
  type Opaque,
  type Part,
  type Place,
  type Shape,
  sameType,
  shapesOf,
  targetOf,
  typeOf,
} from './shapes.ts';
import { canonicalText, isObject, own } from './text.ts';

/** One difference that a caller may notice. */
export interface Finding {
  /** `breaking`: some caller of the old contract fails; `unknown`: the comparison can't tell. */
  readonly kind: 'breaking' | 'unknown';
  /** Where: `params.order.items[].quantity`; '' for the procedure itself. */
  readonly path: string;
  /** What has changed, in words that follow the path. */
  readonly reason: string;
}

/** `params`: the old values must go on being taken; `result`: the new values must be ones that the old contract names. */
export type Direction = 'params' | 'result';

export function breaking(path: string, reason: string): Finding {
  return { kind: 'breaking', path, reason };
}

export function unknown(path: string, reason: string): Finding {
  return { kind: 'unknown', path, reason };
}

/** The path of a member: `.name`, or `["a name"]` if the name is no identifier. */
export function memberPath(path: string, name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)
    ? `${path}.${name}`
    : `${path}[${JSON.stringify(name)}]`;
}

const longestValue = 60;

/** A value of a schema in a message. */
function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}...` : text;
}

/** Most pairs of schemas that one comparison of two documents looks at. */
export const maxPairs = 100_000;

/**
 * Compares schemas as sets of values: is each value of `a` one of `b`? For params `a` is the old schema, for results the
 * new one.
 *
 * "Yes" is a proof. It is by induction over the values: a pair of schemas that leads to itself at a deeper part of a value
 * is taken as proven there, as long as the pair itself is not refuted.
 */
export class Comparison {
  readonly direction: Direction;
  readonly #budget: { left: number };
  /** Pairs that are proven, or being proven, in the order in which they were begun. */
  readonly #taken = new Set<string>();
  readonly #order: string[] = [];
  readonly #failed = new Map<string, readonly Finding[]>();
  readonly #ids = new Map<unknown, number>();

  constructor(direction: Direction, budget: { left: number }) {
    this.direction = direction;
    this.#budget = budget;
  }

  /** Why a value of the first part may be none of the second; empty: each is. The paths begin with `path`. */
  within(partOfA: Part, partOfB: Part, path: string): readonly Finding[] {
    if (partOfB.length === 0) return [];
    const [a, b] = [followed(partOfA), followed(partOfB)];
    const key = `${this.#keyOf(a)} ${this.#keyOf(b)}`;
    if (this.#taken.has(key)) return [];
    const known = this.#failed.get(key);
    if (known !== undefined) return below(path, known);
    this.#budget.left--;
    if (this.#budget.left < 0) return [unknown(path, 'the schemas are too large to compare')];
    const mark = this.#order.length;
    this.#taken.add(key);
    this.#order.push(key);
    const findings = this.#compare(a, b);
    if (findings.length === 0) return [];
    // What was proven since then may have relied on this pair.
    for (const one of this.#order.splice(mark)) this.#taken.delete(one);
    this.#failed.set(key, findings);
    return below(path, findings);
  }

  /** Why a value of the shape may be none of `b`; the paths are relative. */
  #shapeWithin(a: Shape, b: readonly Shape[]): readonly Finding[] {
    if (a.type === 'constant') {
      const answers = b.map((shape) => accepts(shape, a.value));
      if (answers.includes(true)) return [];
      const value = shownValue(a.value);
      return answers.includes(undefined) || a.opaque.length > 0
        ? [unknown('', `${value}: is it taken still?`)]
        : [this.#breaking(`${value} is no longer taken`, `it may be ${value} now`)];
    }
    const overlapping = b.filter((shape) => !areDisjoint(a, shape));
    // If nothing is left, the variant with the same discriminant tells what has changed.
    const candidates =
      overlapping.length > 0
        ? overlapping
        : b.filter((shape) => sameType(a, shape) && !haveOtherDiscriminants(a, shape));
    if (candidates.length === 0 || (overlapping.length === 0 && candidates.length > 1)) {
      const what = described(a);
      const finding = this.#breaking(`it no longer takes ${what}`, `it may be ${what} now`);
      return softened(a, [finding]);
    }
    const all = candidates.map((shape) => softened(a, this.shapes(a, shape)));
    const [first = []] = all;
    if (all.some((findings) => findings.length === 0)) return [];
    // Many values, of which certain ones are left.
    const isCut = candidates.every(({ type }) => type === 'constant') && !isFew(a);
    if (all.length === 1 || isCut) return first;
    return [unknown('', `no single alternative covers the one of type ${typeOf(a)}`)];
  }

  #compare(a: Part, b: Part): readonly Finding[] {
    try {
      const [shapes, others] = [shapesOf(a), shapesOf(b)];
      const findings = shapes.flatMap((shape) => this.#shapeWithin(shape, others));
      // One line instead of one for each type.
      if (shapes === anything && findings.some(({ kind }) => kind === 'breaking')) {
        return [this.#breaking('it no longer takes any value', 'it may be any value now')];
      }
      const isSame =
        findings.some(({ kind }) => kind === 'unknown') && closedText(a) === closedText(b);
      return isSame ? [] : unique(findings);
    } catch (error) {
      if (!(error instanceof BeyondComparison)) throw error;
      return closedText(a) === closedText(b)
        ? []
        : [unknown('', `the schema is beyond comparison: ${error.message}`)];
    }
  }

  /** Why a value of the shape `a` may be none of `b`, which has the same type; empty: each is. */
  shapes(a: Shape, b: Shape): readonly Finding[] {
    return [...this.#known(a, b), ...this.#opaque(a, b)];
  }

  #known(a: Shape, b: Shape): readonly Finding[] {
    if (a.type === 'number' && b.type === 'number') return this.#numbers(a, b);
    if (a.type === 'string' && b.type === 'string') return this.#limits(a, b);
    if (a.type === 'array' && b.type === 'array') return this.#arrays(a, b);
    if (a.type === 'object' && b.type === 'object') return this.#objects(a, b);
    return [
      this.#breaking('only certain values are taken now', 'it is no longer one of certain values'),
    ];
  }

  /**
   * The limits that a value of `a` may break.
   *
   * @param keeps for keywords whose limit others of `a` imply: whether all values of `a` keep the limit
   */
  #limits(
    a: LimitedShape,
    b: LimitedShape,
    keeps: Readonly<Record<string, (limit: number) => boolean>> = {},
  ): Finding[] {
    return limitsOf(a.type).flatMap(({ name, compare }) => {
      const least = a.type === 'number' ? -Infinity : 0;
      const none = compare === 'smaller' ? Infinity : least;
      const [before = none, limit] = [a.limits[name], b.limits[name]];
      if (limit === undefined) return [];
      const isKept =
        keeps[name]?.(limit) ?? (compare === 'larger' ? before >= limit : before <= limit);
      return isKept ? [] : [breaking('', this.#change(name, before, limit))];
    });
  }

  #change(keyword: string, a: number | undefined, b: number): string {
    const text = (value: number | undefined): string =>
      value === undefined || !Number.isFinite(value) ? 'not limited' : String(value);
    return this.#moved(keyword, text(a), text(b));
  }

  #moved(keyword: string, a: string, b: string): string {
    const [before, after] = this.direction === 'params' ? [a, b] : [b, a];
    return `${keyword}: was ${before}, is ${after}`;
  }

  #numbers(a: NumberShape, b: NumberShape): Finding[] {
    const [low, high] = rangeOf(a);
    const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = a.limits;
    const findings = this.#limits(a, b, {
      minimum: (limit) => low >= limit,
      exclusiveMinimum: (limit) => low > limit || exclusiveMinimum >= limit,
      maximum: (limit) => high <= limit,
      exclusiveMaximum: (limit) => high < limit || exclusiveMaximum <= limit,
    });
    const isWhole = a.isInteger || a.multiples.some(Number.isInteger);
    if (b.isInteger && !isWhole)
      findings.push(this.#breaking('only integers are taken now', 'it may be a fraction now'));
    const steps = a.isInteger ? [1, ...a.multiples] : a.multiples;
    for (const step of b.multiples) {
      const isMultiple = (one: number): boolean =>
        one === step || ([one, step].every(Number.isSafeInteger) && one % step === 0);
      if (steps.some(isMultiple)) continue;
      const change = this.#change('multipleOf', a.multiples[0], step);
      findings.push(a.multiples.length > 0 ? unknown('', change) : breaking('', change));
    }
    return findings;
  }

  #arrays(a: ArrayShape, b: ArrayShape): Finding[] {
    const { maxItems = Infinity } = a.limits;
    const most = a.rest === undefined ? Math.min(maxItems, a.first.length) : maxItems;
    const findings = this.#limits({ ...a, limits: { ...a.limits, maxItems: most } }, b);
    if (b.uniqueItems && !a.uniqueItems && most > 1)
      findings.push(this.#breaking('items must be unique now', 'items may repeat now'));
    const length = Math.max(a.first.length, b.first.length);
    const items = (one: Part | undefined, other: Part | undefined, path: string): void => {
      // A position that `b` does not have is a matter of `maxItems`.
      if (one !== undefined && other !== undefined) findings.push(...this.within(one, other, path));
    };
    for (let index = 0; index < Math.min(length, most); index++)
      items(a.first[index] ?? a.rest, b.first[index] ?? b.rest, `[${index}]`);
    if (most > length) items(a.rest, b.rest, '[]');
    return findings;
  }

  #objects(a: ObjectShape, b: ObjectShape): Finding[] {
    const isParams = this.direction === 'params';
    const findings = [...b.required]
      .filter((name) => !a.required.has(name))
      .map((name) =>
        this.#breaking('it is required now', 'it may be missing now', memberPath('', name)),
      );
    // Who reads a result passes over members that its contract does not name.
    const othersOfB = b.others === undefined && !isParams ? 'unsaid' : b.others;
    for (const name of new Set([...a.members.keys(), ...b.members.keys()])) {
      const one = a.members.get(name) ?? a.others;
      const other = b.members.get(name) ?? othersOfB;
      // Nobody sends a member that the schema neither names nor speaks of.
      if (one === undefined || one === 'unsaid' || other === 'unsaid') continue;
      const path = memberPath('', name);
      if (other === undefined) findings.push(breaking(path, 'it is no longer taken'));
      else findings.push(...this.within(one, other, path));
    }
    if (a.others !== undefined && a.others !== 'unsaid' && othersOfB !== 'unsaid') {
      if (othersOfB === undefined)
        findings.push(breaking('', 'members of other names are no longer taken'));
      else findings.push(...this.within(a.others, othersOfB, '.*'));
    }
    const { minProperties = 0, maxProperties = Infinity } = a.limits;
    const isClosed = a.others === undefined || a.others === 'unsaid';
    const most = isClosed ? Math.min(maxProperties, a.members.size) : maxProperties;
    return [
      ...findings,
      ...this.#limits(a, b, {
        minProperties: (limit) => Math.max(minProperties, a.required.size) >= limit,
        maxProperties: (limit) => most <= limit,
      }),
    ];
  }

  /** A keyword that `b` has must stand in `a` too: the values that it leaves are not looked at. */
  #opaque(a: Shape, b: Shape): Finding[] {
    return b.opaque.flatMap((one) => {
      const same = a.opaque.filter(({ keyword }) => keyword === one.keyword);
      if (one.text !== undefined && same.some(({ text }) => text === one.text)) return [];
      const isNew = same.length === 0 && assertions.has(one.keyword);
      const change = this.#moved(one.keyword, shownOpaque(same[0]), shownOpaque(one));
      return [isNew ? breaking('', change) : unknown('', change)];
    });
  }

  #breaking(inParams: string, inResult: string, path = ''): Finding {
    return breaking(path, this.direction === 'params' ? inParams : inResult);
  }

  #keyOf(part: Part): string {
    const numbers = part.map(
      ({ schema, root }) => `${this.#numberOf(schema)}.${this.#numberOf(root)}`,
    );
    return [...new Set(numbers)].sort().join('&');
  }

  #numberOf(schema: unknown): number {
    let number = this.#ids.get(schema);
    if (number === undefined) {
      number = this.#ids.size;
      this.#ids.set(schema, number);
    }
    return number;
  }
}

/** The part with what its schemas refer to in their place, if they are nothing but references. */
function followed(part: Part): Part {
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

/** Whether a shape may stand for a few values only. */
function isFew(shape: Shape): boolean {
  if (shape.type === 'string') return shape.limits.maxLength === 0;
  if (shape.type !== 'number') return true;
  const { minimum = -Infinity, maximum = Infinity } = shape.limits;
  return shape.isInteger && maximum - minimum < 1e6;
}

/** Not all values of a shape with opaque keywords are there: what breaks some of the others is not certain to matter. */
function softened(a: Shape, findings: readonly Finding[]): readonly Finding[] {
  if (a.opaque.length === 0) return findings;
  const [{ keyword } = { keyword: '' }] = a.opaque;
  return findings.map((finding) =>
    finding.kind === 'unknown'
      ? finding
      : unknown(finding.path, `${finding.reason}, unless ${keyword} rules that out`),
  );
}

function below(path: string, findings: readonly Finding[]): readonly Finding[] {
  return path === '' ? findings : findings.map((one) => ({ ...one, path: path + one.path }));
}

function unique(findings: readonly Finding[]): readonly Finding[] {
  return [...new Map(findings.map((one) => [`${one.path} ${one.reason}`, one])).values()];
}

function described(shape: Shape): string {
  const [name, value] = discriminantOf(shape) ?? [];
  const type = typeOf(shape);
  const article = type === 'null' ? '' : /^[aeiou]/.test(type) ? 'an ' : 'a ';
  const rest = name === undefined ? '' : ` with ${shownValue(name)}: ${shownValue(value)}`;
  return article + type + rest;
}

/** A member that tells the variants of a union apart: both require it, each with certain values. */
function haveOtherDiscriminants(a: Shape, b: Shape): boolean {
  if (a.type !== 'object' || b.type !== 'object') return !sameType(a, b);
  return [...a.required].some((name) => {
    const [one, other] = [a.members.get(name), b.members.get(name)];
    if (one === undefined || other === undefined) return false;
    const [ones, others] = [shapesOf(one), shapesOf(other)];
    if (![...ones, ...others].every(({ type }) => type === 'constant')) return false;
    return ones.every((shape) => others.every((second) => areDisjoint(shape, second)));
  });
}

/** The member of a variant that tells it apart, and its value; undefined: there is none. */
function discriminantOf(a: Shape): readonly [string, unknown] | undefined {
  if (a.type !== 'object') return undefined;
  for (const name of a.required) {
    const [shape, ...more] = shapesOf(a.members.get(name) ?? []);
    if (shape?.type === 'constant' && more.length === 0) return [name, shape.value];
  }
  return undefined;
}

/** The lowest and the highest value, or limits outside of all values. */
function rangeOf({ limits, isInteger }: NumberShape): readonly [low: number, high: number] {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity } = limits;
  const { maximum = Infinity, exclusiveMaximum = Infinity } = limits;
  if (!isInteger) return [Math.max(minimum, exclusiveMinimum), Math.min(maximum, exclusiveMaximum)];
  return [
    Math.max(Math.ceil(minimum), Math.floor(exclusiveMinimum) + 1),
    Math.min(Math.floor(maximum), Math.ceil(exclusiveMaximum) - 1),
  ];
}

const assertions = new Set(
  keywords.flatMap(({ name, compare }) => (compare === 'assertion' ? [name] : [])),
);

function shownOpaque(one: Opaque | undefined): string {
  if (one === undefined) return 'not limited';
  return one.text === undefined ? 'something' : one.text.slice(one.keyword.length + 1);
}

/**
 * A text that is equal for schemas that are written in the same way, with all that they refer to. Other schemas with the
 * same values have other texts.
 */
export function closedText(part: Part): string {
  const texts: string[] = [];
  const seen = new Set<unknown>();
  const waiting: Place[] = [...part];
  for (let place = waiting.shift(); place !== undefined; place = waiting.shift()) {
    texts.push(canonicalText(place.schema));
    for (const $ref of referencesIn(place.schema)) {
      const target = targetOf($ref, place);
      if (seen.has(target.schema)) continue;
      seen.add(target.schema);
      texts.push($ref);
      waiting.push(target);
    }
  }
  return texts.join('\n');
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const $ref = isObject(value) ? own(value, '$ref') : undefined;
  const own$ref = typeof $ref === 'string' ? [$ref] : [];
  return [...own$ref, ...Object.values(value).flatMap(referencesIn)];
}

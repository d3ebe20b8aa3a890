import { accepts } from './accepts.ts';
import { closedText } from './closed-text.ts';
import { compareShapes } from './compare-shapes.ts';
import { areDisjoint, discriminantOf, haveOtherDiscriminants } from './disjoint.ts';
import { breaking, type Direction, type Finding, shownValue, unknown } from './findings.ts';
import { BeyondComparison, followed, shapesOf } from './read-shapes.ts';
import { anything, type Part, type Shape, sameType, typeOf } from './shapes.ts';

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
  readonly #numbers = new Map<unknown, number>();

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
    const isParams = this.direction === 'params';
    if (a.type === 'constant') {
      const verdicts = b.map((shape) => accepts(shape, a.value, shapesOf));
      if (verdicts.includes(true)) return [];
      const value = shownValue(a.value);
      const reason = isParams ? `${value} is no longer taken` : `it may be ${value} now`;
      return verdicts.includes(undefined) || a.opaque.length > 0
        ? [unknown('', `${value}: is it taken still?`)]
        : [breaking('', reason)];
    }
    const overlapping = b.filter((shape) => !areDisjoint(a, shape, shapesOf));
    // Where nothing is left, the variant with the same discriminant tells what has changed.
    const candidates =
      overlapping.length > 0
        ? overlapping
        : b.filter((shape) => sameType(a, shape) && !haveOtherDiscriminants(a, shape, shapesOf));
    if (candidates.length === 0 || (overlapping.length === 0 && candidates.length > 1)) {
      const what = described(a);
      const reason = isParams ? `it no longer takes ${what}` : `it may be ${what} now`;
      return softened(a, [breaking('', reason)]);
    }
    const all = candidates.map((shape) => softened(a, compareShapes(a, shape, this)));
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
      // One line in place of one for each type.
      if (shapes === anything && findings.some(({ kind }) => kind === 'breaking')) {
        const isParams = this.direction === 'params';
        return [
          breaking('', isParams ? 'it no longer takes any value' : 'it may be any value now'),
        ];
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

  #keyOf(part: Part): string {
    const numbers = part.map(
      ({ schema, root }) => `${this.#numberOf(schema)}.${this.#numberOf(root)}`,
    );
    return [...new Set(numbers)].sort().join('&');
  }

  #numberOf(schema: unknown): number {
    let number = this.#numbers.get(schema);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(schema, number);
    }
    return number;
  }
}

/** Whether a shape may stand for a few values only. */
function isFew(shape: Shape): boolean {
  if (shape.type === 'number') return shape.isInteger && shape.maximum - shape.minimum < 1e6;
  return shape.type !== 'string' || shape.maxLength === 0;
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
  const [name, value] = discriminantOf(shape, shapesOf) ?? [];
  const type = article(typeOf(shape));
  return name === undefined ? type : `${type} with ${shownValue(name)}: ${shownValue(value)}`;
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : type === 'null' ? type : `a ${type}`;
}

import { cached } from '../base/cached.ts';
import { type Automaton, automatonOf, type Place } from './pattern-automaton.ts';
import { lastPoint, parsePattern, type Range } from './pattern-syntax.ts';

/**
 * Steps that a string may take for each of its bytes in JSON, on average. V8 takes 1 to 4 ns for a step: a call of 256
 * KB, the default of maxInlineParamsBytes, holds the main thread for 60 ms at most, and for as long again to explain why
 * it is refused.
 */
export const maxStepsPerByte = 64;

/** Bytes of a string in JSON beside its characters: two quotes and a comma. */
export const bytesAround = 3;

/** Work that the search for the worst string may take, some 40 ms. It is counted, so that no result depends on the clock. */
const maxWork = 1_000_000;

/** Comparisons of a character with a range, to tell which characters a pattern tells apart. */
const maxComparisons = 20_000_000;

/** A shorter maxLength is no advice: the steps of such a pattern grow faster than with the square of the length. */
const shortest = 32;

/** What is wrong with a pattern, or the length up to which no string takes more steps than it may. */
export type PatternAnalysis =
  | string
  | { readonly longest: number; readonly isBoundedByAnchor: boolean };

/** What is known of patterns, by their text. A thread may be given what another one knows. */
export const patternAnalyses = new Map<string, PatternAnalysis>();

function analysisOf(pattern: string): PatternAnalysis {
  return cached(patternAnalyses, pattern, () => analyse(pattern));
}

/**
 * Why a string of up to `maxLength` characters must not be matched against a valid `pattern`; undefined: it may. The author of
 * the schema wrote the pattern, but a stranger chooses the string: backtracking must stay bounded.
 *
 * @param maxLength `unlimited`: the length can't be checked before the pattern
 */
export function patternFault(
  pattern: string,
  maxLength: number | 'unlimited' = Infinity,
): string | undefined {
  const analysis = analysisOf(pattern);
  if (typeof analysis === 'string') return analysis;
  const { longest, isBoundedByAnchor } = analysis;
  if ((maxLength === 'unlimited' ? Infinity : maxLength) <= longest) return undefined;
  const remedies = ['rewrite it without nested or overlapping repeats'];
  if (isBoundedByAnchor) remedies.unshift('anchor it with ^');
  const format = similarFormat(pattern);
  if (format !== undefined) remedies.push(`declare the format ${JSON.stringify(format)} instead`);
  if (maxLength !== 'unlimited' && longest >= shortest)
    remedies.push(`give the string a maxLength of at most ${longest}`);
  return `backtracks: on some strings it takes more than ${maxStepsPerByte} steps a character; ${remedies.join(', or ')}`;
}

/**
 * The `maxLength` that a string needs so that its pattern takes linear time; undefined: the pattern needs none, or none that is
 * of use helps.
 */
export function lengthNeededBy(pattern: string): number | undefined {
  const analysis = analysisOf(pattern);
  if (typeof analysis === 'string') return undefined;
  return analysis.longest >= shortest && analysis.longest < Infinity ? analysis.longest : undefined;
}

/** What shows the strings that a pattern is meant for. Its classes are written as `x`. */
const signs: readonly (readonly [format: string, sign: RegExp])[] = [
  ['email', /@/],
  ['uri', /:(?:\\?\/){2}/],
  ['uuid', /\{8\}.*\{4\}.*\{12\}/],
  ['date-time', /\{4\}-.*\{2\}-.*\{2\}.*T/],
  ['date', /\{4\}-.*\{2\}-.*\{2\}/],
  ['ipv4', /25x/],
];

function similarFormat(pattern: string): string | undefined {
  const text = pattern.replace(/\[(?:\\.|[^\]\\])*\]/gs, 'x');
  return signs.find(([, sign]) => sign.test(text))?.[0];
}

function analyse(pattern: string): PatternAnalysis {
  try {
    const longest = longestOf(pattern);
    const isBoundedByAnchor = longest < Infinity && longestOf(`^(?:${pattern})`) === Infinity;
    return { longest, isBoundedByAnchor };
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error;
    return `could not be shown to be free of catastrophic backtracking (${error.message}); simplify it, or set a format of your own with FormatRegistry`;
  }
}

/**
 * @throws RangeError if the pattern is too large to tell
 * @throws SyntaxError if only this Node knows its syntax
 */
function longestOf(pattern: string): number {
  const tree = parsePattern(pattern);
  const longest = longestBounded(automatonOf(tree, { isCountless: true }));
  if (longest === Infinity) return longest;
  try {
    return Math.max(longest, longestBounded(automatonOf(tree, { isCountless: false })));
  } catch (error) {
    if (error instanceof RangeError) return longest;
    throw error;
  }
}

/** The length up to which no string takes more steps than it may. */
function longestBounded(automaton: Automaton): number {
  let longest = new Search(automaton, false).longest();
  const hasEnd = automaton.places.some(({ isSure }) => isSure);
  if (hasEnd && longest < Infinity)
    longest = Math.max(longest, new Search(automaton, true).longest());
  return automaton.looksBehind ? Math.floor(longest / 2) : longest;
}

type Attempts = ReadonlyMap<number, number>;

interface Reached {
  readonly attempts: Attempts;
  /** The steps beyond those that were allowed so far. */
  readonly surplus: number;
}

/**
 * The search for the shortest string that takes more steps than it may.
 *
 * A backtracking matcher tries every way through the automaton that agrees with the string, from each character at
 * which an attempt may begin. So the steps at one character are the ways that are alive there, and following all of
 * them at once over all strings finds the string that takes most. Strings that lead to no more attempts than another
 * one, and to no larger surplus, need not be followed; there the search ends for most patterns.
 */
class Search {
  readonly #all: readonly Place[];
  readonly #begin: number;
  readonly #beginLater: number;
  readonly #alphabet: Alphabet;
  readonly #endsAtMatch: boolean;
  readonly #known = new Map<number, Reached[]>();
  #work = 0;

  /** @param endsAtMatch whether what matches ends the search. It takes longer, and is not needed for most patterns. */
  constructor({ places, start, later }: Automaton, endsAtMatch: boolean) {
    this.#all = later === undefined ? [...places, start] : [...places, start, later];
    this.#begin = places.length;
    this.#beginLater = places.length + 1;
    this.#alphabet = alphabetOf(places.map(({ ranges }) => ranges));
    this.#endsAtMatch = endsAtMatch;
  }

  longest(): number {
    const first = new Map([[this.#begin, 1]]);
    let reached: readonly Reached[] = [{ attempts: first, surplus: this.#stepsOf(first) }];
    for (let length = 0; reached.length > 0; length += 1) {
      if (reached.some(({ surplus }) => surplus > bytesAround * maxStepsPerByte)) return length - 1;
      const next: Reached[] = [];
      for (const one of reached.toSorted((a, b) => b.surplus - a.surplus)) {
        if (this.#work > maxWork) return length;
        if (this.#covers(one)) continue;
        this.#add(one);
        for (const attempts of this.#follow(one.attempts)) {
          const surplus = one.surplus + this.#stepsOf(attempts) - maxStepsPerByte;
          next.push({ attempts, surplus });
        }
      }
      reached = next;
    }
    return Infinity;
  }

  #stepsOf(attempts: Attempts): number {
    let steps = 0;
    for (const [at, count] of attempts) steps += count * (this.#all[at]?.cost ?? 0);
    return steps;
  }

  /** The attempts that are left after one more character, for each kind of character. */
  #follow(from: Attempts): Map<number, number>[] {
    const { kinds, kindCount } = this.#alphabet;
    const byKind = new Map<number, Map<number, number>>();
    const over = new Set<number>();
    for (const [at, count] of from) {
      for (const [target, ways] of this.#all[at]?.next ?? []) {
        const isEnd = this.#endsAtMatch && this.#all[target]?.isSure === true;
        for (const kind of kinds[target] ?? []) {
          this.#work += 1;
          const to = cached(byKind, kind, () => new Map<number, number>());
          // Of several attempts that have matched, the first ends the search.
          to.set(target, isEnd ? 1 : (to.get(target) ?? 0) + count * ways);
          if (isEnd) over.add(kind);
        }
      }
    }
    const mayBegin =
      this.#beginLater < this.#all.length && (from.has(this.#begin) || from.has(this.#beginLater));
    if (!mayBegin) return [...byKind.values()];
    for (const [kind, to] of byKind) if (!over.has(kind)) to.set(this.#beginLater, 1);
    const others = byKind.size < kindCount ? [new Map([[this.#beginLater, 1]])] : [];
    return [...byKind.values(), ...others];
  }

  #covers(one: Reached): boolean {
    // A cover has attempts wherever this one has: the place with the fewest candidates tells.
    let candidates: readonly Reached[] | undefined;
    for (const at of one.attempts.keys()) {
      this.#work += 1;
      const here = this.#known.get(at) ?? [];
      if (candidates === undefined || here.length < candidates.length) candidates = here;
    }
    return candidates?.some((other) => this.#isCovered(one, other)) ?? false;
  }

  #isCovered(one: Reached, other: Reached): boolean {
    this.#work += 1;
    if (one.surplus > other.surplus) return false;
    // An attempt more may be the one that matches, and ends a search that takes long without it.
    if (this.#endsAtMatch && one.attempts.size !== other.attempts.size) return false;
    for (const [at, count] of one.attempts) {
      this.#work += 1;
      if ((other.attempts.get(at) ?? 0) < count) return false;
    }
    return true;
  }

  #add(one: Reached): void {
    for (const at of one.attempts.keys()) {
      cached(this.#known, at, () => []).push(one);
    }
  }
}

interface Alphabet {
  /** For each place, the kinds of characters that it takes. The pattern tells no two characters of one kind apart. */
  readonly kinds: readonly (readonly number[])[];
  readonly kindCount: number;
}

/** @throws RangeError if the pattern tells too many characters apart */
function alphabetOf(classes: readonly (readonly Range[])[]): Alphabet {
  const lists = [...new Set(classes)];
  const ranges = lists.flat();
  // Within a range nothing changes but where another one begins or has ended.
  const points = new Set([0, ...ranges.flatMap(([from, to]) => [from, to + 1])]);
  points.delete(lastPoint + 1);
  if (points.size * ranges.length > maxComparisons)
    throw new RangeError('it tells too many characters apart');
  const kinds = lists.map((): number[] => []);
  const known = new Set<string>();
  for (const point of [...points].sort((a, b) => a - b)) {
    const here = lists.flatMap((list, at) =>
      list.some(([from, to]) => from <= point && point <= to) ? [at] : [],
    );
    const text = here.join();
    if (known.has(text)) continue;
    for (const at of here) kinds[at]?.push(known.size);
    known.add(text);
  }
  const kindsOf = new Map(lists.map((list, at) => [list, kinds[at]]));
  return { kinds: classes.map((list) => kindsOf.get(list) ?? []), kindCount: known.size };
}

import type { AST } from '@eslint-community/regexpp';
import { anyPoint, type Range, rangesOf } from './pattern-syntax.ts';

/** In how many ways a place can be reached, by place. */
type Ways = Map<number, number>;

/** How an attempt gets into a part of a pattern. */
interface Entry {
  readonly first: Ways;
  /** In how many ways the part matches the empty text. */
  readonly empty: number;
  /** Whether the part matches whatever follows. */
  readonly isSure: boolean;
}

/**
 * Part of a pattern as an automaton without empty steps (Glushkov's): each place stands for one character of the pattern
 * with its repeats written out.
 */
interface Fragment {
  /** For an attempt that begins at the start of the text, which is the only one that gets past a `^`. */
  readonly atStart: Entry;
  readonly later: Entry;
  readonly last: Ways;
  /** The places at which it has matched whatever follows. */
  readonly sure: Set<number>;
  /** False if a place may be reached that RegExp would not reach. */
  readonly isExact: boolean;
}

/** What an attempt may do at one place. Several ways to one place are several attempts for a backtracking matcher. */
export interface Place {
  readonly ranges: readonly Range[];
  readonly next: Ways;
  /** Steps for one attempt that is here, at each character. */
  cost: number;
  isSure: boolean;
}

export interface Automaton {
  readonly places: readonly Place[];
  /** The attempt that begins at the start of the text. */
  readonly start: Place;
  /** The attempt that begins at any later character; undefined: there is none. */
  readonly later: Place | undefined;
  /** Whether some steps are counted up to as many characters later as the text has. */
  readonly looksBehind: boolean;
}

const maxPlaces = 4000;
const maxWays = 200_000;

/** Deeper groups are not read, for they are built by recursion. */
const maxDepth = 200;

/** Limits numbers that double with each part of a pattern. */
const most = 1e9;

/**
 * @param options isCountless: counted repeats as repeats without a count. That is much smaller, and never takes fewer steps
 * @throws RangeError if the pattern is too large with its repeats written out
 */
export function automatonOf(
  pattern: AST.Pattern,
  { isCountless }: { readonly isCountless: boolean },
): Automaton {
  return new Builder(isCountless).automaton(pattern);
}

/** How the inside of a group differs from the pattern as it is written. */
interface Mode {
  /** Each character stands for any, for instance since letters match in both cases. */
  readonly isLoose: boolean;
  readonly isReversed: boolean;
}

class Builder {
  readonly #isCountless: boolean;
  readonly #places: Place[] = [];
  readonly #referred = new Set<AST.CapturingGroup>();
  #hasFlags = false;
  #looksBehind = false;
  #ways = 0;
  #built = 0;
  #depth = 0;

  constructor(isCountless: boolean) {
    this.#isCountless = isCountless;
  }

  automaton({ alternatives, raw }: AST.Pattern): Automaton {
    this.#hasFlags = /\(\?[a-z-]+:/.test(raw);
    const whole = this.#choice(alternatives, { isLoose: false, isReversed: false });
    this.#endWith(whole);
    for (const place of this.#places) place.cost += repeated(place.next);
    for (const at of whole.sure) this.#placeAt(at).isSure = true;
    const hasLater = whole.later.first.size > 0 || whole.later.empty > 0;
    const isOver = whole.later.isSure || whole.atStart.isSure;
    const later = hasLater && !isOver ? placeOf(whole.later) : undefined;
    const start = placeOf(whole.atStart);
    return { places: this.#places, start, later, looksBehind: this.#looksBehind };
  }

  #choice(alternatives: readonly AST.Alternative[], mode: Mode): Fragment {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new RangeError('its groups nest too deep');
    const parts = alternatives.map(({ elements }) => this.#sequence(elements, mode));
    this.#depth -= 1;
    return parts.reduce(either, none());
  }

  #sequence(elements: readonly AST.Element[], mode: Mode): Fragment {
    const parts = mode.isReversed ? elements.toReversed() : elements;
    return parts
      .map((part) => this.#build(part, mode))
      .reduceRight((rest, part) => this.#join(part, rest), nothing());
  }

  #build(part: AST.Element, mode: Mode): Fragment {
    this.#built += 1;
    if (this.#built > maxPlaces) throw tooLarge();
    switch (part.type) {
      case 'Group':
        // Flags of its own, as in `(?i:a)`, change what its characters match.
        return this.#choice(
          part.alternatives,
          part.modifiers === null ? mode : { ...mode, isLoose: true },
        );
      case 'CapturingGroup':
        return this.#choice(part.alternatives, mode);
      case 'Quantifier':
        return this.#repeat(part, mode);
      case 'Backreference':
        return this.#reference(part, mode);
      case 'Assertion':
        return this.#assertion(part, mode);
      case 'ExpressionCharacterClass':
        throw new Error('only the flag v has such classes');
      default:
        return this.#characters(mode.isLoose ? anyPoint : rangesOf(part), mode);
    }
  }

  #assertion(part: AST.Assertion, mode: Mode): Fragment {
    if (part.kind === 'start')
      return mode.isLoose ? condition() : { ...nothing(), later: none().later };
    if (part.kind !== 'lookahead' && part.kind !== 'lookbehind') return condition();
    // Looking behind takes as many steps as looking ahead at a text of any characters, its parts in reverse.
    const isBehind = part.kind === 'lookbehind';
    this.#looksBehind ||= isBehind;
    const isLoose = isBehind || mode.isLoose;
    return this.#look(this.#choice(part.alternatives, { isLoose, isReversed: isBehind }));
  }

  #characters(ranges: readonly Range[], mode: Mode): Fragment {
    const at = this.#places.length;
    this.#places.push({ ranges, next: new Map(), cost: 1, isSure: false });
    const entry = (): Entry => ({ first: new Map([[at, 1]]), empty: 0, isSure: false });
    return {
      atStart: entry(),
      later: entry(),
      last: new Map([[at, 1]]),
      sure: new Set([at]),
      isExact: !mode.isLoose,
    };
  }

  #join(a: Fragment, b: Fragment): Fragment {
    this.#link(a.last, b.later.first);
    const sure = a.isExact ? b.sure : new Set<number>();
    if (b.later.isSure) for (const at of a.sure) sure.add(at);
    const entry = (from: Entry, to: Entry): Entry => ({
      first: sum(from.first, to.first, from.empty),
      empty: Math.min(most, from.empty * to.empty),
      isSure: from.isSure && to.isSure,
    });
    return {
      last: sum(b.last, a.last, b.later.empty),
      atStart: entry(a.atStart, b.atStart),
      later: entry(a.later, b.later),
      sure,
      isExact: a.isExact && b.isExact,
    };
  }

  #link(from: Ways, to: Ways): void {
    for (const [at, ways] of from) {
      this.#ways += to.size;
      if (this.#ways > maxWays) throw tooLarge();
      sum(this.#placeAt(at).next, to, ways, false);
    }
  }

  #repeat({ element, min: least, max: top }: AST.Quantifier, mode: Mode): Fragment {
    if (top === 0) return nothing();
    const one = this.#build(element, mode);
    if (top === Infinity && least <= 1) return this.#endless(one, least);
    const canCollapse = this.#isCountless && top > 1;
    // Without characters, each count is a way of its own: only those written out show how many there are.
    if (canCollapse && one.later.empty === 0 && one.atStart.empty === 0) {
      const sure = least <= 1 ? one.sure : new Set<number>();
      return { ...this.#endless(one, Math.min(least, 1)), sure, isExact: false };
    }
    const isEndless = top === Infinity;
    const count = isEndless ? least : top;
    // From the last one, which may be repeated, to the first.
    let rest = isEndless ? this.#endless(one, 1) : least === top ? one : optional(one);
    for (let left = count - 1; left > 0; left -= 1) {
      const joined = this.#join(this.#build(element, mode), rest);
      rest = left > least ? optional(joined) : joined;
    }
    return rest;
  }

  /** A `*` or a `+`. A round without characters ends it, but is tried before. */
  #endless(body: Fragment, least: number): Fragment {
    this.#link(body.last, body.later.first);
    const entry = ({ first, empty, isSure }: Entry): Entry => ({
      first: sum(first, first, empty, false),
      empty: Math.min(most, least === 0 ? 1 + empty : empty * (1 + empty)),
      isSure: least === 0 || isSure,
    });
    return {
      ...entries(body, entry),
      last: sum(body.last, body.last, body.later.empty, false),
      sure: body.isExact ? body.sure : new Set(),
    };
  }

  /** What is looked at is attempted beside what follows, and leads nowhere. */
  #look(body: Fragment): Fragment {
    this.#endWith(body);
    const looked = entries(body, (entry) => ({ ...entry, empty: Math.max(1, entry.empty) }));
    return { ...unsure(looked), last: new Map() };
  }

  /** A reference as a copy of its group, or as nothing: the group may have matched nothing yet. */
  #reference({ resolved }: AST.Backreference, mode: Mode): Fragment {
    const groups = Array.isArray(resolved) ? resolved : [resolved];
    const copies = groups.map((group) => {
      // A reference in its own group may repeat what it repeated before.
      if (this.#referred.has(group)) return this.#endless(this.#characters(anyPoint, mode), 0);
      this.#referred.add(group);
      // Flags that the reference does not have may stand around the group.
      const isLoose = mode.isLoose || this.#hasFlags;
      const copy = this.#choice(group.alternatives, { ...mode, isLoose });
      this.#referred.delete(group);
      return copy;
    });
    return unsure(optional(copies.reduce(either, none())));
  }

  #endWith({ last }: Fragment): void {
    for (const [at, ways] of last) this.#placeAt(at).cost += ways - 1;
  }

  #placeAt(at: number): Place {
    const place = this.#places[at];
    if (place === undefined) throw new Error(`the automaton has no place ${at}`);
    return place;
  }
}

/** `a` and `factor` times `b`. Changes one of them, the larger if it may, for long lists would be copied once for each part. */
function sum(a: Ways, b: Ways, factor: number, mayChangeBoth = true): Ways {
  if (factor === 0) return a;
  const [larger, smaller] = mayChangeBoth && factor === 1 && b.size > a.size ? [b, a] : [a, b];
  for (const [at, ways] of smaller) {
    larger.set(at, Math.min(most, (larger.get(at) ?? 0) + ways * factor));
  }
  return larger;
}

function entries(body: Fragment, change: (entry: Entry) => Entry): Fragment {
  return { ...body, atStart: change(body.atStart), later: change(body.later) };
}

function either(a: Fragment, b: Fragment): Fragment {
  for (const at of b.sure) a.sure.add(at);
  const entry = (one: Entry, other: Entry): Entry => ({
    first: sum(one.first, other.first, 1),
    empty: Math.min(most, one.empty + other.empty),
    isSure: one.isSure || other.isSure,
  });
  return {
    atStart: entry(a.atStart, b.atStart),
    later: entry(a.later, b.later),
    last: sum(a.last, b.last, 1),
    sure: a.sure,
    isExact: a.isExact && b.isExact,
  };
}

function optional(body: Fragment): Fragment {
  return entries(body, ({ first, empty }) => ({
    first,
    empty: Math.min(most, empty + 1),
    isSure: true,
  }));
}

/** The fragment of which nothing is known that makes an attempt match for sure. */
function unsure(body: Fragment): Fragment {
  const found = entries(body, (entry) => ({ ...entry, isSure: false }));
  return { ...found, sure: new Set(), isExact: false };
}

/** What matches no text at all. */
function none(): Fragment {
  const entry = (): Entry => ({ first: new Map(), empty: 0, isSure: false });
  return { atStart: entry(), later: entry(), last: new Map(), sure: new Set(), isExact: true };
}

/** What matches the empty text alone. */
function nothing(): Fragment {
  return optional(none());
}

/** What matches the empty text in some places. */
function condition(): Fragment {
  return unsure(nothing());
}

function placeOf({ first, empty }: Entry): Place {
  const cost = 1 + repeated(first) + Math.max(0, empty - 1);
  return { ranges: [], next: first, cost, isSure: false };
}

/** The ways that lead where another one leads too. */
function repeated(next: Ways): number {
  let count = 0;
  for (const ways of next.values()) count += ways - 1;
  return Math.min(most, count);
}

function tooLarge(): RangeError {
  return new RangeError(`it has more than ${maxPlaces} parts with its repeats written out`);
}

import { clockMs, wallTimeOf } from '../base/clock.ts';
import type { Overload } from '../base/overloads.ts';
import { add } from './sums.ts';

/**
 * Why something of a caller was refused with -32000.
 *
 * - `rate`: the caller has used up its rate (`rateLimit`)
 * - `inFlight`: the caller has too many requests in flight (`maxInFlightPerCaller`, or its share of `maxInFlight`)
 * - `queue`: no room, or no turn in time, for a call that waits: of a full queue the longest caller's newest go first; or no
 *   room for its stream
 * - `full`: too many requests of all callers are in flight (`maxInFlight`)
 */
export const throttleCauses = ['rate', 'inFlight', 'queue', 'full'] as const;

export type ThrottleCause = (typeof throttleCauses)[number];

/** Everything else counts as `queue`. */
const causes: Partial<Record<Overload, ThrottleCause>> = {
  rate: 'rate',
  inFlightPerCaller: 'inFlight',
  inFlightShare: 'inFlight',
  inFlight: 'full',
};

export function causeOf(overload: Overload): ThrottleCause {
  return causes[overload] ?? 'queue';
}

export interface ThrottledCaller {
  /** As `CallerKeys` tells callers apart: the first letter says what the rest is. */
  readonly key: string;
  /** How many requests or calls were refused, since `since`, by cause. */
  readonly refused: Readonly<Record<ThrottleCause, number>>;
  /** When the first and the last were refused, Unix milliseconds. */
  readonly since: number;
  readonly last: number;
}

/** The times are readings of the clock that nobody sets. */
interface Entry extends ThrottledCaller {
  readonly refused: Record<ThrottleCause, number>;
  last: number;
}

/** Most callers that are kept: those that were refused last. */
export const maxThrottled = 100;

/** Refusals less than this apart belong together, milliseconds. */
const quietMs = 60_000;

/** Nobody is told of who was refused longer ago, milliseconds. */
const keptMs = 300_000;

/** Who is refused because of too much, how often and since when: for operators who ask whom a limit meets. */
export class ThrottledCallers {
  /** Who was refused last stands last. */
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;
  readonly #toWall: (at: number) => number;

  /**
   * @param now milliseconds of a clock that nobody sets
   * @param toWall Unix milliseconds for a reading of that clock
   */
  constructor(now: () => number = clockMs, toWall: (at: number) => number = wallTimeOf) {
    this.#now = now;
    this.#toWall = toWall;
  }

  /** The keys are of a bounded length already. */
  note(key: string, cause: ThrottleCause): void {
    const now = this.#now();
    let entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry === undefined || now - entry.last > quietMs) {
      const refused = { rate: 0, inFlight: 0, queue: 0, full: 0 };
      entry = { key, refused, since: now, last: now };
    }
    entry.refused[cause]++;
    entry.last = now;
    this.#entries.set(key, entry);
    if (this.#entries.size <= maxThrottled) return;
    const oldest = this.#entries.keys().next();
    if (oldest.done !== true) this.#entries.delete(oldest.value);
  }

  /** Those of the last five minutes. Who was refused last stands last. */
  list(): readonly ThrottledCaller[] {
    const now = this.#now();
    const recent = [...this.#entries.values()].filter(({ last }) => now - last <= keptMs);
    return recent.map(({ key, refused, since, last }) => {
      return { key, refused, since: this.#toWall(since), last: this.#toWall(last) };
    });
  }
}

/** The lists of several processes as one: a caller may have been refused by each of them. */
export function joinThrottled(all: readonly (readonly ThrottledCaller[])[]): ThrottledCaller[] {
  const joined = new Map<string, ThrottledCaller>();
  for (const one of all.flat()) {
    const before = joined.get(one.key);
    joined.set(one.key, before === undefined ? one : joinTwo(before, one));
  }
  return [...joined.values()].sort((a, b) => a.last - b.last).slice(-maxThrottled);
}

function joinTwo(a: ThrottledCaller, b: ThrottledCaller): ThrottledCaller {
  const since = Math.min(a.since, b.since);
  return { key: a.key, refused: add(a.refused, b.refused), since, last: Math.max(a.last, b.last) };
}

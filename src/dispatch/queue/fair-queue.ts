import type { CallGroup, WaitingRoom } from './call-group.ts';
import { type Length, Longest } from './longest.ts';

/** What a key of weight 1 is given at its turn, expected microseconds. */
export const quantumUs = 1000;

/** Weights are held within these: below, a key would need many rounds for one call; above, it would be alone. */
const leastWeight = 1 / 64;
const mostWeight = 64;

/** A group in a line of its key. Linked both ways, so that what is answered meanwhile leaves at once. */
interface Place {
  readonly group: CallGroup;
  readonly line: Line;
  before: Place | undefined;
  behind: Place | undefined;
  /** Calls and microseconds as they were counted: what is taken off again is what was put on. */
  readonly calls: number;
  readonly costUs: number;
}

/** What one key has queued: oldest first. */
interface Line extends Length {
  readonly key: string;
  readonly weight: number;
  first: Place | undefined;
  last: Place | undefined;
  workUs: number;
  /** What it may still send away at its turn, microseconds. */
  deficitUs: number;
  /** Its neighbours in the round of keys. */
  previous: Line;
  next: Line;
}

/**
 * Groups that wait for a worker, shared out among their callers: deficit round robin (Shreedhar and Varghese, 1995) by expected cost.
 *
 *     round:  [ann: 3 groups] -> [bob: 200 groups] -> [eve: 1 group] -> back to ann
 *              ^ turn, deficit 1000 us
 *
 * At its turn a key is given a quantum and sends groups away, oldest first, as long as they fit into what it was given; what is
 * left it keeps for its next turn, as long as it has something queued. So each key that waits gets the same share of time,
 * within one quantum and its largest group, however many groups the others have; a share of `weight` in place of one.
 * A key lives while it has something queued: the memory is bounded by what bounds the groups.
 *
 * What comes back from a lost worker had its turn, and goes ahead of everything, on nobody's account.
 */
export class FairQueue implements WaitingRoom {
  readonly #keyOf: (group: CallGroup) => string;
  readonly #weightOf: (key: string) => number;
  readonly #lines = new Map<string, Line>();
  readonly #places = new Map<CallGroup, Place>();
  readonly #returned = newLine('', 1);
  /** Kept from the first time that somebody must be refused until nothing waits: nobody else asks for it. */
  #longest: Longest<Line> | undefined;
  /** Of all keys that wait together. */
  #weights = 0;
  /** Whose turn it is; undefined: no key waits. */
  #turn: Line | undefined;

  /** Calls that wait. */
  size = 0;
  /** What they are expected to cost a worker, microseconds. */
  workUs = 0;

  /**
   * @param keyOf who a group is of; asked once, when it comes
   * @param weightOf the share of a key beside others' 1; asked when the key comes to life
   */
  constructor(keyOf: (group: CallGroup) => string, weightOf: (key: string) => number = () => 1) {
    this.#keyOf = keyOf;
    this.#weightOf = weightOf;
  }

  /** Keys that have something queued; what came back has none. */
  get keys(): number {
    return this.#lines.size;
  }

  push(group: CallGroup): void {
    const key = this.#keyOf(group);
    const line = this.#lines.get(key) ?? this.#open(key);
    const place = this.#enter(group, line);
    place.before = line.last;
    if (line.last === undefined) line.first = place;
    else line.last.behind = place;
    line.last = place;
  }

  pushFront(group: CallGroup): void {
    const line = this.#returned;
    const place = this.#enter(group, line);
    place.behind = line.first;
    if (line.first === undefined) line.last = place;
    else line.first.before = place;
    line.first = place;
  }

  /** The group that goes next; it stays here until `shift`. */
  peek(): CallGroup | undefined {
    return this.#next()?.group;
  }

  shift(): CallGroup | undefined {
    const place = this.#next();
    if (place === undefined) return undefined;
    if (place.line !== this.#returned) place.line.deficitUs -= place.costUs;
    this.#leave(place);
    return place.group;
  }

  /** A group that waits here is about to be answered. */
  drop(group: CallGroup): void {
    const place = this.#places.get(group);
    if (place !== undefined) this.#leave(place);
  }

  /** The newest group of the key that has the most calls queued; of what came back only where nothing else waits. */
  newestOfLongest(): CallGroup | undefined {
    this.#longest ??= new Longest(this.#lines.values());
    return (this.#longest.longest() ?? this.#returned).last?.group;
  }

  /**
   * How long until all that the key of a group has queued was sent, microseconds of one worker: by its share of the time, and no longer
   * than all that waits takes.
   */
  waitUsOf(group: CallGroup): number {
    const line = this.#places.get(group)?.line;
    if (line === undefined) return 0;
    if (line === this.#returned) return line.workUs;
    const own = (line.workUs * this.#weights) / line.weight;
    return Math.min(this.workUs, this.#returned.workUs + own);
  }

  /** Since when the oldest of all has waited, by `clockMs`; undefined: nothing waits. */
  get oldestSince(): number | undefined {
    let oldest: number | undefined;
    // In the order in which they came, but for what came back.
    for (const { group, line } of this.#places.values()) {
      if (oldest === undefined || group.waitingSince < oldest) oldest = group.waitingSince;
      if (line !== this.#returned) break;
    }
    for (let at = this.#returned.first; at !== undefined; at = at.behind) {
      if (oldest === undefined || at.group.waitingSince < oldest) oldest = at.group.waitingSince;
    }
    return oldest;
  }

  /** What came back first, then line by line, each oldest first. Whoever looks may answer what is shown. */
  *[Symbol.iterator](): Generator<CallGroup> {
    for (const line of [this.#returned, ...this.#lines.values()]) {
      for (let place = line.first; place !== undefined; place = place.behind) yield place.group;
    }
  }

  /** Gives turns until one suffices. */
  #next(): Place | undefined {
    if (this.#returned.first !== undefined) return this.#returned.first;
    let line = this.#turn;
    if (line === undefined) return undefined;
    let rounds = roundsFor(line);
    for (let passed = 1; rounds > 0; passed++) {
      line = line.next;
      line.deficitUs += quantumUs * line.weight;
      this.#turn = line;
      const own = roundsFor(line);
      if (own === 0) break;
      rounds = Math.min(rounds, own);
      // No key has enough after a whole round: rounds in which nothing would happen are given at once.
      if (passed % this.#lines.size === 0) {
        this.#grant(rounds - 1);
        rounds = Number.POSITIVE_INFINITY;
      }
    }
    return line.first;
  }

  #grant(rounds: number): void {
    for (const line of this.#lines.values()) line.deficitUs += rounds * quantumUs * line.weight;
  }

  #enter(group: CallGroup, line: Line): Place {
    const calls = group.waiting;
    const costUs = group.expectedUs;
    const place = { group, line, before: undefined, behind: undefined, calls, costUs };
    this.#places.set(group, place);
    group.queue = this;
    if (line !== this.#returned) this.#longest?.change(line, line.calls + calls);
    line.calls += calls;
    line.workUs += costUs;
    this.size += calls;
    this.workUs += costUs;
    return place;
  }

  #leave(place: Place): void {
    const { group, line, before, behind } = place;
    this.#places.delete(group);
    group.queue = undefined;
    if (before === undefined) line.first = behind;
    else before.behind = behind;
    if (behind === undefined) line.last = before;
    else behind.before = before;
    if (line !== this.#returned) this.#longest?.change(line, line.calls - place.calls);
    line.calls -= place.calls;
    line.workUs -= place.costUs;
    this.size -= place.calls;
    // Sums of floats drift: an empty queue's work is exactly nothing.
    this.workUs = this.size === 0 ? 0 : this.workUs - place.costUs;
    if (line.first === undefined && line !== this.#returned) this.#close(line);
  }

  /** A key comes to life behind all others; its first turn brings its first quantum. */
  #open(key: string): Line {
    const weight = Math.min(mostWeight, Math.max(leastWeight, this.#weightOf(key)));
    const line = newLine(key, Number.isNaN(weight) ? 1 : weight);
    this.#lines.set(key, line);
    this.#weights += line.weight;
    if (this.#turn === undefined) {
      this.#turn = line;
      line.deficitUs = quantumUs * line.weight;
      return line;
    }
    line.next = this.#turn;
    line.previous = this.#turn.previous;
    line.previous.next = line;
    line.next.previous = line;
    return line;
  }

  #close(line: Line): void {
    this.#lines.delete(line.key);
    this.#weights -= line.weight;
    if (line.next === line) {
      this.#turn = undefined;
      this.#weights = 0;
      this.#longest = undefined;
      return;
    }
    line.previous.next = line.next;
    line.next.previous = line.previous;
    if (this.#turn !== line) return;
    this.#turn = line.next;
    line.next.deficitUs += quantumUs * line.next.weight;
  }
}

/** How many more turns a key needs to send its oldest group away. */
function roundsFor({ first, deficitUs, weight }: Line): number {
  const lacksUs = (first?.costUs ?? 0) - deficitUs;
  return lacksUs <= 0 ? 0 : Math.max(1, Math.ceil(lacksUs / (quantumUs * weight)));
}

/** A line of its own round. */
function newLine(key: string, weight: number): Line {
  const line: Omit<Line, 'previous' | 'next'> & { previous?: Line; next?: Line } = {
    key,
    weight,
    first: undefined,
    last: undefined,
    calls: 0,
    workUs: 0,
    deficitUs: 0,
  };
  const whole = line as Line;
  whole.previous = whole;
  whole.next = whole;
  return whole;
}

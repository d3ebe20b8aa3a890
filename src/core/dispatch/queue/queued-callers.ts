import type { RequestScope } from '../scope.ts';
import type { CallGroup } from './call-group.ts';

/** Tells callers apart, and their shares. Asked only about calls that have to wait. */
export interface CallerShares {
  /** Names the caller of a request. */
  keyOf(scope: RequestScope): string;
  /** The caller's share, where 1 is everybody else's. Asked when the caller comes to wait. */
  weightOf(scope: RequestScope): number;
}

/**
 * Bounds of weights: with a smaller weight a caller would need many rounds for one call, with a larger one it would
 * have the workers to itself.
 */
const leastWeight = 1 / 64;
const mostWeight = 64;

/** A weight within the bounds; 1 for what is no number. */
export function boundedWeight(weight: number): number {
  return Number.isNaN(weight) ? 1 : Math.min(mostWeight, Math.max(leastWeight, weight));
}

/** What one group counts for in the accounts. */
export interface QueuedWork {
  readonly calls: number;
  /** Work that the group is expected to cost a worker, microseconds. */
  readonly workUs: number;
  /** See {@link CallGroup.isReturned}. */
  readonly isReturned: boolean;
}

/** The groups of one caller in one queue. */
export interface CallerLine {
  /** The group that came last, apart from groups that a worker gave back. */
  readonly newest: CallGroup | undefined;
  /** See {@link QueuedCallers.charge}. */
  charge(us: number): void;
}

/** A caller who has calls waiting, in any queue. `calls` does not count calls that workers gave back. */
export interface QueuedCaller extends Length {
  readonly key: string;
  readonly weight: number;
  groups: number;
  workUs: number;
  readonly lines: Set<CallerLine>;
}

/**
 * Who has calls waiting, and how many. Each caller has one account for all queues of a pool, so that nobody gets more
 * room by calling several procedures. An account exists only while its caller has something queued: so the bound on
 * waiting calls also bounds the accounts.
 */
export class QueuedCallers {
  readonly #shares: CallerShares;
  readonly #callers = new Map<string, QueuedCaller>();
  /** Made when somebody must be refused for the first time, and dropped when nothing waits: nobody else asks for it. */
  #longest: Longest<QueuedCaller> | undefined;
  #weights = 0;

  /** Calls that wait, and those of them that a worker gave back. */
  calls = 0;
  returned = 0;
  /** Work that all waiting calls are expected to cost, microseconds. */
  workUs = 0;

  constructor(shares: CallerShares) {
    this.#shares = shares;
  }

  /** Callers that have something queued. */
  get size(): number {
    return this.#callers.size;
  }

  /** The account of a group's caller, made where there is none. */
  of({ scope }: CallGroup): QueuedCaller {
    const key = this.#shares.keyOf(scope);
    const known = this.#callers.get(key);
    if (known !== undefined) return known;
    const caller = {
      key,
      weight: boundedWeight(this.#shares.weightOf(scope)),
      calls: 0,
      groups: 0,
      workUs: 0,
      lines: new Set<CallerLine>(),
    };
    this.#callers.set(key, caller);
    this.#weights += caller.weight;
    return caller;
  }

  /** A stream of a caller has had a worker for so long, microseconds: the caller pays for it, if it has anything queued. */
  charge(scope: RequestScope, us: number): void {
    if (this.#callers.size < 2) return;
    for (const line of this.#callers.get(this.#shares.keyOf(scope))?.lines ?? []) line.charge(us);
  }

  /** A caller has one more group queued. */
  enter(caller: QueuedCaller, { calls, workUs, isReturned }: QueuedWork): void {
    caller.groups++;
    caller.workUs += workUs;
    this.calls += calls;
    this.workUs += workUs;
    if (isReturned) this.returned += calls;
    else this.#count(caller, calls);
  }

  /** A caller has one group less queued. Its account ends with its last group. */
  leave(caller: QueuedCaller, { calls, workUs, isReturned }: QueuedWork): void {
    caller.groups--;
    caller.workUs -= workUs;
    this.calls -= calls;
    this.workUs -= workUs;
    if (isReturned) this.returned -= calls;
    else this.#count(caller, -calls);
    if (caller.groups > 0) return;
    this.#callers.delete(caller.key);
    this.#weights -= caller.weight;
    if (this.calls > 0) return;
    // Sums of floats drift: with nothing queued they must be exactly 0.
    this.workUs = 0;
    this.#weights = 0;
    this.#longest = undefined;
  }

  /**
   * The newest group of the caller that has the most calls queued. Groups that workers gave back do not count.
   * undefined: there is none.
   */
  newestOfLongest(): CallGroup | undefined {
    this.#longest ??= new Longest(this.#callers.values());
    let newest: CallGroup | undefined;
    for (const { newest: last } of this.#longest.longest()?.lines ?? []) {
      if (last === undefined) continue;
      if (newest === undefined || last.arrivedAt >= newest.arrivedAt) newest = last;
    }
    return newest;
  }

  /**
   * How much work leaves before the last group of this group's caller has left, microseconds of one worker: the
   * caller's own work by its share of the time, and at most all work that waits.
   */
  waitUsOf({ scope }: CallGroup): number {
    const caller = this.#callers.get(this.#shares.keyOf(scope));
    if (caller === undefined) return this.workUs;
    return Math.min(this.workUs, (caller.workUs * this.#weights) / caller.weight);
  }

  #count(caller: QueuedCaller, calls: number): void {
    this.#longest?.change(caller, caller.calls + calls);
    caller.calls += calls;
  }
}

/** A line with a number of calls. */
export interface Length {
  calls: number;
}

/**
 * Finds the longest of many lines that grow and shrink, without a search: lines of equal length stand together, and the
 * greatest length changes by no more than a line does.
 */
export class Longest<Line extends Length> {
  readonly #byLength = new Map<number, Set<Line>>();
  #most = 0;

  constructor(lines: Iterable<Line>) {
    for (const line of lines) this.#add(line, line.calls);
  }

  /**
   * The line changes its length. `line.calls` is still the old one.
   *
   * @param calls the new length; 0: the line is gone
   */
  change(line: Line, calls: number): void {
    const before = this.#byLength.get(line.calls);
    before?.delete(line);
    if (before?.size === 0) this.#byLength.delete(line.calls);
    this.#add(line, calls);
    while (this.#most > 0 && !this.#byLength.has(this.#most)) this.#most--;
  }

  /** The longest line; of several the one that has had its length for the longest time. undefined: there is no line. */
  longest(): Line | undefined {
    return this.#byLength.get(this.#most)?.values().next().value;
  }

  #add(line: Line, calls: number): void {
    if (calls === 0) return;
    const lines = this.#byLength.get(calls);
    if (lines === undefined) this.#byLength.set(calls, new Set([line]));
    else lines.add(line);
    if (calls > this.#most) this.#most = calls;
  }
}

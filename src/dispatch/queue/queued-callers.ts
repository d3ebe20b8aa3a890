import type { RequestScope } from '../scope.ts';
import type { CallGroup } from './call-group.ts';
import { type Length, Longest } from './longest.ts';

/** What is shared out among callers: asked only about calls that have to wait. */
export interface CallerShares {
  /** Who a request is of. */
  keyOf(scope: RequestScope): string;
  /** The share of a caller beside others' 1; asked when the caller comes to wait. */
  weightOf(scope: RequestScope): number;
}

/** Weights are held within these: below, a caller would need many rounds for one call; above, it would be alone. */
const leastWeight = 1 / 64;
const mostWeight = 64;

/** What one group counts for. */
export interface QueuedWork {
  readonly calls: number;
  /** What it is expected to cost a worker, microseconds. */
  readonly workUs: number;
  /** See {@link CallGroup.isReturned}. */
  readonly isReturned: boolean;
}

/** What one caller has in one queue. */
export interface CallerLine {
  /** The one that came last, of those that no worker gave back. */
  readonly newest: CallGroup | undefined;
}

/** One who has calls waiting, in whatever queues. `calls` leaves out what workers gave back. */
export interface QueuedCaller extends Length {
  readonly key: string;
  readonly weight: number;
  groups: number;
  workUs: number;
  readonly lines: Set<CallerLine>;
}

/**
 * Who has calls waiting, and how many: one account for all queues of a pool, so that nobody gets more room by calling several
 * procedures. A caller lives while it has something queued: the memory is bounded by what bounds the calls.
 */
export class QueuedCallers {
  readonly #shares: CallerShares;
  readonly #callers = new Map<string, QueuedCaller>();
  /** Kept from the first time that somebody must be refused until nothing waits: nobody else asks for it. */
  #longest: Longest<QueuedCaller> | undefined;
  #weights = 0;

  /** Calls that wait, and those of them that a worker gave back. */
  calls = 0;
  returned = 0;
  /** What all of them are expected to cost a worker, microseconds. */
  workUs = 0;

  constructor(shares: CallerShares) {
    this.#shares = shares;
  }

  /** Callers that have something queued. */
  get size(): number {
    return this.#callers.size;
  }

  /** The one that a group is of; it comes to life here. */
  of({ scope }: CallGroup): QueuedCaller {
    const key = this.#shares.keyOf(scope);
    const known = this.#callers.get(key);
    if (known !== undefined) return known;
    const weight = Math.min(mostWeight, Math.max(leastWeight, this.#shares.weightOf(scope)));
    const caller = {
      key,
      weight: Number.isNaN(weight) ? 1 : weight,
      calls: 0,
      groups: 0,
      workUs: 0,
      lines: new Set<CallerLine>(),
    };
    this.#callers.set(key, caller);
    this.#weights += caller.weight;
    return caller;
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

  /** And one less: it ends with the last of them. */
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
    // Sums of floats drift: nothing is exactly nothing.
    this.workUs = 0;
    this.#weights = 0;
    this.#longest = undefined;
  }

  /** The newest group of the caller that has the most calls queued, what workers gave back aside; undefined: there is none. */
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
   * How long until all that the caller of a group has queued was sent, microseconds of one worker: by its share of the time, and no longer
   * than all that waits takes.
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

import type { RequestScope } from '../scope.ts';
import type { CallTrain } from './call-train.ts';
import { type Length, Longest } from './longest.ts';

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

/** What one train counts for in the accounts. */
export interface QueuedWork {
  readonly calls: number;
  /** Work that the train is expected to cost a worker, microseconds. */
  readonly workUs: number;
  /** See {@link CallTrain.isReturned}. */
  readonly isReturned: boolean;
}

/** The trains of one caller in one queue. */
export interface CallerLine {
  /** The train that came last, apart from trains that a worker gave back. */
  readonly newest: CallTrain | undefined;
}

/** A caller who has calls waiting, in any queue. `calls` does not count calls that workers gave back. */
export interface QueuedCaller extends Length {
  readonly key: string;
  readonly weight: number;
  trains: number;
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

  /** The account of a train's caller, made where there is none. */
  of({ scope }: CallTrain): QueuedCaller {
    const key = this.#shares.keyOf(scope);
    const known = this.#callers.get(key);
    if (known !== undefined) return known;
    const weight = Math.min(mostWeight, Math.max(leastWeight, this.#shares.weightOf(scope)));
    const caller = {
      key,
      weight: Number.isNaN(weight) ? 1 : weight,
      calls: 0,
      trains: 0,
      workUs: 0,
      lines: new Set<CallerLine>(),
    };
    this.#callers.set(key, caller);
    this.#weights += caller.weight;
    return caller;
  }

  /** A caller has one more train queued. */
  enter(caller: QueuedCaller, { calls, workUs, isReturned }: QueuedWork): void {
    caller.trains++;
    caller.workUs += workUs;
    this.calls += calls;
    this.workUs += workUs;
    if (isReturned) this.returned += calls;
    else this.#count(caller, calls);
  }

  /** A caller has one train less queued. Its account ends with its last train. */
  leave(caller: QueuedCaller, { calls, workUs, isReturned }: QueuedWork): void {
    caller.trains--;
    caller.workUs -= workUs;
    this.calls -= calls;
    this.workUs -= workUs;
    if (isReturned) this.returned -= calls;
    else this.#count(caller, -calls);
    if (caller.trains > 0) return;
    this.#callers.delete(caller.key);
    this.#weights -= caller.weight;
    if (this.calls > 0) return;
    // Sums of floats drift: with nothing queued they must be exactly 0.
    this.workUs = 0;
    this.#weights = 0;
    this.#longest = undefined;
  }

  /**
   * The newest train of the caller that has the most calls queued. Trains that workers gave back do not count.
   * undefined: there is none.
   */
  newestOfLongest(): CallTrain | undefined {
    this.#longest ??= new Longest(this.#callers.values());
    let newest: CallTrain | undefined;
    for (const { newest: last } of this.#longest.longest()?.lines ?? []) {
      if (last === undefined) continue;
      if (newest === undefined || last.arrivedAt >= newest.arrivedAt) newest = last;
    }
    return newest;
  }

  /**
   * How much work leaves before the last train of this train's caller has left, microseconds of one worker: the
   * caller's own work by its share of the time, and at most all work that waits.
   */
  waitUsOf({ scope }: CallTrain): number {
    const caller = this.#callers.get(this.#shares.keyOf(scope));
    if (caller === undefined) return this.workUs;
    return Math.min(this.workUs, (caller.workUs * this.#weights) / caller.weight);
  }

  #count(caller: QueuedCaller, calls: number): void {
    this.#longest?.change(caller, caller.calls + calls);
    caller.calls += calls;
  }
}

import { clockMs } from '../base/clock.ts';
import { cancelled, deadlineExceeded, type Refusal } from './call.ts';
import type { Deadline, DeadlineSweep } from './deadline.ts';
import {
  type CallerShares,
  FairQueue,
  QueuedCallers,
  type QueuedWork,
  type WaitingPlace,
} from './queue/fair-queue.ts';
import type { CancelListener, RequestScope } from './scope.ts';

/**
 * Characters (or bytes) of params, and of a result, up to which an inline call is small: it never waits. Reading, parsing and
 * checking the worst 4 KB takes 0.2 ms; a result of 16 KB takes as long.
 */
export const smallParams = 4 * 1024;
export const smallResult = 16 * 1024;

/** What reading, parsing and checking a character of params takes at most, microseconds, and making one of a result. */
const usPerParam = 0.05;
const usPerResult = 0.01;

/** How long the work of one turn of the event loop may hold this thread before what comes next waits, milliseconds. */
const turnMs = 10;

/**
 * Turns without such work after one that it has filled. node:http accepts one connection in each turn of the event loop: a
 * caller that connects behind two hundred others must not wait for two hundred full turns. Empty turns take microseconds.
 */
const turnsBetween = 20;

/** How much work a call is expected to be, microseconds. @param result characters of the last result of its procedure */
export function inlineCostUs(params: number, result: number): number {
  return params * usPerParam + result * usPerResult;
}

/**
 * Inline calls with large params or results, and what has to be read exactly, share this thread: small calls never wait here.
 *
 *     turn of the event loop    |..sockets..|....10 ms....|..sockets..|....10 ms....|
 *     small calls                a  b  a  c                 b  a
 *     larger ones                            eve   eve                  ann   eve
 *
 * Work that comes in a turn that has time left runs at once. Other work waits in a fair queue, in which callers take turns, until
 * its turn, its deadline, the end of the service, or until its caller leaves.
 */
export class InlineTurns {
  readonly #deadlines: DeadlineSweep;
  readonly #now: () => number;
  readonly #queue: FairQueue<WaitingWork>;
  /** How long work has held the thread in this turn, milliseconds. */
  #heldMs = 0;
  /** Turns that have passed since it was full. */
  #passed = 0;
  #isScheduled = false;
  #isRunning = false;

  /** @param now in milliseconds */
  constructor(callers: CallerShares, deadlines: DeadlineSweep, now: () => number = clockMs) {
    this.#queue = new FairQueue(new QueuedCallers(callers));
    this.#deadlines = deadlines;
    this.#now = now;
  }

  /**
   * Runs work of a request: at once, or in a later turn. What is part of work that runs is run at once.
   *
   * @param costUs what it is expected to take, microseconds
   * @param run must not throw
   * @param refuse called instead of `run` if the work has waited in vain
   */
  run(
    scope: RequestScope,
    costUs: number,
    run: () => void,
    refuse: (refusal: Refusal) => void,
  ): void {
    if (this.#isRunning) run();
    else if (this.#queue.size === 0 && this.#heldMs < turnMs) this.#hold(run);
    else {
      this.#add(scope, costUs, (refusal) => {
        if (refusal === undefined) this.#hold(run);
        else refuse(refusal);
      });
    }
  }

  /** Resolves in a later turn, or when waiting is in vain: a long request lets others go on. What follows is not timed. */
  next(scope: RequestScope, costUs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#add(scope, costUs, () => {
        this.#heldMs += costUs / 1000;
        resolve();
      });
    });
  }

  #add(scope: RequestScope, costUs: number, end: WaitingWork['end']): void {
    const work = new WaitingWork(scope, costUs, this.#now(), this.#deadlines, end);
    this.#queue.push(work);
    this.#schedule();
    if (scope.cancelled) work.onCancelled();
  }

  #hold(run: () => void): void {
    const began = this.#now();
    this.#isRunning = true;
    try {
      run();
    } finally {
      this.#isRunning = false;
      this.#heldMs += this.#now() - began;
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    if (this.#heldMs >= turnMs && this.#passed++ < turnsBetween) {
      this.#schedule();
      return;
    }
    this.#passed = 0;
    this.#heldMs = 0;
    while (this.#heldMs < turnMs) {
      const work = this.#queue.shift();
      if (work === undefined) return;
      work.leave(undefined);
    }
    this.#schedule();
  }
}

/** Work that waits for its turn. */
class WaitingWork implements QueuedWork, Deadline, CancelListener {
  readonly scope: RequestScope;
  readonly arrivedAt: number;
  readonly waiting = 1;
  readonly expectedUs: number;
  readonly returnedUs = 0;
  readonly isReturned = false;
  queue: WaitingPlace | undefined = undefined;
  readonly #deadlines: DeadlineSweep;
  /** Called once. @param refusal undefined: it is its turn */
  readonly end: (refusal: Refusal | undefined) => void;

  constructor(
    scope: RequestScope,
    expectedUs: number,
    arrivedAt: number,
    deadlines: DeadlineSweep,
    end: (refusal: Refusal | undefined) => void,
  ) {
    this.scope = scope;
    this.expectedUs = expectedUs;
    this.arrivedAt = arrivedAt;
    this.end = end;
    this.#deadlines = deadlines;
    deadlines.add(this);
    scope.addListener(this);
  }

  get nextUs(): number {
    return this.expectedUs;
  }

  get at(): number {
    return this.scope.expiresAt;
  }

  expire(): void {
    this.leave(deadlineExceeded(this.scope.timeoutMs));
  }

  shutdown(): void {
    this.leave(cancelled);
  }

  onCancelled(): void {
    this.leave(cancelled);
  }

  leave(refusal: Refusal | undefined): void {
    this.queue?.drop(this);
    this.#deadlines.delete(this);
    this.scope.removeListener(this);
    this.end(refusal);
  }
}

import { clockMs } from '../../base/clock.ts';

/** How long generators may hold their thread before others get a turn: messages, requests, timers. */
const sliceMs = 1;

/** A generator that can go on. */
export interface Runnable {
  /** Names it to the thread's watch. */
  readonly ticket: number;
  /** Runs it until it yields or waits. Never throws. */
  resume(): void;
}

/** Told of each time a generator holds the thread, from one yield or wait to the next. */
export interface RunWatch {
  /** @param now by `clockMs` */
  enter(run: Runnable, now: number): void;
  leave(): void;
}

/**
 * The generators of one thread that can go on, first come first served, one value at a time. All of them together hold the
 * thread for a slice, then whatever else waits has its turn. One `setImmediate` per value and generator instead would let
 * a light call wait behind every generator there is.
 *
 *     turn of the event loop      |..........slice..........|        |..slice...
 *     generators                  a b c a   a   a   a   c a          a b a a
 *                                         ^ an async generator that waits for nothing comes back at once
 */
export class RunQueue {
  readonly #watch: RunWatch | undefined;
  readonly #onTurnEnd: (() => void) | undefined;
  #ready: Runnable[] = [];
  #isScheduled = false;
  /** When the slice is over that began last, by `clockMs`. */
  #until = 0;
  #isEndDue = false;

  /** @param onTurnEnd called after each slice: what the values of many streams go into is sent once */
  constructor(watch?: RunWatch, onTurnEnd?: () => void) {
    this.#watch = watch;
    this.#onTurnEnd = onTurnEnd;
  }

  add(run: Runnable): void {
    this.#ready.push(run);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // What comes back within the slice has the rest of it: an async generator comes back a microtask later.
    if (clockMs() < this.#until) queueMicrotask(() => this.#turn(true));
    else setImmediate(() => this.#turn(false));
  }

  /** Runs a part of a generator outside of its turn. */
  guarded<T>(run: Runnable, part: () => T): T {
    this.#watch?.enter(run, clockMs());
    try {
      return part();
    } finally {
      this.#watch?.leave();
    }
  }

  #turn(isRest: boolean): void {
    let now = clockMs();
    if (!isRest) this.#until = now + sliceMs;
    const ready = this.#ready;
    let at = 0;
    // What is resumed comes back at the end.
    while (at < ready.length) {
      const run = ready[at++] as Runnable;
      this.#watch?.enter(run, now);
      run.resume();
      this.#watch?.leave();
      now = clockMs();
      if (now >= this.#until) break;
    }
    this.#ready = ready.slice(at);
    if (isRest) this.#endLater();
    else this.#onTurnEnd?.();
    if (this.#ready.length === 0) this.#isScheduled = false;
    else setImmediate(() => this.#turn(false));
  }

  /** Generators may come back many times within a slice. `onTurnEnd` is called once for all that they gave. */
  #endLater(): void {
    if (this.#isEndDue || this.#onTurnEnd === undefined) return;
    this.#isEndDue = true;
    setImmediate(() => {
      this.#isEndDue = false;
      this.#onTurnEnd?.();
    });
  }
}

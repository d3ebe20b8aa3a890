import { clockMs } from '../base/clock.ts';

/** Replacements that die young wait twice as long each time, up to this. */
const longestMs = 5000;
const firstMs = 100;
/** A death this long after the one before it is not a repetition. */
const forgetsMs = 10_000;
/** Deaths in a row that are replaced at once. */
const freeRestarts = 3;

/** How long to wait before what died is started again: repeated deaths must not spin. */
export class Backoff {
  #inARow = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  /** @param hadServed it works, and is missed: nothing to wait for */
  delayMs(hadServed: boolean, now: number = clockMs()): number {
    if (hadServed) {
      this.#inARow = 0;
      return 0;
    }
    this.#inARow = now - this.#lastAt > forgetsMs ? 1 : this.#inARow + 1;
    this.#lastAt = now;
    const excess = this.#inARow - freeRestarts;
    return excess <= 0 ? 0 : Math.min(firstMs * 2 ** (excess - 1), longestMs);
  }
}

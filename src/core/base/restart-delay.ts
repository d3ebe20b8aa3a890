export interface DelayPolicy {
  /** How many restarts in a row are not delayed. */
  readonly free: number;
  /** Delay of the first restart after those. */
  readonly firstMs: number;
  /** The delay doubles with each further restart, up to this. */
  readonly longestMs: number;
  /** A restart that comes this long after the one before it begins a new row. */
  readonly forgetsMs: number;
}

/** How long to wait before each restart. With `free` 3 and `firstMs` 100: 0, 0, 0, 100, 200, 400 ms and so on. */
export class RestartDelay {
  readonly #policy: DelayPolicy;
  #inARow = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(policy: DelayPolicy) {
    this.#policy = policy;
  }

  /** Ends the row of restarts: what was started works. */
  reset(): void {
    this.#inARow = 0;
  }

  /**
   * @param now milliseconds of any clock, the same at each call
   * @returns milliseconds to wait before this restart
   */
  next(now: number): number {
    const { free, firstMs, longestMs, forgetsMs } = this.#policy;
    this.#inARow = now - this.#lastAt > forgetsMs ? 1 : this.#inARow + 1;
    this.#lastAt = now;
    const excess = this.#inARow - free;
    return excess <= 0 ? 0 : Math.min(firstMs * 2 ** (excess - 1), longestMs);
  }
}

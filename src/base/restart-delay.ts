export interface DelayPolicy {
  /** How many in a row are not delayed. */
  readonly free: number;
  readonly firstMs: number;
  /** Each further one waits twice as long, up to this. */
  readonly longestMs: number;
  /** One that comes this long after the one before it begins a new row. */
  readonly forgetsMs: number;
}

/** How long to wait before the next try of what should be rare. */
export class RestartDelay {
  readonly #policy: DelayPolicy;
  #inARow = 0;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(policy: DelayPolicy) {
    this.#policy = policy;
  }

  /** What was started has worked: its row of restarts is over. */
  reset(): void {
    this.#inARow = 0;
  }

  /** @param now of a clock in milliseconds */
  next(now: number): number {
    const { free, firstMs, longestMs, forgetsMs } = this.#policy;
    this.#inARow = now - this.#lastAt > forgetsMs ? 1 : this.#inARow + 1;
    this.#lastAt = now;
    const excess = this.#inARow - free;
    return excess <= 0 ? 0 : Math.min(firstMs * 2 ** (excess - 1), longestMs);
  }
}

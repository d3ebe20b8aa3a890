import { clockMs } from '../../base/clock.ts';

/** A look that comes this many intervals late shows that this thread was held up. */
const stalledTimes = 3;

/** Looks at calls in flight at regular intervals. Stops its timer while there are none. */
export class Sweep {
  readonly #everyMs: number;
  readonly #look: (now: number) => boolean;
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = 0;

  /** @param look returns whether there is anything left to look at */
  constructor(everyMs: number, look: (now: number) => boolean) {
    this.#everyMs = everyMs;
    this.#look = look;
  }

  /** Starts the looks: there is something to look at. */
  wake(): void {
    if (this.#timer !== undefined) return;
    this.#lookedAt = clockMs();
    this.#timer = setInterval(() => this.#onTime(), this.#everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** After a stall of this thread, results that came meanwhile are read first: their calls may have ended in time. */
  #onTime(): void {
    const now = clockMs();
    const isLate = now - this.#lookedAt > this.#everyMs * stalledTimes;
    this.#lookedAt = now;
    if (isLate) setImmediate(() => this.#lookNow());
    else this.#lookNow();
  }

  #lookNow(): void {
    if (!this.#look(clockMs())) this.stop();
  }
}

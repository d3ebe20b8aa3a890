import { clockMs } from '../base/clock.ts';

export interface EpisodeEnd {
  readonly count: number;
  /** From the first event to the last, milliseconds. */
  readonly ms: number;
}

export interface EpisodeEvents {
  begins(): void;
  ends(end: EpisodeEnd): void;
}

/**
 * Turns a burst of equal events (refusals under overload) into two log lines: one at the first event, one after a
 * quiet time.
 *
 *     note()   x  xx xxxx x   x                  x
 *              begins          |<-- quietMs -->| begins
 *                                              ends
 */
export class Episode {
  readonly #quietMs: number;
  readonly #events: EpisodeEvents;
  #count = 0;
  #beganAt = 0;
  #lastAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param quietMs an episode ends when no event came for so long */
  constructor(quietMs: number, events: EpisodeEvents) {
    this.#quietMs = quietMs;
    this.#events = events;
  }

  note(): void {
    this.#count++;
    this.#lastAt = clockMs();
    if (this.#timer !== undefined) return;
    this.#beganAt = this.#lastAt;
    this.#events.begins();
    this.#wait(this.#quietMs);
  }

  /** Ends the episode that is going on: no more events will come. */
  close(): void {
    if (this.#timer !== undefined) this.#end();
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      const left = this.#lastAt + this.#quietMs - clockMs();
      if (left > 0) this.#wait(left);
      else this.#end();
    }, ms);
    // The timer alone must not keep a process alive.
    this.#timer.unref();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const end = { count: this.#count, ms: Math.round(this.#lastAt - this.#beganAt) };
    this.#count = 0;
    this.#events.ends(end);
  }
}

/** How an episode went, for the line that tells of its end. */
export interface EpisodeEnd {
  /** What happened in it, how many times. */
  readonly count: number;
  readonly ms: number;
}

export interface EpisodeEvents {
  begins(): void;
  ends(end: EpisodeEnd): void;
}

/**
 * What happens often or not at all (refusals under overload), as one event when it begins and one when it
 * has not happened for a while.
 */
export class Episode {
  readonly #quietMs: number;
  readonly #events: EpisodeEvents;
  #count = 0;
  #beganAt = 0;
  #lastAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param quietMs it has ended when nothing happened for so long */
  constructor(quietMs: number, events: EpisodeEvents) {
    this.#quietMs = quietMs;
    this.#events = events;
  }

  note(): void {
    this.#count++;
    this.#lastAt = performance.now();
    if (this.#timer !== undefined) return;
    this.#beganAt = this.#lastAt;
    this.#events.begins();
    this.#wait(this.#quietMs);
  }

  /** Ends an episode that goes on: nothing more will happen. */
  close(): void {
    if (this.#timer !== undefined) this.#end();
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => this.#look(), ms);
    // Alone it keeps no process alive.
    this.#timer.unref();
  }

  #look(): void {
    const left = this.#lastAt + this.#quietMs - performance.now();
    if (left > 0) this.#wait(left);
    else this.#end();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const end = { count: this.#count, ms: Math.round(this.#lastAt - this.#beganAt) };
    this.#count = 0;
    this.#events.ends(end);
  }
}

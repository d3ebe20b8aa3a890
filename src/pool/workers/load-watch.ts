import type { ChangedFileError, Loading } from './loading.ts';
import type { Timers } from './timers.ts';

/**
 * How often the files are looked at while a replica loads them, milliseconds. What it loads of a changed file is refused,
 * and may never end loading: the file, once it is put back, must not have to wait for `startTimeoutMs`.
 */
const lookMs = 1000;

export interface LoadWatchEvents {
  onLate(): void;
  onChanged(error: ChangedFileError): void;
}

/** Watches a replica that loads its modules: its time, and the files. Tells of the first thing that is wrong. */
export class LoadWatch {
  readonly #timers: Timers;
  readonly #loading: Loading;
  readonly #events: LoadWatchEvents;
  /** Without this limit a module that waits for ever would keep the replica's place, and no line of the log would say so. */
  readonly #limit: NodeJS.Timeout;
  #looking: NodeJS.Timeout;

  constructor(timers: Timers, startTimeoutMs: number, loading: Loading, events: LoadWatchEvents) {
    this.#timers = timers;
    this.#loading = loading;
    this.#events = events;
    this.#limit = timers.set(startTimeoutMs, () => {
      this.stop();
      events.onLate();
    });
    this.#limit.unref();
    this.#looking = this.#lookLater();
  }

  stop(): void {
    this.#timers.clear(this.#limit);
    this.#timers.clear(this.#looking);
  }

  #lookLater(): NodeJS.Timeout {
    return this.#timers.set(lookMs, () => this.#look()).unref();
  }

  #look(): void {
    const changed = this.#loading.verify();
    if (changed === undefined) {
      this.#looking = this.#lookLater();
      return;
    }
    this.stop();
    this.#events.onChanged(changed);
  }
}

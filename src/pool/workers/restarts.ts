import { clockMs } from '../../base/clock.ts';
import { type DelayPolicy, RestartDelay } from '../../base/restart-delay.ts';
import type { PoolCounters } from '../stats.ts';
import { Timers } from './timers.ts';

/** Replacements that die young wait: repeated deaths must not spin. */
const policy: DelayPolicy = { free: 3, firstMs: 100, longestMs: 5000, forgetsMs: 10_000 };

/** Starts replicas in place of those that are gone, at once or after a delay. */
export class Restarts {
  readonly #start: () => void;
  readonly #counters: PoolCounters;
  readonly #delay = new RestartDelay(policy);
  readonly #timers = new Timers();
  #isClosed = false;

  constructor(start: () => void, counters: PoolCounters) {
    this.#start = start;
    this.#counters = counters;
  }

  /** In place of a worker that was ended on purpose. */
  now(): void {
    this.#after(0);
  }

  /** In place of one that died. Where it had served it works and is missed: its replacement waits for nothing. */
  afterDeath(completed: number): void {
    if (completed === 0) {
      this.#after(this.#delay.next(clockMs()));
      return;
    }
    this.#delay.reset();
    this.#after(0);
  }

  /** In place of one that could not start. Gives the delay, milliseconds. */
  afterFailure(): number {
    const delayMs = this.#delay.next(clockMs());
    this.#after(delayMs);
    return delayMs;
  }

  /** Nothing is started any more. */
  close(): void {
    this.#isClosed = true;
    this.#timers.clearAll();
  }

  #after(delayMs: number): void {
    if (this.#isClosed) return;
    this.#counters.restarts++;
    if (delayMs === 0) this.#start();
    else this.#timers.set(delayMs, this.#start);
  }
}

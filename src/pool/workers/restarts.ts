import { clockMs } from '../../base/clock.ts';
import { type DelayPolicy, RestartDelay } from '../../base/restart-delay.ts';
import type { PoolCounters } from '../stats.ts';
import { Timers } from './timers.ts';

/**
 * After the third death in a row a replacement waits, so that threads which die at once do not use up the processor.
 */
const policy: DelayPolicy = { free: 3, firstMs: 100, longestMs: 5000, forgetsMs: 10_000 };

/** Starts replacements of replicas that are gone, at once or after a delay. */
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

  /** Replaces a worker that was ended on purpose. */
  now(): void {
    this.#after(0);
  }

  /**
   * Replaces a worker that died. Where it had ended calls, the modules work and the worker is missed: its replacement
   * starts at once.
   */
  afterDeath(completed: number): void {
    if (completed === 0) {
      this.#after(this.#delay.next(clockMs()));
      return;
    }
    this.#delay.reset();
    this.#after(0);
  }

  /**
   * Replaces a replica that could not start.
   *
   * @param isChange it could not start since the files have changed: whoever writes them is given a moment each time
   * @returns the delay, milliseconds
   */
  afterFailure(isChange: boolean): number {
    const delayMs = Math.max(this.#delay.next(clockMs()), isChange ? policy.firstMs : 0);
    this.#after(delayMs);
    return delayMs;
  }

  /** From now on no replica is started. */
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

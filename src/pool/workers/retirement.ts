import { clockMs } from '../../base/clock.ts';
import { Timers } from './timers.ts';
import type { WorkerState } from './worker-state.ts';

export interface RetirementLimits {
  /** Calls and bytes after which a worker is replaced by a fresh one; 0: never. */
  readonly maxCallsPerWorker: number;
  readonly maxWorkerMemory: number;
  /** A worker is replaced that has so many generators which have not ended long after they were told to. */
  readonly maxOrphansPerWorker: number;
  /** Milliseconds within which the streams of a retiring worker must end. */
  readonly maxRequestMs: number;
}

export interface RetirementEvents {
  /** The worker takes no more calls: its place is free. */
  readonly onBegun: (worker: WorkerState) => void;
  /** The worker has torn down, or has had its time for it, and is to be ended. */
  readonly onOver: (worker: WorkerState) => void;
}

/** A retiring worker whose teardown takes longer is ended all the same, milliseconds. */
const longestTeardownMs = 10_000;

/** Takes workers that have grown old out of service, one at a time, each after its last call and its last stream. */
export class Retirement {
  readonly #limits: RetirementLimits;
  readonly #events: RetirementEvents;
  #worker: WorkerState | undefined;
  #isIdle = false;
  readonly #timers = new Timers();

  constructor(limits: RetirementLimits, events: RetirementEvents) {
    this.#limits = limits;
    this.#events = events;
  }

  /**
   * To be called now and then.
   *
   * @returns whether a worker is being replaced
   */
  advance(workers: readonly WorkerState[]): boolean {
    if (this.#worker === undefined) {
      this.#worker = workers.find((worker) => this.#isOld(worker));
      if (this.#worker === undefined) return false;
      this.#worker.isRetiring = true;
      this.#worker.streams.retire(this.#limits.maxRequestMs);
      this.#events.onBegun(this.#worker);
    }
    const { inFlight, isAnswered, streams } = this.#worker;
    if (inFlight === 0 && isAnswered && streams.open === 0 && !this.#isIdle) {
      this.#isIdle = true;
      this.#tearDown(this.#worker);
    }
    return true;
  }

  close(): void {
    this.#timers.clearAll();
  }

  /** A worker is gone. Where it was the one that retires, the next one may follow. */
  forget(worker: WorkerState): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#isIdle = false;
  }

  #tearDown(worker: WorkerState): void {
    worker.thread.post({ type: 'retire' });
    this.#timers.set(longestTeardownMs, () => this.#events.onOver(worker)).unref();
  }

  #isOld({ completed, memory, orphans, streams }: WorkerState): boolean {
    const { maxCallsPerWorker, maxWorkerMemory, maxOrphansPerWorker } = this.#limits;
    return (
      orphans.isSpent ||
      streams.isSpent(clockMs(), maxOrphansPerWorker) ||
      (maxCallsPerWorker > 0 && completed >= maxCallsPerWorker) ||
      (maxWorkerMemory > 0 && memory > maxWorkerMemory)
    );
  }
}

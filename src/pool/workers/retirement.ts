import type { WorkerLink } from './worker-state.ts';

export interface RetirementLimits {
  /** Calls and bytes after which a worker is replaced by a fresh one; 0: never. */
  readonly maxCallsPerWorker: number;
  readonly maxWorkerMemory: number;
}

export interface RetirementEvents {
  /** Takes no more calls from now on: its place is free. */
  readonly onBegun: (link: WorkerLink) => void;
  /** Has finished what it had, and can be told to tear down. */
  readonly onIdle: (link: WorkerLink) => void;
}

/** Takes workers that have grown old out of service, one at a time, each after its last call. */
export class Retirement {
  readonly #limits: RetirementLimits;
  readonly #events: RetirementEvents;
  #link: WorkerLink | undefined;
  #isIdle = false;

  constructor(limits: RetirementLimits, events: RetirementEvents) {
    this.#limits = limits;
    this.#events = events;
  }

  /** To be called now and then. Whether one is being replaced. */
  advance(workers: readonly WorkerLink[]): boolean {
    if (this.#link === undefined) {
      this.#link = workers.find((link) => this.#isOld(link));
      if (this.#link === undefined) return false;
      this.#link.isRetiring = true;
      this.#events.onBegun(this.#link);
    }
    if (this.#link.inFlight === 0 && this.#link.isAnswered && !this.#isIdle) {
      this.#isIdle = true;
      this.#events.onIdle(this.#link);
    }
    return true;
  }

  /** A worker is gone: the next one may follow, if it was this one. */
  forget(link: WorkerLink): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#isIdle = false;
  }

  #isOld({ completed, memory, orphans }: WorkerLink): boolean {
    const { maxCallsPerWorker, maxWorkerMemory } = this.#limits;
    return (
      orphans.isSpent ||
      (maxCallsPerWorker > 0 && completed >= maxCallsPerWorker) ||
      (maxWorkerMemory > 0 && memory > maxWorkerMemory)
    );
  }
}

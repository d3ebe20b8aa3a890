import type { CallTrain } from './call-train.ts';
import { FairQueue } from './fair-queue.ts';
import type { QueuedCallers } from './queued-callers.ts';

/** One procedure: its trains that are at workers, and those that wait for it. */
interface Limit {
  running: number;
  readonly waiting: FairQueue;
}

/**
 * Bounds how many calls of one procedure the workers hold at a time (`maxConcurrency`), so that a heavy procedure can't
 * take all workers. Trains above the bound wait here, shared out among their callers, and trains of other procedures
 * pass them.
 */
export class ConcurrencyLimits {
  readonly #limits = new Map<string, Limit>();
  readonly #callers: QueuedCallers;

  constructor(callers: QueuedCallers) {
    this.#callers = callers;
  }

  /** Whether a train may go to a worker now. */
  mayPass(train: CallTrain): boolean {
    const { limited } = train;
    if (limited === undefined || train.isInside) return true;
    return this.#limitOf(limited.name).running < limited.maxConcurrency;
  }

  /** Keeps a train that may not pass until another train of its procedure has its answers. */
  keep(train: CallTrain): void {
    if (train.limited !== undefined) this.#limitOf(train.limited.name).waiting.push(train);
  }

  /** Counts a train that goes to a worker, or that is the next to do so. */
  enter(train: CallTrain): void {
    if (train.limited === undefined || train.isInside) return;
    train.isInside = true;
    this.#limitOf(train.limited.name).running++;
  }

  /**
   * A train has its answers.
   *
   * @returns the train that may go in its place. That place is counted for it at once, so that no train that comes
   *   later takes it
   */
  leave(train: CallTrain): CallTrain | undefined {
    if (!train.isInside || train.limited === undefined) return undefined;
    train.isInside = false;
    const limit = this.#limitOf(train.limited.name);
    limit.running--;
    const next = limit.waiting.shift();
    if (next !== undefined) this.enter(next);
    return next;
  }

  get all(): CallTrain[] {
    return [...this.#limits.values()].flatMap(({ waiting }) => waiting.all);
  }

  #limitOf(name: string): Limit {
    let limit = this.#limits.get(name);
    if (limit === undefined) {
      limit = { running: 0, waiting: new FairQueue(this.#callers) };
      this.#limits.set(name, limit);
    }
    return limit;
  }
}

import type { CallGroup } from './call-group.ts';
import { FairQueue } from './fair-queue.ts';
import type { QueuedCallers } from './queued-callers.ts';

/** One procedure: its groups that are at workers, and those that wait for it. */
interface Limit {
  running: number;
  readonly waiting: FairQueue;
}

/**
 * Bounds how many calls of one procedure the workers hold at a time (`maxConcurrency`), so that a heavy procedure can't
 * take all workers. Groups above the bound wait here, shared out among their callers, and groups of other procedures
 * pass them.
 */
export class ConcurrencyLimits {
  readonly #limits = new Map<string, Limit>();
  readonly #callers: QueuedCallers;

  constructor(callers: QueuedCallers) {
    this.#callers = callers;
  }

  /** Whether a group may go to a worker now. */
  mayPass(group: CallGroup): boolean {
    const { limited } = group;
    if (limited === undefined || group.isInside) return true;
    return this.#limitOf(limited.name).running < limited.maxConcurrency;
  }

  /** Keeps a group that may not pass until another group of its procedure has its answers. */
  keep(group: CallGroup): void {
    if (group.limited !== undefined) this.#limitOf(group.limited.name).waiting.push(group);
  }

  /** Counts a group that goes to a worker, or that is the next to do so. */
  enter(group: CallGroup): void {
    if (group.limited === undefined || group.isInside) return;
    group.isInside = true;
    this.#limitOf(group.limited.name).running++;
  }

  /**
   * A group has its answers.
   *
   * @returns the group that may go in its place. That place is counted for it at once, so that no group that comes
   *   later takes it
   */
  leave(group: CallGroup): CallGroup | undefined {
    if (!group.isInside || group.limited === undefined) return undefined;
    group.isInside = false;
    const limit = this.#limitOf(group.limited.name);
    limit.running--;
    const next = limit.waiting.shift();
    if (next !== undefined) this.enter(next);
    return next;
  }

  get all(): CallGroup[] {
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

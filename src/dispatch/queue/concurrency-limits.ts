import type { CallGroup } from './call-group.ts';
import { FairQueue } from './fair-queue.ts';
import type { QueuedCallers } from './queued-callers.ts';

interface Gate {
  running: number;
  readonly waiting: FairQueue;
}

/**
 * Bounds how many calls of one procedure the workers hold at a time (`maxConcurrency`), so that a heavy procedure can't
 * take all workers. Groups above the bound wait here, shared out among their callers, and groups of other procedures
 * pass them.
 */
export class ConcurrencyLimits {
  readonly #gates = new Map<string, Gate>();
  readonly #callers: QueuedCallers;

  constructor(callers: QueuedCallers) {
    this.#callers = callers;
  }

  /** Whether a group may go to a worker now. */
  mayPass(group: CallGroup): boolean {
    const { limited } = group;
    if (limited === undefined || group.isInside) return true;
    return this.#gateOf(limited.name).running < limited.maxConcurrency;
  }

  /** Keeps a group that may not pass until another group of its procedure has its answers. */
  keep(group: CallGroup): void {
    if (group.limited !== undefined) this.#gateOf(group.limited.name).waiting.push(group);
  }

  /** Counts a group that goes to a worker, or that is the next to do so. */
  enter(group: CallGroup): void {
    if (group.limited === undefined || group.isInside) return;
    group.isInside = true;
    this.#gateOf(group.limited.name).running++;
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
    const gate = this.#gateOf(group.limited.name);
    gate.running--;
    const next = gate.waiting.shift();
    if (next !== undefined) this.enter(next);
    return next;
  }

  get all(): CallGroup[] {
    return [...this.#gates.values()].flatMap(({ waiting }) => waiting.all);
  }

  #gateOf(name: string): Gate {
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      gate = { running: 0, waiting: new FairQueue(this.#callers) };
      this.#gates.set(name, gate);
    }
    return gate;
  }
}

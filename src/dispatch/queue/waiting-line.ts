import type { CallGroup } from './call-group.ts';
import { FairQueue } from './fair-queue.ts';
import { GroupQueue } from './group-queue.ts';
import type { QueuedCallers } from './queued-callers.ts';

/** So much work may wait in the order in which it came, microseconds: nobody notices it, as nobody notices a short call. */
const plainUs = 8000;

/**
 * Groups that wait for a worker. Those that arrive stand in the order in which they came, and nobody asks whose they are, as long as all
 * that waits is little work. Beyond it the groups are shared out among their callers. So calls that find a worker soon cost
 * nothing more than in a plain queue.
 *
 *     add -> arrivals -> worker            while little work waits
 *               |
 *               +-> shared -> worker       once more than 8 ms of it do
 */
export class WaitingLine {
  readonly #arrivals = new GroupQueue();
  readonly #shared: FairQueue;

  constructor(callers: QueuedCallers) {
    this.#shared = new FairQueue(callers);
  }

  /** Calls that wait. */
  get size(): number {
    return this.#arrivals.size + this.#shared.size;
  }

  /** Calls that arrived and are on no caller's account yet, and what these are expected to cost, microseconds. */
  get unsharedCalls(): number {
    return this.#arrivals.size;
  }

  get unsharedUs(): number {
    return this.#arrivals.workUs;
  }

  add(group: CallGroup): void {
    this.#arrivals.push(group);
  }

  /** For what has waited already: it stands by its age among what its caller has here. */
  addBack(group: CallGroup): void {
    this.#shared.push(group);
  }

  /** The group that goes next; it stays here until `shift`. */
  peek(): CallGroup | undefined {
    if (this.#arrivals.workUs + this.#shared.workUs > plainUs) this.share();
    return this.#shared.peek() ?? this.#arrivals.peek();
  }

  shift(): CallGroup | undefined {
    return this.#shared.shift() ?? this.#arrivals.shift();
  }

  /** Puts what has arrived on its callers' accounts. */
  share(): void {
    for (let group = this.#arrivals.shift(); group !== undefined; group = this.#arrivals.shift()) {
      this.#shared.push(group);
    }
  }

  get all(): CallGroup[] {
    return [...this.#shared.all, ...this.#arrivals.all];
  }
}

import type { CallGroup } from './call-group.ts';
import { FairQueue } from './fair-queue.ts';
import { GroupQueue } from './group-queue.ts';
import type { QueuedCallers } from './queued-callers.ts';

/**
 * Up to so much work waits in the order in which it came, microseconds. It is as much as one short call, which nobody
 * notices.
 */
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

  /** Calls that have arrived and are on no caller's account yet. */
  get unsharedCalls(): number {
    return this.#arrivals.size;
  }

  /** Work that those calls are expected to cost, microseconds. */
  get unsharedUs(): number {
    return this.#arrivals.workUs;
  }

  add(group: CallGroup): void {
    this.#arrivals.push(group);
  }

  /** Adds a group that has waited before. It is put among its caller's groups by its age. */
  addBack(group: CallGroup): void {
    this.#shared.push(group);
  }

  /** The group that goes next. It stays here until `shift`. */
  peek(): CallGroup | undefined {
    if (this.#arrivals.workUs + this.#shared.workUs > plainUs) this.share();
    return this.#shared.peek() ?? this.#arrivals.peek();
  }

  shift(): CallGroup | undefined {
    return this.#shared.shift() ?? this.#arrivals.shift();
  }

  /** Moves the arrivals to the lines of their callers. */
  share(): void {
    for (let group = this.#arrivals.shift(); group !== undefined; group = this.#arrivals.shift()) {
      this.#shared.push(group);
    }
  }

  get all(): CallGroup[] {
    return [...this.#shared.all, ...this.#arrivals.all];
  }
}

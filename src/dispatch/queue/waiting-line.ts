import type { CallTrain } from './call-train.ts';
import { FairQueue } from './fair-queue.ts';
import type { QueuedCallers } from './queued-callers.ts';
import { TrainQueue } from './train-queue.ts';

/**
 * Up to so much work waits in the order in which it came, microseconds. It is as much as one short call, which nobody
 * notices.
 */
const plainUs = 8000;

/**
 * Trains that wait for a worker. Those that arrive stand in the order in which they came, and nobody asks whose they are, as long as all
 * that waits is little work. Beyond it the trains are shared out among their callers. So calls that find a worker soon cost
 * nothing more than in a plain queue.
 *
 *     add -> arrivals -> worker            while little work waits
 *               |
 *               +-> shared -> worker       once more than 8 ms of it do
 */
export class WaitingLine {
  readonly #arrivals = new TrainQueue();
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

  add(train: CallTrain): void {
    this.#arrivals.push(train);
  }

  /** Adds a train that has waited before. It is put among its caller's trains by its age. */
  addBack(train: CallTrain): void {
    this.#shared.push(train);
  }

  /** The train that goes next. It stays here until `shift`. */
  peek(): CallTrain | undefined {
    if (this.#arrivals.workUs + this.#shared.workUs > plainUs) this.share();
    return this.#shared.peek() ?? this.#arrivals.peek();
  }

  shift(): CallTrain | undefined {
    return this.#shared.shift() ?? this.#arrivals.shift();
  }

  /** Moves the arrivals to the lines of their callers. */
  share(): void {
    for (let train = this.#arrivals.shift(); train !== undefined; train = this.#arrivals.shift()) {
      this.#shared.push(train);
    }
  }

  get all(): CallTrain[] {
    return [...this.#shared.all, ...this.#arrivals.all];
  }
}

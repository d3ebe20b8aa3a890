import type { CallGroup } from './call-group.ts';
import { ConcurrencyLimits } from './concurrency-limits.ts';
import { GroupQueue } from './group-queue.ts';

/** Calls that one turn of the event loop may bring on top of those that wait, before frames leave. */
const turnAllowance = 4096;

/** What waits for a worker: in line, or at the gate of a procedure whose concurrency is bounded. */
export class Intake {
  readonly #maxQueue: number;
  readonly #queue = new GroupQueue();
  readonly #gates = new ConcurrencyLimits();

  /** @param maxQueue calls that may wait for a worker */
  constructor(maxQueue: number) {
    this.#maxQueue = maxQueue;
  }

  /** Calls that wait. */
  get size(): number {
    return this.#queue.size + this.#gates.size;
  }

  /** Whether any of them could go to a worker. */
  get hasNext(): boolean {
    return this.#queue.size > 0;
  }

  /** What they are expected to cost a worker, microseconds. */
  get workUs(): number {
    return this.#queue.workUs + this.#gates.workUs;
  }

  /** Whether so many more calls may not even come in to see whether a worker takes them at once. */
  isFlooded(calls: number): boolean {
    return this.size + calls > this.#maxQueue + turnAllowance;
  }

  /** The newest group that waits, where more wait than may. */
  excess(): CallGroup | undefined {
    if (this.size <= this.#maxQueue) return undefined;
    return this.#queue.newest() ?? this.#gates.newest();
  }

  add(group: CallGroup): void {
    this.#queue.push(group);
  }

  /** For what comes back: it has waited already. */
  addFirst(group: CallGroup): void {
    this.#queue.pushFront(group);
  }

  /** The oldest that may go to a worker now; it stays here until it is taken. */
  peek(): CallGroup | undefined {
    for (;;) {
      const group = this.#queue.peek();
      if (group === undefined || this.#gates.mayPass(group)) return group;
      this.#queue.shift();
      this.#gates.keep(group);
    }
  }

  /** The group that `peek` gave goes to a worker. */
  take(group: CallGroup): void {
    this.#queue.shift();
    this.#gates.enter(group);
  }

  /** A group has its answers. True: another may go in its place. */
  leave(group: CallGroup): boolean {
    const next = this.#gates.leave(group);
    if (next === undefined) return false;
    this.#queue.pushFront(next);
    return true;
  }

  *[Symbol.iterator](): Generator<CallGroup> {
    for (const group of this.#queue) if (!group.isDone) yield group;
    for (const group of this.#gates) if (!group.isDone) yield group;
  }
}

import { Gates } from './concurrency-limits.ts';
import { UnitQueue } from './unit-queue.ts';
import type { Unit } from './call-group.ts';

/** Calls that one turn of the event loop may bring on top of those that wait, before frames leave. */
const turnAllowance = 4096;

/** What waits for a worker: in line, or at the gate of a procedure whose concurrency is bounded. */
export class Intake {
  readonly #maxQueue: number;
  readonly #queue = new UnitQueue();
  readonly #gates = new Gates();

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

  /** The newest unit that waits, where more wait than may. */
  excess(): Unit | undefined {
    if (this.size <= this.#maxQueue) return undefined;
    return this.#queue.newest() ?? this.#gates.newest();
  }

  add(unit: Unit): void {
    this.#queue.push(unit);
  }

  /** For what comes back: it has waited already. */
  addFirst(unit: Unit): void {
    this.#queue.pushFront(unit);
  }

  /** The oldest that may go to a worker now; it stays here until it is taken. */
  peek(): Unit | undefined {
    for (;;) {
      const unit = this.#queue.peek();
      if (unit === undefined || this.#gates.mayPass(unit)) return unit;
      this.#queue.shift();
      this.#gates.keep(unit);
    }
  }

  /** The unit that `peek` gave goes to a worker. */
  take(unit: Unit): void {
    this.#queue.shift();
    this.#gates.enter(unit);
  }

  /** A unit has its answers. True: another may go in its place. */
  leave(unit: Unit): boolean {
    const next = this.#gates.leave(unit);
    if (next === undefined) return false;
    this.#queue.pushFront(next);
    return true;
  }

  *[Symbol.iterator](): Generator<Unit> {
    for (const unit of this.#queue) if (!unit.isDone) yield unit;
    for (const unit of this.#gates) if (!unit.isDone) yield unit;
  }
}

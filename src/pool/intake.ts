import type { Refusal } from '../dispatch/limit.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { Gates } from './gates.ts';
import { UnitQueue } from './queue.ts';
import type { Unit } from './unit.ts';

export interface IntakeOptions {
  /** Calls that may wait for a worker. */
  readonly maxQueue: number;
  /** Workers that take them. */
  readonly workers: number;
}

/** What waits for a worker: in line, or at the gate of a procedure whose concurrency is bounded. */
export class Intake {
  readonly #options: IntakeOptions;
  readonly #queue = new UnitQueue();
  readonly #gates = new Gates();

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Calls that wait. */
  get size(): number {
    return this.#queue.size + this.#gates.size;
  }

  /** Whether any of them could go to a worker. */
  get hasNext(): boolean {
    return this.#queue.size > 0;
  }

  /** Why so many more calls may not wait here, undefined where they may. */
  refusal(calls: number): Refusal | undefined {
    return this.size + calls > this.#options.maxQueue ? this.overload() : undefined;
  }

  /** Says how long the work that waits will take the workers, as far as their past tells. */
  overload(): Refusal {
    const waitMs = (this.#queue.workUs + this.#gates.workUs) / 1000 / this.#options.workers;
    const retryAfterMs = Math.max(1, Math.ceil(waitMs));
    return { code: ErrorCode.Overloaded, data: { retryAfterMs } };
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

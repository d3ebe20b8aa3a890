import type { Unit, WaitingRoom } from './call-group.ts';

/**
 * Units that wait for a worker, oldest first. A ring over two arrays: what comes back from a lost worker
 * goes to the front, all else to the back; taking from the front copies nothing.
 */
export class UnitQueue implements WaitingRoom {
  #items: (Unit | undefined)[] = [];
  #head = 0;
  #returned: Unit[] = []; // the newest return is the last item

  /** Calls that wait. */
  size = 0;
  /** What they are expected to cost a worker, microseconds. */
  workUs = 0;

  push(unit: Unit): void {
    this.#count(unit, 1);
    unit.queue = this;
    this.#items.push(unit);
  }

  pushFront(unit: Unit): void {
    this.#count(unit, 1);
    unit.queue = this;
    this.#returned.push(unit);
  }

  /** The oldest unit that still has something to run. */
  peek(): Unit | undefined {
    for (;;) {
      const unit = this.#returned.at(-1) ?? this.#items[this.#head];
      if (unit === undefined || !unit.isDone) return unit;
      this.#advance();
    }
  }

  /** The one that came last of those that still have something to run. */
  newest(): Unit | undefined {
    while (this.#items.length > this.#head) {
      const unit = this.#items.at(-1);
      if (unit !== undefined && !unit.isDone) return unit;
      this.#items.pop();
    }
    return this.#returned.find((unit) => !unit.isDone);
  }

  shift(): Unit | undefined {
    const unit = this.peek();
    if (unit === undefined) return undefined;
    this.drop(unit);
    this.#advance();
    return unit;
  }

  drop(unit: Unit): void {
    this.#count(unit, -1);
    unit.queue = undefined;
  }

  #count(unit: Unit, sign: 1 | -1): void {
    this.size += sign * unit.waiting;
    // Sums of floats drift: an empty queue's work is exactly nothing.
    this.workUs = this.size === 0 ? 0 : this.workUs + sign * unit.expectedUs;
  }

  #advance(): void {
    if (this.#returned.pop() !== undefined) return;
    this.#items[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  *[Symbol.iterator](): Generator<Unit> {
    // Whoever looks at them may answer one, and with it let another go.
    for (let i = this.#returned.length - 1; i >= 0; i--) {
      const unit = this.#returned[i];
      if (unit !== undefined) yield unit;
    }
    for (let i = this.#head; i < this.#items.length; i++) {
      const unit = this.#items[i];
      if (unit !== undefined) yield unit;
    }
  }
}

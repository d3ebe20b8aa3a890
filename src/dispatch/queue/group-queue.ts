import type { CallGroup, WaitingRoom } from './call-group.ts';

/**
 * Groups that wait for a worker, oldest first. A ring over two arrays: what comes back from a lost worker
 * goes to the front, all else to the back; taking from the front copies nothing.
 */
export class GroupQueue implements WaitingRoom {
  #items: (CallGroup | undefined)[] = [];
  #head = 0;
  #returned: CallGroup[] = []; // the newest return is the last item

  /** Calls that wait. */
  size = 0;
  /** What they are expected to cost a worker, microseconds. */
  workUs = 0;

  push(group: CallGroup): void {
    this.#count(group, 1);
    group.queue = this;
    this.#items.push(group);
  }

  pushFront(group: CallGroup): void {
    this.#count(group, 1);
    group.queue = this;
    this.#returned.push(group);
  }

  /** The oldest group that still has something to run. */
  peek(): CallGroup | undefined {
    for (;;) {
      const group = this.#returned.at(-1) ?? this.#items[this.#head];
      if (group === undefined || !group.isDone) return group;
      this.#advance();
    }
  }

  /** The one that came last of those that still have something to run. */
  newest(): CallGroup | undefined {
    while (this.#items.length > this.#head) {
      const group = this.#items.at(-1);
      if (group !== undefined && !group.isDone) return group;
      this.#items.pop();
    }
    return this.#returned.find((group) => !group.isDone);
  }

  shift(): CallGroup | undefined {
    const group = this.peek();
    if (group === undefined) return undefined;
    this.drop(group);
    this.#advance();
    return group;
  }

  drop(group: CallGroup): void {
    this.#count(group, -1);
    group.queue = undefined;
  }

  #count(group: CallGroup, sign: 1 | -1): void {
    this.size += sign * group.waiting;
    // Sums of floats drift: an empty queue's work is exactly nothing.
    this.workUs = this.size === 0 ? 0 : this.workUs + sign * group.expectedUs;
  }

  #advance(): void {
    if (this.#returned.pop() !== undefined) return;
    this.#items[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  *[Symbol.iterator](): Generator<CallGroup> {
    // Whoever looks at them may answer one, and with it let another go.
    for (let i = this.#returned.length - 1; i >= 0; i--) {
      const group = this.#returned[i];
      if (group !== undefined) yield group;
    }
    for (let i = this.#head; i < this.#items.length; i++) {
      const group = this.#items[i];
      if (group !== undefined) yield group;
    }
  }
}

import type { CallGroup, WaitingRoom } from './call-group.ts';

/** Groups in the order in which they came. Taking the oldest group copies nothing. */
export class GroupQueue implements WaitingRoom {
  #items: (CallGroup | undefined)[] = [];
  #head = 0;

  /** Calls that wait. */
  size = 0;
  /** What they are expected to cost a worker, microseconds. */
  workUs = 0;

  push(group: CallGroup): void {
    this.#count(group, 1);
    group.queue = this;
    this.#items.push(group);
  }

  /** The oldest. */
  peek(): CallGroup | undefined {
    while (this.#head < this.#items.length) {
      const group = this.#items[this.#head];
      // A group that was dropped is not here any more: its entry is skipped.
      if (group?.queue === this) return group;
      this.#advance();
    }
    return undefined;
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

  /** Oldest first. */
  get all(): CallGroup[] {
    const groups: CallGroup[] = [];
    for (let i = this.#head; i < this.#items.length; i++) {
      const group = this.#items[i];
      if (group?.queue === this) groups.push(group);
    }
    return groups;
  }

  #count(group: CallGroup, sign: 1 | -1): void {
    this.size += sign * group.waiting;
    // Sums of floats drift: an empty queue's work is exactly nothing.
    this.workUs = this.size === 0 ? 0 : this.workUs + sign * group.expectedUs;
  }

  #advance(): void {
    this.#items[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }
}

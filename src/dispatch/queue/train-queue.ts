import type { CallTrain, WaitingRoom } from './call-train.ts';

/** Trains in the order in which they came. Taking the oldest train copies nothing. */
export class TrainQueue implements WaitingRoom {
  #items: (CallTrain | undefined)[] = [];
  #head = 0;

  /** Calls that wait. */
  size = 0;
  /** What they are expected to cost a worker, microseconds. */
  workUs = 0;

  push(train: CallTrain): void {
    this.#count(train, 1);
    train.queue = this;
    this.#items.push(train);
  }

  /** The oldest. */
  peek(): CallTrain | undefined {
    while (this.#head < this.#items.length) {
      const train = this.#items[this.#head];
      // A train that was dropped is not here any more: its entry is skipped.
      if (train?.queue === this) return train;
      this.#advance();
    }
    return undefined;
  }

  shift(): CallTrain | undefined {
    const train = this.peek();
    if (train === undefined) return undefined;
    this.drop(train);
    this.#advance();
    return train;
  }

  drop(train: CallTrain): void {
    this.#count(train, -1);
    train.queue = undefined;
  }

  /** Oldest first. */
  get all(): CallTrain[] {
    const trains: CallTrain[] = [];
    for (let i = this.#head; i < this.#items.length; i++) {
      const train = this.#items[i];
      if (train?.queue === this) trains.push(train);
    }
    return trains;
  }

  #count(train: CallTrain, sign: 1 | -1): void {
    this.size += sign * train.waiting;
    // Sums of floats drift: an empty queue's work is exactly nothing.
    this.workUs = this.size === 0 ? 0 : this.workUs + sign * train.expectedUs;
  }

  #advance(): void {
    this.#items[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }
}

import { randomInt } from 'node:crypto';

/**
 * Names of subscriptions: one counter a process, from a random start, so that an old client meets no new stream. They have
 * 10 digits, or 11 after very many: the client tells other texts from them by that.
 */
export class SubscriptionIds {
  #next: number;

  constructor(start: number = randomInt(2 ** 36, 2 ** 40)) {
    this.#next = start;
  }

  /** In hexadecimal, since some clients of Ethereum nodes take nothing else. */
  next(): string {
    return `0x${(this.#next++).toString(16)}`;
  }
}

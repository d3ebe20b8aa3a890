import type { QueuedCall } from '../../dispatch/queue/call-train.ts';

/**
 * Calls of one worker that wait there although nobody waits for them: their callers have left, or they were answered at
 * their deadline. They have no slot any more, but their handlers still hold what they hold. Their results are dropped.
 */
export class Orphans {
  readonly #limit: number;
  readonly #items = new Map<number, QueuedCall>();
  /** How many of each procedure have been left by their callers and may still end in time. */
  readonly #left = new Map<string, number>();
  #leftCount = 0;

  /** @param limit with so many calls of either kind the worker is full of them */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Calls whose callers have left and whose deadline has not come. */
  get left(): number {
    return this.#leftCount;
  }

  /** Calls that go on beyond their deadline. */
  get overdue(): number {
    return this.#items.size - this.#leftCount;
  }

  /** Whether so many handlers do not end that the worker must be replaced. */
  get isSpent(): boolean {
    return this.overdue >= this.#limit;
  }

  /**
   * Whether the worker takes no more calls of a procedure: too many calls are left here, and calls of the procedure are
   * among them.
   */
  isFullOf(method: string): boolean {
    return this.#leftCount >= this.#limit && this.#left.has(method);
  }

  /** The call whose caller left first; about the next one to end. undefined: there is none. */
  get oldest(): QueuedCall | undefined {
    for (const item of this.#items.values()) if (!item.isAnswered) return item;
    return undefined;
  }

  [Symbol.iterator](): Iterator<QueuedCall> {
    return this.#items.values();
  }

  add(item: QueuedCall): void {
    this.#items.set(item.ticket, item);
    if (!item.isAnswered) this.#count(item, 1);
  }

  of(ticket: number): QueuedCall | undefined {
    return this.#items.get(ticket);
  }

  /** A call is about to be answered at its deadline, and goes on in the worker. */
  expire(item: QueuedCall): void {
    this.#count(item, -1);
  }

  /** A call has ended, or its thread has. */
  remove(item: QueuedCall): void {
    if (this.#items.delete(item.ticket) && !item.isAnswered) this.#count(item, -1);
  }

  #count(item: QueuedCall, change: 1 | -1): void {
    const { name } = item.call.procedure;
    const count = (this.#left.get(name) ?? 0) + change;
    if (count === 0) this.#left.delete(name);
    else this.#left.set(name, count);
    this.#leftCount += change;
  }
}

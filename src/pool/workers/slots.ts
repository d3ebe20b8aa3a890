import type { QueuedCall } from '../../dispatch/queue/call-train.ts';
import { slotCount } from '../wire/ledger.ts';

/**
 * The calls that a worker was sent, without those that have ended or that nobody waits for, and their expected cost.
 */
export class Slots {
  readonly #items: (QueuedCall | undefined)[] = [];
  readonly #free: number[] = [];
  #sequence = 1;
  /** Calls here, and those of them that do not just wait. */
  count = 0;
  working = 0;
  /** Calls of trains that are not short, among those. */
  long = 0;
  /** Expected work of those, microseconds. */
  loadUs = 0;

  /** By slot; free slots are undefined. */
  get all(): readonly (QueuedCall | undefined)[] {
    return this.#items;
  }

  /** The call that a ticket names; undefined: it is not here, or not any more. */
  of(ticket: number): QueuedCall | undefined {
    const item = this.#items[ticket % slotCount];
    return item?.ticket === ticket ? item : undefined;
  }

  /** Gives a call a slot, and a ticket that no call had before. */
  take(item: QueuedCall): void {
    const slot = this.#free.pop() ?? this.#items.length;
    item.ticket = this.#sequence++ * slotCount + slot;
    item.loadUs = item.expectedUs;
    item.isOfLong = !item.train.isShort;
    if (item.isOfLong) this.long++;
    this.#items[slot] = item;
    this.count++;
    this.working++;
    this.loadUs += item.loadUs;
  }

  /** A call only waits from now on: it counts for the load no more. */
  rest(item: QueuedCall): void {
    if (item.loadUs === 0) return;
    if (item.isOfLong) this.long--;
    this.working--;
    this.loadUs -= item.loadUs;
    item.loadUs = 0;
  }

  release(item: QueuedCall): void {
    this.rest(item);
    // The worker has settled the call, was told of its end, or will not start it: it reads the bytes no more.
    item.lease?.release();
    item.lease = undefined;
    const slot = item.ticket % slotCount;
    this.#items[slot] = undefined;
    this.#free.push(slot);
    this.count--;
  }
}

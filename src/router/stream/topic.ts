import { isReplica } from '../../base/thread-role.ts';
import { shown } from '../callable.ts';
import { Subscription } from './subscription.ts';

export interface TopicOptions {
  /** Values that are kept for a subscriber that does not keep up. Default 16. */
  readonly buffer?: number | undefined;
  /**
   * What happens to a subscriber whose buffer is full. `drop-oldest`, the default: it misses the oldest values. `end`: it
   * gets those that are kept, then an error that says so, a -32003 with `{ reason: 'overflow', buffer }`.
   */
  readonly overflow?: 'drop-oldest' | 'end' | undefined;
}

/**
 * Hands values of one source to all who subscribe: `topic.publish(value)`, and in a stream
 * `for await (const value of topic.subscribe(signal)) yield value`. A subscriber that does not keep up costs `buffer` values,
 * and holds up neither the source nor the others.
 *
 * A topic lives on the main thread: procedures that publish or subscribe run inline.
 */
export class Topic<T> {
  readonly #buffer: number;
  readonly #overflow: 'drop-oldest' | 'end';
  readonly #subscriptions = new Set<Subscription<T>>();

  /** @throws TypeError for an option that can't be */
  constructor({ buffer = 16, overflow = 'drop-oldest' }: TopicOptions = {}) {
    if (!Number.isSafeInteger(buffer) || buffer < 1) {
      throw new TypeError(
        `Topic: buffer must be a whole number of values, 1 or more, got ${shown(buffer)}`,
      );
    }
    if (overflow !== 'drop-oldest' && overflow !== 'end') {
      throw new TypeError(`Topic: overflow must be 'drop-oldest' or 'end', got ${shown(overflow)}`);
    }
    this.#buffer = buffer;
    this.#overflow = overflow;
  }

  /**
   * Gives each subscriber the value itself, not a copy. Returns at once: nobody is waited for.
   *
   * @throws Error in a worker
   */
  publish(value: T): void {
    enter('publish');
    for (const subscription of this.#subscriptions) subscription.push(value);
  }

  /**
   * The values that are published from now on. Leave the loop, or abort the signal, to end the subscription: without
   * either it lasts as long as the topic.
   *
   * @param signal `context.signal` of the stream: the loop then throws its reason
   * @throws Error in a worker
   */
  subscribe(signal?: AbortSignal): AsyncGenerator<T, undefined, undefined> {
    enter('subscribe');
    const subscription = new Subscription<T>(this.#buffer, this.#overflow, signal, (over) => {
      this.#subscriptions.delete(over);
    });
    if (!subscription.isOver) this.#subscriptions.add(subscription);
    return subscription;
  }
}

/** A global symbol is shared by every copy of this package in the thread. */
const used = Symbol.for('tandem-rpc.usesTopics');

type Marked = typeof globalThis & { [used]?: boolean };

/** Whether anything on this thread has published or subscribed. */
export function usesTopics(): boolean {
  return (globalThis as Marked)[used] === true;
}

/** @throws Error in a worker: what is published there reaches nobody */
function enter(what: string): void {
  if ((globalThis as Marked)[used] === true) return;
  if (isReplica()) {
    throw new Error(
      `a topic lives on the main thread, and this is a worker, where ${what} would reach nobody: declare placement: 'inline' for the procedure`,
    );
  }
  (globalThis as Marked)[used] = true;
}

import type { StreamCall } from '../../dispatch/streams/contract.ts';
import { notificationOf } from '../../dispatch/streams/notification.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { errorOutcome, type Outcome } from '../../jsonrpc/reply.ts';
import { Subscription, type SubscriptionOwner } from './subscription.ts';
import type { SubscriptionIds } from './subscription-ids.ts';

/** What the subscriptions of one connection need of it. */
export interface Subscriber {
  readonly maxStreamsPerConnection: number;
  readonly ids: SubscriptionIds;
  /** Whether the client has read nearly all that was sent to it. */
  readonly hasRoom: boolean;
  send(text: string): void;
  /** Told of each stream that begins to count, and of each that is over. */
  onOpen(): void;
  onClose(): void;
}

/** The subscriptions of one connection. */
export class Subscriptions implements SubscriptionOwner {
  readonly #subscriber: Subscriber;
  readonly #open = new Map<string, Subscription>();
  /** Those that wait until the client has read. */
  readonly #paused = new Set<Subscription>();
  #isOver = false;

  constructor(subscriber: Subscriber) {
    this.#subscriber = subscriber;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The sink of a stream that a call asks for; or why it may have none. */
  accept(call: StreamCall): Subscription | Outcome {
    const refusal = this.#refusal();
    if (refusal !== undefined) return refusal;
    // A call without an id opens no stream.
    const { id = 'null' } = call;
    return new Subscription(this, this.#subscriber.ids.next(), id, notificationOf(call));
  }

  /** @returns false: the connection has no such subscription */
  unsubscribe(id: string): boolean {
    const subscription = this.#open.get(id);
    if (subscription === undefined) return false;
    this.close(subscription);
    subscription.cancel();
    return true;
  }

  /** The client has read nearly all that was sent to it. */
  resume(): void {
    if (this.#paused.size === 0) return;
    const paused = [...this.#paused];
    this.#paused.clear();
    for (const subscription of paused) subscription.resume();
  }

  /** The connection has gone. */
  cancel(): void {
    this.#isOver = true;
    for (const id of this.#open.keys()) this.unsubscribe(id);
  }

  open(subscription: Subscription): Outcome | undefined {
    if (this.#isOver) return errorOutcome(ErrorCode.Cancelled);
    // Several calls may have been accepted before the first of their streams has opened.
    const refusal = this.#refusal();
    if (refusal !== undefined) return refusal;
    this.#open.set(subscription.id, subscription);
    this.#subscriber.onOpen();
    return undefined;
  }

  send(text: string): void {
    this.#subscriber.send(text);
  }

  mayGoOn(subscription: Subscription): boolean {
    if (this.#subscriber.hasRoom) return true;
    this.#paused.add(subscription);
    return false;
  }

  close(subscription: Subscription): void {
    this.#paused.delete(subscription);
    if (this.#open.delete(subscription.id)) this.#subscriber.onClose();
  }

  #refusal(): Outcome | undefined {
    const { maxStreamsPerConnection: limit } = this.#subscriber;
    return this.#open.size < limit ? undefined : errorOutcome(ErrorCode.LimitExceeded, { limit });
  }
}

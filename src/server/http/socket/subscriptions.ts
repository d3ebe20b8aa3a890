import { randomInt } from 'node:crypto';
import {
  notificationOf,
  type StreamCall,
  type StreamFlow,
  type StreamSink,
} from '../../../core/dispatch/streams/contract.ts';
import { ValueWindow } from '../../../core/dispatch/streams/readers.ts';
import { ErrorCode } from '../../../core/protocol/errors.ts';
import {
  errorOutcome,
  type Outcome,
  type Reply,
  replyText,
  resultReply,
} from '../../../core/protocol/reply.ts';

/**
 * The id of the next subscription: one counter a process, from a random start, so that an old client meets no new stream.
 * Ids are hexadecimal, since some clients of Ethereum nodes take nothing else.
 */
let nextId = randomInt(2 ** 36, 2 ** 40);

/** The values of one stream as notifications, and its end as one of the method `rpc.end`. */
export class Subscription implements StreamSink {
  readonly id: string;
  readonly #callId: string;
  readonly #owner: Subscriptions;
  /** A notification up to its value. */
  readonly #head: string;
  #flow: StreamFlow | undefined;
  #window: ValueWindow | undefined;
  /** Characters of values that went out while the client had not read enough. */
  #unread: number[] | undefined;
  /** How it ended before its client was told its id. */
  #early: Outcome | undefined;
  #hasBegun = false;

  /**
   * @param callId JSON text of the call's id
   * @param notification the method of its notifications
   */
  constructor(owner: Subscriptions, id: string, callId: string, notification: string) {
    this.#owner = owner;
    this.id = id;
    this.#callId = callId;
    this.#head = `{"jsonrpc":"2.0","method":${JSON.stringify(notification)},"params":{"subscription":"${id}","result":`;
  }

  opened(flow: StreamFlow): Reply {
    const refusal = this.#owner.open(this);
    if (refusal === undefined) this.#flow = flow;
    else flow.cancel();
    if (refusal !== undefined) return replyText(this.#callId, refusal);
    // A member beside the result: a text that looks like an id may be the result of an ordinary call.
    return resultReply(this.#callId, `"${this.id}","subscription":true`);
  }

  /** The reply that names it is sent: its values may follow. */
  begin(): void {
    if (this.#flow === undefined) return;
    this.#hasBegun = true;
    if (this.#early !== undefined) {
      this.end(this.#early);
      return;
    }
    this.#window = new ValueWindow(this.#flow);
    this.#window.open();
  }

  value(text: string): void {
    this.#owner.send(`${this.#head}${text}}}`);
    if (this.#owner.mayGoOn(this)) {
      this.#window?.taken(text.length);
    } else {
      this.#unread ??= [];
      this.#unread.push(text.length);
    }
  }

  /** The client has read: what went out meanwhile is granted again. */
  resume(): void {
    const unread = this.#unread ?? [];
    this.#unread = undefined;
    for (const characters of unread) this.#window?.taken(characters);
  }

  end(outcome: Outcome): void {
    if (!this.#hasBegun) {
      this.#early = outcome;
      return;
    }
    const member = outcome.ok ? 'result' : 'error';
    this.#owner.send(
      `{"jsonrpc":"2.0","method":"rpc.end","params":{"subscription":"${this.id}","${member}":${outcome.text}}}`,
    );
    this.#owner.close(this);
  }

  /** Nobody reads it any more: nothing follows, not even the end of a stream that had ended before it was named. */
  cancel(): void {
    this.#flow?.cancel();
    this.#flow = undefined;
  }
}

/** What the subscriptions of one connection need of it. */
export interface Subscriber {
  /** Whether the client has read nearly all that was sent to it. */
  readonly hasRoom: boolean;
  send(text: string): void;
  /** Called for each stream that begins to count, and for each that is over. */
  onOpen(): void;
  onClose(): void;
}

export class Subscriptions {
  readonly #subscriber: Subscriber;
  readonly #limit: number;
  readonly #open = new Map<string, Subscription>();
  /** Those that wait until the client has read. */
  readonly #paused = new Set<Subscription>();
  #isOver = false;

  /** @param limit most streams at the same time */
  constructor(subscriber: Subscriber, limit: number) {
    this.#subscriber = subscriber;
    this.#limit = limit;
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
    return new Subscription(this, `0x${(nextId++).toString(16)}`, id, notificationOf(call));
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

  cancel(): void {
    this.#isOver = true;
    for (const id of this.#open.keys()) this.unsubscribe(id);
  }

  /** Takes a stream in; or says why there may be none more. */
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

  /** Whether the client has read nearly all that was sent to it. Where not, `resume` is called when it has. */
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
    const limit = this.#limit;
    return this.#open.size < limit ? undefined : errorOutcome(ErrorCode.LimitExceeded, { limit });
  }
}

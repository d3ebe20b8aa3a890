import type { StreamFlow, StreamSink } from '../../dispatch/streams/contract.ts';
import { ValueWindow } from '../../dispatch/streams/value-window.ts';
import { type Outcome, type Reply, replyText, resultOutcome } from '../../jsonrpc/reply.ts';

/** What a subscription needs of its connection. */
export interface SubscriptionOwner {
  /** Takes a stream in; or says why there may be none more. */
  open(subscription: Subscription): Outcome | undefined;
  send(text: string): void;
  /** Whether the client has read nearly all that was sent to it. Where not, `resume` is called when it has. */
  mayGoOn(subscription: Subscription): boolean;
  /** The stream is over. */
  close(subscription: Subscription): void;
}

/** The values of one stream as notifications, and its end as one of the method `rpc.end`. */
export class Subscription implements StreamSink {
  readonly id: string;
  readonly #callId: string;
  readonly #owner: SubscriptionOwner;
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
  constructor(owner: SubscriptionOwner, id: string, callId: string, notification: string) {
    this.#owner = owner;
    this.id = id;
    this.#callId = callId;
    this.#head = `{"jsonrpc":"2.0","method":${JSON.stringify(notification)},"params":{"subscription":"${id}","result":`;
  }

  opened(flow: StreamFlow): Reply {
    const refusal = this.#owner.open(this);
    if (refusal === undefined) this.#flow = flow;
    else flow.cancel();
    return replyText(this.#callId, refusal ?? resultOutcome(`"${this.id}"`));
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

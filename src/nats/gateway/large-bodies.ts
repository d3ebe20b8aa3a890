import type { NatsConnection } from '../connection/connection.ts';
import { sizesFor, unflushedBytes } from '../pace.ts';
import type { CallHead } from '../wire/to-member.ts';

/** A call whose body crosses as bytes. */
export interface LargeCall {
  readonly call: CallHead;
  readonly bytes: Uint8Array;
}

/** What sends the messages of large bodies. */
export interface LargeBodyChannel {
  /** @returns false: it has not left */
  sendPart(call: LargeCall, bytes: Uint8Array): boolean;
  sendLast(call: LargeCall, bytes: Uint8Array): void;
  /** A call has not been sent, nor will it be. */
  onUnsent(ticket: number): void;
}

/** Sends large bodies one after another, no faster than the connection takes them: small calls go in between. */
export class LargeBodies {
  readonly #connection: NatsConnection;
  readonly #channel: LargeBodyChannel;
  #waiting: LargeCall[] = [];
  /** The one that is being sent; undefined: none, or what is left of it is not sent. */
  #current: LargeCall | undefined;
  #isSending = false;
  /** Bytes that have still to be sent. */
  bytes = 0;

  constructor(connection: NatsConnection, channel: LargeBodyChannel) {
    this.#connection = connection;
    this.#channel = channel;
  }

  add(large: LargeCall): void {
    this.bytes += large.bytes.byteLength;
    this.#waiting.push(large);
    if (!this.#isSending) void this.#sendAll();
  }

  /**
   * Nobody waits for these calls any more: what has not left does not leave. Their bodies may lie in memory that the next request
   * gets.
   */
  drop(tickets: readonly number[]): void {
    if (!this.#isSending) return;
    const dropped = new Set(tickets);
    this.#drop(({ call }) => dropped.has(call.ticket));
  }

  /** The session has closed, and the member drops what has come of a body; or nobody waits for any call. */
  dropAll(): void {
    this.#drop(() => true);
  }

  #drop(isMeant: (large: LargeCall) => boolean): void {
    if (this.#current !== undefined && isMeant(this.#current)) this.#current = undefined;
    const waiting = this.#waiting;
    this.#waiting = waiting.filter((large) => !isMeant(large));
    for (const large of waiting) {
      if (!isMeant(large)) continue;
      this.bytes -= large.bytes.byteLength;
      this.#channel.onUnsent(large.call.ticket);
    }
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    for (let large = this.#waiting.shift(); large !== undefined; large = this.#waiting.shift()) {
      this.#current = large;
      await this.#send(large);
      this.bytes -= large.bytes.byteLength;
    }
    this.#current = undefined;
    this.#isSending = false;
  }

  async #send(large: LargeCall): Promise<void> {
    const { bytes, call } = large;
    const { partBytes } = sizesFor(this.#connection.maxPayload);
    let at = 0;
    let unflushed = 0;
    for (; bytes.byteLength - at > partBytes; at += partBytes) {
      const isSent =
        this.#current === large &&
        this.#channel.sendPart(large, bytes.subarray(at, at + partBytes));
      if (!isSent) return this.#channel.onUnsent(call.ticket);
      unflushed += partBytes;
      if (unflushed < unflushedBytes) continue;
      unflushed = 0;
      // Rejects where the connection is lost: the session is closed then.
      await this.#connection.flush().catch(() => {});
    }
    if (this.#current === large) this.#channel.sendLast(large, bytes.subarray(at));
    else this.#channel.onUnsent(call.ticket);
  }
}

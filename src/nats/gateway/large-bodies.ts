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
  /** Changes whenever the session closes: what was sent of a body before is dropped by the member. */
  readonly closings: number;
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
  readonly #waiting: LargeCall[] = [];
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

  /** The session has closed: nothing of what waits is sent. */
  dropAll(): void {
    for (const { call, bytes } of this.#waiting.splice(0)) {
      this.bytes -= bytes.byteLength;
      this.#channel.onUnsent(call.ticket);
    }
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    for (let large = this.#waiting.shift(); large !== undefined; large = this.#waiting.shift()) {
      await this.#send(large);
      this.bytes -= large.bytes.byteLength;
    }
    this.#isSending = false;
  }

  async #send(large: LargeCall): Promise<void> {
    const { closings } = this.#channel;
    const { bytes, call } = large;
    const { partBytes } = sizesFor(this.#connection.maxPayload);
    let at = 0;
    let unflushed = 0;
    for (; bytes.byteLength - at > partBytes; at += partBytes) {
      const isSent =
        closings === this.#channel.closings &&
        this.#channel.sendPart(large, bytes.subarray(at, at + partBytes));
      if (!isSent) return this.#channel.onUnsent(call.ticket);
      unflushed += partBytes;
      if (unflushed < unflushedBytes) continue;
      unflushed = 0;
      // Rejects where the connection is lost: the session is closed then.
      await this.#connection.flush().catch(() => {});
    }
    if (closings === this.#channel.closings) this.#channel.sendLast(large, bytes.subarray(at));
    else this.#channel.onUnsent(call.ticket);
  }
}

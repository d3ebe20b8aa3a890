import { clockMs } from '../../../core/base/clock.ts';
import type { Sending } from '../../../core/dispatch/queue/queued-call.ts';
import { type NatsConnection, type NatsMessage, saysNobody } from '../connection/connection.ts';
import { type MessageSizes, sizesFor, unflushedBytes } from '../pace.ts';
import { type FrameMark, GatewaySession, type SessionStart, type Synced } from '../session.ts';
import type { Subjects } from '../subjects.ts';
import {
  acknowledgementText,
  bodyPart,
  type CallHead,
  FrameText,
  largeFrame,
  numbersLength,
  ReplyKind,
  readToGateway,
  syncText,
  type WireReply,
} from '../wire.ts';

/** While a session is closed, its sync is repeated so often, milliseconds. */
const syncMs = 200;

/** Frames that are not acknowledged for so long are taken for lost, milliseconds. */
const unackedMs = 1000;

/** A member hears of this gateway so often at least, milliseconds: while it has calls or streams, and while it has none. */
const [busyMs, idleMs] = [1000, 10_000];

export interface GatewayLink {
  readonly connection: NatsConnection;
  readonly subjects: Subjects;
  readonly id: string;
  /** Where the session with the next member starts: beyond all sessions that have ended, with whatever member. */
  start: SessionStart;
}

/** What a channel tells its member, and asks of it. Calls are named by their tickets. */
export interface ChannelOwner {
  /** Calls have left, in the frame `n`. */
  onSent(tickets: readonly number[], n: number): void;
  /** Calls never came to the member, and never will. Told in a microtask, never while a call is added. */
  onUndelivered(tickets: readonly number[]): void;
  /** A part of a large reply, as a view of what the socket has read. The last part comes with the reply. */
  onPart(ticket: number, bytes: Uint8Array): void;
  onReplies(replies: readonly WireReply[], load: number): void;
  /** The member does not know any more what became of calls in frames before `n`. */
  onForgotten(before: number): void;
  onOpen(): void;
  readonly isBusy: boolean;
  /**
   * What streams may give, counted from their beginnings: ticket, values and characters of each.
   *
   * @param all false: only of those that were granted more since this was asked last
   */
  granted(all: boolean): readonly number[];
  /** Tickets of streams that are to end. */
  readonly drained: readonly number[];
}

/** A call whose body crosses as bytes. */
interface LargeCall {
  readonly call: CallHead;
  readonly bytes: Uint8Array;
}

/**
 * The messages between this gateway and one member: frames and replies in a session that survives losses. Acknowledgements go
 * beside the frames, without numbers: one that is lost is mended by the next, and after a sync all is said again.
 */
export class MemberChannel {
  readonly #connection: NatsConnection;
  readonly #gateway: string;
  readonly #subject: string;
  /** Subject of the 503s for messages that nobody takes. The number of the frame follows; 0: the message was no frame. */
  readonly #noResponders: string;
  readonly #owner: ChannelOwner;
  readonly #session: GatewaySession;
  #frame = new FrameText();
  /**
   * Calls whose large bodies have not left whole. The bodies are sent one after another, no faster than the connection takes them, so
   * that small calls go in between.
   */
  #large: LargeCall[] = [];
  #largeBytes = 0;
  #isSendingLarge = false;
  /** Calls that never came to the member, of which the owner has still to be told. */
  readonly #returned: number[] = [];
  /** Calls and streams that nobody waits for any more, and whose ends have not come. */
  readonly #cancelled = new Set<number>();
  /** Those of them that the member has still to be told of. */
  #untold: number[] = [];
  #isAckPlanned = false;
  /** When the member was told of all streams, when it heard of this gateway, and when it was asked to sync, by `clockMs`. */
  #grantedAt = Number.NEGATIVE_INFINITY;
  #sentAt = 0;
  #syncedAt = Number.NEGATIVE_INFINITY;
  /** Since when the server has said that nobody takes what is sent there, by `clockMs`; undefined: somebody does. */
  nobodySince: number | undefined;

  constructor(
    { connection, subjects, id, start }: GatewayLink,
    member: string,
    owner: ChannelOwner,
  ) {
    this.#connection = connection;
    this.#gateway = id;
    this.#subject = subjects.toMember(member);
    this.#noResponders = subjects.toGateway(id, member);
    this.#owner = owner;
    this.#session = new GatewaySession(start);
  }

  get isOpen(): boolean {
    return this.#session.isOpen && this.#connection.connected;
  }

  /** Bytes of calls that the member may not have. */
  get bytes(): number {
    return this.#session.unackedBytes + this.#largeBytes + this.#frame.length;
  }

  /** Most bytes of what is known of a call's request. */
  get factsLimit(): number {
    return this.#sizes.factsBytes;
  }

  get end(): SessionStart {
    return this.#session.end;
  }

  /**
   * How a call goes that is given to `add` next. `sent`: in the frame that is being filled; `alone`: in frames of its own; `refused`:
   * what is known of its request is larger than the server takes.
   */
  sendingOf(call: CallHead, body: string | Uint8Array): Sending {
    const { facts, follows } = call;
    const { sharedLength, frameLength, factsBytes } = this.#sizes;
    if (typeof body === 'string' && body.length + facts.length + numbersLength <= sharedLength) {
      return !follows || this.#frame.lengthWith(call, body) <= frameLength ? 'sent' : 'later';
    }
    if (follows) return 'later';
    return Buffer.byteLength(facts) > factsBytes ? 'refused' : 'alone';
  }

  /** Puts a call into the next frame, or into frames of its own. Only while open. */
  add(call: CallHead, body: string | Uint8Array, sending: 'sent' | 'alone'): void {
    if (sending === 'alone' || typeof body !== 'string') {
      this.flush();
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      this.#largeBytes += bytes.byteLength;
      this.#large.push({ call, bytes });
      if (!this.#isSendingLarge) void this.#sendLarge();
      return;
    }
    // Between calls that follow each other there is no end of a frame.
    const isFull = this.#frame.lengthWith(call, body) > this.#sizes.sharedLength;
    if (isFull && !call.follows) this.flush();
    this.#frame.add(call, body);
  }

  /** Sends the frame that `add` has filled, and what was cancelled. */
  flush(): void {
    const frame = this.#frame;
    const { tickets } = frame;
    if (tickets.length > 0) {
      this.#frame = new FrameText();
      const make = (mark: FrameMark) => frame.toMessage(this.#gateway, mark);
      this.#send(tickets, frame.length, make);
    }
    if (this.#untold.length > 0 && this.isOpen) this.#sendAck();
  }

  /** Nobody waits for these calls any more: what has not left of their bodies does not leave. */
  cancel(tickets: readonly number[]): void {
    for (const ticket of tickets) {
      this.#cancelled.add(ticket);
      this.#untold.push(ticket);
    }
    this.#dropLarge(tickets);
  }

  /** All that was sent has its answers. */
  abandon(): void {
    this.#dropLarge();
  }

  /** Tells the member what was cancelled or granted, at the end of this turn. */
  sendAckSoon(): void {
    if (this.#isAckPlanned) return;
    this.#isAckPlanned = true;
    setImmediate(() => {
      this.#isAckPlanned = false;
      if (this.isOpen) this.#sendAck();
    });
  }

  /** The last message: what has come, and what nobody waits for any more. */
  leave(): void {
    this.flush();
    if (this.#session.owesAck) this.#sendAck();
  }

  /** Messages may have been lost. */
  interrupt(): void {
    this.#session.interrupt();
    this.#dropLarge();
  }

  /** Asks what has come. @param after milliseconds since it was asked last */
  sync(after = syncMs): void {
    const now = clockMs();
    if (this.#session.isOpen || now - this.#syncedAt < after) return;
    this.#syncedAt = now;
    this.#publish(syncText(this.#gateway, this.#session.sync), 0);
  }

  onMessage(message: NatsMessage): void {
    if (saysNobody(message)) {
      this.nobodySince ??= clockMs();
      const n = Number(message.subject.slice(message.subject.lastIndexOf('.') + 1));
      // The sync waits for its time: one that followed each 503 would bring the next.
      if (n > 0) this.#return(n);
      else this.interrupt();
      return;
    }
    this.nobodySince = undefined;
    const read = readToGateway(message.data);
    if (read.kind === 'gap') {
      this.interrupt();
      this.sync();
    } else if (read.kind === 'synced') {
      const synced = this.#session.onSynced(read.answer);
      if (synced !== undefined) this.#onSynced(synced);
    } else if (read.kind === 'got') {
      this.#session.onGot(read.session, read.got);
      this.#syncIfClosed();
      this.#owner.onOpen();
    } else {
      const { session, n, got, load } = read.mark;
      const isNext = this.#session.onReplies(session, n, got);
      this.#syncIfClosed();
      if (!isNext) return;
      if (read.kind === 'replies') this.#onReplies(read.replies, load);
      else this.#owner.onPart(read.ticket, read.bytes);
    }
  }

  /** To be called every 100 ms. */
  look(now: number): void {
    if (!this.#connection.connected) return;
    const { unackedSince } = this.#session;
    if (unackedSince !== undefined && now - unackedSince > unackedMs) this.interrupt();
    if (!this.#session.isOpen) {
      this.sync();
      return;
    }
    const { isBusy } = this.#owner;
    const isDue = isBusy ? now - this.#grantedAt > busyMs : now - this.#sentAt > idleMs;
    if (isDue || this.#session.owesAck || this.#untold.length > 0) this.#sendAck();
  }

  get #sizes(): MessageSizes {
    return sizesFor(this.#connection.maxPayload);
  }

  /** Tells the member which replies have come, what nobody waits for any more, what streams may give. */
  #sendAck(): void {
    const now = clockMs();
    this.#sentAt = now;
    const all = now - this.#grantedAt > busyMs;
    if (all) this.#grantedAt = now;
    const granted = this.#owner.granted(all);
    const { drained } = this.#owner;
    const cancelled = this.#untold;
    this.#untold = [];
    const { listed } = this.#sizes;
    const length = Math.max(cancelled.length, granted.length, drained.length, 1);
    for (let at = 0; at < length; at += listed) {
      const part = (list: readonly number[]) => list.slice(at, at + listed);
      const text = acknowledgementText(this.#gateway, {
        ack: this.#session.ack(),
        cancelled: part(cancelled),
        granted: part(granted),
        drained: part(drained),
      });
      // What is not told now is told after the next sync.
      if (!this.#publish(text, 0)) return;
    }
  }

  async #sendLarge(): Promise<void> {
    this.#isSendingLarge = true;
    for (let large = this.#large[0]; large !== undefined; large = this.#large[0]) {
      const isSent = await this.#sendParts(large);
      // It may have been dropped meanwhile.
      if (this.#large[0] !== large) continue;
      this.#large.shift();
      this.#largeBytes -= large.bytes.byteLength;
      if (!isSent) this.#giveBack([large.call.ticket]);
    }
    this.#isSendingLarge = false;
  }

  /** @returns whether all of a large call has left */
  async #sendParts(large: LargeCall): Promise<boolean> {
    const { call, bytes } = large;
    const { ticket } = call;
    const total = bytes.byteLength;
    const { partBytes } = this.#sizes;
    let at = 0;
    let unflushed = 0;
    for (; total - at > partBytes; at += partBytes) {
      const part = bytes.subarray(at, at + partBytes);
      const isSent = this.#send([], partBytes, (mark) =>
        bodyPart(this.#gateway, mark, ticket, total, part),
      );
      if (!isSent) return false;
      unflushed += partBytes;
      if (unflushed < unflushedBytes) continue;
      unflushed = 0;
      // It rejects if the connection is lost: the session is closed then.
      await this.#connection.flush().catch(() => {});
      if (this.#large[0] !== large) return false;
    }
    const rest = bytes.subarray(at);
    return this.#send([ticket], rest.byteLength, (mark) =>
      largeFrame(this.#gateway, mark, call, rest),
    );
  }

  /**
   * What has not left of large bodies does not leave: they may lie in memory that the next request gets.
   *
   * @param tickets of their calls; undefined: of all
   */
  #dropLarge(tickets?: readonly number[]): void {
    for (const large of this.#large.splice(0)) {
      const { call, bytes } = large;
      if (tickets?.includes(call.ticket) === false) this.#large.push(large);
      else {
        this.#largeBytes -= bytes.byteLength;
        this.#giveBack([call.ticket]);
      }
    }
  }

  /** @returns false: it has not left, and its calls are given back */
  #send(tickets: readonly number[], bytes: number, make: (mark: FrameMark) => Uint8Array): boolean {
    if (!this.isOpen) {
      this.#giveBack(tickets);
      return false;
    }
    const now = clockMs();
    this.#sentAt = now;
    const mark = this.#session.send(tickets, bytes, now);
    this.#owner.onSent(tickets, mark.n);
    const isSent = this.#publish(make(mark), mark.n);
    if (!isSent) this.#return(mark.n);
    return isSent;
  }

  #publish(data: Uint8Array | string, n: number): boolean {
    return this.#connection.publish(this.#subject, data, { reply: `${this.#noResponders}.${n}` });
  }

  #onSynced({ isNew, forgottenBefore, undelivered }: Synced): void {
    if (isNew) this.#cancelled.clear();
    this.#owner.onForgotten(forgottenBefore);
    this.#giveBack(undelivered);
    // What was told before may not have come. The member is told in any case, so that it knows this gateway.
    this.#untold = [...this.#cancelled];
    this.#grantedAt = Number.NEGATIVE_INFINITY;
    this.#sendAck();
    this.#owner.onOpen();
  }

  #onReplies(replies: readonly WireReply[], load: number): void {
    for (const { ticket, kind } of replies) {
      const goesOn = kind === ReplyKind.value || kind === ReplyKind.opened;
      if (!goesOn) this.#cancelled.delete(ticket);
    }
    this.#owner.onReplies(replies, load);
  }

  /** A frame has not come to the member, nor the frames after it. */
  #return(n: number): void {
    const tickets = this.#session.undelivered(n);
    if (!this.#session.isOpen) this.#dropLarge();
    this.#giveBack(tickets);
  }

  /** Tells the owner in a microtask: now the owner may be in the middle of adding calls of the same requests. */
  #giveBack(tickets: readonly number[]): void {
    if (tickets.length === 0) return;
    if (this.#returned.length === 0) {
      queueMicrotask(() => this.#owner.onUndelivered(this.#returned.splice(0)));
    }
    for (const ticket of tickets) {
      this.#cancelled.delete(ticket);
      this.#returned.push(ticket);
    }
  }

  /** Replies that did not come in their turn have closed the session. */
  #syncIfClosed(): void {
    if (this.#session.isOpen) return;
    this.#dropLarge();
    this.sync();
  }
}

import { clockMs } from '../../base/clock.ts';
import type { NatsConnection, NatsMessage } from '../connection/connection.ts';
import { type MessageSizes, sizesFor } from '../pace.ts';
import {
  type FrameMark,
  GatewaySession,
  type SessionStart,
  type Synced,
} from '../session/gateway-session.ts';
import type { Subjects } from '../subjects.ts';
import { readToGateway, type WireReply } from '../wire/to-gateway.ts';
import {
  acknowledgementText,
  bodyPart,
  type CallHead,
  FrameText,
  largeFrame,
  syncText,
} from '../wire/to-member.ts';
import { type AckChannel, AckSender, type Told } from './ack-sender.ts';
import type { ChannelOwner } from './channel-owner.ts';
import { type Framing, framingOf } from './framing.ts';
import { LargeBodies, type LargeBodyChannel, type LargeCall } from './large-bodies.ts';
import { ReplyParts } from './reply-parts.ts';

/** While a session is closed, its sync is repeated so often, milliseconds. */
const syncMs = 200;

/** Frames that are not acknowledged for so long are taken for lost, milliseconds. */
const unackedMs = 1000;

/** The messages between this gateway and one member: frames and replies in a session that survives losses. */
export class MemberChannel implements LargeBodyChannel, AckChannel {
  readonly #connection: NatsConnection;
  readonly #gateway: string;
  readonly #member: string;
  readonly #subjects: Subjects;
  readonly #owner: ChannelOwner;
  readonly #session: GatewaySession;
  readonly #large: LargeBodies;
  #frame = new FrameText();
  readonly parts = new ReplyParts();
  /** Calls that never came to the member, of which the owner has still to be told. */
  readonly #returned: number[] = [];
  readonly #acks: AckSender;
  #syncedAt = Number.NEGATIVE_INFINITY;
  /** Since when the server has said that nobody takes what is sent there, by `clockMs`; undefined: somebody does. */
  nobodySince: number | undefined;

  constructor(
    connection: NatsConnection,
    subjects: Subjects,
    gateway: string,
    member: string,
    start: SessionStart | undefined,
    owner: ChannelOwner,
  ) {
    this.#connection = connection;
    this.#subjects = subjects;
    this.#gateway = gateway;
    this.#member = member;
    this.#owner = owner;
    this.#session = new GatewaySession(start);
    this.#large = new LargeBodies(connection, this);
    this.#acks = new AckSender(this, owner);
  }

  /** Whether calls may be sent. */
  get isOpen(): boolean {
    return this.#session.isOpen && this.#connection.connected;
  }

  /** Bytes of calls that the member may not have. */
  get bytes(): number {
    return this.#session.unackedBytes + this.#large.bytes + this.#frame.length;
  }

  /** Bytes of what may be known of the request of a call. */
  get factsLimit(): number {
    return this.#sizes.factsBytes;
  }

  /** See {@link GatewaySession.end}. */
  get end(): SessionStart {
    return this.#session.end;
  }

  /** How a call goes that is given to `add` next. */
  framingOf(call: CallHead, body: string | Uint8Array): Framing {
    return framingOf(call, body, this.#frame, this.#sizes);
  }

  /** Puts a call into the next frame, or into frames of its own. Only while open. */
  add(call: CallHead, body: string | Uint8Array, framing: 'shared' | 'alone'): void {
    if (framing === 'alone' || typeof body !== 'string') {
      this.flush();
      this.#large.add({ call, bytes: typeof body === 'string' ? Buffer.from(body) : body });
      return;
    }
    // Between calls that follow each other there is no end of a frame.
    const isFull = this.#frame.lengthWith(call, body) > this.#sizes.sharedLength;
    if (isFull && !call.follows) this.flush();
    this.#frame.add(call, body);
  }

  /** Sends the frame that `add` has filled, and what was cancelled. */
  flush(): void {
    this.#sendFrame();
    if (this.#acks.cancelled.hasUntold && this.isOpen) this.#acks.send();
  }

  /** Nobody waits for these calls any more. */
  cancel(tickets: readonly number[]): void {
    this.#acks.cancelled.add(tickets);
    this.#large.drop(tickets);
    for (const ticket of tickets) this.parts.drop(ticket);
  }

  /** All that was sent has its answers. */
  abandon(): void {
    this.#large.dropAll();
    this.parts.clear();
  }

  /** Tells the member what was cancelled or granted, at the end of this turn. */
  sendAckSoon(): void {
    this.#acks.sendSoon();
  }

  /** The last message: what has come, and what nobody waits for any more. */
  leave(): void {
    this.flush();
    if (this.owesAck) this.#acks.send();
  }

  /** What was on its way may be lost. */
  interrupt(): void {
    this.#session.interrupt();
    this.#large.dropAll();
  }

  /** Asks what has come. @param after milliseconds since it was asked last */
  sync(after = syncMs): void {
    const now = clockMs();
    if (this.#session.isOpen || now - this.#syncedAt < after) return;
    this.#syncedAt = now;
    this.#publish(syncText(this.#gateway, this.#session.sync), 0);
  }

  onMessage(message: NatsMessage): void {
    if (message.status !== 0) {
      this.nobodySince ??= clockMs();
      const n = Number(message.subject.slice(message.subject.lastIndexOf('.') + 1));
      // The sync waits for its time: one that followed each 503 would bring the next.
      if (n > 0) this.#return(this.#session.undelivered(n));
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
      this.#afterReplies();
      this.#owner.onOpen();
    } else {
      const { session, n, got, load } = read.mark;
      const isNext = this.#session.onReplies(session, n, got);
      this.#afterReplies();
      if (!isNext) return;
      if (read.kind === 'replies') this.#onReplies(read.replies, load);
      else if (this.#owner.awaits(read.ticket)) this.parts.add(read.ticket, read.bytes);
    }
  }

  /** To be called again and again. */
  look(now: number): void {
    if (!this.#connection.connected) return;
    const { unackedSince } = this.#session;
    if (unackedSince !== undefined && now - unackedSince > unackedMs) this.interrupt();
    if (!this.#session.isOpen) {
      this.sync();
      return;
    }
    this.#acks.look(now);
  }

  /** See {@link AckChannel}. */
  get owesAck(): boolean {
    return this.#session.owesAck;
  }

  /** See {@link AckChannel}. */
  get listed(): number {
    return this.#sizes.listed;
  }

  /** See {@link AckChannel}. */
  sendAck(told: Told): boolean {
    const acknowledgement = { ack: this.#session.ack(), ...told };
    return this.#publish(acknowledgementText(this.#gateway, acknowledgement), 0);
  }

  /** See {@link LargeBodyChannel}. */
  sendPart({ call, bytes: whole }: LargeCall, bytes: Uint8Array): boolean {
    if (!this.isOpen) return false;
    const { ticket } = call;
    const total = whole.byteLength;
    return this.#send([], bytes.byteLength, (mark) =>
      bodyPart(this.#gateway, mark, ticket, total, bytes),
    );
  }

  /** See {@link LargeBodyChannel}. */
  sendLast({ call }: LargeCall, bytes: Uint8Array): void {
    if (!this.isOpen) this.onUnsent(call.ticket);
    else {
      this.#send([call.ticket], bytes.byteLength, (mark) =>
        largeFrame(this.#gateway, mark, call, bytes),
      );
    }
  }

  /** See {@link LargeBodyChannel}. */
  onUnsent(ticket: number): void {
    this.#giveBack([ticket]);
  }

  get #sizes(): MessageSizes {
    return sizesFor(this.#connection.maxPayload);
  }

  #send(tickets: readonly number[], bytes: number, make: (mark: FrameMark) => Uint8Array): boolean {
    const now = clockMs();
    this.#acks.noteSent(now);
    const mark = this.#session.send(tickets, bytes, now);
    this.#owner.onSent(tickets, mark.n);
    if (this.#publish(make(mark), mark.n)) return true;
    this.#return(this.#session.undelivered(mark.n));
    return false;
  }

  #sendFrame(): void {
    const frame = this.#frame;
    const { tickets } = frame;
    if (tickets.length === 0) return;
    this.#frame = new FrameText();
    if (this.isOpen) {
      this.#send(tickets, frame.length, (mark) => frame.toMessage(this.#gateway, mark));
    } else this.#giveBack(tickets);
  }

  #onSynced({ isNew, forgottenBefore, undelivered }: Synced): void {
    if (isNew) {
      this.parts.clear();
      this.#acks.cancelled.clear();
    }
    this.#owner.onForgotten(forgottenBefore);
    this.#giveBack(undelivered);
    this.#acks.sendAgain();
    this.#owner.onOpen();
  }

  #onReplies(replies: readonly WireReply[], load: number): void {
    this.#acks.cancelled.onReplies(replies);
    this.#owner.onReplies(this.parts.whole(replies), load);
  }

  #publish(data: Uint8Array | string, n: number): boolean {
    const reply = this.#subjects.noResponders(this.#gateway, this.#member, n);
    return this.#connection.publish(this.#subjects.toMember(this.#member), data, { reply });
  }

  #return(tickets: readonly number[]): void {
    if (!this.#session.isOpen) this.#large.dropAll();
    this.#giveBack(tickets);
  }

  /** Tells the owner in a microtask: now the owner may be in the middle of adding calls of the same trains. */
  #giveBack(tickets: readonly number[]): void {
    if (tickets.length === 0) return;
    this.#acks.cancelled.drop(tickets);
    if (this.#returned.length === 0) {
      queueMicrotask(() => this.#owner.onUndelivered(this.#returned.splice(0)));
    }
    for (const ticket of tickets) this.#returned.push(ticket);
  }

  /** Replies that did not come in their turn have closed the session. */
  #afterReplies(): void {
    if (this.#session.isOpen) return;
    this.#large.dropAll();
    this.sync();
  }
}

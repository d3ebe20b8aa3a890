import { clockMs } from '../../base/clock.ts';
import type { NatsConnection, NatsMessage } from '../connection/connection.ts';
import { type MessageSizes, sizesFor } from '../pace.ts';
import { type FrameMark, GatewaySession, type SessionStart } from '../session/gateway-session.ts';
import type { Subjects } from '../subjects.ts';
import { numbersLength } from '../wire/message.ts';
import { readToGateway, type WireReply } from '../wire/to-gateway.ts';
import {
  bodyPart,
  type CallHead,
  FrameText,
  largeFrame,
  syncText,
  wordText,
} from '../wire/to-member.ts';
import { LargeBodies, type LargeCall, type LargeOutlet } from './large-bodies.ts';

/** While a session is closed, its sync is repeated so often, milliseconds. */
const syncMs = 200;

/** The member hears of this gateway so often at least, milliseconds: while it has calls, and while it has none. */
const [busyWordMs, idleWordMs] = [1000, 10_000];

/** Frames that are not acknowledged for so long are taken for lost, milliseconds. */
const unackedMs = 1000;

/**
 * How a call goes: `shared`, in the frame that is being filled; `alone`, in frames of its own; `later`, since it follows a call whose
 * frame has no room for it; `never`, since what is known of its request is larger than the server takes.
 */
export type Passage = 'shared' | 'alone' | 'later' | 'never';

/** Whom a link tells of what becomes of its calls, by their tickets. */
export interface LinkOwner {
  /** Calls have left, in the frame `n`. */
  onSent(tickets: readonly number[], n: number): void;
  /** Calls never came to the member, and never will. Told in a microtask, never while a call is added. */
  onUndelivered(tickets: readonly number[]): void;
  onReplies(replies: readonly WireReply[], load: number): void;
  /** The member does not know any more what became of calls in frames before `n`. */
  onForgotten(before: number): void;
  /** Calls may be sent again. */
  onOpen(): void;
  /** Whether calls are with the member, or streams. */
  readonly isBusy: boolean;
  /** What its streams may give, all in all: ticket, values and characters of each. */
  readonly granted: readonly number[];
  /** Tickets of streams that are to end at their next yield. */
  readonly drained: readonly number[];
}

/** The messages between this gateway and one member: frames and replies in a session that survives losses. */
export class MemberLink implements LargeOutlet {
  readonly #connection: NatsConnection;
  readonly #gateway: string;
  readonly #member: string;
  readonly #subjects: Subjects;
  readonly #owner: LinkOwner;
  readonly #session: GatewaySession;
  readonly #large: LargeBodies;
  #frame = new FrameText();
  readonly #parts = new Map<number, Uint8Array[]>();
  /** Calls that never came to the member, of which the owner has still to be told. */
  readonly #returned: number[] = [];
  #cancelled: number[] = [];
  #isWordPlanned = false;
  closings = 0;
  #syncedAt = Number.NEGATIVE_INFINITY;
  #wordAt = 0;
  /** Since when the server has said that nobody takes what is sent there, by `clockMs`; undefined: somebody does. */
  nobodySince: number | undefined;

  constructor(
    connection: NatsConnection,
    subjects: Subjects,
    gateway: string,
    member: string,
    start: SessionStart | undefined,
    owner: LinkOwner,
  ) {
    this.#connection = connection;
    this.#subjects = subjects;
    this.#gateway = gateway;
    this.#member = member;
    this.#owner = owner;
    this.#session = new GatewaySession(start);
    this.#large = new LargeBodies(connection, this);
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
  passageOf(call: CallHead, body: string | Uint8Array): Passage {
    const { sharedLength, frameLength, factsBytes } = this.#sizes;
    const { facts, follows } = call;
    const isSmall = body.length + facts.length + numbersLength <= sharedLength;
    if (isSmall && typeof body === 'string') {
      const fits = !follows || this.#frame.lengthWith(call, body) <= frameLength;
      return fits ? 'shared' : 'later';
    }
    if (follows) return 'later';
    return Buffer.byteLength(facts) > factsBytes ? 'never' : 'alone';
  }

  /** Puts a call into the next frame, or into frames of its own. Only while open. */
  add(call: CallHead, body: string | Uint8Array, passage: 'shared' | 'alone'): void {
    if (passage === 'alone' || typeof body !== 'string') {
      this.flush();
      this.#large.add({ call, bytes: typeof body === 'string' ? Buffer.from(body) : body });
      return;
    }
    // Between calls that follow each other there is no end of a frame.
    const isFull = this.#frame.lengthWith(call, body) > this.#sizes.sharedLength;
    if (isFull && !call.follows) this.flush();
    this.#frame.add(call, body);
  }

  /** Sends the frame that `add` has filled, and what was cancelled before. */
  flush(): void {
    if (this.#cancelled.length > 0) this.#sendWord();
    const frame = this.#frame;
    const { tickets } = frame;
    if (tickets.length === 0) return;
    this.#frame = new FrameText();
    if (this.isOpen) {
      this.#send(tickets, frame.length, (mark) => frame.toMessage(this.#gateway, mark));
    } else this.#giveBack(tickets);
  }

  /** Nobody waits for these calls any more. */
  cancel(tickets: readonly number[]): void {
    this.#cancelled.push(...tickets);
  }

  /** Sends word of what was cancelled or granted, at the end of this turn. */
  sendWordSoon(): void {
    if (this.#isWordPlanned) return;
    this.#isWordPlanned = true;
    setImmediate(() => {
      this.#isWordPlanned = false;
      // Told again when the session is open.
      if (this.isOpen) this.#sendWord();
    });
  }

  /** The last word: what has come, and what nobody waits for any more. */
  leave(): void {
    this.flush();
    if (this.#session.owesAck) this.#sendWord();
  }

  /** What was on its way may be lost. */
  interrupt(): void {
    this.#session.interrupt();
    this.#onClosed();
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
      if (synced === undefined) return;
      this.#owner.onForgotten(synced.forgottenBefore);
      this.#giveBack(synced.undelivered);
      // Words have no numbers: those of before may be lost.
      if (this.#owner.isBusy) this.#sendWord();
      this.#owner.onOpen();
    } else if (read.kind === 'got') {
      this.#session.onGot(read.session, read.got);
      this.#afterReplies();
      this.#owner.onOpen();
    } else {
      const { session, n, got, load } = read.mark;
      const isNext = this.#session.onReplies(session, n, got);
      this.#afterReplies();
      if (!isNext) return;
      if (read.kind === 'replies') this.#owner.onReplies(this.#whole(read.replies), load);
      else this.#addPart(read.ticket, read.bytes);
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
    const wordMs = this.#owner.isBusy ? busyWordMs : idleWordMs;
    const owes = this.#session.owesAck || this.#cancelled.length > 0;
    if (owes || now - this.#wordAt > wordMs) this.#sendWord();
  }

  /** See {@link LargeOutlet}. */
  sendPart({ call, bytes: whole }: LargeCall, bytes: Uint8Array): boolean {
    if (!this.isOpen) return false;
    const { ticket } = call;
    const total = whole.byteLength;
    return this.#send([], bytes.byteLength, (mark) =>
      bodyPart(this.#gateway, mark, ticket, total, bytes),
    );
  }

  /** See {@link LargeOutlet}. */
  sendLast({ call }: LargeCall, bytes: Uint8Array): void {
    if (!this.isOpen) this.onUnsent(call.ticket);
    else {
      this.#send([call.ticket], bytes.byteLength, (mark) =>
        largeFrame(this.#gateway, mark, call, bytes),
      );
    }
  }

  /** See {@link LargeOutlet}. */
  onUnsent(ticket: number): void {
    this.#giveBack([ticket]);
  }

  get #sizes(): MessageSizes {
    return sizesFor(this.#connection.maxPayload);
  }

  #send(tickets: readonly number[], bytes: number, make: (mark: FrameMark) => Uint8Array): boolean {
    const now = clockMs();
    this.#wordAt = now;
    const mark = this.#session.send(tickets, bytes, now);
    this.#owner.onSent(tickets, mark.n);
    if (this.#publish(make(mark), mark.n)) return true;
    this.#return(this.#session.undelivered(mark.n));
    return false;
  }

  #sendWord(): void {
    const cancelled = this.#cancelled;
    this.#cancelled = [];
    this.#wordAt = clockMs();
    const { granted, drained } = this.#owner;
    const word = { ack: this.#session.ack(), cancelled, granted, drained };
    this.#publish(wordText(this.#gateway, word), 0);
  }

  #publish(data: Uint8Array | string, n: number): boolean {
    const reply = this.#subjects.noResponders(this.#gateway, this.#member, n);
    return this.#connection.publish(this.#subjects.toMember(this.#member), data, { reply });
  }

  #return(tickets: readonly number[]): void {
    if (!this.#session.isOpen) this.#onClosed();
    this.#giveBack(tickets);
  }

  /** Tells the owner when it has done what it does: it may be just about to send calls of the same groups. */
  #giveBack(tickets: readonly number[]): void {
    if (tickets.length === 0) return;
    if (this.#returned.length === 0) {
      queueMicrotask(() => this.#owner.onUndelivered(this.#returned.splice(0)));
    }
    for (const ticket of tickets) this.#returned.push(ticket);
  }

  /** Replies that did not come in their turn have closed the session. */
  #afterReplies(): void {
    if (this.#session.isOpen) return;
    this.#onClosed();
    this.sync();
  }

  #onClosed(): void {
    this.closings++;
    this.#large.dropAll();
  }

  #addPart(ticket: number, bytes: Uint8Array): void {
    const parts = this.#parts.get(ticket) ?? [];
    // A view of what the socket has read.
    parts.push(new Uint8Array(bytes));
    this.#parts.set(ticket, parts);
  }

  #whole(replies: readonly WireReply[]): readonly WireReply[] {
    return replies.map((reply) => {
      const parts = this.#parts.get(reply.ticket) ?? [];
      this.#parts.delete(reply.ticket);
      if (typeof reply.body === 'string') return reply;
      return { ...reply, body: new Uint8Array(Buffer.concat([...parts, reply.body])) };
    });
  }
}

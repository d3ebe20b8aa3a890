import { clockMs } from '../../base/clock.ts';
import { RequestBody } from '../../dispatch/request-body.ts';
import { largeBody } from '../../jsonrpc/body.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import type { FrameMark, SyncRequest } from '../session/gateway-session.ts';
import { MemberSession } from '../session/member-session.ts';
import type { Subjects } from '../subjects.ts';
import { gapText, gotText, ReplyKind, syncedText, type WireReply } from '../wire/to-gateway.ts';
import type { Acknowledgement, WireCall } from '../wire/to-member.ts';
import { AckTimeout } from './ack-timeout.ts';
import type { MemberOptions } from './member-options.ts';
import { ReceivedCall, type ReceivedCallOwner } from './received-call.ts';
import { ReplySender } from './reply-sender.ts';

/** Bytes of frames after which the gateway is told at once that they have come. */
const tellBytes = 512 * 1024;

/** A gateway that acknowledges no reply for so long is asked to sync, milliseconds. */
const unackedMs = 1000;

/** What a gateway's side needs of its member. */
export interface RemoteGatewayOwner {
  readonly options: MemberOptions;
  readonly subjects: Subjects;
  /** Calls of all gateways that are here. */
  readonly inFlight: number;
  /** This member was held up for so long that gateways have given it up, and does not know yet what came meanwhile. */
  readonly isStale: boolean;
  /** A name for a session that no other has. */
  nextSession(): number;
  /** Calls of a gateway have come. */
  onCalls(count: number): void;
  /** There is something to look at. */
  wake(): void;
}

/** One gateway, as a member sees it: its session, its calls that are here, its replies. */
export class RemoteGateway implements ReceivedCallOwner {
  /** When something came from the gateway, by `clockMs`. */
  heardAt = clockMs();
  readonly #owner: RemoteGatewayOwner;
  readonly #subject: string;
  readonly #session: MemberSession<Uint8Array>;
  readonly #replies: ReplySender;
  /** By ticket: those that run, and those that follow others. */
  readonly #calls = new Map<number, ReceivedCall>();
  /** Large bodies of which parts have come; undefined: there was no room. */
  readonly #bodies = new Map<number, RequestBody | undefined>();
  #untold = 0;
  readonly #ackTimeout = new AckTimeout(unackedMs);

  constructor(gateway: string, request: SyncRequest, owner: RemoteGatewayOwner) {
    const { connection, id, retention } = owner.options;
    this.#owner = owner;
    this.#subject = owner.subjects.toGateway(gateway, id);
    this.#session = new MemberSession(owner.nextSession(), request);
    const load = (): number => this.#othersLoad;
    this.#replies = new ReplySender(
      connection,
      this.#session,
      this.#subject,
      load,
      retention.bytes,
    );
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  /** Whether all calls are answered, and the gateway has the answers. */
  get isDone(): boolean {
    return this.#calls.size === 0 && this.#replies.isDone;
  }

  /** See {@link MemberSession.isForgottenBy}. */
  isForgottenBy(request: SyncRequest): boolean {
    return this.#session.isForgottenBy(request);
  }

  onSync(request: SyncRequest): void {
    const answer = this.#session.onSync(request);
    if (answer === undefined) return;
    // Whatever has come of a call that has not arrived whole is sent again.
    this.#dropBodies();
    this.#publish(syncedText(answer));
    this.#replies.sendAgain();
  }

  onAcknowledgement({ ack, cancelled, granted, drained }: Acknowledgement): void {
    if (!this.#session.onAck(ack)) {
      this.askForSync();
      return;
    }
    // The last one first: see #lastFirst.
    for (const ticket of cancelled.toReversed()) {
      this.#dropBody(ticket);
      this.#calls.get(ticket)?.cancel();
    }
    for (let at = 0; at + 3 <= granted.length; at += 3) {
      const received = this.#calls.get(granted[at] as number);
      received?.grant(granted[at + 1] as number, granted[at + 2] as number);
    }
    for (const ticket of drained) this.#calls.get(ticket)?.drain();
  }

  onPart(mark: FrameMark, ticket: number, total: number, bytes: Uint8Array): void {
    if (!this.#takes(mark, bytes.byteLength)) return;
    const { maxBodyBytes, service } = this.#owner.options;
    if (!this.#bodies.has(ticket)) {
      const fits = Number.isInteger(total) && total >= 0 && total <= maxBodyBytes;
      const body = fits ? RequestBody.reserve(service.bodyMemory, total) : undefined;
      this.#bodies.set(ticket, body);
    }
    this.#bodies.get(ticket)?.add(bytes);
  }

  onFrame(mark: FrameMark, calls: readonly WireCall[]): void {
    const length = calls.reduce((sum, { body }) => sum + body.length, 0);
    if (!this.#takes(mark, length)) return;
    let first: ReceivedCall | undefined;
    let last: ReceivedCall | undefined;
    for (const call of calls) {
      if (!call.follows) {
        this.#run(first);
        first = undefined;
      }
      const received = this.#accept(call);
      // What it follows is not in its frame: nobody knows here whether that has ended.
      if (call.follows && last === undefined) received.refusal ??= 0;
      if (first === undefined) first = received;
      else if (last !== undefined) last.next = received;
      last = received;
    }
    this.#run(first);
    this.#owner.onCalls(calls.length);
  }

  onStreamOpened(received: ReceivedCall, reply: WireReply): void {
    this.#replies.add(reply);
    const { next } = received;
    received.next = undefined;
    this.#run(next);
  }

  onStreamValue(reply: WireReply): void {
    this.#replies.add(reply);
    this.#owner.wake();
  }

  onCallEnded(received: ReceivedCall, reply: WireReply): void {
    this.#calls.delete(received.ticket);
    this.#replies.add(reply);
    const { next } = received;
    if (next === undefined) return;
    // What follows a call that has not run must not run before it.
    if (reply.kind === ReplyKind.notRun) next.giveBack(0);
    else this.#run(next);
  }

  /** The gateway has gone: nobody waits for its calls. */
  cancelAll(): void {
    this.#dropBodies();
    for (const received of this.#lastFirst()) received.cancel();
  }

  /** The member ends: what runs is aborted, what has not begun is given back. */
  leave(): void {
    this.#dropBodies();
    for (const received of this.#lastFirst()) received.leave();
  }

  askForSync(): void {
    this.#publish(gapText);
  }

  /** @returns whether there is something to look at */
  look(now: number): boolean {
    if (this.#replies.told < this.#session.got) this.#tell();
    if (this.#ackTimeout.isOver(this.#session.oldest, now)) this.askForSync();
    return !this.isDone;
  }

  /** Whether a frame is taken; one that does not come in its turn shows that another is missing. */
  #takes(mark: FrameMark, bytes: number): boolean {
    const status = this.#session.onFrame(mark);
    if (status === 'gap') this.askForSync();
    if (status !== 'taken') return false;
    this.#untold += bytes;
    if (this.#untold > tellBytes) this.#tell();
    return true;
  }

  #accept(call: WireCall): ReceivedCall {
    const { body, memory, refusal } = this.#bodyOf(call);
    const received = new ReceivedCall(call, body, memory, this);
    received.refusal = refusal ?? (this.#owner.isStale ? 0 : undefined);
    this.#admit(received, call);
    this.#calls.set(call.ticket, received);
    return received;
  }

  /** What follows a call must not begin when that one is ended. */
  #lastFirst(): readonly ReceivedCall[] {
    return [...this.#calls.values()].toReversed();
  }

  /** Says who calls: as the gateway says, or as this member's own hook does. */
  #admit({ scope }: ReceivedCall, { facts }: WireCall): void {
    const { trustsAuth, authenticate, id } = this.#owner.options;
    if (trustsAuth) {
      scope.callerKey = facts?.key;
      scope.admit(facts?.auth);
    } else if (authenticate !== undefined) {
      const { headers } = scope;
      const path = this.#owner.subjects.toMember(id);
      scope.verdict = authenticate({ headers, remoteAddress: undefined, method: 'NATS', path });
    }
  }

  /** The body of a call, with what it counts for; `refusal`: there is no room for it. */
  #bodyOf({ ticket, body }: WireCall): {
    readonly body: string | Uint8Array;
    readonly memory?: RequestBody;
    readonly refusal?: number;
  } {
    const { bodyMemory } = this.#owner.options.service;
    const isGathered = this.#bodies.has(ticket);
    const gathered = this.#bodies.get(ticket);
    this.#bodies.delete(ticket);
    const memory = isGathered ? gathered : RequestBody.reserve(bodyMemory, body.length);
    if (memory === undefined) return { body: '', refusal: ErrorCode.Overloaded };
    if (typeof body === 'string') return { body, memory };
    // A view of what the socket has read: it is used again.
    const whole = memory.add(
      body.byteLength > largeBody || isGathered ? body : new Uint8Array(body),
    );
    return whole === undefined ? { body: '', memory } : { body: whole, memory };
  }

  #run(received: ReceivedCall | undefined): void {
    if (received === undefined) return;
    if (received.refusal === undefined) received.run(this.#owner.options.service);
    else received.giveBack(received.refusal);
  }

  #tell(): void {
    const { session, got } = this.#session;
    this.#untold = 0;
    if (this.#publish(gotText(session, got))) this.#replies.told = got;
  }

  get #othersLoad(): number {
    return this.#owner.inFlight - this.#calls.size;
  }

  /** The rest of it will not come. */
  #dropBody(ticket: number): void {
    this.#bodies.get(ticket)?.release();
    this.#bodies.delete(ticket);
  }

  #dropBodies(): void {
    for (const ticket of this.#bodies.keys()) this.#dropBody(ticket);
  }

  #publish(text: string): boolean {
    return this.#owner.options.connection.publish(this.#subject, text);
  }
}

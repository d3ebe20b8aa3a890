import { clockMs } from '../../../core/base/clock.ts';
import type { Config } from '../../../core/config/config.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import { RequestBody } from '../../../core/dispatch/body-memory.ts';
import { neverRan } from '../../../core/dispatch/call.ts';
import { RequestScope } from '../../../core/dispatch/scope.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import type {
  StreamFlow,
  StreamHost,
  StreamSink,
} from '../../../core/dispatch/streams/contract.ts';
import { ErrorCode } from '../../../core/protocol/errors.ts';
import type { Outcome, Reply, ReplySink } from '../../../core/protocol/reply.ts';
import type { NatsConnection, NatsFacts } from '../connection/connection.ts';
import { afterNextLook, type MessageSizes, sizesFor, unflushedBytes } from '../pace.ts';
import { type FrameMark, MemberSession, type SyncRequest } from '../session.ts';
import type { Subjects } from '../subjects.ts';
import {
  type Acknowledgement,
  gapText,
  gotText,
  numbersLength,
  ReplyKind,
  type ReplyMark,
  repliesMessage,
  replyPart,
  syncedText,
  type WireCall,
  type WireReply,
} from '../wire.ts';

/** Bytes of frames after which the gateway is told at once that they have come. */
const tellBytes = 512 * 1024;

/** Codes of calls that were refused before they ran, of which another member may think otherwise. */
const elsewhere: readonly number[] = [
  ErrorCode.Overloaded,
  ErrorCode.MethodNotFound,
  ErrorCode.Cancelled,
];

/** Why a body is not taken: there is no room for it, or it is longer or shorter than announced. */
type BodyRefusal = typeof ErrorCode.Overloaded | typeof ErrorCode.ParseError;

export interface ServedContract {
  /** See `contractOf`. */
  readonly id: string;
  /** What describes its procedures, for gateways: see `describeProcedure`. */
  readonly document: Uint8Array;
}

/** What a member keeps for gateways that it does not hear. */
export const defaultRetention = {
  /** A gateway that is silent for so long has gone, milliseconds: its calls are cancelled. */
  goneMs: 3000,
  /** After so long what is kept for it is dropped, milliseconds. */
  forgottenMs: 30_000,
  /** Above so many bytes of replies that wait for one gateway its calls begin later; if it is out of reach, the oldest replies are dropped. */
  bytes: 32 * 1024 ** 2,
};
export type Retention = Readonly<typeof defaultRetention>;

export interface MemberOptions extends Pick<Config, 'maxBodyBytes' | 'natsTrustAuth'> {
  readonly connection: NatsConnection;
  readonly service: Service;
  readonly name: string;
  /** A name that no other process ever has. */
  readonly id: string;
  readonly version: string;
  /** When the process started, Unix milliseconds. */
  readonly started: number;
  /** Asked without `natsTrustAuth`; undefined: nobody is known. */
  readonly authenticate: Authenticator<NatsFacts> | undefined;
  /** How often it tells gateways that it lives, milliseconds. */
  readonly heartbeatMs: number;
  /** After so long a silence gateways send it no new calls, milliseconds. */
  readonly silentMs: number;
  readonly retention: Retention;
  readonly contract: () => ServedContract;
}

export interface MemberParts {
  readonly options: MemberOptions;
  readonly subjects: Subjects;
  /** Calls of all gateways that have no answer yet. */
  inFlight: number;
  /** Calls that have come since the start. */
  calls: number;
}

/**
 * One gateway, as a member sees it: its session, its calls that are here, its replies. Replies are gathered for a turn of the event
 * loop, numbered, and kept until the gateway acknowledges them. They are sent in the order of their numbers, no faster than the
 * connection takes them.
 */
export class RemoteGateway {
  /** When something came from the gateway, by `clockMs`. */
  heardAt = clockMs();
  readonly session: MemberSession;
  readonly #member: MemberParts;
  readonly #subject: string;
  /** By ticket: those that run, and those that follow others. */
  readonly #calls = new Map<number, ReceivedCall>();
  /** Large bodies of which parts have come, or why their calls are refused. */
  readonly #bodies = new Map<number, RequestBody | BodyRefusal>();
  /** A body from a gateway belongs to the gateway until its call is read. */
  readonly #scope = new RequestScope();
  /** The last frame that the gateway was told of, and the bytes of the frames that came since. */
  #told = 0;
  #untoldBytes = 0;
  #gathered: WireReply[] = [];
  #gatheredLength = 0;
  #isSendPlanned = false;
  /** The number of the next message with replies to send. */
  #next = 0;
  #unflushed = 0;
  #isFlushing = false;
  /** Calls that begin when fewer bytes of replies wait, in their order. */
  readonly #held = new Set<ReceivedCall>();
  #isOutOfReach = false;

  constructor(gateway: string, request: SyncRequest, session: number, member: MemberParts) {
    this.#member = member;
    this.#scope.callerKey = `g${gateway}`;
    this.#subject = member.subjects.toGateway(gateway, member.options.id);
    this.session = new MemberSession(session, request);
  }

  /** Whether all calls are answered, and the gateway has the answers. */
  get isDone(): boolean {
    return this.#calls.size === 0 && this.#gathered.length === 0 && this.session.isAcked;
  }

  onSync(request: SyncRequest): void {
    const answer = this.session.onSync(request);
    this.#runHeld();
    if (answer === undefined) return;
    // Whatever has come of a call that has not arrived whole is sent again.
    this.#dropBodies();
    this.#publish(syncedText(answer));
    // The gateway may not have what was sent before.
    this.#next = 0;
    this.#send();
  }

  onAcknowledgement({ ack, cancelled, granted, drained }: Acknowledgement): void {
    if (!this.session.onAck(ack)) {
      this.#publish(gapText);
      return;
    }
    // The last one first: see #lastFirst.
    for (const ticket of cancelled.toReversed()) {
      this.#dropBody(ticket);
      const received = this.#calls.get(ticket);
      received?.cancel();
      if (received !== undefined) this.#endHeld(received);
    }
    this.#runHeld();
    for (let at = 0; at + 3 <= granted.length; at += 3) {
      const received = this.#calls.get(granted[at] as number);
      received?.grant(granted[at + 1] as number, granted[at + 2] as number);
    }
    for (const ticket of drained) this.#calls.get(ticket)?.drain();
  }

  onPart(mark: FrameMark, ticket: number, total: number, bytes: Uint8Array): void {
    if (!this.#takes(mark, bytes.byteLength)) return;
    const { maxBodyBytes } = this.#member.options;
    const fits = Number.isInteger(total) && total >= 0 && total <= maxBodyBytes;
    let body = this.#bodies.get(ticket) ?? (fits ? this.#reserve(total) : ErrorCode.Overloaded);
    if (typeof body !== 'number') {
      if (bytes.byteLength > body.missing) body = refuseMalformed(body);
      else addPart(body, bytes);
    }
    this.#bodies.set(ticket, body);
  }

  /** @param isStale gateways have given this member up: it gives the calls back */
  onFrame(mark: FrameMark, calls: readonly WireCall[], isStale: boolean): void {
    const length = calls.reduce((sum, { body }) => sum + body.length, 0);
    if (!this.#takes(mark, length)) return;
    let first: ReceivedCall | undefined;
    let last: ReceivedCall | undefined;
    for (const call of calls) {
      if (!call.follows) {
        this.#run(first);
        first = undefined;
      }
      const received = this.#accept(call, isStale);
      // What it follows is not in its frame: nobody knows here whether that has ended.
      if (call.follows && last === undefined) received.refusal ??= 0;
      if (first === undefined) first = received;
      else if (last !== undefined) last.next = received;
      last = received;
    }
    this.#run(first);
    this.#member.calls += calls.length;
  }

  /** A call has ended, or its stream has opened, given a value or ended. */
  reply(
    received: ReceivedCall,
    kind: ReplyKind,
    code: number,
    runUs: number,
    body: string | Uint8Array,
  ): void {
    const { ticket, next } = received;
    const goesOn = kind === ReplyKind.value || kind === ReplyKind.opened;
    if (!goesOn && this.#calls.delete(ticket)) this.#member.inFlight--;
    this.#addReply({ ticket, kind, code, runUs, body });
    if (kind !== ReplyKind.value && next !== undefined) {
      received.next = undefined;
      // What follows a call that has not run must not run before it.
      if (kind === ReplyKind.notRun) next.giveBack(0);
      else this.#run(next);
    }
  }

  /** The gateway has gone: nobody waits for its calls. */
  cancelAll(): void {
    this.#dropBodies();
    for (const received of this.#lastFirst()) {
      received.cancel();
      this.#endHeld(received);
    }
  }

  onHeard(now: number): void {
    this.heardAt = now;
    this.#isOutOfReach = false;
  }

  /** Nothing came from it for long: from now on only some of its replies are kept. */
  onOutOfReach(): void {
    this.#isOutOfReach = true;
    this.#shrink();
  }

  /** The member ends: what runs is aborted, what has not begun is given back, and another member is to run it. */
  leave(): void {
    this.#dropBodies();
    for (const received of this.#lastFirst()) {
      received.scope.cancel();
      this.#endHeld(received);
    }
  }

  /** @returns whether there is something to look at */
  look(now: number): boolean {
    if (this.#told < this.session.got) this.#tell();
    if (this.session.isStuck(now)) this.#publish(gapText);
    return !this.isDone;
  }

  /** Whether a frame is taken; one that does not come in its turn shows that another is missing. */
  #takes(mark: FrameMark, bytes: number): boolean {
    const status = this.session.onFrame(mark);
    this.#runHeld();
    if (status === 'gap') this.#publish(gapText);
    if (status !== 'taken') return false;
    this.#untoldBytes += bytes;
    if (this.#untoldBytes > tellBytes) this.#tell();
    return true;
  }

  #accept(call: WireCall, isStale: boolean): ReceivedCall {
    const { ticket, facts } = call;
    const { natsTrustAuth, authenticate, id } = this.#member.options;
    const memory = this.#memoryOf(call);
    const isRefused = typeof memory === 'number';
    const received = new ReceivedCall(call, isRefused ? undefined : memory, this);
    if (isRefused) received.refusal = memory;
    else if (isStale) received.refusal = 0;
    const { scope } = received;
    // Who calls is as the gateway says, or as this member's own hook does.
    if (natsTrustAuth) {
      scope.callerKey = facts?.key;
      scope.authText = facts?.auth;
    } else if (authenticate !== undefined) {
      const { headers } = scope;
      const path = this.#member.subjects.toMember(id);
      scope.verdict = authenticate({ headers, remoteAddress: undefined, method: 'NATS', path });
    }
    if (!this.#calls.has(ticket)) this.#member.inFlight++;
    this.#calls.set(ticket, received);
    return received;
  }

  /** The memory that the body of a call counts for. */
  #memoryOf({ ticket, body }: WireCall): RequestBody | BodyRefusal {
    const gathered = this.#bodies.get(ticket);
    if (gathered === undefined) return this.#reserve(body.length);
    this.#bodies.delete(ticket);
    const isWhole = typeof gathered === 'number' || body.length === gathered.missing;
    return isWhole ? gathered : refuseMalformed(gathered);
  }

  #reserve(length: number): RequestBody | BodyRefusal {
    const { bodyMemory } = this.#member.options.service;
    const memory = RequestBody.reserve(bodyMemory, length, this.#scope);
    return typeof memory === 'string' ? ErrorCode.Overloaded : memory;
  }

  /** What follows a call must not begin when that one is ended. */
  #lastFirst(): readonly ReceivedCall[] {
    return [...this.#calls.values()].toReversed();
  }

  #run(received: ReceivedCall | undefined): void {
    if (received === undefined) return;
    if (received.refusal !== undefined) received.giveBack(received.refusal);
    else if (this.#isFull && !received.scope.cancelled) this.#held.add(received);
    else received.run(this.#member.options.service);
  }

  /** Whether so many replies wait for the gateway that it gets no more for now. */
  get #isFull(): boolean {
    return this.session.keptBytes > this.#member.options.retention.bytes;
  }

  #runHeld(): void {
    for (const received of this.#held) {
      if (this.#isFull) return;
      this.#held.delete(received);
      received.run(this.#member.options.service);
    }
  }

  /** Answers a call that was cancelled before it began. */
  #endHeld(received: ReceivedCall): void {
    if (this.#held.delete(received)) received.run(this.#member.options.service);
  }

  #tell(): void {
    const { session, got } = this.session;
    this.#untoldBytes = 0;
    if (this.#publish(gotText(session, got))) this.#told = got;
  }

  /** The rest of it will not come. */
  #dropBody(ticket: number): void {
    const body = this.#bodies.get(ticket);
    if (typeof body === 'object') body.release();
    this.#bodies.delete(ticket);
  }

  #dropBodies(): void {
    for (const ticket of this.#bodies.keys()) this.#dropBody(ticket);
  }

  #addReply(reply: WireReply): void {
    const { body } = reply;
    const { sharedLength } = this.#sizes;
    const length = body.length + numbersLength;
    if (typeof body !== 'string' || length > sharedLength) {
      this.#gather();
      this.#addLarge(reply, typeof body === 'string' ? Buffer.from(body) : body);
    } else {
      if (this.#gatheredLength + length > sharedLength) this.#gather();
      this.#gathered.push(reply);
      this.#gatheredLength += length;
    }
    if (this.#isSendPlanned) return;
    this.#isSendPlanned = true;
    afterNextLook(() => {
      this.#isSendPlanned = false;
      this.#gather();
      this.#send();
    });
  }

  #send(): void {
    while (!this.#isFlushing) {
      const kept = this.session.keptFrom(this.#next);
      // What can't be sent now is sent again when the gateway asks for it.
      if (kept === undefined || !this.#publish(kept.payload)) return;
      this.#next = kept.n + 1;
      this.#told = this.session.got;
      this.#unflushed += kept.payload.byteLength;
      if (this.#unflushed > unflushedBytes) this.#flush();
    }
  }

  #flush(): void {
    this.#isFlushing = true;
    const goOn = (): void => {
      this.#isFlushing = false;
      this.#unflushed = 0;
      this.#send();
    };
    this.#member.options.connection.flush().then(goOn, goOn);
  }

  #gather(): void {
    const replies = this.#gathered;
    if (replies.length === 0) return;
    this.#gathered = [];
    this.#gatheredLength = 0;
    const tickets = replies.map(({ ticket }) => ticket);
    this.#keep(tickets, (mark) => repliesMessage(mark, replies));
  }

  #addLarge(reply: WireReply, bytes: Uint8Array): void {
    const { ticket } = reply;
    const { wholeBytes, partBytes } = this.#sizes;
    let at = 0;
    if (bytes.byteLength > wholeBytes) {
      for (; bytes.byteLength - at > partBytes; at += partBytes) {
        const part = bytes.subarray(at, at + partBytes);
        this.#keep([ticket], (mark) => replyPart(mark, ticket, part));
      }
    }
    const last = { ...reply, body: bytes.subarray(at) };
    this.#keep([ticket], (mark) => repliesMessage(mark, [last]));
  }

  #keep(tickets: readonly number[], make: (mark: ReplyMark) => Uint8Array): void {
    this.session.keep(tickets, (n) => make(this.#mark(n)));
    if (this.#isOutOfReach) this.#shrink();
  }

  #shrink(): void {
    const outcome = { kind: ReplyKind.lost, code: 0, runUs: 0, body: '' };
    this.session.shrink(this.#member.options.retention.bytes, (n, lost) => {
      const replies = lost.map((ticket) => ({ ticket, ...outcome }));
      return repliesMessage(this.#mark(n), replies);
    });
  }

  get #sizes(): MessageSizes {
    return sizesFor(this.#member.options.connection.maxPayload);
  }

  #mark(n: number): ReplyMark {
    const { session, got } = this.session;
    return { session, n, got, load: this.#member.inFlight - this.#calls.size };
  }

  #publish(data: string | Uint8Array): boolean {
    return this.#member.options.connection.publish(this.#subject, data);
  }
}

/** One call that a gateway has sent, from its arrival to its reply. */
class ReceivedCall implements ReplySink, StreamHost, StreamSink {
  readonly ticket: number;
  readonly scope: RequestScope;
  /** The call that begins when this one has ended. */
  next: ReceivedCall | undefined;
  /** The code with which it is given back, or answered, instead of being run; 0: none that says why. */
  refusal: number | undefined;
  readonly #gateway: RemoteGateway;
  readonly #body: string | Uint8Array;
  readonly #memory: RequestBody | undefined;
  /** It was cancelled by who sent it: no other member is to run it. */
  #isCancelled = false;
  readonly #ending = { code: 0, runUs: neverRan };
  #flow: StreamFlow | undefined;
  /** What its stream was granted, all in all. */
  #values = 0;
  #characters = 0;

  constructor(call: WireCall, memory: RequestBody | undefined, gateway: RemoteGateway) {
    const { ticket, body, facts, timeoutMs, runMs, isRead } = call;
    this.ticket = ticket;
    this.#gateway = gateway;
    this.#memory = memory;
    this.#body = memory === undefined ? '' : bodyIn(memory, body);
    this.scope = new RequestScope({
      headers: facts?.headers,
      remoteAddress: facts?.ip,
      traceparent: facts?.tp,
      tracestate: facts?.ts,
      timeoutMs: timeoutMs === -1 ? undefined : timeoutMs,
    });
    this.scope.callTimeoutMs = runMs === -1 ? undefined : runMs;
    this.scope.ending = this.#ending;
    if (isRead) this.scope.streams = this;
    this.scope.body = memory?.lease;
  }

  /** Its gateway runs what follows it, when it has ended. */
  run(service: Service): void {
    service.handle(this.#body, this.scope, this);
  }

  giveBack(code: number): void {
    this.#memory?.release();
    // A body that is malformed here is malformed at every member.
    const kind = code === ErrorCode.ParseError ? ReplyKind.final : ReplyKind.notRun;
    this.#gateway.reply(this, kind, code, neverRan, '');
  }

  cancel(): void {
    this.#isCancelled = true;
    this.scope.cancel();
  }

  /** What its stream may give, all in all: a message may be lost, and then the next one says so again. */
  grant(values: number, characters: number): void {
    const [more, longer] = [values - this.#values, characters - this.#characters];
    if (more <= 0 && longer <= 0) return;
    this.#values = values;
    this.#characters = characters;
    this.#flow?.grant(more, longer);
  }

  /** Its gateway ends, and so does the stream. */
  drain(): void {
    this.#flow?.drain('shutdown');
  }

  onReply(reply: Reply): void {
    this.#memory?.release();
    const { code, runUs } = this.#ending;
    if (this.#flow !== undefined && code === 0) {
      this.#gateway.reply(this, ReplyKind.opened, 0, runUs, '');
      return;
    }
    const isRefused = runUs === neverRan && elsewhere.includes(code);
    const kind = isRefused && !this.#isCancelled ? ReplyKind.notRun : ReplyKind.final;
    this.#gateway.reply(this, kind, code, runUs, reply ?? '');
  }

  accept(): StreamSink {
    return this;
  }

  opened(flow: StreamFlow): Reply {
    this.#flow = flow;
    return undefined;
  }

  value(text: string): void {
    this.#gateway.reply(this, ReplyKind.value, 0, 0, text);
  }

  end({ ok, code, text }: Outcome): void {
    this.#gateway.reply(this, ok ? ReplyKind.ended : ReplyKind.failed, code, 0, text);
  }
}

/** A body is not what was announced. */
function refuseMalformed(body: RequestBody): BodyRefusal {
  body.release();
  return ErrorCode.ParseError;
}

/** A whole body: with the parts that came before it. */
function bodyIn(memory: RequestBody, body: string | Uint8Array): string | Uint8Array {
  if (typeof body === 'string') return body;
  addPart(memory, body);
  return memory.end();
}

/** @param part a view of what the socket has read: it is used again */
function addPart(memory: RequestBody, part: Uint8Array): void {
  memory.add(memory.lease === undefined ? new Uint8Array(part) : part);
}

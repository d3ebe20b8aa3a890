import { clockMs } from '../../../core/base/clock.ts';
import { remotePlace } from '../../../core/base/place.ts';
import {
  type Call,
  type CallEnding,
  cancelled,
  deadlineExceeded,
  limitExceeded,
  lostCall,
  neverRan,
  notTimed,
  type Refusal,
  textBetween,
  unparsed,
} from '../../../core/dispatch/call.ts';
import type { CallerShares } from '../../../core/dispatch/queue/fair-queue.ts';
import type {
  CallReceiver,
  QueuedCall,
  Sending,
} from '../../../core/dispatch/queue/queued-call.ts';
import type { ReplyMemory, WaitingReply } from '../../../core/dispatch/reply-memory.ts';
import type { RequestScope } from '../../../core/dispatch/scope.ts';
import type { StreamSink } from '../../../core/dispatch/streams/contract.ts';
import type { OpenStream, OpenStreams } from '../../../core/dispatch/streams/open-streams.ts';
import type { Procedure } from '../../../core/procedures/types.ts';
import type { ErrorCode, LossReason, RpcError } from '../../../core/protocol/errors.ts';
import { errorOutcome, textExceeds } from '../../../core/protocol/reply.ts';
import type { Heartbeat } from '../liveness.ts';
import { ReplyKind, type WireFacts, type WireReply } from '../wire.ts';
import { type ChannelOwner, type GatewayLink, MemberChannel } from './member-channel.ts';

/** A member answers its calls at their deadlines. The gateway does so itself so much later, milliseconds. */
const graceMs = 500;

export interface MemberOwner {
  readonly shares: CallerShares;
  readonly streams: OpenStreams;
  readonly counters: { lost: number };
  readonly ending: CallEnding;
  /** Large replies count there while their parts come. */
  readonly replyMemory: ReplyMemory;
  /** A member may take more than before. */
  onCapacity(): void;
  /** Calls have come back that have not run. */
  onUnstarted(items: readonly QueuedCall[]): void;
  /** A call was refused before it ran. Returns whether another member is to be asked. */
  mayGoElsewhere(item: QueuedCall, code: number, member: RemoteMember): boolean;
  onCompleted(): void;
}

interface RemoteStream {
  readonly ticket: number;
  /** The frame of its call. */
  readonly frame: number;
  readonly stream: OpenStream;
  /** What was granted, counted from its beginning. */
  values: number;
  characters: number;
  /** Why it was told to end; undefined: it was not. */
  drained: RpcError | undefined;
}

interface SentCall {
  readonly item: QueuedCall;
  /** The number of its frame; Infinity: it has not left. */
  frame: number;
  readonly sentAt: number;
}

/**
 * The gateway's side of one member: what is known of it, and the calls and streams that are with it. A stream has the ticket of the
 * call that opened it.
 */
export class RemoteMember implements ChannelOwner, CallReceiver {
  readonly id: string;
  readonly channel: MemberChannel;
  /** `up`: it is heard of; `silent`: it gets no new calls; `hung`: its calls were given up. */
  condition: 'up' | 'silent' | 'hung' = 'up';
  heartbeat: Heartbeat;
  /** When something came from it, by `clockMs`. */
  heardAt = clockMs();
  /** What it serves, and the contract that it is; undefined: not known yet. */
  procedures: ReadonlyMap<string, Procedure> | undefined;
  contract = '';
  /** Calls that it has of others, as it has told last. */
  othersLoad = 0;
  #lost = 0;
  readonly #owner: MemberOwner;
  /** By ticket. */
  readonly #sent = new Map<number, SentCall>();
  readonly #streams = new Map<number, RemoteStream>();
  /** Parts of large replies and values that have not come whole, by ticket: no longer than their calls and streams are here. */
  readonly #parts = new Map<number, ReplyParts>();
  /** Streams that were granted more since the member was told last. */
  readonly #granted = new Set<RemoteStream>();
  #tickets = 0;
  readonly #facts: FactsText;

  constructor(link: GatewayLink, heartbeat: Heartbeat, owner: MemberOwner) {
    this.id = heartbeat.id;
    this.heartbeat = heartbeat;
    this.#owner = owner;
    this.#facts = new FactsText(owner.shares);
    this.channel = new MemberChannel(link, this.id, this);
  }

  /** Calls of this gateway that are with it. */
  get inFlight(): number {
    return this.#sent.size;
  }

  get isBusy(): boolean {
    return this.#sent.size > 0 || this.#streams.size > 0;
  }

  get isTaking(): boolean {
    return this.condition === 'up' && this.heartbeat.state === 'ready' && this.channel.isOpen;
  }

  serves(name: string): boolean {
    return this.procedures?.has(name) === true;
  }

  /** What /metrics shows of it. `new`: what it serves is not known yet. */
  stats() {
    const { condition, heartbeat, procedures } = this;
    const known = procedures === undefined ? 'new' : heartbeat.state;
    return {
      id: this.id,
      version: heartbeat.version,
      state: condition === 'up' ? known : condition,
      procedures: procedures?.size ?? 0,
      inFlight: this.inFlight,
      streams: this.#streams.size,
      othersLoad: this.othersLoad,
      lost: this.#lost,
      started: heartbeat.started,
    };
  }

  /**
   * Puts a call into the next frame. The member serves the first call of a portion: those after it may be for members of another
   * version.
   */
  send(item: QueuedCall, follows: boolean): Sending {
    const { call } = item;
    const { procedure, scope } = call;
    if (follows && !this.serves(procedure.name)) return 'later';
    const now = clockMs();
    const isRead = call.sink !== undefined;
    // The gateway decides how long a stream goes on: longer than a call may take.
    const isEndless = isRead || !Number.isFinite(scope.expiresAt);
    const timeoutMs = isEndless ? -1 : Math.max(0, Math.ceil(scope.expiresAt - now));
    const runMs = procedure.timeoutMs ?? -1;
    const ticket = this.#tickets + 1;
    const head = { ticket, follows, isRead, timeoutMs, runMs, facts: this.#facts.of(call) };
    const body = requestOf(call);
    const sending = this.channel.sendingOf(head, body);
    if (sending === 'refused') {
      item.refuse(limitExceeded(this.channel.factsLimit), neverRan);
    } else if (sending !== 'later') {
      this.#tickets = ticket;
      item.ticket = ticket;
      this.#sent.set(ticket, { item, frame: Number.POSITIVE_INFINITY, sentAt: now });
      this.channel.add(head, body, sending);
    }
    return sending;
  }

  /** Sends the frame that `send` has filled. */
  flush(): void {
    this.#facts.forget();
    this.channel.flush();
  }

  cancel({ ticket }: QueuedCall): void {
    if (!this.#sent.has(ticket)) return;
    this.#takeParts(ticket);
    this.#tellCancelled(ticket);
  }

  /** Whether the call has begun is not known here: it is given up in any case. */
  withdraw(item: QueuedCall): boolean {
    this.cancel(item);
    this.#take(item.ticket);
    item.takeBack();
    return true;
  }

  /** Answers what is here with -32002: nobody will know what became of it. */
  lose(reason: LossReason): void {
    this.#lose(reason, Number.POSITIVE_INFINITY);
    this.channel.abandon();
  }

  /** Ends calls whose member has not answered them at their deadlines. */
  expire(now: number): void {
    const late: number[] = [];
    for (const [ticket, { item }] of this.#sent) {
      if (now > item.call.scope.expiresAt + graceMs) late.push(ticket);
    }
    if (late.length === 0) return;
    // Before the answers: these free the memory that large bodies are sent from.
    this.channel.cancel(late);
    for (const { item, sentAt } of this.#takeAll(late)) {
      item.refuse(deadlineExceeded(item.call.scope.timeoutMs), (now - sentAt) * 1000);
    }
    this.channel.flush();
    this.#owner.onCapacity();
  }

  granted(all: boolean): readonly number[] {
    const numbers: number[] = [];
    for (const { ticket, values, characters } of all ? this.#streams.values() : this.#granted) {
      if (values > 0) numbers.push(ticket, values, characters);
    }
    this.#granted.clear();
    return numbers;
  }

  get drained(): readonly number[] {
    const tickets: number[] = [];
    for (const { ticket, drained } of this.#streams.values()) {
      if (drained !== undefined) tickets.push(ticket);
    }
    return tickets;
  }

  onSent(tickets: readonly number[], frame: number): void {
    for (const ticket of tickets) {
      const sent = this.#sent.get(ticket);
      if (sent !== undefined) sent.frame = frame;
    }
  }

  onUndelivered(tickets: readonly number[]): void {
    this.#giveBack(this.#takeAll(tickets));
  }

  onForgotten(before: number): void {
    this.#lose('connection', before - 1);
  }

  onOpen(): void {
    this.#owner.onCapacity();
  }

  onPart(ticket: number, bytes: Uint8Array): void {
    const call = this.#sent.get(ticket)?.item.call ?? this.#streams.get(ticket)?.stream.call;
    if (call === undefined || call.scope.cancelled) return;
    let parts = this.#parts.get(ticket);
    if (parts === undefined) {
      parts = new ReplyParts(this.#owner.replyMemory, call.scope, () => {
        this.#lost++;
        this.#owner.counters.lost++;
        this.#giveUp(ticket, lostCall(call, 'connection'));
      });
      this.#parts.set(ticket, parts);
    }
    const { maxReplyBytes } = this.#owner.ending;
    if (parts.bytes + bytes.byteLength <= maxReplyBytes) parts.add(bytes);
    else this.#giveUp(ticket, limitExceeded(maxReplyBytes));
  }

  onReplies(replies: readonly WireReply[], load: number): void {
    this.othersLoad = load;
    const unstarted: SentCall[] = [];
    for (const last of replies) {
      const reply = this.#wholeOf(last);
      const sent = this.#sent.get(reply.ticket);
      if (sent === undefined) this.#onStreamItem(reply);
      else this.#onReply(sent, reply, unstarted);
    }
    this.#giveBack(unstarted);
    this.#owner.onCapacity();
  }

  /** @param unstarted gets the calls that have not run and may run on another member */
  #onReply(sent: SentCall, reply: WireReply, unstarted: SentCall[]): void {
    const { ticket, kind, code, body } = reply;
    const { item, sentAt } = sent;
    this.#take(ticket);
    // A member times only some of its inline calls. If each time is wanted here, the call took no longer than it was away.
    const isWanted = reply.runUs === notTimed && item.ending.timing === 'all';
    const runUs = isWanted ? (clockMs() - sentAt) * 1000 : reply.runUs;
    if (kind === ReplyKind.opened && item.call.sink !== undefined) {
      this.#owner.onCompleted();
      this.#openStream(sent, item.call.sink, runUs);
    } else if (kind === ReplyKind.lost) {
      this.#refuseLost(sent, 'connection', clockMs());
    } else if (kind === ReplyKind.notRun && this.#owner.mayGoElsewhere(item, code, this)) {
      // What follows a call that has not run has not run either.
      unstarted.push(sent, ...this.#takeAll(ticketsAfter(item)));
    } else {
      this.#owner.onCompleted();
      if (runUs >= 0) item.cost.record(runUs);
      answer(item, code, runUs, body);
    }
  }

  /** The handler of a call has given an iterator: the call is answered with what its reader says. */
  #openStream({ item, frame }: SentCall, sink: StreamSink, runUs: number): void {
    // A stream may stay open for days: the memory of its params is freed now.
    item.forgetParams();
    const { call, ticket } = item;
    const { streams } = this.#owner;
    const isLeft = item.isAnswered || call.scope.cancelled;
    const refusal = isLeft ? cancelled : streams.refusalOf(call.scope);
    if (refusal !== undefined) {
      this.#tellCancelled(ticket);
      item.refuse(refusal, runUs);
      return;
    }
    const stream = streams.add(call, sink, remotePlace);
    const remote: RemoteStream = {
      ticket,
      frame,
      stream,
      values: 0,
      characters: 0,
      drained: undefined,
    };
    stream.producer = {
      grant: (values, characters) => {
        remote.values += values;
        remote.characters += characters;
        this.#granted.add(remote);
        this.channel.sendAckSoon();
      },
      cancel: () => {
        if (this.#remove(remote)) this.#tellCancelled(ticket);
      },
      // Its member ends it at its next yield, as a stream of its own.
      drain: (reason) => {
        remote.drained = reason;
        this.channel.sendAckSoon();
      },
    };
    this.#streams.set(ticket, remote);
    item.answer(sink.opened(stream), 0, runUs);
  }

  /** Takes a value or an end of a stream. A stream that is not here was cancelled: the member is told so again. */
  #onStreamItem({ ticket, kind, code, body }: WireReply): void {
    const remote = this.#streams.get(ticket);
    if (remote === undefined) {
      if (kind === ReplyKind.value) this.#tellCancelled(ticket);
      return;
    }
    const { stream, drained } = remote;
    const text = typeof body === 'string' ? body : Buffer.from(body).toString();
    if (kind === ReplyKind.value) {
      stream.value(text);
      return;
    }
    if (kind === ReplyKind.final || kind === ReplyKind.notRun) return;
    this.#remove(remote);
    if (kind === ReplyKind.lost) stream.lose('connection');
    // A stream that was told to end may end in any way: the reader hears why it was told to.
    else if (drained !== undefined) {
      stream.end(errorOutcome(drained.code as ErrorCode, drained.data));
    } else stream.end({ ok: kind === ReplyKind.ended, code, text });
  }

  #wholeOf(reply: WireReply): WireReply {
    const parts = this.#takeParts(reply.ticket);
    const { body } = reply;
    if (typeof body === 'string') return reply;
    return { ...reply, body: new Uint8Array(Buffer.concat([...parts, body])) };
  }

  #takeParts(ticket: number): readonly Uint8Array[] {
    const parts = this.#parts.get(ticket);
    if (parts === undefined) return [];
    this.#parts.delete(ticket);
    return parts.take();
  }

  /** Ends the call or the stream whose large reply must not come any further. */
  #giveUp(ticket: number, refusal: Refusal): void {
    const sent = this.#take(ticket);
    sent?.item.refuse(refusal, (clockMs() - sent.sentAt) * 1000);
    const remote = this.#streams.get(ticket);
    if (remote !== undefined) {
      this.#remove(remote);
      remote.stream.end(errorOutcome(refusal.code, refusal.data));
    }
    this.#tellCancelled(ticket);
    this.#owner.onCapacity();
  }

  #remove(stream: RemoteStream): boolean {
    this.#takeParts(stream.ticket);
    this.#granted.delete(stream);
    return this.#streams.delete(stream.ticket);
  }

  #tellCancelled(ticket: number): void {
    this.channel.cancel([ticket]);
    this.channel.sendAckSoon();
  }

  #takeAll(tickets: readonly number[]): SentCall[] {
    return tickets.flatMap((ticket) => this.#take(ticket) ?? []);
  }

  #take(ticket: number): SentCall | undefined {
    const sent = this.#sent.get(ticket);
    this.#sent.delete(ticket);
    this.#takeParts(ticket);
    return sent;
  }

  #giveBack(calls: readonly SentCall[]): void {
    const now = clockMs();
    const items: QueuedCall[] = [];
    for (const { item, sentAt } of calls) {
      if (item.isAnswered) continue;
      // It waited for a member until it left, and does so again.
      item.waitingSince += now - sentAt;
      item.takeBack();
      items.push(item);
    }
    if (items.length > 0) this.#owner.onUnstarted(items);
  }

  /** @param last the last frame whose calls and streams are lost; Infinity: all are, those that have not left too */
  #lose(reason: LossReason, last: number): void {
    const now = clockMs();
    for (const [ticket, sent] of this.#sent) {
      if (sent.frame > last) continue;
      this.#take(ticket);
      this.#refuseLost(sent, reason, now);
    }
    for (const remote of this.#streams.values()) {
      if (remote.frame > last) continue;
      this.#remove(remote);
      remote.stream.lose(reason);
    }
  }

  #refuseLost({ item, sentAt }: SentCall, reason: LossReason, now: number): void {
    this.#lost++;
    this.#owner.counters.lost++;
    item.refuse(lostCall(item.call, reason), (now - sentAt) * 1000);
  }
}

/** The parts of a large reply, or of a value of a stream, that have come so far. */
class ReplyParts implements WaitingReply {
  readonly scope: RequestScope;
  readonly cut: () => void;
  readonly #memory: ReplyMemory;
  readonly #since = clockMs();
  readonly #parts: Uint8Array[] = [];
  bytes = 0;

  constructor(memory: ReplyMemory, scope: RequestScope, cut: () => void) {
    this.#memory = memory;
    this.scope = scope;
    this.cut = cut;
  }

  get pace(): number {
    return this.bytes / Math.max(1, clockMs() - this.#since);
  }

  /** Takes a copy of a part. */
  add(part: Uint8Array): void {
    this.#memory.delete(this);
    this.#parts.push(new Uint8Array(part));
    this.bytes += part.byteLength;
    this.#memory.add(this);
  }

  /** Counts no longer. */
  take(): readonly Uint8Array[] {
    this.#memory.delete(this);
    return this.#parts;
  }
}

/**
 * @param code of the error; 0: a result
 * @param body the reply; empty: there is none to pass on
 */
function answer(item: QueuedCall, code: number, runUs: number, body: string | Uint8Array): void {
  const limit = item.ending.maxReplyBytes;
  const isEmpty = body.length === 0;
  if (typeof body === 'string' ? textExceeds(body, limit) : body.byteLength > limit) {
    item.refuse(limitExceeded(limit), runUs);
  } else if (isEmpty && item.call.id !== undefined) {
    item.refuse({ code: code as ErrorCode }, runUs);
  } else item.answer(isEmpty ? undefined : body, code, runUs);
}

/** The tickets of the calls after one in its batch that were sent with it. */
function ticketsAfter(item: QueuedCall): number[] {
  const tickets: number[] = [];
  let after = item.next;
  while (after?.state === 'sent') {
    tickets.push(after.ticket);
    after = after.next;
  }
  return tickets;
}

/** A call as a whole JSON-RPC request. If nobody has read the params yet, it is the request as it came: the member reads all of it. */
function requestOf({ procedure, id, params, source, start, end }: Call): string | Uint8Array {
  if (params === unparsed && source !== undefined && start > 0) return source;
  const head = `{"jsonrpc":"2.0","method":${JSON.stringify(procedure.name)}`;
  const tail = id === undefined ? '}' : `,"id":${id}}`;
  if (params === undefined) return head + tail;
  const text = source === undefined ? JSON.stringify(params) : textBetween(source, start, end);
  return `${head},"params":${text}${tail}`;
}

/** What is known of requests, as the JSON text in which it crosses: calls of one request share one text. */
class FactsText {
  readonly #shares: CallerShares;
  #scope: RequestScope | undefined;
  #facts = '';
  /** The text for requests of which only these two are known: neighbours often have the same. */
  #ip: string | undefined;
  #key: string | undefined;
  #plain = '{}';

  constructor(shares: CallerShares) {
    this.#shares = shares;
  }

  of({ scope, trace }: Call): string {
    if (trace !== undefined) return this.#make(scope, trace.traceparent, trace.tracestate);
    if (this.#scope !== scope) {
      this.#facts = this.#make(scope, scope.traceparent, scope.tracestate);
      this.#scope = scope;
    }
    return this.#facts;
  }

  forget(): void {
    this.#scope = undefined;
    this.#facts = '';
  }

  #make(scope: RequestScope, tp: string | undefined, ts: string | undefined): string {
    const headers = scope.headersText === undefined ? undefined : scope.headers;
    const key = this.#shares.keyOf(scope);
    const { authText: auth, remoteAddress: ip } = scope;
    if (auth ?? headers ?? tp ?? ts) {
      return JSON.stringify({ auth, headers, ip, tp, ts, key } satisfies WireFacts);
    }
    if (ip !== this.#ip || key !== this.#key) {
      this.#ip = ip;
      this.#key = key;
      this.#plain = JSON.stringify({ ip, key } satisfies WireFacts);
    }
    return this.#plain;
  }
}

import { clockMs } from '../../../core/base/clock.ts';
import {
  type Call,
  deadlineExceeded,
  limitExceeded,
  lostCall,
  neverRan,
  notTimed,
  type Refusal,
  textBetween,
  unparsed,
} from '../../../core/dispatch/call.ts';
import {
  type CallGroup,
  fitsBehind,
  type QueuedCall,
} from '../../../core/dispatch/queue/call-group.ts';
import type { RequestScope } from '../../../core/dispatch/scope.ts';
import type { OpenStreams } from '../../../core/dispatch/streams/open-streams.ts';
import type { Procedure } from '../../../core/procedures/types.ts';
import type { ErrorCode, LossReason } from '../../../core/protocol/errors.ts';
import { textExceeds } from '../../../core/protocol/reply.ts';
import type { Heartbeat } from '../liveness.ts';
import type { SessionStart } from '../session/gateway-session.ts';
import { ReplyKind, type WireFacts, type WireReply } from '../wire.ts';
import {
  type ChannelOwner,
  type Framing,
  type GatewayLink,
  MemberChannel,
} from './member-channel.ts';
import { MemberStreams } from './member-streams.ts';

/** A member answers its calls at their deadlines. The gateway does so itself so much later, milliseconds. */
const graceMs = 500;

/** The executor whose calls go to members. */
export interface MemberOwner {
  readonly keyOf: (scope: RequestScope) => string;
  /** The streams that calls have opened. */
  readonly streams: OpenStreams;
  readonly counters: { lost: number };
  /** A member may take more than before. */
  onCapacity(): void;
  /** Calls have not run: `next` of each group is the first of them. */
  onUnstarted(groups: readonly CallGroup[]): void;
  /** A call was refused before it ran. Returns whether another member is to be asked. */
  mayGoElsewhere(item: QueuedCall, code: number, member: RemoteMember): boolean;
  onCompleted(): void;
}

/** A call that is with the member. */
interface SentCall {
  readonly item: QueuedCall;
  /** Its frame; 0: it has not left. */
  n: number;
  readonly sentAt: number;
}

/** The gateway's side of one member: what is known of it, and the calls and streams that are with it. */
export class RemoteMember implements ChannelOwner {
  readonly id: string;
  readonly channel: MemberChannel;
  readonly streams: MemberStreams;
  /** `up`: it is heard of; `silent`: it gets no new calls; `hung`: its calls were given up. */
  condition: 'up' | 'silent' | 'hung' = 'up';
  heartbeat: Heartbeat;
  /** When something came from it, by `clockMs`. */
  heardAt = clockMs();
  /** What it serves, and the fingerprint of that; undefined: not known yet. */
  procedures: ReadonlyMap<string, Procedure> | undefined;
  contract = '';
  /** Calls that it has of others, as it has told last. */
  othersLoad = 0;
  #lost = 0;
  readonly #owner: MemberOwner;
  /** By ticket. */
  readonly #sent = new Map<number, SentCall>();
  #tickets = 0;
  readonly #facts: FactsText;

  /** @param start of the session; undefined: there was none with this member before */
  constructor(
    link: GatewayLink,
    heartbeat: Heartbeat,
    start: SessionStart | undefined,
    owner: MemberOwner,
  ) {
    this.id = heartbeat.id;
    this.heartbeat = heartbeat;
    this.#owner = owner;
    this.#facts = new FactsText(owner.keyOf);
    this.channel = new MemberChannel(link, this.id, start, this);
    this.streams = new MemberStreams(owner.streams, this.channel);
  }

  /** Calls of this gateway that are with it. */
  get inFlight(): number {
    return this.#sent.size;
  }

  get isBusy(): boolean {
    return this.#sent.size > 0 || this.streams.open > 0;
  }

  /** Whether it may get calls. */
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
      streams: this.streams.open,
      othersLoad: this.othersLoad,
      lost: this.#lost,
      started: heartbeat.started,
    };
  }

  /**
   * Puts the calls that a group sends next into the next frame. The rest of the group is held until those have ended. The member
   * serves the first of these calls: the others may be for members of another version.
   */
  add(group: CallGroup): void {
    const now = clockMs();
    let follows = false;
    let isCut = false;
    let sumUs = 0;
    group.state = 'sent';
    for (; group.next < group.calls.length; group.next++) {
      const item = group.calls[group.next] as QueuedCall;
      if (item.isAnswered) continue;
      const isHeld: boolean = isCut || (follows && !this.#mayFollow(item, sumUs));
      const framing: Framing = isHeld ? 'later' : this.#send(item, follows, now);
      if (framing === 'later') {
        group.state = 'held';
        break;
      }
      if (framing === 'never') continue;
      follows = true;
      sumUs += item.expectedUs;
      isCut = framing === 'alone';
    }
    group.sentUntil = Math.max(group.sentUntil, group.next);
  }

  /** Sends the frame that `add` has filled. */
  flush(): void {
    this.#facts.forget();
    this.channel.flush();
  }

  /** The caller of a group has gone: its calls end when the member says so. */
  cancel(group: CallGroup): void {
    const tickets = this.#ticketsOf(group);
    if (tickets.length === 0) return;
    this.channel.cancel(tickets);
    this.channel.flush();
  }

  /** Answers the calls of a group that are here: no more of it may run. */
  stop(group: CallGroup, refusal: Refusal): void {
    this.cancel(group);
    for (const { item } of this.#takeAll(this.#ticketsOf(group))) item.refuse(refusal, neverRan);
  }

  /** Answers what is here with -32002: nobody will know what became of it. */
  lose(reason: LossReason): void {
    this.#lose(reason, () => true);
    this.streams.lose(reason);
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

  awaits(ticket: number): boolean {
    return this.#sent.has(ticket) || this.streams.has(ticket);
  }

  onSent(tickets: readonly number[], n: number): void {
    for (const ticket of tickets) {
      const sent = this.#sent.get(ticket);
      if (sent !== undefined) sent.n = n;
    }
  }

  onUndelivered(tickets: readonly number[]): void {
    this.#giveBack(this.#takeAll(tickets));
  }

  onForgotten(before: number): void {
    this.#lose('connection', ({ n }) => n > 0 && n < before);
    this.streams.lose('connection', before);
  }

  onOpen(): void {
    this.#owner.onCapacity();
  }

  onReplies(replies: readonly WireReply[], load: number): void {
    this.othersLoad = load;
    const unstarted: SentCall[] = [];
    for (const reply of replies) this.#onReply(reply, unstarted);
    this.#giveBack(unstarted);
    this.#owner.onCapacity();
  }

  #onReply(reply: WireReply, unstarted: SentCall[]): void {
    const { ticket, kind, code, body } = reply;
    const sent = this.#sent.get(ticket);
    if (sent === undefined) {
      // Of a call that has its answer: one that streams, or one that was given up.
      if (kind !== ReplyKind.final && kind !== ReplyKind.notRun) this.streams.take(reply);
      return;
    }
    this.#sent.delete(ticket);
    const { item } = sent;
    const { sink } = item.call;
    // A member times some of its inline calls only. Here, where each is wanted, it took no longer than it was away.
    const isWanted = reply.runUs === notTimed && item.group.ending.timing === 'all';
    const runUs = isWanted ? (clockMs() - sent.sentAt) * 1000 : reply.runUs;
    if (kind === ReplyKind.opened && sink !== undefined) {
      this.#owner.onCompleted();
      this.streams.enter(item, sink, sent.n, runUs);
    } else if (kind === ReplyKind.lost) {
      this.#refuseLost(sent, 'connection', clockMs());
    } else if (kind === ReplyKind.notRun && this.#owner.mayGoElsewhere(item, code, this)) {
      unstarted.push(sent);
      // What follows a call that has not run has not run either.
      unstarted.push(...this.#takeAll(this.#ticketsOf(item.group, item.index)));
    } else {
      this.#owner.onCompleted();
      if (runUs >= 0) item.cost.record(runUs);
      answer(item, code, runUs, body);
    }
  }

  #mayFollow(item: QueuedCall, sumUs: number): boolean {
    return fitsBehind(item, sumUs) && this.serves(item.call.procedure.name);
  }

  /** Sends a call, where it may go now; refuses it where it may never. */
  #send(item: QueuedCall, follows: boolean, now: number): Framing {
    const { call } = item;
    const { expiresAt } = call.scope;
    const isRead = call.sink !== undefined;
    // A stream may go on for longer than a call may take. How long it does is for the gateway to say.
    const isEndless = isRead || !Number.isFinite(expiresAt);
    const timeoutMs = isEndless ? -1 : Math.max(0, Math.ceil(expiresAt - now));
    const runMs = call.procedure.timeoutMs ?? -1;
    const ticket = this.#tickets + 1;
    const head = { ticket, follows, isRead, timeoutMs, runMs, facts: this.#facts.of(call) };
    const body = requestOf(call);
    const framing = this.channel.framingOf(head, body);
    if (framing === 'never') {
      item.refuse(limitExceeded(this.channel.factsLimit), neverRan);
    } else if (framing !== 'later') {
      this.#tickets = ticket;
      item.ticket = ticket;
      this.#sent.set(ticket, { item, n: 0, sentAt: now });
      this.channel.add(head, body, framing);
    }
    return framing;
  }

  /** The calls of a group that are here, from the one at `index` on. */
  #ticketsOf(group: CallGroup, index = 0): number[] {
    const tickets: number[] = [];
    for (const item of group.calls.slice(index)) {
      if (this.#sent.get(item.ticket)?.item === item) tickets.push(item.ticket);
    }
    return tickets;
  }

  /** Takes out those of the tickets that are still here. */
  #takeAll(tickets: readonly number[]): SentCall[] {
    return tickets.flatMap((ticket) => {
      const sent = this.#sent.get(ticket);
      this.#sent.delete(ticket);
      return sent ?? [];
    });
  }

  /** Gives back calls that have not run: each group stands at the first of them. */
  #giveBack(calls: readonly SentCall[]): void {
    const now = clockMs();
    const groups = new Set<CallGroup>();
    for (const { item, sentAt } of calls) {
      const { group, index, isAnswered } = item;
      if (isAnswered) continue;
      // It waited for a member until it left, and does so again.
      if (!groups.has(group)) group.waitingSince += now - sentAt;
      group.next = Math.min(group.next, index);
      group.state = 'held';
      groups.add(group);
    }
    if (groups.size > 0) this.#owner.onUnstarted([...groups]);
  }

  #lose(reason: LossReason, isMeant: (sent: SentCall) => boolean): void {
    const now = clockMs();
    for (const [ticket, sent] of this.#sent) {
      if (!isMeant(sent)) continue;
      this.#sent.delete(ticket);
      this.#refuseLost(sent, reason, now);
    }
  }

  #refuseLost({ item, sentAt }: SentCall, reason: LossReason, now: number): void {
    this.#lost++;
    this.#owner.counters.lost++;
    item.refuse(lostCall(item.call, reason), (now - sentAt) * 1000);
  }
}

/**
 * Answers a call with what its member has made of it.
 *
 * @param code of its error; 0: a result
 * @param body the reply; nothing: there is none to pass on
 */
function answer(item: QueuedCall, code: number, runUs: number, body: string | Uint8Array): void {
  const limit = item.group.ending.maxReplyBytes;
  const isEmpty = body.length === 0;
  if (typeof body === 'string' ? textExceeds(body, limit) : body.byteLength > limit) {
    item.refuse(limitExceeded(limit), runUs);
  } else if (isEmpty && item.call.id !== undefined) {
    item.refuse({ code: code as ErrorCode }, runUs);
  } else item.answer(isEmpty ? undefined : body, code, runUs);
}

/**
 * A call as a whole JSON-RPC request. Where nobody has looked at the params yet it is the request as it came, and the member
 * decides on all of it.
 */
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
  readonly #keyOf: (scope: RequestScope) => string;
  #scope: RequestScope | undefined;
  #facts = '';
  /** The text for requests of which no more is known than these two: neighbours often have the same. */
  #ip: string | undefined;
  #key: string | undefined;
  #plain = '{}';

  constructor(keyOf: (scope: RequestScope) => string) {
    this.#keyOf = keyOf;
  }

  of({ scope, trace }: Call): string {
    if (trace !== undefined) return this.#make(scope, trace.traceparent, trace.tracestate);
    if (this.#scope !== scope) {
      this.#facts = this.#make(scope, scope.traceparent, scope.tracestate);
      this.#scope = scope;
    }
    return this.#facts;
  }

  /** Lets go of the request that was asked for last. */
  forget(): void {
    this.#scope = undefined;
    this.#facts = '';
  }

  #make(scope: RequestScope, tp: string | undefined, ts: string | undefined): string {
    const headers = scope.headersText === undefined ? undefined : scope.headers;
    const key = this.#keyOf(scope);
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

import { clockMs } from '../../base/clock.ts';
import { limitExceeded, lostCall, type Refusal } from '../../dispatch/limit.ts';
import { neverRan, notTimed } from '../../dispatch/observer.ts';
import { type CallTrain, fitsBehind, type QueuedCall } from '../../dispatch/queue/call-train.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import type { OpenStreams } from '../../dispatch/streams/open-streams.ts';
import type { LossReason } from '../../jsonrpc/errors.ts';
import type { Procedure } from '../../router/types.ts';
import type { NatsConnection } from '../connection/connection.ts';
import type { Heartbeat } from '../heartbeat.ts';
import type { SessionStart } from '../session/gateway-session.ts';
import type { Subjects } from '../subjects.ts';
import { ReplyKind, type WireReply } from '../wire/to-gateway.ts';
import { answerWith } from './answer.ts';
import { FactsOf, requestOf } from './call-text.ts';
import type { ChannelOwner } from './channel-owner.ts';
import type { Framing } from './framing.ts';
import { MemberChannel } from './member-channel.ts';
import type { MemberCondition, MemberStats } from './member-stats.ts';
import { RemoteStreams } from './remote-streams.ts';
import { type SentCall, SentCalls } from './sent-calls.ts';

/** Whom a member tells of its calls. */
export interface RemoteOwner {
  readonly keyOf: (scope: RequestScope) => string;
  /** The streams that calls have opened. */
  readonly streams: OpenStreams;
  /** It may take more than before. */
  onCapacity(): void;
  /** Calls have not run: they stand in their trains at the first of them. */
  onUnstarted(trains: readonly CallTrain[], member: RemoteMember): void;
  /** A call was refused before it ran. Returns whether another member is to be asked. */
  mayGoElsewhere(item: QueuedCall, code: number, member: RemoteMember): boolean;
  onCompleted(): void;
  onLost(calls: number): void;
}

/** The gateway's side of one member: what it serves, how it is, what is with it. */
export class RemoteMember implements ChannelOwner {
  readonly id: string;
  readonly channel: MemberChannel;
  condition: MemberCondition = 'up';
  heartbeat: Heartbeat;
  /** When something came from it, by `clockMs`. */
  heardAt = clockMs();
  /** What it serves; undefined: not known yet. */
  procedures: ReadonlyMap<string, Procedure> | undefined;
  /** Calls that it has of others, as it has told last. */
  othersLoad = 0;
  #lost = 0;
  readonly #owner: RemoteOwner;
  readonly #sent = new SentCalls();
  readonly streams: RemoteStreams;
  readonly #facts: FactsOf;

  constructor(
    connection: NatsConnection,
    subjects: Subjects,
    gateway: string,
    heartbeat: Heartbeat,
    start: SessionStart | undefined,
    owner: RemoteOwner,
  ) {
    this.id = heartbeat.id;
    this.heartbeat = heartbeat;
    this.#owner = owner;
    this.#facts = new FactsOf(owner.keyOf);
    this.streams = new RemoteStreams(owner.streams, () => this.channel);
    this.channel = new MemberChannel(connection, subjects, gateway, this.id, start, this);
  }

  /** Calls of this gateway that are with it. */
  get inFlight(): number {
    return this.#sent.size;
  }

  get isBusy(): boolean {
    return this.#sent.size > 0 || this.streams.size > 0;
  }

  stats(): MemberStats {
    const { condition, heartbeat, procedures } = this;
    const known = procedures === undefined ? 'new' : heartbeat.state;
    return {
      id: this.id,
      version: heartbeat.version,
      state: condition === 'up' ? known : condition,
      procedures: procedures?.size ?? 0,
      inFlight: this.inFlight,
      streams: this.streams.size,
      othersLoad: this.othersLoad,
      lost: this.#lost,
      started: heartbeat.started,
    };
  }

  /** See {@link ChannelOwner}. */
  granted(all: boolean): readonly number[] {
    return this.streams.granted(all);
  }

  /** See {@link ChannelOwner}. */
  awaits(ticket: number): boolean {
    return this.#sent.has(ticket) || this.streams.has(ticket);
  }

  /** See {@link ChannelOwner}. */
  get drained(): readonly number[] {
    return this.streams.drained;
  }

  /** Whether it may get calls. */
  get isTaking(): boolean {
    return this.condition === 'up' && this.heartbeat.state === 'ready' && this.channel.isOpen;
  }

  serves(name: string): boolean {
    return this.procedures?.has(name) === true;
  }

  /**
   * Puts what a train sends next into the next frame; the rest is held until that has ended. It serves the first of these calls: the
   * others may be for members of another version.
   */
  add(train: CallTrain): void {
    const now = clockMs();
    let follows = false;
    let sumUs = 0;
    train.state = 'sent';
    let isCut = false;
    for (; train.next < train.calls.length; train.next++) {
      const item = train.calls[train.next] as QueuedCall;
      if (item.isAnswered) continue;
      const isHeld: boolean = isCut || (follows && !this.#mayFollow(item, sumUs));
      const framing: Framing = isHeld ? 'later' : this.#take(item, follows, now);
      if (framing === 'later') {
        train.state = 'held';
        break;
      }
      if (framing === 'never') continue;
      follows = true;
      sumUs += item.expectedUs;
      isCut = framing === 'alone';
    }
    train.sentUntil = Math.max(train.sentUntil, train.next);
  }

  flush(): void {
    this.#facts.forget();
    this.channel.flush();
  }

  /** The caller of a train has gone. */
  cancel(train: CallTrain): void {
    const tickets = this.#sent.ticketsOf(train);
    if (tickets.length === 0) return;
    this.channel.cancel(tickets);
    this.channel.flush();
  }

  /** Answers the calls of a train that are here, and those that are not: no more of it may run. */
  stop(train: CallTrain, refusal: Refusal): void {
    this.cancel(train);
    this.#sent.refuse(train, refusal);
  }

  /** Answers what is here with -32002: nobody will know what became of it. */
  lose(reason: LossReason): void {
    this.#lose(reason, () => true);
    this.streams.lose(reason);
    this.channel.abandon();
  }

  /** Ends calls whose member has not answered them at their deadlines. */
  expire(now: number): void {
    const late = this.#sent.late(now);
    if (late.length === 0) return;
    this.channel.cancel(late);
    for (const ticket of late) this.#sent.expire(ticket, now);
    this.channel.flush();
    this.#owner.onCapacity();
  }

  /** See {@link ChannelOwner}. */
  onSent(tickets: readonly number[], n: number): void {
    this.#sent.note(tickets, n);
  }

  /** See {@link ChannelOwner}. */
  onUndelivered(tickets: readonly number[]): void {
    this.#giveBack(this.#sent.takeAll(tickets));
  }

  /** See {@link ChannelOwner}. */
  onForgotten(before: number): void {
    this.#lose('connection', ({ n }) => n > 0 && n < before);
    this.streams.lose('connection', before);
  }

  /** See {@link ChannelOwner}. */
  onOpen(): void {
    this.#owner.onCapacity();
  }

  /** See {@link ChannelOwner}. */
  onReplies(replies: readonly WireReply[], load: number): void {
    this.othersLoad = load;
    const unstarted: SentCall[] = [];
    for (const reply of replies) this.#onReply(reply, unstarted);
    this.#giveBack(unstarted);
    this.#owner.onCapacity();
  }

  #onReply(reply: WireReply, unstarted: SentCall[]): void {
    const { ticket, kind, code, body } = reply;
    const sent = this.#sent.take(ticket);
    if (sent === undefined) {
      // Of a call that has its answer: one that streams, or one that was given up.
      if (kind !== ReplyKind.final && kind !== ReplyKind.notRun) this.streams.take(reply);
      return;
    }
    const { item } = sent;
    const { sink } = item.call;
    // A member times some of its inline calls only. Here, where each is wanted, it took no longer than it was away.
    const isWanted = reply.runUs === notTimed && item.train.ending.timing === 'all';
    const runUs = isWanted ? (clockMs() - sent.sentAt) * 1000 : reply.runUs;
    if (kind === ReplyKind.opened && sink !== undefined) {
      this.#owner.onCompleted();
      this.streams.enter(item, sink, sent.n, runUs);
      return;
    }
    if (kind === ReplyKind.lost) {
      this.#noteLost(1);
      item.refuse(lostCall(item.call, 'connection'), (clockMs() - sent.sentAt) * 1000);
    } else if (kind === ReplyKind.notRun && this.#owner.mayGoElsewhere(item, code, this)) {
      unstarted.push(sent);
      // What follows a call that has not run has not run either.
      const following = this.#sent.ticketsOf(item.train, item.index);
      unstarted.push(...this.#sent.takeAll(following));
    } else {
      this.#owner.onCompleted();
      if (runUs >= 0) item.cost.record(runUs);
      answerWith(item, code, runUs, body);
    }
  }

  #mayFollow(item: QueuedCall, sumUs: number): boolean {
    return fitsBehind(item, sumUs) && this.serves(item.call.procedure.name);
  }

  /** Sends a call, where it may go now; refuses it where it may never. */
  #take(item: QueuedCall, follows: boolean, now: number): Framing {
    const { call } = item;
    const { expiresAt } = call.scope;
    const isRead = call.sink !== undefined;
    // A stream may go on for longer than a call may take. How long it does is for the gateway to say.
    const isEndless = isRead || !Number.isFinite(expiresAt);
    const timeoutMs = isEndless ? -1 : Math.max(0, Math.ceil(expiresAt - now));
    const runMs = call.procedure.timeoutMs ?? -1;
    const ticket = this.#sent.nextTicket;
    const head = { ticket, follows, isRead, timeoutMs, runMs, facts: this.#facts.of(call) };
    const body = requestOf(call);
    const framing = this.channel.framingOf(head, body);
    if (framing === 'never') {
      item.refuse(limitExceeded(this.channel.factsLimit), neverRan);
    } else if (framing !== 'later') {
      this.#sent.add(item, now);
      this.channel.add(head, body, framing);
    }
    return framing;
  }

  #giveBack(calls: readonly SentCall[]): void {
    const now = clockMs();
    const trains = new Set<CallTrain>();
    for (const { item, sentAt } of calls) {
      const { train, index, isAnswered } = item;
      if (isAnswered) continue;
      // It waited for a member until it left, and does so again.
      if (!trains.has(train)) train.waitingSince += now - sentAt;
      train.next = Math.min(train.next, index);
      train.state = 'held';
      trains.add(train);
    }
    if (trains.size > 0) this.#owner.onUnstarted([...trains], this);
  }

  #lose(reason: LossReason, isMeant: (sent: SentCall) => boolean): void {
    const calls = this.#sent.lose(reason, clockMs(), isMeant);
    if (calls > 0) this.#noteLost(calls);
  }

  #noteLost(calls: number): void {
    this.#lost += calls;
    this.#owner.onLost(calls);
  }
}

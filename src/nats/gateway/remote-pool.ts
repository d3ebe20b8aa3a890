import { clockMs } from '../../base/clock.ts';
import { type Place, remotePlace } from '../../base/place.ts';
import { Vacancy } from '../../base/vacancy.ts';
import { type Call, paramsLength } from '../../dispatch/call.ts';
import { CallEnding } from '../../dispatch/call-ending.ts';
import type { Executor, ExecutorFigures } from '../../dispatch/executor.ts';
import { type Refusal, refusalBeforeStart } from '../../dispatch/limit.ts';
import type { CallObserver } from '../../dispatch/observer.ts';
import { CallGroup, GroupCall, type GroupOwner } from '../../dispatch/queue/call-group.ts';
import { CostEstimate } from '../../dispatch/queue/cost.ts';
import type { CallerShares } from '../../dispatch/queue/queued-callers.ts';
import { Sweep } from '../../dispatch/queue/sweep.ts';
import { WaitingGroups } from '../../dispatch/queue/waiting-groups.ts';
import { type GoesToSink, goesToSink, type ReplySink } from '../../dispatch/reply-sink.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import type { OpenStreams } from '../../dispatch/streams/open-streams.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import type { ChooseMember } from './choose.ts';
import type { RemoteMember, RemoteOwner } from './remote-member.ts';
import { RemoteSender, type SenderLimits } from './remote-sender.ts';

export interface RemotePoolOptions extends SenderLimits {
  readonly maxReplyBytes: number;
  /** Calls that may wait for a member, and how long, milliseconds. */
  readonly maxQueue: number;
  readonly maxQueueMs: number;
  readonly shares: CallerShares;
  readonly choose: ChooseMember;
  /** The streams that calls to members have opened. */
  readonly streams: OpenStreams;
}

/** What has happened to calls since the start. */
export interface RemoteCounters {
  /** Calls that were sent again, since they had not been delivered or not been run. */
  requeued: number;
  /** Calls of which nobody knows what became. */
  lost: number;
}

/** How often calls in flight are looked at, milliseconds. */
const lookMs = 50;

const cancelled: Refusal = { code: ErrorCode.Cancelled };

/**
 * The executor over the members of a service on other machines. What finds no member waits here, as calls wait for workers: bounded,
 * and shared out among callers.
 */
export class RemotePool implements Executor, ExecutorFigures, GroupOwner, RemoteOwner {
  readonly place: Place = remotePlace;
  readonly takesUnparsed = true;
  readonly ending: CallEnding;
  readonly counters: RemoteCounters = { requeued: 0, lost: 0 };
  readonly keyOf: (scope: RequestScope) => string;
  readonly streams: OpenStreams;
  readonly #members: () => Iterable<RemoteMember>;
  readonly #waiting: WaitingGroups;
  readonly #costs = new Map<string, CostEstimate>();
  readonly #sweep = new Sweep(lookMs, (now) => this.#look(now));
  /** The members that have refused a group: another one is asked once. */
  readonly #avoided = new WeakMap<CallGroup, RemoteMember>();
  readonly #pace = new AnsweringPace();
  #closing = false;
  readonly #vacancy = new Vacancy();

  constructor(
    options: RemotePoolOptions,
    members: () => Iterable<RemoteMember>,
    observer: CallObserver | undefined,
  ) {
    this.ending = new CallEnding(this.place, options.maxReplyBytes, observer);
    this.keyOf = (scope) => options.shares.keyOf(scope);
    this.#members = members;
    this.streams = options.streams;
    const sender = new RemoteSender(
      options,
      members,
      options.choose,
      (group) => this.#avoided.get(group),
      () => this.#pace.perSecond,
      () => this.#waiting.size,
      () => this.#sweep.wake(),
    );
    this.#waiting = new WaitingGroups(options, sender);
  }

  execute(call: Call): Reply | Promise<Reply> {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, now);
    if (refusal !== undefined) return this.ending.refuse(call, refusal);
    this.#waiting.expect(1);
    return new Promise((resolve) => {
      this.#enqueue([this.#itemOf(call)], now, (group) => resolve(group.calls[0]?.reply));
    });
  }

  executeInto(call: Call, sink: ReplySink): Reply | GoesToSink {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, now);
    if (refusal !== undefined) return this.ending.refuse(call, refusal);
    this.#waiting.expect(1);
    this.#enqueue([this.#itemOf(call)], now, sink);
    return goesToSink;
  }

  executeInOrder(calls: readonly Call[]): Reply[] | Promise<Reply[]> {
    const first = calls[0];
    if (first === undefined) return [];
    const now = clockMs();
    const refusal = this.#refusal(first.scope, now);
    if (refusal !== undefined) return calls.map((call) => this.ending.refuse(call, refusal));
    this.#waiting.expect(calls.length);
    return new Promise((resolve) => {
      const items = calls.map((call) => this.#itemOf(call));
      this.#enqueue(items, now, (group) => resolve(group.calls.map(({ reply }) => reply)));
    });
  }

  /** Calls that wait for a member. */
  get queued(): number {
    return this.#waiting.size;
  }

  get inFlight(): number {
    let calls = 0;
    for (const member of this.#members()) calls += member.inFlight;
    return calls;
  }

  /** See {@link GroupOwner}. */
  onDone(group: CallGroup): void {
    group.scope.removeListener(group);
    this.#waiting.leave(group);
    group.deliver();
    this.#tellDrained();
  }

  /** See {@link GroupOwner}. */
  onTooLarge(group: CallGroup): void {
    const refusal = { code: ErrorCode.LimitExceeded, data: { limit: this.ending.maxReplyBytes } };
    this.#waiting.refuse(group, refusal);
    for (const member of this.#members()) member.stop(group, refusal);
  }

  /** See {@link GroupOwner}. */
  onResume(group: CallGroup): void {
    this.#waiting.addBack([group]);
  }

  /** See {@link GroupOwner}. */
  onCancelled(group: CallGroup): void {
    for (const member of this.#members()) member.cancel(group);
    this.#waiting.refuse(group, cancelled);
  }

  /** See {@link RemoteOwner}. */
  onCapacity(): void {
    if (this.#waiting.size > 0) this.#waiting.plan();
    else this.#tellDrained();
  }

  /** See {@link RemoteOwner}. */
  onUnstarted(groups: readonly CallGroup[]): void {
    for (const group of groups) this.counters.requeued += group.waiting;
    const [gone, others] = [[] as CallGroup[], [] as CallGroup[]];
    for (const group of groups) (group.scope.cancelled ? gone : others).push(group);
    for (const group of gone) this.#waiting.refuse(group, cancelled);
    this.#waiting.addBack(others);
  }

  /** See {@link RemoteOwner}. */
  mayGoElsewhere({ group }: GroupCall, code: number, member: RemoteMember): boolean {
    if (code !== ErrorCode.Overloaded && code !== ErrorCode.MethodNotFound) return true;
    if (this.#avoided.has(group)) return false;
    for (const other of this.#members()) {
      if (other === member || !other.isTaking || !other.serves(group)) continue;
      this.#avoided.set(group, member);
      return true;
    }
    return false;
  }

  /** See {@link RemoteOwner}. */
  onCompleted(): void {
    this.#pace.note();
  }

  /** See {@link RemoteOwner}. */
  onLost(calls: number): void {
    this.counters.lost += calls;
  }

  /**
   * Finishes what is here, for `graceMs` at most: then what waits gets -32003, what is with members -32002.
   */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    if (!this.#isAnswered) await this.#vacancy.within(graceMs);
    this.#sweep.stop();
    this.#waiting.refuseAll(cancelled);
    for (const member of this.#members()) member.lose('shutdown');
    // What was held behind calls that were lost just now.
    this.#waiting.refuseAll(cancelled);
  }

  /** Why calls of a request are not taken in at all. */
  #refusal(scope: RequestScope, now: number): Refusal | undefined {
    return this.#closing ? cancelled : refusalBeforeStart(scope, now);
  }

  #enqueue(
    items: readonly GroupCall[],
    now: number,
    receiver: ReplySink | ((group: CallGroup) => void),
  ): void {
    const group = new CallGroup(items, now, this, receiver);
    group.scope.addListener(group);
    this.#waiting.add(group);
  }

  #itemOf(call: Call): GroupCall {
    const { name } = call.procedure;
    let cost = this.#costs.get(name);
    if (cost === undefined) {
      cost = new CostEstimate();
      this.#costs.set(name, cost);
    }
    return new GroupCall(call, cost, paramsLength(call));
  }

  get #isAnswered(): boolean {
    return this.#waiting.size === 0 && this.inFlight === 0;
  }

  #tellDrained(): void {
    if (this.#closing && this.#isAnswered) this.#vacancy.tell();
  }

  #look(now: number): boolean {
    for (const member of this.#members()) member.expire(now);
    this.#waiting.expire(now);
    if (this.#waiting.size > 0) this.#waiting.plan();
    this.#tellDrained();
    return !this.#isAnswered;
  }
}

/** How many calls are answered in a second, of the last whole one. */
class AnsweringPace {
  #second = 0;
  #now = 0;
  #before = 0;

  note(): void {
    this.#turn();
    this.#now++;
  }

  get perSecond(): number {
    this.#turn();
    return this.#before;
  }

  #turn(): void {
    const second = Math.floor(clockMs() / 1000);
    if (second === this.#second) return;
    this.#before = second === this.#second + 1 ? this.#now : 0;
    this.#now = 0;
    this.#second = second;
  }
}

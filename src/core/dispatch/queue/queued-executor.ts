import { clockMs } from '../../base/clock.ts';
import type { Overload } from '../../base/overloads.ts';
import type { Place } from '../../base/place.ts';
import { Vacancy } from '../../base/timer.ts';
import type { BatchRules } from '../../procedures/batch.ts';
import type { Reply, ReplySink } from '../../protocol/reply.ts';
import {
  type Call,
  CallEnding,
  type CallObserver,
  cancelled,
  neverRan,
  overloaded,
  paramsLength,
  type Refusal,
  refusalBeforeStart,
} from '../call.ts';
import type { Executor, ExecutorFigures } from '../executor.ts';
import type { RequestScope } from '../scope.ts';
import { homeOf, keyOfParam } from './affinity.ts';
import {
  CallGroup,
  type CallGroupOwner,
  CostEstimate,
  type GroupReceiver,
  isDue,
  QueuedCall,
  SentBatch,
  shortBoundUs,
} from './call-group.ts';
import { type CallerShares, FairQueue, QueuedCallers, WaitingLine } from './fair-queue.ts';

/** An executor whose calls run elsewhere: in worker threads, or on other machines. They wait in groups, in a bounded queue. */
export abstract class QueuedExecutor implements Executor, ExecutorFigures, CallGroupOwner {
  readonly place: Place;
  readonly takesUnparsed = true;
  readonly ending: CallEnding;
  protected readonly waiting: WaitingGroups;
  readonly #costs = new Map<string, CostEstimate>();
  #closing = false;
  /** Told only while the executor closes. */
  readonly #vacancy = new Vacancy();

  constructor(
    place: Place,
    limits: WaitingLimits,
    maxReplyBytes: number,
    observer: CallObserver | undefined,
  ) {
    this.place = place;
    this.ending = new CallEnding(place, maxReplyBytes, observer);
    this.waiting = new WaitingGroups(limits, this);
  }

  abstract get inFlight(): number;
  /** Whether nothing is under way: a group that comes then is sent at once. */
  abstract get isIdle(): boolean;
  /** Sends away what may go now. */
  abstract send(waiting: WaitingGroups): void;
  /** Calls `act` when the groups that come at the same time have come: at the end of a turn of the event loop. */
  abstract defer(act: () => void): void;
  /** Groups have left, or were looked at and stay. */
  abstract onSent(): void;
  /**
   * How long until a caller who is refused should come back, whole milliseconds.
   *
   * @param queuedUs expected work that waits and comes before a call of this caller, microseconds
   */
  abstract busyForMs(queuedUs: number): number;
  abstract onTooLarge(group: CallGroup): void;
  abstract onCancelled(group: CallGroup): void;

  /** Whether nothing is here that a close waits for. */
  protected abstract get isAnswered(): boolean;

  execute(call: Call, sink: ReplySink): void {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, now);
    if (refusal !== undefined) sink.onReply(this.ending.refuse(call, refusal));
    else this.#add([this.#itemOf(call)], now, sink);
  }

  executeInOrder(calls: readonly Call[], sink: ReplySink<readonly Reply[]>): void {
    const now = clockMs();
    const [first] = calls;
    const refusal = first && this.#refusal(first.scope, now);
    if (first === undefined || refusal !== undefined) {
      sink.onReply(calls.map((call) => this.ending.refuse(call, refusal ?? cancelled)));
      return;
    }
    const items = calls.map((call) => this.#itemInOrder(call));
    this.#add(items, now, (group) => sink.onReply(group.calls.map(({ reply }) => reply)));
  }

  onDone(group: CallGroup): void {
    this.waiting.leave(group);
  }

  onResume(group: CallGroup): void {
    this.waiting.addBack([group]);
  }

  /** From now on calls are refused. Resolves when nothing is here any more, and after `graceMs` at the latest. */
  protected async stopIntake(graceMs: number): Promise<void> {
    this.#closing = true;
    if (!this.isAnswered) await this.#vacancy.within(graceMs);
  }

  /** For wherever the last call may have ended. */
  protected tellVacancy(): void {
    if (this.#closing && this.isAnswered) this.#vacancy.tell();
  }

  /** Why the calls of a request are refused before they wait; undefined: they are not. */
  #refusal(scope: RequestScope, now: number): Refusal | undefined {
    return this.#closing ? cancelled : refusalBeforeStart(scope, now);
  }

  #add(items: readonly QueuedCall[], now: number, receiver: GroupReceiver): void {
    this.waiting.expect(items.length);
    this.waiting.add(new CallGroup(items, now, this, receiver));
  }

  /** A call that waits for the one before it: a batch of one. */
  #itemInOrder(call: Call): QueuedCall {
    const item = this.#itemOf(call);
    const { procedure } = call;
    if (procedure.batch !== undefined) {
      item.batch = new SentBatch(procedure, item.expectedUs);
    }
    return item;
  }

  #itemOf(call: Call): QueuedCall {
    const { name } = call.procedure;
    let cost = this.#costs.get(name);
    if (cost === undefined) {
      cost = new CostEstimate();
      this.#costs.set(name, cost);
    }
    return new QueuedCall(call, cost, paramsLength(call));
  }
}

export interface WaitingLimits {
  /** Calls that may wait for a worker. */
  readonly maxQueue: number;
  /** Milliseconds a call may wait for a worker. */
  readonly maxQueueMs: number;
  /** How the workers are shared out among callers whose calls wait. */
  readonly shares: CallerShares;
  /** Among how many workers affinity chooses; undefined: the procedures have none here. */
  readonly workers?: number;
  /** What other executors of the service share with this one: the old code during a reload. undefined: none do. */
  readonly places?: ConcurrencyPlaces | undefined;
}

/** Who holds the places of procedures with `maxConcurrency`, by procedure. */
export type ConcurrencyPlaces = Map<string, Places>;

interface Places {
  /** Calls that go to a worker, and those whose handlers have not ended. */
  held: number;
  /** Each lets the next call of an executor in. They return false if none goes there. */
  readonly waiting: Set<() => boolean>;
}

/** How many calls one turn of the event loop may bring beyond `maxQueue`: frames leave only at the end of the turn. */
const turnAllowance = 4096;

/** The next group of each line. */
export interface Heads<Group> {
  readonly short: Group | undefined;
  readonly long: Group | undefined;
  /** Whether the long group goes before any short one. */
  readonly isLongDue: boolean;
}

/**
 * The groups that are at no worker: in the line of short groups, in the line of all others, or at the limit of a
 * procedure with `maxConcurrency`. Each of the three is shared out fairly among callers, and each caller has one
 * account for all three. The groups leave for the workers together at the end of a turn of the event loop. Those that
 * may not wait, or have waited too long, are refused here.
 */
export class WaitingGroups {
  readonly #limits: WaitingLimits;
  readonly #owner: QueuedExecutor;
  readonly #callers: QueuedCallers;
  readonly #short: WaitingLine;
  readonly #long: WaitingLine;
  /**
   * Procedures with `maxConcurrency`: their places, and their groups above the bound. Groups of other procedures
   * pass these, so a heavy procedure can't take all workers.
   */
  readonly #limited = new Map<string, Limit>();
  readonly #places: ConcurrencyPlaces;
  /** Groups that wait beside their lines (see `park`), by the key of what they wait for. */
  readonly #parked = new Map<string, FairQueue>();
  /** Batch procedures whose calls have waited: those that wait behind the first of them. */
  readonly #batches: BatchLine[] = [];
  /** Those of them that wait aside: see `stop`. */
  #stopped = 0;
  /** What the short groups that went before the first long one count for, microseconds: see `passUs`. */
  #passedUs = 0;
  #flushPlanned = false;

  /** @param owner sends the groups away */
  constructor(limits: WaitingLimits, owner: QueuedExecutor) {
    this.#limits = limits;
    this.#owner = owner;
    this.#places = limits.places ?? new Map();
    this.#callers = new QueuedCallers(limits.shares);
    this.#short = new WaitingLine(this.#callers);
    this.#long = new WaitingLine(this.#callers);
  }

  /** Calls that wait. */
  get size(): number {
    let calls = this.#callers.calls + this.#short.unsharedCalls + this.#long.unsharedCalls;
    for (let i = 0; i < this.#batches.length; i++) {
      calls += (this.#batches[i] as BatchLine).behind.unsharedCalls;
    }
    return calls;
  }

  /** Whether any group could go to a worker. */
  get hasNext(): boolean {
    if (this.#short.size > 0 || this.#long.size > 0) return true;
    return this.#batches.length > 0 && this.#batches.some(({ behind }) => behind.size > 0);
  }

  /** Before so many calls come: if one turn of the event loop brings far too many, it refuses groups at once. */
  expect(calls: number): void {
    if (this.#newcomers + calls > this.#limits.maxQueue + turnAllowance) this.#refuseExcess();
  }

  charge(scope: RequestScope, us: number): void {
    this.#callers.charge(scope, us);
  }

  add(group: CallGroup): void {
    if (group.procedure.affinity !== undefined) group.home = this.#homeOf(group);
    const line = group.batch === undefined ? undefined : this.#batchLineOf(group);
    if (line?.head !== undefined || line?.isStopped === true) line.behind.add(group);
    else {
      if (line !== undefined) line.head = group;
      this.#classify(group).add(group);
    }
    this.plan();
  }

  /** Puts groups back by their age: they wait anew. A batch with a running call is put back when that call ends. */
  addBack(groups: readonly CallGroup[]): void {
    const now = clockMs();
    for (const group of groups.toReversed()) if (this.#putBack(group)) group.waitingSince = now;
  }

  /** Puts groups back that came to no worker: the time for which they have waited goes on. */
  takeBack(groups: readonly CallGroup[]): void {
    for (const group of groups.toReversed()) this.#putBack(group);
  }

  #putBack(group: CallGroup): boolean {
    // The answers of a lost worker's calls may have put the group back already.
    if (group.state !== 'held' || group.isDone || !group.mayGoOn) return false;
    group.state = 'queued';
    const line = group.batch === undefined ? undefined : this.#batchLineOf(group);
    if (line?.head !== undefined || line?.isStopped === true) line.behind.addBack(group);
    else {
      if (line !== undefined) line.head = group;
      this.#classify(group).addBack(group);
    }
    this.plan();
    return true;
  }

  /** A group has its answers, and no worker runs it any more: another group of its procedure may go instead. */
  leave(group: CallGroup): void {
    const limit = this.#limitOf(group);
    if (!group.isInside || limit === undefined) return;
    group.isInside = false;
    limit.places.held--;
    for (const letIn of limit.places.waiting) if (letIn()) return;
  }

  /** Refuses the calls of a group that are at no worker. */
  refuse(group: CallGroup, refusal: Refusal): void {
    group.queue?.drop(group);
    if (group.batch !== undefined) this.#replaceHead(group);
    // Not `held`: the answers below must not put the group back.
    group.state = 'sent';
    for (let i = group.next; i < group.calls.length; i++) {
      (group.calls[i] as QueuedCall).refuse(refusal, neverRan);
    }
  }

  refuseAll(refusal: Refusal): void {
    for (const group of this.#all) this.refuse(group, refusal);
  }

  /** Answers groups whose request has no time left, and those that have waited too long. */
  expire(now: number): void {
    for (const group of this.#all) {
      if (group.queue === undefined) continue;
      const expired = refusalBeforeStart(group.scope, now);
      if (expired !== undefined) this.refuse(group, expired);
      else if (now - group.waitingSince > this.#limits.maxQueueMs) {
        this.refuse(group, this.#overload(group, 'queueTime'));
      }
    }
  }

  /**
   * Sends groups at the end of this turn of the event loop, when all its calls have arrived. But a group that finds all
   * workers at rest goes at once, and the calls behind it share the next frame.
   */
  plan(): void {
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    if (this.#owner.isIdle) queueMicrotask(this.#send);
    else this.#owner.defer(this.#send);
  }

  /** Calls that wait in the same line, and those that would go along with the group. */
  sizeBeside(group: CallGroup): number {
    const behind = group.batch === undefined ? 0 : this.#batchLineOf(group).behind.size;
    return this.#lineOf(group).size + behind;
  }

  /**
   * The next group of each line that may go to a worker now. The groups stay here until `take`.
   */
  heads(): Heads<CallGroup> {
    const short = this.#peek(this.#short);
    const long = this.#peek(this.#long);
    if (long === undefined) this.#passedUs = 0;
    const isLongDue = long !== undefined && isDue(long.nextUs, this.#passedUs);
    return { short, long, isLongDue };
  }

  /**
   * One of the groups that `heads` gave goes to a worker.
   *
   * @param passedUs see `passUs`; 0: to the express worker, where it takes no long group's place
   */
  take(group: CallGroup, passedUs: number): void {
    if (group.isShort) this.#passedUs += passedUs;
    else this.#passedUs = 0;
    this.#lineOf(group).shift();
    this.#enter(group);
  }

  /**
   * As `take`, for a group of a batch procedure: others go along and run together with it. Who goes along, the fair line of the
   * procedure says, and each caller pays for its own.
   *
   * @param run bounds of the run: calls, and expected microseconds of all together; one call goes in any case
   * @param passedUs called with the expected microseconds of all: see `passUs`
   * @returns the group itself first
   */
  takeTogether(
    head: CallGroup,
    run: { readonly calls: number; readonly us: number },
    passedUs: (us: number) => number,
  ): readonly CallGroup[] {
    const line = this.#batchLineOf(head);
    const beside = this.#lineOf(head);
    beside.shift();
    const { calls } = (head.calls[0] as QueuedCall).cost.runSize;
    const most = line.isAlone ? 1 : Math.min(line.rules.max, run.calls, calls);
    if (most <= line.behind.size) line.behind.share();
    const groups = [head];
    let sumUs = head.nextUs;
    while (groups.length < most) {
      const next = line.behind.peek();
      if (next === undefined || sumUs + next.nextUs > run.us) break;
      line.behind.shift();
      beside.payFor(next);
      sumUs += next.nextUs;
      groups.push(next);
    }
    if (head.isShort) this.#passedUs += passedUs(sumUs);
    else this.#passedUs = 0;
    this.#replaceHead(head);
    return groups;
  }

  /** Calls that wait and could run together with this group, itself among them. */
  together(head: CallGroup): number {
    return 1 + this.#batchLineOf(head).behind.size;
  }

  /** No worker may run the procedure of this head now: its calls wait aside, and others pass. */
  stop(head: CallGroup): void {
    const line = this.#batchLineOf(head);
    line.head = undefined;
    line.isStopped = true;
    this.#stopped++;
    head.queue?.drop(head);
    line.behind.addBack(head);
  }

  /** Whether calls wait aside since no worker may run their procedure. */
  get hasStopped(): boolean {
    return this.#stopped > 0;
  }

  /** Puts those back in line whose procedure may run again. @param mayGo asked with the first call of each */
  resume(mayGo: (head: CallGroup) => boolean): void {
    for (const line of this.#batches) {
      if (!line.isStopped) continue;
      const next = line.behind.peek();
      if (next !== undefined && !mayGo(next)) continue;
      line.isStopped = false;
      this.#stopped--;
      this.#nextHead(line);
    }
  }

  /** A thread was lost with these procedures: those of them that run many calls at once run them one by one for a while. */
  runAlone(procedures: readonly string[]): void {
    for (const line of this.#batches) {
      if (procedures.includes(line.name)) line.aloneUntil = clockMs() + aloneMs;
    }
  }

  /** A head leaves, or is answered: the next call of its procedure stands in line. */
  #replaceHead(head: CallGroup): void {
    const line = this.#batchLineOf(head);
    if (line.head !== head) return;
    line.head = undefined;
    this.#nextHead(line);
  }

  #nextHead(line: BatchLine): void {
    const next = line.behind.shift();
    if (next === undefined) return;
    line.head = next;
    const beside = this.#classify(next);
    // Behind what has come by now, unless there is so much that callers share: then it stands by its age.
    if (next.isReturned) beside.addBack(next);
    else beside.add(next);
  }

  #batchLineOf({ procedure: { name, batch } }: CallGroup): BatchLine {
    let line = this.#batches.find((one) => one.name === name);
    if (line === undefined) {
      if (batch === undefined) throw new Error(`${name} takes single calls`);
      line = new BatchLine(name, batch, this.#callers);
      this.#batches.push(line);
    }
    return line;
  }

  /**
   * Parks a group that `heads` gave and that needs something the others do not, so that it cannot block them.
   *
   * @param key names what it waits for; the groups of one key stay in line
   */
  park(group: CallGroup, key: string): void {
    let queue = this.#parked.get(key);
    if (queue === undefined) {
      queue = new FairQueue(this.#callers);
      this.#parked.set(key, queue);
    }
    group.queue?.drop(group);
    queue.push(group);
  }

  /** The first of each line of parked groups. */
  parked(): CallGroup[] {
    const heads: CallGroup[] = [];
    for (const [key, queue] of this.#parked) {
      const head = queue.peek();
      if (head === undefined) this.#parked.delete(key);
      else heads.push(head);
    }
    return heads;
  }

  /** One of the groups that `parked` gave goes on. */
  takeParked(group: CallGroup, key: string): void {
    this.#parked.get(key)?.shift();
    this.#enter(group);
  }

  readonly #send = (): void => {
    this.#flushPlanned = false;
    this.#owner.send(this);
    this.#refuseExcess();
    this.#owner.onSent();
  };

  /** Refuses what is too much to wait: the newest groups of the caller that has the most calls. */
  #refuseExcess(): void {
    while (this.#newcomers > this.#limits.maxQueue) {
      this.#short.share();
      this.#long.share();
      for (const { behind } of this.#batches) behind.share();
      const group = this.#callers.newestOfLongest();
      if (group === undefined) return;
      this.refuse(group, this.#overload(group, 'queue'));
    }
  }

  #overload(group: CallGroup, overload: Overload): Refusal {
    // What leaves before all groups of this group's caller have left.
    let queuedUs = this.#callers.waitUsOf(group) + this.#short.unsharedUs + this.#long.unsharedUs;
    for (const { behind } of this.#batches) queuedUs += behind.unsharedUs;
    return overloaded(overload, this.#owner.busyForMs(queuedUs));
  }

  /** A copy: answering one group may answer others with it. */
  get #all(): CallGroup[] {
    const parked = [...this.#parked.values()].flatMap((queue) => queue.all);
    const limited = [...this.#limited.values()].flatMap(({ waiting }) => waiting.all);
    const behind = this.#batches.flatMap((line) => line.behind.all);
    return [...this.#short.all, ...this.#long.all, ...limited, ...parked, ...behind];
  }

  /** Calls that `maxQueue` bounds. Calls that a worker gave back do not count: they were let in before. */
  get #newcomers(): number {
    return this.size - this.#callers.returned;
  }

  /** Decides anew: a group that comes back may have become short or long, by what is known of its procedures now. */
  #classify(group: CallGroup): WaitingLine {
    group.isShort = group.leastUs <= shortBoundUs;
    return this.#lineOf(group);
  }

  #lineOf(group: CallGroup): WaitingLine {
    return group.isShort ? this.#short : this.#long;
  }

  /** The place of the worker that the affinity of a group's procedure names. Calls in order of a request stay together, wherever. */
  #homeOf(group: CallGroup): number {
    const { affinity } = group.procedure;
    const { workers = 0, shares } = this.#limits;
    if (affinity === undefined || workers === 0 || group.calls.length > 1) return -1;
    const { call } = group.calls[0] as QueuedCall;
    const key =
      affinity.param === undefined ? shares.keyOf(group.scope) : keyOfParam(call, affinity);
    return key === undefined ? -1 : homeOf(key, workers);
  }

  /** The next group that may go. Groups before it that may not go are moved to their limits. */
  #peek(line: WaitingLine): CallGroup | undefined {
    for (;;) {
      const group = line.peek();
      const limit = group && this.#limitOf(group);
      if (group === undefined || limit === undefined || group.isInside) return group;
      if (limit.places.held < limit.most) return group;
      group.queue?.drop(group);
      limit.waiting.push(group);
      limit.places.waiting.add(limit.letIn);
    }
  }

  /** Counts a group that goes to a worker, or that is the next to do so. */
  #enter(group: CallGroup): void {
    const limit = this.#limitOf(group);
    if (limit === undefined || group.isInside) return;
    group.isInside = true;
    limit.places.held++;
  }

  /** undefined: its procedure has no `maxConcurrency`. */
  #limitOf({ procedure: { name, maxConcurrency: most } }: CallGroup): Limit | undefined {
    if (most === undefined) return undefined;
    let limit = this.#limited.get(name);
    if (limit === undefined) {
      const waiting = new FairQueue(this.#callers);
      const places = this.#places.get(name) ?? { held: 0, waiting: new Set() };
      this.#places.set(name, places);
      const made: Limit = { most, places, waiting, letIn: () => this.#letIn(made) };
      limit = made;
      this.#limited.set(name, limit);
    }
    return limit;
  }

  #letIn({ most, places, waiting, letIn }: Limit): boolean {
    // Other code may have had a higher bound.
    if (places.held >= most) return false;
    const next = waiting.shift();
    if (next === undefined) {
      places.waiting.delete(letIn);
      return false;
    }
    // At once, so that no group that comes later takes the place.
    this.#enter(next);
    this.#classify(next).addBack(next);
    this.plan();
    return true;
  }
}

/** How long a procedure with which a thread was lost runs its calls one by one, milliseconds: one of them may do it again. */
const aloneMs = 10_000;

/**
 * Calls of one batch procedure. The first of them, its head, stands in line with all other groups; the others wait here, and go
 * along with the head as far as they fit into its run.
 */
class BatchLine {
  readonly name: string;
  readonly rules: BatchRules;
  readonly behind: WaitingLine;
  head: CallGroup | undefined;
  /** No worker may take a run now: all calls wait here. */
  isStopped = false;
  aloneUntil = 0;

  constructor(name: string, rules: BatchRules, callers: QueuedCallers) {
    this.name = name;
    this.rules = rules;
    this.behind = new WaitingLine(callers);
  }

  get isAlone(): boolean {
    return this.aloneUntil > 0 && clockMs() < this.aloneUntil;
  }
}

interface Limit {
  readonly most: number;
  readonly places: Places;
  readonly waiting: FairQueue;
  readonly letIn: () => boolean;
}

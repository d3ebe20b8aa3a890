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
import { expiriesAtOnce } from '../deadline.ts';
import type { Executor, ExecutorFigures } from '../executor.ts';
import type { RequestScope } from '../scope.ts';
import { homeOf, keyOfParam } from './affinity.ts';
import { CostEstimate, isDue, shortBoundUs } from './cost.ts';
import { type CallerShares, plainUs, QueuedCallers, WaitingLine } from './fair-queue.ts';
import { OrderedCalls, QueuedCall, type QueuedCallOwner, SentBatch } from './queued-call.ts';

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
  /** Calls that went to a worker, and whose handlers have not ended. */
  held: number;
  /** The executors that calls wait in for a place: each is called once, when one is free. */
  readonly waiting: Set<() => void>;
}

/** How many calls one turn of the event loop may bring beyond `maxQueue`: frames leave only at the end of the turn. */
const turnAllowance = 4096;

/** The next call of each line. */
export interface Heads<Item> {
  readonly short: Item | undefined;
  readonly long: Item | undefined;
  /** Whether the long call goes before any short one. */
  readonly isLongDue: boolean;
}

/**
 * An executor whose calls run elsewhere: in worker threads, or on other machines. They wait in a bounded queue.
 *
 * The calls that are at no worker, of an ordered batch the first of them, stand in the line of short calls, in the line of all
 * others, or aside, in a line of their procedure, so that others pass them. Each line is shared out fairly among callers, and
 * each caller has one account for all lines. The calls leave for the workers together at the end of a turn of the event loop.
 * Those that may not wait, or have waited too long, are refused here.
 */
export abstract class QueuedExecutor implements Executor, ExecutorFigures, QueuedCallOwner {
  readonly place: Place;
  readonly takesUnparsed = true;
  readonly ending: CallEnding;
  readonly #limits: WaitingLimits;
  readonly #costs = new Map<string, CostEstimate>();
  readonly #callers: QueuedCallers<QueuedCall>;
  readonly #short: WaitingLine<QueuedCall>;
  readonly #long: WaitingLine<QueuedCall>;
  /** The lines of procedures whose calls wait, or have waited, aside. */
  readonly #aside = new Map<string, ProcedureLine>();
  readonly #places: ConcurrencyPlaces;
  /** What the short calls that went before the first long one count for, microseconds: see `passUs`. */
  #passedUs = 0;
  #isSendPlanned = false;
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
    this.#limits = limits;
    this.#places = limits.places ?? new Map();
    this.#callers = new QueuedCallers<QueuedCall>(limits.shares);
    this.#short = new WaitingLine(this.#callers);
    this.#long = new WaitingLine(this.#callers);
  }

  abstract get inFlight(): number;
  abstract onTooLarge(item: QueuedCall): void;
  abstract onCancelled(item: QueuedCall): void;
  /** Whether nothing is under way: a call that comes then is sent at once. */
  protected abstract get isIdle(): boolean;
  /** Whether nothing is here that a close waits for. */
  protected abstract get isAnswered(): boolean;
  /** Sends away what may go now. */
  protected abstract send(): void;
  /** Calls `act` when the calls that come at the same time have come: at the end of a turn of the event loop. */
  protected abstract defer(act: () => void): void;
  /** Calls have left, or were looked at and stay. */
  protected abstract onSent(): void;
  /**
   * How long until a caller who is refused should come back, whole milliseconds.
   *
   * @param queuedUs expected work that waits and comes before a call of this caller, microseconds
   */
  protected abstract busyForMs(queuedUs: number): number;

  execute(call: Call, sink: ReplySink): void {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, now);
    if (refusal !== undefined) {
      sink.onReply(this.ending.refuse(call, refusal));
      return;
    }
    this.#add(this.#itemOf(call, now, sink));
  }

  executeInOrder(calls: readonly Call[], sink: ReplySink<readonly Reply[]>): void {
    const [first] = calls;
    if (first === undefined) sink.onReply([]);
    else if (calls.length === 1) this.execute(first, { onReply: (reply) => sink.onReply([reply]) });
    else this.#addInOrder(calls, first.scope, sink);
  }

  /** A call has its answer, and no worker runs it any more: another call of its procedure may go instead. */
  onDone(item: QueuedCall): void {
    if (!item.isInside) return;
    item.isInside = false;
    const places = this.#placesOf(item.procedure.name);
    places.held--;
    for (const onPlaceFree of places.waiting) onPlaceFree();
    places.waiting.clear();
  }

  onResume(item: QueuedCall): void {
    this.addBack([item]);
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

  /** Calls that wait. */
  get queued(): number {
    let calls = this.#callers.calls + this.#short.unsharedCalls + this.#long.unsharedCalls;
    if (this.#aside.size === 0) return calls;
    for (const { behind } of this.#aside.values()) calls += behind.unsharedCalls;
    return calls;
  }

  /** Whether any call could go to a worker. Calls above the bound of their procedure could not. */
  protected get hasNext(): boolean {
    if (this.#short.size > 0 || this.#long.size > 0) return true;
    for (const { behind } of this.#aside.values()) {
      const next = behind.peek();
      if (next !== undefined && this.#hasPlace(next)) return true;
    }
    return false;
  }

  /** A stream of a caller has had a worker for so long, microseconds. */
  protected chargeCaller(scope: RequestScope, us: number): void {
    this.#callers.charge(scope, us);
  }

  /** Puts calls back by their age: they wait anew. A call of a batch is put back when the call before it has its answer. */
  addBack(items: readonly QueuedCall[]): void {
    const now = clockMs();
    for (const item of items.toReversed()) if (this.#putBack(item)) item.waitingSince = now;
  }

  /** Puts calls back that came to no worker: the time for which they have waited goes on. */
  protected addBackUnsent(items: readonly QueuedCall[]): void {
    for (const item of items.toReversed()) this.#putBack(item);
  }

  #putBack(item: QueuedCall): boolean {
    // The answers of a lost worker's calls may have put it back already. If a call before it has no answer, that answer will.
    if (item.state !== 'held' || item.before !== undefined) return false;
    item.state = 'queued';
    this.#lineFor(item).addBack(item);
    this.planSend();
    return true;
  }

  /** Where a call that comes waits: behind the head of its procedure's line, or, as that head and any other call, by its cost. */
  #lineFor(item: QueuedCall): WaitingLine<QueuedCall> {
    // A call that comes back has kept its place: those without one must not be before it.
    if (item.isInside) return this.#classify(item);
    const line = item.rules === undefined ? this.#asideOf(item) : this.#madeLineOf(item);
    if (line !== undefined) {
      if (line.head !== undefined || line.isStopped) return line.behind;
      if (line.rules !== undefined) line.head = item;
    }
    return this.#classify(item);
  }

  /** Refuses a call that is at no worker, and those after it. */
  protected refuse(item: QueuedCall, refusal: Refusal): void {
    if (item.isAnswered) return;
    item.queue?.drop(item);
    this.#replaceHead(item);
    // From the last one on, so that none goes on meanwhile.
    for (let last = item.order?.last; last !== undefined && last !== item; ) {
      const { before }: QueuedCall = last;
      last.refuse(refusal, neverRan);
      last = before;
    }
    item.refuse(refusal, neverRan);
  }

  protected refuseQueued(refusal: Refusal): void {
    for (const item of this.#all) this.refuse(item, refusal);
  }

  /** Answers calls whose request has no time left, and those that have waited too long. Of very many the next look takes the rest. */
  protected refuseLate(now: number): void {
    let left = expiriesAtOnce;
    for (const item of this.#all) {
      if (item.queue === undefined) continue;
      const refusal = this.#expiry(item, now);
      if (refusal === undefined) continue;
      this.refuse(item, refusal);
      if (--left === 0) return;
    }
  }

  #expiry(item: QueuedCall, now: number): Refusal | undefined {
    const expired = refusalBeforeStart(item.scope, now);
    if (expired !== undefined) return expired;
    const isLate = now - item.waitingSince > this.#limits.maxQueueMs;
    return isLate ? this.#overload(item, 'queueTime') : undefined;
  }

  /**
   * Sends calls at the end of this turn of the event loop, when all its calls have arrived. But a call that finds all
   * workers at rest goes at once, and the calls behind it share the next frame.
   */
  protected planSend(): void {
    if (this.#isSendPlanned) return;
    this.#isSendPlanned = true;
    if (this.isIdle) queueMicrotask(this.#sendPlanned);
    else this.defer(this.#sendPlanned);
  }

  /** Calls that wait in the same line, and those that would go along with the call. */
  protected sizeBeside(item: QueuedCall): number {
    const behind = item.rules === undefined ? 0 : this.#madeLineOf(item).behind.size;
    return this.#lineOf(item).size + behind;
  }

  /**
   * The next call of each line that may go to a worker now. The calls stay here until `take`.
   */
  protected heads(): Heads<QueuedCall> {
    const short = this.#peek(this.#short);
    const long = this.#peek(this.#long);
    if (long === undefined) this.#passedUs = 0;
    const isLongDue = long !== undefined && isDue(long.nextUs, this.#passedUs);
    return { short, long, isLongDue };
  }

  /**
   * One of the calls that `heads` gave goes to a worker.
   *
   * @param passedUs see `passUs`; 0: to the express worker, where it takes no long call's place
   */
  protected take(item: QueuedCall, passedUs: number): void {
    if (item.isShort) this.#passedUs += passedUs;
    else this.#passedUs = 0;
    this.#lineOf(item).shift();
    if (item.procedure.maxConcurrency !== undefined) this.#enter(item);
    this.#replaceHead(item);
  }

  /**
   * As `take`, for a call of a batch procedure: others go along and run together with it. Who goes along, the fair line of the
   * procedure says, and each caller pays for its own.
   *
   * @param run bounds of the run: calls, and expected microseconds of all together; one call goes in any case
   * @param passedUs called with the expected microseconds of all: see `passUs`
   * @returns the call itself first
   */
  protected takeTogether(
    head: QueuedCall,
    run: { readonly calls: number; readonly us: number },
    passedUs: (us: number) => number,
  ): readonly QueuedCall[] {
    const line = this.#madeLineOf(head);
    const beside = this.#lineOf(head);
    beside.shift();
    const { calls } = head.cost.runSize;
    const max = line.isAlone ? 1 : (line.rules?.max ?? 1);
    const most = Math.min(max, run.calls, calls);
    if (most <= line.behind.size) line.behind.share();
    const items = [head];
    let sumUs = head.nextUs;
    while (items.length < most) {
      const next = line.behind.peek();
      if (next === undefined || sumUs + next.nextUs > run.us) break;
      line.behind.shift();
      beside.payFor(next);
      sumUs += next.nextUs;
      items.push(next);
    }
    if (head.isShort) this.#passedUs += passedUs(sumUs);
    else this.#passedUs = 0;
    this.#replaceHead(head);
    return items;
  }

  /** Calls that wait and could run together with this call, itself among them. */
  protected sizeTogether(head: QueuedCall): number {
    return 1 + this.#madeLineOf(head).behind.size;
  }

  /** Nobody may run the procedure of this call now, which `heads` gave: its calls wait aside, and others pass. */
  protected setAside(item: QueuedCall): void {
    const line = this.#madeLineOf(item);
    line.head = undefined;
    line.isStopped = true;
    item.queue?.drop(item);
    line.behind.addBack(item);
  }

  /** Puts those back in line whose procedure may run again. @param mayGo asked with the first call of each */
  protected resumeProcedures(mayGo: (head: QueuedCall) => boolean): void {
    if (this.#aside.size === 0) return;
    for (const line of this.#aside.values()) {
      if (!line.isStopped) continue;
      const next = line.behind.peek();
      if (next === undefined || mayGo(next)) this.#nextHead(line);
    }
  }

  /** A thread was lost with these procedures: those of them that run many calls at once run them one by one for a while. */
  runAlone(procedures: readonly string[]): void {
    for (const name of procedures) {
      const line = this.#aside.get(name);
      if (line?.rules !== undefined) line.aloneUntil = clockMs() + aloneMs;
    }
  }

  /** A head leaves, or is answered: the next call of its procedure stands in line. */
  #replaceHead(head: QueuedCall): void {
    const line = this.#asideOf(head);
    if (line?.head !== head) return;
    line.head = undefined;
    this.#nextHead(line);
  }

  #nextHead(line: ProcedureLine): void {
    const next = line.behind.peek();
    line.isStopped = next !== undefined && !this.#hasPlace(next);
    // Its caller pays when it leaves this line: a call that could not go yet would lose its turn.
    if (line.isStopped) return;
    if (next === undefined) {
      if (line.rules === undefined) this.#aside.delete(line.name);
      return;
    }
    line.behind.shift();
    line.head = next;
    const beside = this.#classify(next);
    // A batch stands behind what has come by now, unless there is so much that callers share.
    if (line.rules === undefined || next.isReturned) beside.addBack(next);
    else beside.add(next);
  }

  /** The line of the call's procedure; undefined: it has none. Calls in order do not wait with those of a batch procedure. */
  #asideOf({ procedure: { name }, rules }: QueuedCall): ProcedureLine | undefined {
    const line = this.#aside.size === 0 ? undefined : this.#aside.get(name);
    return line?.rules === undefined || rules !== undefined ? line : undefined;
  }

  #madeLineOf({ procedure, rules }: QueuedCall): ProcedureLine {
    let line = this.#aside.get(procedure.name);
    if (line === undefined) {
      line = new ProcedureLine(procedure.name, rules, this.#callers);
      this.#aside.set(procedure.name, line);
    }
    return line;
  }

  readonly #sendPlanned = (): void => {
    this.#isSendPlanned = false;
    this.send();
    this.#refuseExcess();
    this.onSent();
  };

  /** Refuses what is too much to wait: the newest calls of the caller that has the most calls. */
  #refuseExcess(): void {
    while (this.#newcomers > this.#limits.maxQueue) {
      this.#short.share();
      this.#long.share();
      for (const { behind } of this.#aside.values()) behind.share();
      const item = this.#callers.newestOfLongest();
      if (item === undefined) return;
      this.refuse(item, this.#overload(item, 'queue'));
    }
  }

  #overload(item: QueuedCall, overload: Overload): Refusal {
    // What leaves before all calls of this call's caller have left.
    let queuedUs = this.#callers.waitUsOf(item) + this.#short.unsharedUs + this.#long.unsharedUs;
    for (const { behind } of this.#aside.values()) queuedUs += behind.unsharedUs;
    return overloaded(overload, this.busyForMs(queuedUs));
  }

  /** A copy: answering one call may answer others with it. */
  get #all(): QueuedCall[] {
    const aside = [...this.#aside.values()].flatMap(({ behind }) => behind.all);
    return [...this.#short.all, ...this.#long.all, ...aside];
  }

  /** Calls that `maxQueue` bounds. Calls that a worker gave back do not count: they were let in before. */
  get #newcomers(): number {
    return this.queued - this.#callers.returned;
  }

  /** Decides anew: a call that comes back may have become short or long, by what is known of its procedures now. */
  #classify(item: QueuedCall): WaitingLine<QueuedCall> {
    item.isShort = item.leastUs <= shortBoundUs;
    return this.#lineOf(item);
  }

  #lineOf(item: QueuedCall): WaitingLine<QueuedCall> {
    return item.isShort ? this.#short : this.#long;
  }

  /** The place of the worker that the affinity of a call's procedure names. Calls in order have none. */
  #homeOf(item: QueuedCall): number {
    const { affinity } = item.procedure;
    const { workers = 0, shares } = this.#limits;
    if (affinity === undefined || workers === 0 || item.order !== undefined) return -1;
    const key =
      affinity.param === undefined ? shares.keyOf(item.scope) : keyOfParam(item.call, affinity);
    return key === undefined ? -1 : homeOf(key, workers);
  }

  /** The next call that may go. Calls before it whose procedures run as often as they may are moved aside. */
  #peek(line: WaitingLine<QueuedCall>): QueuedCall | undefined {
    for (;;) {
      const item = line.peek();
      if (item === undefined || this.#hasPlace(item)) return item;
      this.setAside(item);
    }
  }

  /** Whether a call may run by the `maxConcurrency` of its procedure. If not, the next place that becomes free is told of. */
  #hasPlace({ procedure: { name, maxConcurrency }, isInside }: QueuedCall): boolean {
    if (maxConcurrency === undefined || isInside) return true;
    const places = this.#placesOf(name);
    if (places.held < maxConcurrency) return true;
    places.waiting.add(this.#onPlaceFree);
    return false;
  }

  readonly #onPlaceFree = (): void => this.planSend();

  /** Counts a call that goes to a worker. Its procedure has `maxConcurrency`. */
  #enter(item: QueuedCall): void {
    if (item.isInside) return;
    item.isInside = true;
    this.#placesOf(item.procedure.name).held++;
  }

  #placesOf(procedure: string): Places {
    let places = this.#places.get(procedure);
    if (places === undefined) {
      places = { held: 0, waiting: new Set() };
      this.#places.set(procedure, places);
    }
    return places;
  }

  #add(item: QueuedCall): void {
    // If one turn of the event loop brings far too many, calls are refused at once.
    if (this.#newcomers + item.waiting > this.#limits.maxQueue + turnAllowance)
      this.#refuseExcess();
    if (item.procedure.affinity !== undefined) item.home = this.#homeOf(item);
    this.#lineFor(item).add(item);
    this.planSend();
  }

  /** Why the calls of a request are refused before they wait; undefined: they are not. */
  #refusal(scope: RequestScope, now: number): Refusal | undefined {
    return this.#closing ? cancelled : refusalBeforeStart(scope, now);
  }

  #addInOrder(
    calls: readonly Call[],
    scope: RequestScope,
    sink: ReplySink<readonly Reply[]>,
  ): void {
    const now = clockMs();
    const refusal = this.#refusal(scope, now);
    if (refusal !== undefined) {
      sink.onReply(calls.map((call) => this.ending.refuse(call, refusal)));
      return;
    }
    const order = new OrderedCalls(scope, this, sink);
    const [first] = calls.map((call) => this.#itemInOrder(call, now, order));
    if (first !== undefined) this.#add(first);
  }

  /** A call that waits for the one before it: a batch of one. */
  #itemInOrder(call: Call, now: number, order: OrderedCalls): QueuedCall {
    const item = this.#itemOf(call, now, order);
    const { procedure } = call;
    if (procedure.batch !== undefined) item.run = new SentBatch(procedure, item.callUs);
    return item;
  }

  #itemOf(call: Call, now: number, receiver: ReplySink | OrderedCalls): QueuedCall {
    const { name } = call.procedure;
    let cost = this.#costs.get(name);
    if (cost === undefined) {
      cost = new CostEstimate();
      this.#costs.set(name, cost);
    }
    return new QueuedCall(call, cost, paramsLength(call), now, this, receiver);
  }
}

/** How long a procedure with which a thread was lost runs its calls one by one, milliseconds: one of them may do it again. */
const aloneMs = 10_000;

/**
 * Calls of one procedure that wait aside: of a batch procedure, and of one that nobody may run now or until just now. The
 * first call, its head, stands in line with all other calls, and the others wait here. Those of a batch procedure go along
 * with the head as far as they fit into its run. While the procedure is stopped it has no head.
 */
class ProcedureLine {
  readonly name: string;
  /** undefined: no batch procedure. */
  readonly rules: BatchRules | undefined;
  readonly behind: WaitingLine<QueuedCall>;
  head: QueuedCall | undefined;
  /** Nobody may run a call now, or as many run as may: all of them wait here. */
  isStopped = false;
  aloneUntil = 0;

  constructor(name: string, rules: BatchRules | undefined, callers: QueuedCallers<QueuedCall>) {
    this.name = name;
    this.rules = rules;
    this.behind = new WaitingLine(callers, rules === undefined ? 0 : plainUs);
  }

  get isAlone(): boolean {
    return this.aloneUntil > 0 && clockMs() < this.aloneUntil;
  }
}

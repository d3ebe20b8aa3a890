import { clockMs } from '../../base/clock.ts';
import type { Overload } from '../../base/overloads.ts';
import type { BatchRules } from '../../procedures/batch.ts';
import { neverRan, overloaded, type Refusal, refusalBeforeStart } from '../call.ts';
import { expiriesAtOnce } from '../deadline.ts';
import type { RequestScope } from '../scope.ts';
import { homeOf, keyOfParam } from './affinity.ts';
import { isDue, shortBoundUs } from './cost.ts';
import { type CallerShares, FairQueue, QueuedCallers, WaitingLine } from './fair-queue.ts';
import type { QueuedCall } from './queued-call.ts';

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

/** The executor whose calls wait. */
export interface WaitingOwner {
  /** Whether nothing is under way: a call that comes then is sent at once. */
  readonly isIdle: boolean;
  /** Sends away what may go now. */
  send(waiting: WaitingCalls): void;
  /** Calls `act` when the calls that come at the same time have come: at the end of a turn of the event loop. */
  defer(act: () => void): void;
  /** Calls have left, or were looked at and stay. */
  onSent(): void;
  /**
   * How long until a caller who is refused should come back, whole milliseconds.
   *
   * @param queuedUs expected work that waits and comes before a call of this caller, microseconds
   */
  busyForMs(queuedUs: number): number;
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
 * The calls that are at no worker, of an ordered batch the first of them: in the line of short calls, in the line of all
 * others, or at the limit of a procedure with `maxConcurrency`. Each of the three is shared out fairly among callers, and each
 * caller has one account for all three. The calls leave for the workers together at the end of a turn of the event loop. Those
 * that may not wait, or have waited too long, are refused here.
 */
export class WaitingCalls {
  readonly #limits: WaitingLimits;
  readonly #owner: WaitingOwner;
  readonly #callers: QueuedCallers<QueuedCall>;
  readonly #short: WaitingLine<QueuedCall>;
  readonly #long: WaitingLine<QueuedCall>;
  /**
   * Procedures with `maxConcurrency`: their places, and their calls above the bound. Calls of other procedures
   * pass these, so a heavy procedure can't take all workers.
   */
  readonly #limited = new Map<string, Limit>();
  readonly #places: ConcurrencyPlaces;
  /** Calls that wait beside their lines (see `park`), by the key of what they wait for. */
  readonly #parked = new Map<string, FairQueue<QueuedCall>>();
  /** Batch procedures whose calls have waited: those that wait behind the first of them. */
  readonly #batches: BatchLine[] = [];
  /** Those of them that wait aside: see `stop`. */
  #stopped = 0;
  /** What the short calls that went before the first long one count for, microseconds: see `passUs`. */
  #passedUs = 0;
  #flushPlanned = false;

  /** @param owner sends the calls away */
  constructor(limits: WaitingLimits, owner: WaitingOwner) {
    this.#limits = limits;
    this.#owner = owner;
    this.#places = limits.places ?? new Map();
    this.#callers = new QueuedCallers<QueuedCall>(limits.shares);
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

  /** Whether any call could go to a worker. */
  get hasNext(): boolean {
    if (this.#short.size > 0 || this.#long.size > 0) return true;
    return this.#batches.length > 0 && this.#batches.some(({ behind }) => behind.size > 0);
  }

  /** Before so many calls come: if one turn of the event loop brings far too many, it refuses calls at once. */
  expect(calls: number): void {
    if (this.#newcomers + calls > this.#limits.maxQueue + turnAllowance) this.#refuseExcess();
  }

  charge(scope: RequestScope, us: number): void {
    this.#callers.charge(scope, us);
  }

  add(item: QueuedCall): void {
    if (item.procedure.affinity !== undefined) item.home = this.#homeOf(item);
    this.#lineFor(item).add(item);
    this.plan();
  }

  /** Puts calls back by their age: they wait anew. A call of a batch is put back when the call before it has its answer. */
  addBack(items: readonly QueuedCall[]): void {
    const now = clockMs();
    for (const item of items.toReversed()) if (this.#putBack(item)) item.waitingSince = now;
  }

  /** Puts calls back that came to no worker: the time for which they have waited goes on. */
  takeBack(items: readonly QueuedCall[]): void {
    for (const item of items.toReversed()) this.#putBack(item);
  }

  #putBack(item: QueuedCall): boolean {
    // The answers of a lost worker's calls may have put it back already. If a call before it has no answer, that answer will.
    if (item.state !== 'held' || item.before !== undefined) return false;
    item.state = 'queued';
    this.#lineFor(item).addBack(item);
    this.plan();
    return true;
  }

  /** Where a call that comes waits: behind the head of its batch procedure, or, as that head and any other call, by its cost. */
  #lineFor(item: QueuedCall): WaitingLine<QueuedCall> {
    if (item.rules === undefined) return this.#classify(item);
    const line = this.#batchLineOf(item);
    if (line.head !== undefined || line.isStopped) return line.behind;
    line.head = item;
    return this.#classify(item);
  }

  /** A call has its answer, and no worker runs it any more: another call of its procedure may go instead. */
  leave(item: QueuedCall): void {
    const limit = this.#limitOf(item);
    if (!item.isInside || limit === undefined) return;
    item.isInside = false;
    limit.places.held--;
    for (const letIn of limit.places.waiting) if (letIn()) return;
  }

  /** Refuses a call that is at no worker, and those after it. */
  refuse(item: QueuedCall, refusal: Refusal): void {
    if (item.isAnswered) return;
    item.queue?.drop(item);
    if (item.rules !== undefined) this.#replaceHead(item);
    // From the last one on, so that none goes on meanwhile.
    for (let last = item.order?.last; last !== undefined && last !== item; ) {
      const { before }: QueuedCall = last;
      last.refuse(refusal, neverRan);
      last = before;
    }
    item.refuse(refusal, neverRan);
  }

  refuseAll(refusal: Refusal): void {
    for (const item of this.#all) this.refuse(item, refusal);
  }

  /** Answers calls whose request has no time left, and those that have waited too long. Of very many the next look takes the rest. */
  expire(now: number): void {
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
  plan(): void {
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    if (this.#owner.isIdle) queueMicrotask(this.#send);
    else this.#owner.defer(this.#send);
  }

  /** Calls that wait in the same line, and those that would go along with the call. */
  sizeBeside(item: QueuedCall): number {
    const behind = item.rules === undefined ? 0 : this.#batchLineOf(item).behind.size;
    return this.#lineOf(item).size + behind;
  }

  /**
   * The next call of each line that may go to a worker now. The calls stay here until `take`.
   */
  heads(): Heads<QueuedCall> {
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
  take(item: QueuedCall, passedUs: number): void {
    if (item.isShort) this.#passedUs += passedUs;
    else this.#passedUs = 0;
    this.#lineOf(item).shift();
    this.#enter(item);
  }

  /**
   * As `take`, for a call of a batch procedure: others go along and run together with it. Who goes along, the fair line of the
   * procedure says, and each caller pays for its own.
   *
   * @param run bounds of the run: calls, and expected microseconds of all together; one call goes in any case
   * @param passedUs called with the expected microseconds of all: see `passUs`
   * @returns the call itself first
   */
  takeTogether(
    head: QueuedCall,
    run: { readonly calls: number; readonly us: number },
    passedUs: (us: number) => number,
  ): readonly QueuedCall[] {
    const line = this.#batchLineOf(head);
    const beside = this.#lineOf(head);
    beside.shift();
    const { calls } = head.cost.runSize;
    const most = line.isAlone ? 1 : Math.min(line.rules.max, run.calls, calls);
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
  together(head: QueuedCall): number {
    return 1 + this.#batchLineOf(head).behind.size;
  }

  /** No worker may run the procedure of this head now: its calls wait aside, and others pass. */
  stop(head: QueuedCall): void {
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
  resume(mayGo: (head: QueuedCall) => boolean): void {
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
  #replaceHead(head: QueuedCall): void {
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

  #batchLineOf({ procedure: { name, batch } }: QueuedCall): BatchLine {
    let line = this.#batches.find((one) => one.name === name);
    if (line === undefined) {
      if (batch === undefined) throw new Error(`${name} takes single calls`);
      line = new BatchLine(name, batch, this.#callers);
      this.#batches.push(line);
    }
    return line;
  }

  /**
   * Parks a call that `heads` gave and that needs something the others do not, so that it cannot block them.
   *
   * @param key names what it waits for; the calls of one key stay in line
   */
  park(item: QueuedCall, key: string): void {
    let queue = this.#parked.get(key);
    if (queue === undefined) {
      queue = new FairQueue<QueuedCall>(this.#callers);
      this.#parked.set(key, queue);
    }
    item.queue?.drop(item);
    queue.push(item);
  }

  /** The first of each line of parked calls. */
  parked(): QueuedCall[] {
    const heads: QueuedCall[] = [];
    for (const [key, queue] of this.#parked) {
      const head = queue.peek();
      if (head === undefined) this.#parked.delete(key);
      else heads.push(head);
    }
    return heads;
  }

  /** One of the calls that `parked` gave goes on. */
  takeParked(item: QueuedCall, key: string): void {
    this.#parked.get(key)?.shift();
    this.#enter(item);
  }

  readonly #send = (): void => {
    this.#flushPlanned = false;
    this.#owner.send(this);
    this.#refuseExcess();
    this.#owner.onSent();
  };

  /** Refuses what is too much to wait: the newest calls of the caller that has the most calls. */
  #refuseExcess(): void {
    while (this.#newcomers > this.#limits.maxQueue) {
      this.#short.share();
      this.#long.share();
      for (const { behind } of this.#batches) behind.share();
      const item = this.#callers.newestOfLongest();
      if (item === undefined) return;
      this.refuse(item, this.#overload(item, 'queue'));
    }
  }

  #overload(item: QueuedCall, overload: Overload): Refusal {
    // What leaves before all calls of this call's caller have left.
    let queuedUs = this.#callers.waitUsOf(item) + this.#short.unsharedUs + this.#long.unsharedUs;
    for (const { behind } of this.#batches) queuedUs += behind.unsharedUs;
    return overloaded(overload, this.#owner.busyForMs(queuedUs));
  }

  /** A copy: answering one call may answer others with it. */
  get #all(): QueuedCall[] {
    const parked = [...this.#parked.values()].flatMap((queue) => queue.all);
    const limited = [...this.#limited.values()].flatMap(({ waiting }) => waiting.all);
    const behind = this.#batches.flatMap((line) => line.behind.all);
    return [...this.#short.all, ...this.#long.all, ...limited, ...parked, ...behind];
  }

  /** Calls that `maxQueue` bounds. Calls that a worker gave back do not count: they were let in before. */
  get #newcomers(): number {
    return this.size - this.#callers.returned;
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

  /** The next call that may go. Calls before it that may not go are moved to their limits. */
  #peek(line: WaitingLine<QueuedCall>): QueuedCall | undefined {
    for (;;) {
      const item = line.peek();
      const limit = item && this.#limitOf(item);
      if (item === undefined || limit === undefined || item.isInside) return item;
      if (limit.places.held < limit.most) return item;
      item.queue?.drop(item);
      limit.waiting.push(item);
      limit.places.waiting.add(limit.letIn);
    }
  }

  /** Counts a call that goes to a worker, or that is the next to do so. */
  #enter(item: QueuedCall): void {
    const limit = this.#limitOf(item);
    if (limit === undefined || item.isInside) return;
    item.isInside = true;
    limit.places.held++;
  }

  /** undefined: its procedure has no `maxConcurrency`. */
  #limitOf({ procedure: { name, maxConcurrency: most } }: QueuedCall): Limit | undefined {
    if (most === undefined) return undefined;
    let limit = this.#limited.get(name);
    if (limit === undefined) {
      const waiting = new FairQueue<QueuedCall>(this.#callers);
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
    // At once, so that no call that comes later takes the place.
    this.#enter(next);
    this.#classify(next).addBack(next);
    this.plan();
    return true;
  }
}

/** How long a procedure with which a thread was lost runs its calls one by one, milliseconds: one of them may do it again. */
const aloneMs = 10_000;

/**
 * Calls of one batch procedure. The first of them, its head, stands in line with all other calls; the others wait here, and go
 * along with the head as far as they fit into its run.
 */
class BatchLine {
  readonly name: string;
  readonly rules: BatchRules;
  readonly behind: WaitingLine<QueuedCall>;
  head: QueuedCall | undefined;
  /** No worker may take a run now: all calls wait here. */
  isStopped = false;
  aloneUntil = 0;

  constructor(name: string, rules: BatchRules, callers: QueuedCallers<QueuedCall>) {
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
  readonly waiting: FairQueue<QueuedCall>;
  readonly letIn: () => boolean;
}

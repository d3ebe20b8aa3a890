import { clockMs } from '../../base/clock.ts';
import type { BatchRules } from '../../procedures/batch.ts';
import { RunSize } from '../../procedures/batch-run.ts';
import type { Procedure } from '../../procedures/types.ts';
import type { Outcome, Reply, ReplySink } from '../../protocol/reply.ts';
import type { BodyLease } from '../body-lease.ts';
import {
  type AffinityOutcome,
  type Call,
  type CallEnding,
  neverRan,
  type Refusal,
} from '../call.ts';
import type { CancelListener, RequestScope } from '../scope.ts';

/** Calls of a batch procedure that a worker runs together, in one run of the handler. */
export class SentBatch {
  readonly procedure: Procedure;
  /** Expected microseconds of all its calls. */
  readonly expectedUs: number;
  /**
   * Whether it counts as long: it is in the way of short calls. undefined: its one call runs in order with others of its
   * request. It counts for the load as they do, and not for what its procedure may run at a time.
   */
  readonly isLong: boolean | undefined;
  /** Milliseconds that the run may take: what the call may that may take longest. */
  timeoutMs = 0;
  /** Calls that were sent and not taken back. */
  size = 0;
  /** Calls that the worker still has, those that nobody waits for among them. */
  left = 0;
  /** Whether the cost of its procedure has learned from this run, and whether the observer has been told. */
  isTimed = false;
  isReported = false;
  /** Whether it counts no more for what its procedure may run at a time: its time is over. */
  isOver = false;

  constructor(procedure: Procedure, expectedUs: number, isLong?: boolean) {
    this.procedure = procedure;
    this.expectedUs = expectedUs;
    this.isLong = isLong;
  }
}

/** One call of a group: what it is expected to cost, where it is, and its answer. */
export class QueuedCall {
  /** The call's group, and its index there. Set by the group. */
  group!: CallGroup;
  index = -1;
  call: Call;
  readonly cost: CostEstimate;
  /** Expected microseconds on the worker, with the time that copying the params takes. */
  readonly expectedUs: number;
  readonly #bytes: number;
  /** Names the call at its worker. */
  ticket = -1;
  /** What the call counts for in the load of its worker, microseconds; 0 while the call only waits there. */
  loadUs = 0;
  /** Whether the call was sent with a long group. */
  isOfLong = false;
  lease: BodyLease | undefined = undefined;
  /** What it runs with; undefined: by itself. */
  batch: SentBatch | undefined = undefined;
  /** When its signal was aborted, by `clockMs`; Infinity: the worker has told that it received the abort. */
  abortedAt: number | undefined = undefined;
  /** When the call began to run, by `clockMs`; undefined: no look at the ledger has seen it run. */
  startedAt: number | undefined = undefined;
  isAnswered = false;
  reply: Reply = undefined;

  /** @param bytes of its params, which are copied to the worker */
  constructor(call: Call, cost: CostEstimate, bytes: number) {
    this.call = call;
    this.cost = cost;
    this.#bytes = bytes;
    // A whole number: sums of floats drift, and the load of a worker that only waits must be exactly 0.
    this.expectedUs = Math.ceil(cost.expectedUs + transferCostUs(bytes));
  }

  /** Microseconds that the call is expected to take at least, by what is known of its procedure now. */
  get leastUs(): number {
    return this.cost.leastUs + transferCostUs(this.#bytes);
  }

  /**
   * Answers with a reply that the worker has made. The first answer counts, and later answers of any kind are dropped.
   *
   * @param code of the error; 0: a result
   * @param runUs microseconds since the handler was entered; `neverRan`
   * @param busyUs see {@link CallObserver.onCall}
   */
  answer(reply: Reply, code: number, runUs: number, busyUs = 0): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    const { ending } = this.group;
    const together = this.batch === undefined ? 0 : this.#together(this.batch, runUs);
    const waitUs = this.group.waitUs(runUs);
    if (this.group.affinity !== undefined) this.#tellAffinity(this.group.affinity);
    this.#end(ending.pass(this.call, reply, code, runUs, waitUs, busyUs, together));
  }

  /** Answers with an outcome of the main thread. The call has not run. */
  finish(outcome: Outcome): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    const { ending } = this.group;
    this.#end(ending.finish(this.call, outcome, neverRan, this.group.waitUs(neverRan), 0));
  }

  /** @param busyUs see {@link CallObserver.onCall} */
  refuse(refusal: Refusal, runUs: number, busyUs = 0): void {
    if (this.isAnswered) return;
    this.isAnswered = true;
    const { ending } = this.group;
    const together = this.batch === undefined ? 0 : this.#together(this.batch, runUs);
    const waitUs = this.group.waitUs(runUs);
    this.#end(ending.refuse(this.call, refusal, runUs, waitUs, busyUs, together));
  }

  /** Frees the memory of the params. Only for a call that has started: it will not be sent again. */
  forgetParams(): void {
    this.call = { ...this.call, params: undefined, source: undefined };
  }

  /** How many calls its handler ran for. The observer is told of the run with the first of them that ends. */
  #together(batch: SentBatch, runUs: number): number {
    if (runUs === neverRan) return 0;
    if (!batch.isReported) {
      batch.isReported = true;
      const { observer, place } = this.group.ending;
      observer?.onHandlerBatch?.(batch.procedure.name, place, batch.size);
    }
    return batch.size;
  }

  /** Now, and not when it was sent: a call that has not started is taken back, and sent again. */
  #tellAffinity({ outcome, waitMs }: SentAffinity): void {
    const { observer, place } = this.group.ending;
    observer?.onAffinity?.(this.call.procedure.name, place, outcome, waitMs);
  }

  #end(reply: Reply): void {
    this.reply = reply;
    this.group.noteAnswer(this);
  }
}

/** Where a call with affinity was sent, and how long it had waited. */
interface SentAffinity {
  readonly outcome: AffinityOutcome;
  readonly waitMs: number;
}

/**
 * `queued`: the group waits for a worker. `sent`: all its calls are at a worker. `held`: some calls are at no worker,
 * and have to wait until an earlier call of the group has ended.
 */
export type CallGroupState = 'queued' | 'sent' | 'held';

/**
 * What became of a call: `sent`; `alone`: sent, and the calls after it wait until it has ended; `later`: it has to wait
 * until the calls before it have ended; `refused`: it has its answer.
 */
export type Sending = 'sent' | 'alone' | 'later' | 'refused';

/** Where the calls of a group are sent: a worker, or a member on another machine. */
export interface CallReceiver {
  /** @param follows whether a call of the same group was sent just before, after whose end this one begins */
  send(item: QueuedCall, follows: boolean): Sending;
}

/** What waits in a fair queue: calls of one request. */
export interface QueuedWork {
  readonly scope: RequestScope;
  /** By `clockMs`. */
  readonly arrivedAt: number;
  /** Calls that wait. */
  readonly waiting: number;
  /** Expected microseconds of all of them, of what leaves next, and of what was sent and came back. */
  readonly expectedUs: number;
  readonly nextUs: number;
  readonly returnedUs: number;
  /** Whether it was sent, and taken back. */
  readonly isReturned: boolean;
  /** Where it waits. Kept by the queue. */
  queue: WaitingPlace | undefined;
}

export interface WaitingPlace {
  /** Takes the work out: it is about to be answered, or it goes elsewhere. */
  drop(work: QueuedWork): void;
}

/** What a group sends at a time, expected microseconds; at least one call. So a long batch does not hold a worker. */
const portionUs = 8000;

/** Whether a call is sent together with those before it, which are expected to take `sumUs`. */
function fitsBehind(item: QueuedCall, sumUs: number): boolean {
  return sumUs === 0 || sumUs + item.expectedUs <= portionUs;
}

/** Gets a group once every call has an answer; a sink gets the reply of a group of one call. */
export type GroupReceiver = ReplySink | ((group: CallGroup) => void);

/** Whom a group tells of what happens to it. */
export interface CallGroupOwner {
  /** Ends the calls. Its `maxReplyBytes` also bounds all replies of one request together. */
  readonly ending: CallEnding;
  /** Every call has an answer, and the group takes no place any more. */
  onDone(group: CallGroup): void;
  /** A held group may go on: every call before `next` has an answer. */
  onResume(group: CallGroup): void;
  /** The replies are together larger than one request may get: calls that have not started must not start. */
  onTooLarge(group: CallGroup): void;
  onCancelled(group: CallGroup): void;
}

/**
 * Calls that run one after another on one worker: a single call, or neighbours of a batch. A group waits in the queue
 * and travels in a frame. When its worker is lost, the calls that have not started go back to the queue.
 */
export class CallGroup implements CancelListener {
  readonly calls: readonly QueuedCall[];
  /** Since when it has waited for a worker, by `clockMs`. */
  waitingSince: number;
  state: CallGroupState = 'queued';
  /** Where the group waits; undefined: it does not wait. */
  queue: WaitingPlace | undefined;
  /** Whether the group holds a place of its procedure's `maxConcurrency`. */
  isInside = false;
  /** Whether a worker has the call of such a group: it may run there after its answer, and keeps its place. */
  isAtWorker = false;
  /** Whether the group was expected to be short when it came to wait. */
  isShort = false;
  /** The place of the worker that its affinity prefers; -1: any worker. */
  home = -1;
  /** How it was sent last; undefined: its procedure has no affinity, or it has several calls. */
  affinity: SentAffinity | undefined = undefined;
  /** Whether calls of it were sent, and taken back before they began. */
  cameBack = false;
  /** Index of the first call that is not with a worker. */
  next = 0;
  /** Calls before this index were sent away at least once. */
  sentUntil = 0;
  /** By `clockMs`. */
  readonly arrivedAt: number;
  /** How its call runs together with others; undefined: it does not. Calls in order run one by one. */
  readonly batch: BatchRules | undefined;
  readonly #owner: CallGroupOwner;
  readonly #receiver: GroupReceiver;
  #answered = 0;
  #replyLength = 0;

  /** @param arrivedAt by `clockMs` */
  constructor(
    calls: readonly QueuedCall[],
    arrivedAt: number,
    owner: CallGroupOwner,
    receiver: GroupReceiver,
  ) {
    this.calls = calls;
    for (let index = 0; index < calls.length; index++) {
      const item = calls[index] as QueuedCall;
      item.group = this;
      item.index = index;
    }
    this.batch = calls.length === 1 ? this.procedure.batch : undefined;
    this.scope.addListener(this);
    this.waitingSince = arrivedAt;
    this.arrivedAt = arrivedAt;
    this.#owner = owner;
    this.#receiver = receiver;
  }

  /** The request it belongs to: all its calls are of one. */
  get scope(): RequestScope {
    return (this.calls[0] as QueuedCall).call.scope;
  }

  /** Of its first call. A call of a procedure with `maxConcurrency` is a group by itself. */
  get procedure(): Procedure {
    return (this.calls[0] as QueuedCall).call.procedure;
  }

  /** Expected microseconds of what has still to be sent. */
  get expectedUs(): number {
    return this.#costUs(this.calls.length);
  }

  /** Expected microseconds of the portion that it sends next. */
  get nextUs(): number {
    let sum = 0;
    for (let i = this.next; i < this.calls.length; i++) {
      const item = this.calls[i] as QueuedCall;
      if (!fitsBehind(item, sum)) break;
      sum += item.expectedUs;
    }
    return sum;
  }

  /** Expected microseconds of what was sent and came back. */
  get returnedUs(): number {
    return this.#costUs(this.sentUntil);
  }

  /** Microseconds that the calls which have still to be sent are expected to take at least; 0: all are sent. */
  get leastUs(): number {
    let sum = 0;
    for (let i = this.next; i < this.calls.length; i++)
      sum += (this.calls[i] as QueuedCall).leastUs;
    return sum;
  }

  /** The call that is sent next; undefined: all were sent. */
  get nextCall(): QueuedCall | undefined {
    for (let i = this.next; i < this.calls.length; i++) {
      if (this.calls[i]?.isAnswered === false) return this.calls[i];
    }
    return undefined;
  }

  /** Calls that are not with a worker. */
  get waiting(): number {
    return this.calls.length - this.next;
  }

  /** Whether calls of the group that are at no worker were sent, and taken back from a worker that was lost or held up. */
  get isReturned(): boolean {
    return this.sentUntil > this.next;
  }

  get isDone(): boolean {
    return this.#answered === this.calls.length;
  }

  /** Whether the next call may be sent: all calls before it have ended. */
  get mayGoOn(): boolean {
    // Calls end in their order, except for a call that could not be sent: the loop nearly always ends at once.
    for (let i = this.next - 1; i >= 0; i--) if (this.calls[i]?.isAnswered === false) return false;
    return true;
  }

  get ending(): CallEnding {
    return this.#owner.ending;
  }

  /** Microseconds since the group's arrival that a call which ends now did not run; 0 if nobody asks. */
  waitUs(runUs: number): number {
    if (this.ending.timing === 'none') return 0;
    const waitUs = (clockMs() - this.arrivedAt) * 1000 - Math.max(runUs, 0);
    // The run of a lost call is known in whole milliseconds only.
    return Math.max(waitUs, 0);
  }

  /** Sends the calls that go next. The rest of the group is held until those have ended. */
  sendTo(receiver: CallReceiver): void {
    let last: Sending | undefined;
    let sumUs = 0;
    this.state = 'sent';
    for (; this.next < this.calls.length; this.next++) {
      const item = this.calls[this.next] as QueuedCall;
      if (item.isAnswered) continue;
      const mayFollow = last !== 'alone' && fitsBehind(item, sumUs);
      const sending = mayFollow ? receiver.send(item, last !== undefined) : 'later';
      if (sending === 'refused') continue;
      if (sending === 'later') {
        this.state = 'held';
        break;
      }
      last = sending;
      sumUs += item.expectedUs;
    }
    this.sentUntil = Math.max(this.sentUntil, this.next);
  }

  /** The call at `index` has come back, and has not run: the group goes on at the first such call. */
  takeBack(index: number): void {
    this.next = Math.min(this.next, index);
    this.state = 'held';
    this.cameBack = true;
  }

  onCancelled(): void {
    this.#owner.onCancelled(this);
  }

  /** A worker has its call, or runs the generator that the call has opened. */
  enterWorker(): void {
    this.isAtWorker = this.isInside;
  }

  /** Its handler has ended, or will not begin there, or the thread is gone. */
  leaveWorker(): void {
    if (!this.isAtWorker) return;
    this.isAtWorker = false;
    if (this.isDone) this.#owner.onDone(this);
  }

  #costUs(end: number): number {
    let sum = 0;
    for (let i = this.next; i < end; i++) sum += (this.calls[i] as QueuedCall).expectedUs;
    return sum;
  }

  /** One of its calls has got its answer. With the last one all answers go to the receiver. */
  noteAnswer({ reply }: QueuedCall): void {
    this.#answered++;
    this.#replyLength += reply?.length ?? 0;
    if (this.isDone) {
      this.scope.removeListener(this);
      if (!this.isAtWorker) this.#owner.onDone(this);
      if (typeof this.#receiver === 'function') this.#receiver(this);
      else this.#receiver.onReply(this.calls[0]?.reply);
    } else if (this.#replyLength > this.ending.maxReplyBytes) {
      this.#owner.onTooLarge(this);
    } else if (this.state === 'held' && this.mayGoOn) {
      this.#owner.onResume(this);
    }
  }
}

/**
 * Work that may wait at one worker, microseconds: enough to share the price of a message among many small calls, and so
 * little that a call behind it does not notice the wait.
 */
export const frameBudgetUs = 1000;

/** How busy a worker is. */
export interface WorkerLoad {
  /** Expected work that was sent to the worker, microseconds. Calls that have ended or only wait do not count. */
  readonly loadUs: number;
  /** Free slots of the worker's ledger: so many more calls can be sent. */
  readonly freeSlots: number;
  /** Generators of streams on the worker: each may want the thread at any time. */
  readonly streamCount: number;
  /**
   * Work that may wait at the worker beyond `frameBudgetUs`, microseconds: code that is no call holds its thread. What waits
   * there when that code ends runs before it goes on. undefined: none.
   */
  readonly gapUs?: number;
}

/** An idle worker takes any calls that its ledger has slots for, another one those that fit its budget. */
export function hasRoom(worker: WorkerLoad, costUs: number, slots: number): boolean {
  if (worker.freeSlots < slots) return false;
  return worker.loadUs === 0 || worker.loadUs + costUs <= frameBudgetUs + (worker.gapUs ?? 0);
}

/** What handing a call over and taking its result costs beside the procedure's own time, microseconds. */
const overheadUs = 4;

/** Copying a byte to another thread, microseconds. */
const usPerByte = 0.001;

/** The estimate rises fast and falls slowly: a call that was wrongly believed to be cheap delays those behind it. */
const rise = 0.5;
const fall = 0.1;

/** A group that is expected to take at most so long is short, microseconds. */
export const shortBoundUs = 8000;

/**
 * A low quantile of the runs falls fast and rises slowly, so that a procedure stays short which the machine held up now
 * and then. A mean would not do: learned beside other programs that use every core, it would call a procedure of 2 ms
 * long for ever.
 */
const quantileRise = 0.02;
const quantileFall = 0.3;

/** What a procedure's calls cost a worker, learned from its runs. */
export class CostEstimate {
  /** Of a batch procedure: how many calls may run together. */
  readonly runSize = new RunSize();
  #micros: number | undefined;
  #leastUs: number | undefined;

  /** A procedure that never ran may be heavy: one call of it counts for a worker's whole budget. */
  get expectedUs(): number {
    return this.#micros === undefined ? frameBudgetUs : this.#micros + overheadUs;
  }

  /** Microseconds that most calls take at least; Infinity for a procedure that never ran. */
  get leastUs(): number {
    return this.#leastUs ?? Number.POSITIVE_INFINITY;
  }

  record(micros: number): void {
    this.#micros = approach(this.#micros, micros, rise, fall);
    this.#leastUs = approach(this.#leastUs, micros, quantileRise, quantileFall);
  }
}

function approach(from: number | undefined, to: number, up: number, down: number): number {
  return from === undefined ? to : from + (to - from) * (to > from ? up : down);
}

function transferCostUs(bytes: number): number {
  return bytes * usPerByte;
}

/** Short groups may go before a long one until their work adds up to this many times the work of the long one. */
const patience = 4;

/** Most work of short groups that may go before a long one, microseconds: a group that takes seconds waits no longer. */
const mostPassedUs = 1_000_000;

/**
 * Whether a long group goes next although short groups wait. This is counted in work, not by the clock: where groups of
 * both kinds come faster than the workers can serve them, all waits grow, and neither kind would ever reach a given
 * ratio of waits. So the long groups get at least a fifth of the workers' time, and the short groups get the rest while
 * they need it.
 *
 * @param longUs what the long group is expected to cost
 * @param passedUs the sum of `passUs` of the short groups that went before it
 */
export function isDue(longUs: number, passedUs: number): boolean {
  return passedUs >= Math.min(patience * longUs, mostPassedUs);
}

/**
 * What a short group counts for, microseconds, when it goes to a worker while a long group waits. On an idle worker it
 * counts for a whole frame's budget at least: a long group needs an idle worker, and a trickle of tiny calls must not
 * take every idle worker for next to nothing.
 *
 * @param isIdle the worker had nothing to do
 */
export function passUs(expectedUs: number, isIdle: boolean): number {
  return isIdle ? Math.max(expectedUs, frameBudgetUs) : expectedUs;
}

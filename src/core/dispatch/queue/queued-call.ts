import { clockMs } from '../../base/clock.ts';
import type { BatchRules } from '../../procedures/batch.ts';
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
import { type CostEstimate, transferCostUs } from './cost.ts';
import type { QueuedWork, WaitingPlace } from './fair-queue.ts';

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

/** Where a call with affinity was sent, and how long it had waited. */
interface SentAffinity {
  readonly outcome: AffinityOutcome;
  readonly waitMs: number;
}

/**
 * `queued`: it waits for a worker. `sent`: a worker has it. `held`: no worker has it, and the call before it has no answer,
 * or it has just come back. `answered`: it has its answer; its handler may go on.
 */
export type QueuedCallState = 'queued' | 'sent' | 'held' | 'answered';

/**
 * What became of a call: `sent`; `alone`: sent, and the calls after it wait until it has ended; `later`: it has to wait
 * until the calls before it have ended; `refused`: it has its answer.
 */
export type Sending = 'sent' | 'alone' | 'later' | 'refused';

/** Where calls are sent: a worker, or a member on another machine. */
export interface CallReceiver {
  /** @param follows whether a call of the same batch was sent just before, after whose end this one begins */
  send(item: QueuedCall, follows: boolean): Sending;
  /** Takes a call back that must not run any more. Returns false if that is too late: it will be answered. */
  withdraw(item: QueuedCall): boolean;
  /** The caller of a call has gone: if the call runs its signal is aborted, and it is answered when it ends. */
  cancel(item: QueuedCall): void;
}

/** Whom a call tells of what happens to it. */
export interface QueuedCallOwner {
  /** Ends the calls. Its `maxReplyBytes` also bounds all replies of one request together. */
  readonly ending: CallEnding;
  /** A call has its answer, and takes no place any more. */
  onDone(item: QueuedCall): void;
  /** Every call before a held one has its answer: it may go on. */
  onResume(item: QueuedCall): void;
  /** The replies are together larger than one request may get: a call must not start if it has not. */
  onTooLarge(item: QueuedCall): void;
  onCancelled(item: QueuedCall): void;
}

/** What a batch sends at a time, expected microseconds; at least one call. So a long batch does not hold a worker. */
const portionUs = 8000;

/**
 * One call on its way through an executor whose calls run elsewhere.
 *
 *     held -> queued -> sent -> answered     a call that comes back is held for a moment, and queued again
 *        ^               |
 *        +---------------+
 *
 * Calls of an ordered batch are linked in their order, as long as they have no answer. The first one that is not sent waits in
 * the queue for all after it, and `sendTo` sends as many of them along as one portion allows. The queue and the methods here
 * change the state.
 */
export class QueuedCall implements QueuedWork, CancelListener {
  call: Call;
  readonly scope: RequestScope;
  readonly procedure: Procedure;
  /** How it runs together with others; undefined: it does not. Calls in order run one by one. */
  readonly rules: BatchRules | undefined;
  readonly ending: CallEnding;
  readonly cost: CostEstimate;
  /** Expected microseconds on the worker, with the time that copying the params takes. */
  readonly callUs: number;
  /** By `clockMs`. */
  readonly arrivedAt: number;
  /** Since when it has waited for a worker, by `clockMs`. */
  waitingSince: number;
  state: QueuedCallState = 'queued';
  /** Where it waits; undefined: it is in no queue. */
  queue: WaitingPlace | undefined = undefined;
  /** The calls before and after it in its batch that have no answer. */
  before: QueuedCall | undefined = undefined;
  next: QueuedCall | undefined = undefined;
  /** The batch that it runs in order in, and its index there; undefined: it runs by itself. */
  readonly order: OrderedCalls | undefined;
  readonly index: number;
  /** Whether it holds a place of its procedure's `maxConcurrency`. */
  isInside = false;
  /** Whether a worker has a call that holds such a place: it may run there after its answer, and keeps its place. */
  isAtWorker = false;
  /** Whether it, and what waited with it, was expected to be short when it came to wait. */
  isShort = false;
  /** The place of the worker that its affinity prefers; -1: any worker. */
  home = -1;
  /** How it was sent last; undefined: its procedure has no affinity, or it runs in order. */
  affinity: SentAffinity | undefined = undefined;
  /** Whether it was sent and taken back before it began. */
  isReturned = false;
  /** Where it was sent last. */
  receiver: CallReceiver | undefined = undefined;
  /** Names the call at its worker. */
  ticket = -1;
  /** What the call counts for in the load of its worker, microseconds; 0 while the call only waits there. */
  loadUs = 0;
  /** Whether it was sent as a long call. */
  isOfLong = false;
  lease: BodyLease | undefined = undefined;
  /** What it runs with; undefined: by itself. */
  run: SentBatch | undefined = undefined;
  /** When its signal was aborted, by the looks of its worker; Infinity: the worker has received the abort, or need not tell. */
  abortedAt: number | undefined = undefined;
  /** When the call began to run, by `clockMs`; undefined: no look at the ledger has seen it run. */
  startedAt: number | undefined = undefined;
  readonly #bytes: number;
  readonly #owner: QueuedCallOwner;
  readonly #sink: ReplySink | undefined;

  /**
   * @param bytes of its params, which are copied to the worker
   * @param arrivedAt by `clockMs`
   * @param receiver of its reply, or the batch that it runs in order in
   */
  constructor(
    call: Call,
    cost: CostEstimate,
    bytes: number,
    arrivedAt: number,
    owner: QueuedCallOwner,
    receiver: ReplySink | OrderedCalls,
  ) {
    this.call = call;
    this.scope = call.scope;
    this.procedure = call.procedure;
    this.ending = owner.ending;
    this.cost = cost;
    this.#bytes = bytes;
    // A whole number: sums of floats drift, and the load of a worker that only waits must be exactly 0.
    this.callUs = Math.ceil(cost.expectedUs + transferCostUs(bytes));
    this.arrivedAt = arrivedAt;
    this.waitingSince = arrivedAt;
    this.#owner = owner;
    if (receiver instanceof OrderedCalls) {
      this.order = receiver;
      this.rules = undefined;
      this.#sink = undefined;
      this.index = receiver.append(this);
    } else {
      this.order = undefined;
      this.rules = call.procedure.batch;
      this.index = 0;
      this.#sink = receiver;
      call.scope.addListener(this);
    }
  }

  get isAnswered(): boolean {
    return this.state === 'answered';
  }

  /** Calls that wait with it: itself, and all after it. */
  get waiting(): number {
    let calls = 1;
    for (let item = this.next; item !== undefined; item = item.next) calls++;
    return calls;
  }

  /** Expected microseconds of all of those. */
  get expectedUs(): number {
    let sum = this.callUs;
    for (let item = this.next; item !== undefined; item = item.next) sum += item.callUs;
    return sum;
  }

  /** Expected microseconds of those that are sent next. */
  get nextUs(): number {
    let sum = this.callUs;
    for (let item = this.next; item?.fitsAfter(sum); item = item.next) sum += item.callUs;
    return sum;
  }

  /** Expected microseconds of those that were sent and came back. */
  get returnedUs(): number {
    if (!this.isReturned) return 0;
    let sum = this.callUs;
    for (let item = this.next; item?.isReturned; item = item.next) sum += item.callUs;
    return sum;
  }

  /** Microseconds that all of them are expected to take at least, by what is known of their procedures now. */
  get leastUs(): number {
    let sum = this.callLeastUs;
    for (let item = this.next; item !== undefined; item = item.next) sum += item.callLeastUs;
    return sum;
  }

  /** The same of this call alone. */
  get callLeastUs(): number {
    return this.cost.leastUs + transferCostUs(this.#bytes);
  }

  /** Whether it is sent together with those before it, which are expected to take `sumUs`. */
  fitsAfter(sumUs: number): boolean {
    // A call whose procedure has `maxConcurrency` waits for a place by itself.
    return sumUs + this.callUs <= portionUs && this.procedure.maxConcurrency === undefined;
  }

  /** Sends it, and those after it that go along. The rest is held until those have ended. */
  sendTo(receiver: CallReceiver): void {
    if (!this.#send(receiver, false)) return;
    let sumUs = this.callUs;
    for (let item = this.next; item?.fitsAfter(sumUs); item = item.next) {
      item.isShort = this.isShort;
      if (!item.#send(receiver, true)) return;
      sumUs += item.callUs;
    }
  }

  /** The call has come back, and has not run. */
  takeBack(): void {
    this.state = 'held';
    this.isReturned = true;
  }

  onCancelled(): void {
    this.#owner.onCancelled(this);
  }

  /** A worker has it, or runs the generator that it has opened. */
  enterWorker(): void {
    this.isAtWorker = this.isInside;
  }

  /** Its handler has ended, or will not begin there, or the thread is gone. */
  leaveWorker(): void {
    if (!this.isAtWorker) return;
    this.isAtWorker = false;
    if (this.isAnswered) this.#owner.onDone(this);
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
    this.state = 'answered';
    const together = this.#together(runUs);
    const waitUs = this.#waitUs(runUs);
    if (this.affinity !== undefined) this.#tellAffinity(this.affinity);
    this.#end(this.ending.pass(this.call, reply, code, runUs, waitUs, busyUs, together));
  }

  /** Answers with an outcome of the main thread. The call has not run. */
  finish(outcome: Outcome): void {
    if (this.isAnswered) return;
    this.state = 'answered';
    this.#end(this.ending.finish(this.call, outcome, neverRan, this.#waitUs(neverRan), 0));
  }

  /** @param busyUs see {@link CallObserver.onCall} */
  refuse(refusal: Refusal, runUs: number, busyUs = 0): void {
    if (this.isAnswered) return;
    this.state = 'answered';
    const together = this.#together(runUs);
    const waitUs = this.#waitUs(runUs);
    this.#end(this.ending.refuse(this.call, refusal, runUs, waitUs, busyUs, together));
  }

  /** Frees the memory of the params. Only for a call that has started: it will not be sent again. */
  forgetParams(): void {
    this.call = { ...this.call, params: undefined, source: undefined };
  }

  /** Returns whether the next call may go along. */
  #send(receiver: CallReceiver, follows: boolean): boolean {
    this.state = 'sent';
    this.receiver = receiver;
    const sending = receiver.send(this, follows);
    if (sending === 'later') this.state = 'held';
    return sending === 'sent';
  }

  /** Microseconds since its arrival that a call which ends now did not run; 0 if nobody asks. */
  #waitUs(runUs: number): number {
    if (this.ending.timing === 'none') return 0;
    const waitUs = (clockMs() - this.arrivedAt) * 1000 - Math.max(runUs, 0);
    // The run of a lost call is known in whole milliseconds only.
    return Math.max(waitUs, 0);
  }

  /** How many calls its handler ran for. The observer is told of the run with the first of them that ends. */
  #together(runUs: number): number {
    const { run } = this;
    if (run === undefined || runUs === neverRan) return 0;
    if (!run.isReported) {
      run.isReported = true;
      const { observer, place } = this.ending;
      observer?.onHandlerBatch?.(run.procedure.name, place, run.size);
    }
    return run.size;
  }

  /** Now, and not when it was sent: a call that has not started is taken back, and sent again. */
  #tellAffinity({ outcome, waitMs }: SentAffinity): void {
    const { observer, place } = this.ending;
    observer?.onAffinity?.(this.procedure.name, place, outcome, waitMs);
  }

  #end(reply: Reply): void {
    if (!this.isAtWorker) this.#owner.onDone(this);
    if (this.order !== undefined) {
      this.order.end(this, reply);
      return;
    }
    this.scope.removeListener(this);
    this.#sink?.onReply(reply);
  }
}

/** The calls of a request that run one after another, and their replies, which are given together. */
export class OrderedCalls implements CancelListener {
  readonly #scope: RequestScope;
  readonly #owner: QueuedCallOwner;
  readonly #sink: ReplySink<readonly Reply[]>;
  readonly #replies: Reply[] = [];
  #replyLength = 0;
  #isTooLarge = false;
  /** The last of its calls that has no answer. */
  last: QueuedCall | undefined;

  constructor(scope: RequestScope, owner: QueuedCallOwner, sink: ReplySink<readonly Reply[]>) {
    this.#scope = scope;
    this.#owner = owner;
    this.#sink = sink;
    scope.addListener(this);
  }

  /** Before the first of its calls is sent. @returns its index */
  append(item: QueuedCall): number {
    const { last } = this;
    if (last !== undefined) {
      last.next = item;
      item.before = last;
      item.state = 'held';
    }
    this.last = item;
    return this.#replies.push(undefined) - 1;
  }

  /** A call has its answer. With the last one all answers go to the sink. */
  end(item: QueuedCall, reply: Reply): void {
    const { before, next } = item;
    if (before !== undefined) before.next = next;
    if (next === undefined) this.last = before;
    else next.before = before;
    item.before = undefined;
    item.next = undefined;
    this.#replies[item.index] = reply;
    this.#replyLength += reply?.length ?? 0;
    if (this.last === undefined) {
      this.#scope.removeListener(this);
      this.#sink.onReply(this.#replies);
    } else if (this.#isTooLarge) {
      return;
    } else if (this.#replyLength > this.#owner.ending.maxReplyBytes) {
      this.#isTooLarge = true;
      this.#each((one) => this.#owner.onTooLarge(one));
    } else if (before === undefined && next?.state === 'held') {
      this.#owner.onResume(next);
    }
  }

  onCancelled(): void {
    this.#each((item) => this.#owner.onCancelled(item));
  }

  /** From the last call on, so that none goes on meanwhile. The first of those that no worker has stands for all of them. */
  #each(act: (item: QueuedCall) => void): void {
    let item = this.last;
    while (item?.before !== undefined && item.before.state !== 'sent') item = item.before;
    while (item !== undefined) {
      const { before }: QueuedCall = item;
      act(item);
      item = before;
    }
  }
}

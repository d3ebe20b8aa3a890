import { clockMs } from '../../base/clock.ts';
import type { Outcome, Reply, ReplySink } from '../../protocol/reply.ts';
import type { BodyLease } from '../body-lease.ts';
import type { Call } from '../call.ts';
import type { CallEnding } from '../call-ending.ts';
import type { Refusal } from '../limit.ts';
import { neverRan } from '../observer.ts';
import type { CancelListener, RequestScope } from '../scope.ts';
import { type CostEstimate, transferCostUs } from './cost.ts';

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
  /** Shared bytes that its worker may still read. */
  lease: BodyLease | undefined = undefined;
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
   */
  answer(reply: Reply, code: number, runUs: number): void {
    if (!this.#claimAnswer()) return;
    const { ending } = this.group;
    this.reply = ending.pass(this.call, reply, code, runUs, this.group.waitUs(runUs));
    this.group.noteAnswer(this);
  }

  /** Answers with an outcome of the main thread. The call has not run. */
  finish(outcome: Outcome): void {
    if (!this.#claimAnswer()) return;
    const { ending } = this.group;
    this.reply = ending.finish(this.call, outcome, neverRan, this.group.waitUs(neverRan));
    this.group.noteAnswer(this);
  }

  /** Frees the memory of the params. Only for a call that has started: it will not be sent again. */
  forgetParams(): void {
    this.call = { ...this.call, params: undefined, source: undefined };
  }

  /** Answers with a standard error. */
  refuse(refusal: Refusal, runUs: number): void {
    if (!this.#claimAnswer()) return;
    const { ending } = this.group;
    this.reply = ending.refuse(this.call, refusal, runUs, this.group.waitUs(runUs));
    this.group.noteAnswer(this);
  }

  #claimAnswer(): boolean {
    if (this.isAnswered) return false;
    this.isAnswered = true;
    return true;
  }
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

/** Where a group waits for a worker. */
export interface WaitingPlace {
  /** Takes the group out: it is about to be answered, or it goes elsewhere. */
  drop(group: CallGroup): void;
}

/**
 * The portion that a group sends at a time, expected microseconds; at least one call. So a batch of many calls does not
 * hold a worker until all of them have run while other callers wait.
 */
const portionUs = 8000;

/** Whether a call is sent together with those before it, which are expected to take `sumUs`. */
function fitsBehind(item: QueuedCall, sumUs: number): boolean {
  return sumUs === 0 || sumUs + item.expectedUs <= portionUs;
}

/** Whom a group tells of what happens to it. */
export interface CallGroupOwner {
  /** Ends the calls. Its `maxReplyBytes` also bounds all replies of one request together. */
  readonly ending: CallEnding;
  /** Every call has an answer: the group takes no place any more. Its answers are given out next. */
  onDone(group: CallGroup): void;
  /** A held group may go on: every call before `next` has an answer. */
  onResume(group: CallGroup): void;
  /**
   * The replies of the group are together larger than one request may get: calls that have not started must not start.
   */
  onTooLarge(group: CallGroup): void;
  /** The caller has gone. */
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
  /** Whether the group counts for its procedure's `maxConcurrency`. */
  isInside = false;
  /** Whether the group was expected to be short when it came to wait. */
  isShort = false;
  /** Index of the first call that is not with a worker. */
  next = 0;
  /** Calls before this index were sent away at least once. */
  sentUntil = 0;
  /** By `clockMs`. */
  readonly arrivedAt: number;
  readonly #owner: CallGroupOwner;
  readonly #receiver: ReplySink | ((group: CallGroup) => void);
  #answered = 0;
  #replyLength = 0;

  /**
   * @param arrivedAt by `clockMs`
   * @param receiver gets the group once every call has an answer; a sink gets the reply of a group of one call
   */
  constructor(
    calls: readonly QueuedCall[],
    arrivedAt: number,
    owner: CallGroupOwner,
    receiver: ReplySink | ((group: CallGroup) => void),
  ) {
    this.calls = calls;
    for (let index = 0; index < calls.length; index++) {
      const item = calls[index] as QueuedCall;
      item.group = this;
      item.index = index;
    }
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

  /** The name and the bound of its procedure, where that has one. A call of such a procedure is a group by itself. */
  get limited(): { readonly name: string; readonly maxConcurrency: number } | undefined {
    const { name, maxConcurrency } = (this.calls[0] as QueuedCall).call.procedure;
    return maxConcurrency === undefined ? undefined : { name, maxConcurrency };
  }

  /** Expected microseconds of what has still to be sent. */
  get expectedUs(): number {
    return this.#costUs(this.calls.length);
  }

  /** Expected microseconds of the portion that it sends next. */
  get nextUs(): number {
    return this.calls.length === 1 ? this.expectedUs : this.#costUs(this.#portionEnd());
  }

  /** Expected microseconds of what was sent and came back. */
  get returnedUs(): number {
    return this.#costUs(this.sentUntil);
  }

  /** Microseconds that the calls which have still to be sent are expected to take at least. */
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

  /** Whether calls of the group were sent, and taken back from a worker that was lost or held up. */
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

  /**
   * How long a call that ends now has waited: microseconds since the group's arrival, without `runUs`. 0 where nobody
   * asks.
   */
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
  }

  onCancelled(): void {
    this.#owner.onCancelled(this);
  }

  #portionEnd(): number {
    let sum = 0;
    let end = this.next;
    for (; end < this.calls.length; end++) {
      const item = this.calls[end] as QueuedCall;
      if (!fitsBehind(item, sum)) break;
      sum += item.expectedUs;
    }
    return end;
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
      this.#owner.onDone(this);
      if (typeof this.#receiver === 'function') this.#receiver(this);
      else this.#receiver.onReply(this.calls[0]?.reply);
    } else if (this.#replyLength > this.ending.maxReplyBytes) {
      this.#owner.onTooLarge(this);
    } else if (this.state === 'held' && this.mayGoOn) {
      this.#owner.onResume(this);
    }
  }
}

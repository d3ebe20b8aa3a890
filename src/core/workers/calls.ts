import { deadlineExceeded, neverRan, ownTimeoutMs } from '../dispatch/call.ts';
import { expiriesAtOnce, maxOrphansPerWorker, OrphanCounts } from '../dispatch/deadline.ts';
import { shortBoundUs } from '../dispatch/queue/cost.ts';
import {
  type CallReceiver,
  type OrderedCalls,
  type QueuedCall,
  SentBatch,
} from '../dispatch/queue/queued-call.ts';
import { leftAfterMs } from '../dispatch/streams/stream-run.ts';
import { type FaultReporter, toErrorOutcome } from '../procedures/fault.ts';
import type { PoolOptions, WorkerThread } from './options.ts';
import { FrameBuilder } from './wire/frame.ts';
import { slotCount } from './wire/ledger.ts';

/** A call that is expected to take at most so long may begin before the replica reports earlier results, microseconds. */
const shortUs = 50;

/**
 * A thread is stuck if it was sent an abort, has answered no abort for so long, and is in no call that it is known to
 * run, milliseconds. A look counts for `maxLookMs` at most: a machine that keeps this thread from its looks keeps others, too.
 */
const unresponsiveAfterMs = 500;
export const maxLookMs = 50;

type CallsOptions = Pick<PoolOptions, 'timeoutMs' | 'counters' | 'bodies'>;

/** Calls at a worker that have not begun, and go elsewhere together if at all: those of a batch, or of one run. */
export interface UnstartedCalls {
  readonly first: QueuedCall;
  readonly items: Set<QueuedCall>;
  expectedUs: number;
  leastUs: number;
}

function byAge(a: QueuedCall, b: QueuedCall): number {
  return a.ticket - b.ticket;
}

/**
 * The calls that one worker was sent, and their expected cost. Sends calls, takes back those that have not started, and ends
 * those that do not end by themselves: their callers leave, or their time is over.
 */
export class WorkerCalls implements CallReceiver {
  /** By slot of the ledger; free slots are undefined. */
  readonly all: (QueuedCall | undefined)[] = [];
  /** Calls here, and those of them that do not just wait. */
  count = 0;
  working = 0;
  /** Long calls among those. */
  long = 0;
  /** Expected work of those, microseconds. */
  loadUs = 0;
  /** Calls that nobody waits for; they are not among `all`. */
  readonly orphans: Orphans = new Orphans();
  /** Runs of batch procedures that are here, by procedure: those that go on, and those that have not begun. */
  readonly #batches = new Map<string, number>();
  readonly #free: number[] = [];
  #sequence = 1;
  readonly #thread: WorkerThread;
  readonly #options: CallsOptions;
  readonly #onFault: FaultReporter;
  readonly #onPlaceHeld: (procedure: string) => void;
  readonly #frame: FrameBuilder;
  /** The time that looks have counted, milliseconds, and when the last one was, by `clockMs`. */
  #watchedMs = 0;
  #lookedAt = 0;
  /** When the thread last answered an abort, in `#watchedMs`. It answers many aborts one after another. */
  #heardAt = 0;

  /**
   * @param onFault called for a call that could not be sent; its caller gets only the ref
   * @param onPlaceHeld called if a handler goes on after its deadline, and holds a place of its procedure's `maxConcurrency`
   */
  constructor(
    thread: WorkerThread,
    options: CallsOptions,
    onFault: FaultReporter,
    onPlaceHeld: (procedure: string) => void,
  ) {
    this.#thread = thread;
    this.#options = options;
    this.#onFault = onFault;
    this.#onPlaceHeld = onPlaceHeld;
    this.#frame = new FrameBuilder(options.bodies);
  }

  /** The call that a ticket names; undefined: it is not here, or not any more. */
  of(ticket: number): QueuedCall | undefined {
    const item = this.all[ticket % slotCount];
    return item?.ticket === ticket ? item : undefined;
  }

  /** The calls that have not begun and have not come back before, oldest first. */
  get unstarted(): UnstartedCalls[] {
    const runs = new Map<QueuedCall | OrderedCalls | SentBatch, UnstartedCalls>();
    const items = this.all.filter((item) => item !== undefined);
    for (const item of items.sort(byAge)) {
      if (item.isReturned || this.#thread.ledger.startedAt(item.ticket) !== undefined) continue;
      const key = item.order ?? item.run ?? item;
      const run = runs.get(key) ?? { first: item, items: new Set(), expectedUs: 0, leastUs: 0 };
      runs.set(key, run);
      run.items.add(item);
      run.expectedUs += item.callUs;
      run.leastUs += item.callLeastUs;
    }
    return [...runs.values()];
  }

  /** Whether the next frame has calls already. */
  get hasFrame(): boolean {
    return this.#frame.count > 0;
  }

  /** Milliseconds a call may run. */
  timeoutOf({ call }: QueuedCall): number {
    return ownTimeoutMs(call, this.#options.timeoutMs);
  }

  /** Runs of a batch procedure that are here. */
  batchesOf(procedure: string): number {
    return this.#batches.get(procedure) ?? 0;
  }

  /** Sends calls of one batch procedure, which run together. */
  sendTogether(items: readonly QueuedCall[]): void {
    const [first] = items;
    if (first === undefined) return;
    let expectedUs = 0;
    for (const { callUs } of items) expectedUs += callUs;
    const run = new SentBatch(
      first.procedure,
      expectedUs,
      !first.isShort || expectedUs > shortBoundUs,
    );
    for (const item of items) {
      item.run = run;
      item.sendTo(this);
    }
  }

  /** Puts a call into the next frame. A call that can't be put into a frame is answered with -32603. */
  send(item: QueuedCall, follows: boolean): 'sent' | 'refused' {
    const { run } = item;
    const joins = run !== undefined && run.size > 0;
    this.#take(item);
    try {
      const { call, ticket, callUs } = item;
      const isShort = (run?.expectedUs ?? callUs) <= shortUs;
      const timeoutMs = this.timeoutOf(item);
      item.lease = this.#frame.add(call, ticket, follows, isShort, timeoutMs, joins);
    } catch (error) {
      this.release(item);
      if (run !== undefined) run.size--;
      this.#fault(item, error);
      return 'refused';
    }
    this.#thread.ledger.send(item.ticket);
    return 'sent';
  }

  /** Posts the frame that `send` has filled. If it can't be posted, its calls are answered with -32603. */
  flush(): void {
    const { count } = this.#frame;
    if (count === 0) return;
    const frame = this.#frame.take();
    try {
      this.#thread.post(frame);
    } catch (error) {
      const firstTicket = frame.numbers[0] as number;
      const oldest = firstTicket - (firstTicket % slotCount);
      // From the youngest on, so that no call goes on after one that is answered here.
      const unsent = this.takeBack(({ ticket }) => ticket >= oldest).sort(byAge);
      for (const item of unsent.reverse()) this.#fault(item, error);
      return;
    }
    const { counts } = this.#options.counters;
    counts.frames++;
    counts.framedCalls += count;
  }

  /** Takes calls back that have not started. */
  takeBack(isMeant: (item: QueuedCall) => boolean = () => true): QueuedCall[] {
    const items: QueuedCall[] = [];
    for (const item of this.all) {
      if (item !== undefined && isMeant(item) && this.withdraw(item)) items.push(item);
    }
    return items;
  }

  withdraw(item: QueuedCall): boolean {
    if (this.of(item.ticket) !== item || !this.#thread.ledger.revoke(item.ticket)) return false;
    this.release(item);
    if (item.run !== undefined) item.run.size--;
    item.takeBack();
    return true;
  }

  /** A call only waits from now on: it counts for the load no more. */
  rest(item: QueuedCall): void {
    if (item.loadUs === 0) return;
    if (item.isOfLong) this.long--;
    this.working--;
    this.loadUs -= item.loadUs;
    item.loadUs = 0;
  }

  /**
   * The worker has ended a call, or nobody waits for it, or it will not start here.
   *
   * @param goesOn it still runs, as an orphan
   */
  release(item: QueuedCall, goesOn = false): void {
    if (!goesOn) {
      if (item.run !== undefined) this.#leave(item.run);
      item.leaveWorker();
    }
    this.rest(item);
    // The worker reads the bytes no more.
    item.lease?.release();
    item.lease = undefined;
    const slot = item.ticket % slotCount;
    this.all[slot] = undefined;
    this.#free.push(slot);
    this.count--;
  }

  cancel(item: QueuedCall): void {
    if (this.of(item.ticket) !== item || item.abortedAt !== undefined) return;
    // The thread is killed at the call's deadline and not before: a caller that comes and goes must not cost a thread
    // each time.
    this.#abort(item, 'cancelled', false);
  }

  /**
   * Answers the calls whose time is over. Of very many the next look takes the rest.
   *
   * @param onAnswered called with each
   * @returns the call for which the thread must be killed: its synchronous code runs past its deadline, or its signal
   *   was aborted and the thread does not even answer that
   */
  expire(now: number, onAnswered: (item: QueuedCall) => void): QueuedCall | undefined {
    const { ledger } = this.#thread;
    this.#watchedMs += Math.min(now - this.#lookedAt, maxLookMs);
    this.#lookedAt = now;
    let stuck: QueuedCall | undefined;
    let left = expiriesAtOnce;
    for (const item of this.all) {
      if (item === undefined) continue;
      const { isAnswered } = item;
      item.startedAt = ledger.startedAt(item.ticket);
      if (item.startedAt === undefined) this.#expireUnstarted(item, now);
      else if (this.#expireStarted(item, item.startedAt, now, onAnswered)) stuck = item;
      if (item.isAnswered !== isAnswered && --left === 0) break;
    }
    for (const item of this.orphans) {
      if (this.#expireStarted(item, item.startedAt ?? now, now, onAnswered)) stuck = item;
    }
    return stuck;
  }

  /** The worker has received an abort. A call that has not ended by now waits, and nobody waits for it. */
  aborted(ticket: number): void {
    const item = this.of(ticket);
    const aborted = item ?? this.orphans.of(ticket);
    if (aborted?.abortedAt === undefined) return;
    this.#heardAt = this.#watchedMs;
    aborted.abortedAt = Number.POSITIVE_INFINITY;
    if (item === undefined) return;
    item.startedAt = this.#thread.ledger.startedAt(ticket);
    this.release(item, true);
    item.forgetParams();
    this.orphans.add(item);
  }

  /** A call that nobody waited for has ended. */
  removeOrphan(item: QueuedCall): void {
    if (item.run !== undefined) this.#leave(item.run);
    this.orphans.remove(item);
    item.leaveWorker();
  }

  /**
   * Whether so many handlers do not end that the worker must be replaced. One is enough if it holds a place of its procedure's
   * `maxConcurrency`, long after its deadline.
   */
  isSpent(now: number): boolean {
    if (this.orphans.isSpent) return true;
    for (const item of this.orphans.holders) {
      const endedAt = Math.min(
        (item.startedAt ?? now) + this.timeoutOf(item),
        item.call.scope.expiresAt,
      );
      if (now - endedAt > leftAfterMs) return true;
    }
    return false;
  }

  /** Whether the thread is in the synchronous code of a call. Of a batch the ledger names one call. */
  isRunning(item: QueuedCall): boolean {
    const { ledger } = this.#thread;
    if (ledger.isRunning(item.ticket)) return true;
    return item.run !== undefined && this.all[ledger.runningSlot]?.run === item.run;
  }

  #enter(batch: SentBatch, item: QueuedCall): void {
    batch.size++;
    batch.timeoutMs = Math.max(batch.timeoutMs, this.timeoutOf(item));
    if (batch.left++ === 0) this.#count(batch, 1);
  }

  /** A call of a batch is here no more. */
  #leave(batch: SentBatch): void {
    if (--batch.left === 0 && !batch.isOver) this.#count(batch, -1);
  }

  #count({ procedure: { name }, isLong }: SentBatch, change: 1 | -1): void {
    if (isLong === undefined) return;
    const count = this.batchesOf(name) + change;
    if (count === 0) this.#batches.delete(name);
    else this.#batches.set(name, count);
  }

  /** Gives a call a slot, and a ticket that no call had before. */
  #take(item: QueuedCall): void {
    const slot = this.#free.pop() ?? this.all.length;
    item.ticket = this.#sequence++ * slotCount + slot;
    item.loadUs = item.callUs;
    if (item.run !== undefined) this.#enter(item.run, item);
    item.enterWorker();
    item.isOfLong = item.run?.isLong ?? !item.isShort;
    if (item.isOfLong) this.long++;
    this.all[slot] = item;
    this.count++;
    this.working++;
    this.loadUs += item.loadUs;
  }

  /** Whether the thread must be killed for a call that has started. */
  #expireStarted(
    item: QueuedCall,
    startedAt: number,
    now: number,
    onAnswered: (item: QueuedCall) => void,
  ): boolean {
    const ownMs = this.timeoutOf(item);
    const { scope } = item.call;
    if (now < startedAt + ownMs && now < scope.expiresAt) return false;
    const { run } = item;
    // The time of one caller costs the others nothing: the run goes on until its own time is over.
    if (run !== undefined && now < startedAt + run.timeoutMs) {
      if (!item.isAnswered) this.#expireOne(item, startedAt, now, onAnswered);
      return false;
    }
    if (run !== undefined && !run.isOver) {
      run.isOver = true;
      if (run.left > 0) this.#count(run, -1);
    }
    const isOrphan = this.orphans.of(item.ticket) === item;
    const isRunning = !isOrphan && this.isRunning(item);
    const isStuck = isRunning || this.#isSilent(item);
    if (item.isAnswered) {
      // It was answered at its caller's own time. From now on the thread must answer for it.
      const isUnheard = run !== undefined && !isOrphan && !isRunning;
      if (isUnheard && item.abortedAt === Number.POSITIVE_INFINITY) {
        this.#abort(item, 'deadline', true);
      }
      return isStuck;
    }
    if (isOrphan) this.orphans.expire(item);
    this.#answerExpired(item, startedAt, now, isRunning);
    if (!isRunning) this.#abort(item, 'deadline', true);
    onAnswered(item);
    return isStuck;
  }

  /** Answers a call of a batch at its caller's own time. */
  #expireOne(
    item: QueuedCall,
    startedAt: number,
    now: number,
    onAnswered: (item: QueuedCall) => void,
  ): void {
    if (this.orphans.of(item.ticket) === item) this.orphans.expire(item);
    this.#answerExpired(item, startedAt, now);
    if (item.abortedAt === undefined) this.#abort(item, 'deadline', false);
    onAnswered(item);
  }

  /** @param isRunning the thread is in its synchronous code, which calls that run together share */
  #answerExpired(item: QueuedCall, startedAt: number, now: number, isRunning = false): void {
    const timeoutMs = this.timeoutOf(item);
    const { scope } = item.call;
    const own = startedAt + timeoutMs <= scope.expiresAt || scope.timeoutMs === undefined;
    const refusal = deadlineExceeded(own ? timeoutMs : scope.timeoutMs);
    const runUs = (now - startedAt) * 1000;
    if (item.isAtWorker) this.#onPlaceHeld(item.call.procedure.name);
    item.refuse(refusal, runUs, isRunning ? runUs / (item.run?.size ?? 1) : 0);
  }

  #expireUnstarted(item: QueuedCall, now: number): void {
    const { scope } = item.call;
    if (scope.timeoutMs === undefined || now < scope.expiresAt) return;
    if (!this.withdraw(item)) return;
    item.refuse(deadlineExceeded(scope.timeoutMs), neverRan);
  }

  #isSilent({ abortedAt }: QueuedCall): boolean {
    if (abortedAt === undefined) return false;
    if (this.#watchedMs - Math.max(abortedAt, this.#heardAt) <= unresponsiveAfterMs) return false;
    return !this.#thread.ledger.isBusy();
  }

  /** @param isAwaited whether the thread is stuck if it does not answer */
  #abort(item: QueuedCall, reason: 'cancelled' | 'deadline', isAwaited: boolean): void {
    item.abortedAt = isAwaited ? this.#watchedMs : Number.POSITIVE_INFINITY;
    this.#thread.ledger.cancel(item.ticket);
    this.#thread.post({ type: 'abort', ticket: item.ticket, reason });
  }

  #fault(item: QueuedCall, error: unknown): void {
    if (item.isAnswered) return;
    item.finish(toErrorOutcome(error, item.call.procedure.name, { onFault: this.#onFault }));
  }
}

/**
 * Calls of one worker that wait there although nobody waits for them: their callers have left, or they were answered at
 * their deadline. They have no slot any more, but their handlers still hold what they hold. Their results are dropped.
 */
export class Orphans {
  readonly #items = new Map<number, QueuedCall>();
  /** Those that hold a place of their procedures' `maxConcurrency`. */
  readonly holders = new Set<QueuedCall>();
  /** Those whose callers have left and whose deadline has not come. */
  readonly left: OrphanCounts = new OrphanCounts();

  /** Calls that go on beyond their deadline. */
  get overdue(): number {
    return this.#items.size - this.left.total;
  }

  /** Whether so many handlers do not end that the worker must be replaced. */
  get isSpent(): boolean {
    return this.overdue >= maxOrphansPerWorker;
  }

  /** The call whose caller left first; about the next one to end. undefined: there is none. */
  get oldest(): QueuedCall | undefined {
    for (const item of this.#items.values()) if (!item.isAnswered) return item;
    return undefined;
  }

  [Symbol.iterator](): Iterator<QueuedCall> {
    return this.#items.values();
  }

  add(item: QueuedCall): void {
    this.#items.set(item.ticket, item);
    if (item.isAtWorker) this.holders.add(item);
    if (!item.isAnswered) this.left.add(item.call.procedure.name);
  }

  of(ticket: number): QueuedCall | undefined {
    return this.#items.get(ticket);
  }

  /** A call is about to be answered at its deadline, and goes on in the worker. */
  expire(item: QueuedCall): void {
    this.left.remove(item.call.procedure.name);
  }

  /** A call has ended, or its thread has. */
  remove(item: QueuedCall): void {
    this.holders.delete(item);
    if (this.#items.delete(item.ticket) && !item.isAnswered) this.expire(item);
  }
}

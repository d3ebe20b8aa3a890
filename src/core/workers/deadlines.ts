import { clockMs } from '../base/clock.ts';
import { deadlineExceeded } from '../dispatch/limit.ts';
import { neverRan } from '../dispatch/observer.ts';
import { OrphanCounts } from '../dispatch/orphans.ts';
import type { CallGroup, QueuedCall } from '../dispatch/queue/call-group.ts';
import type { WorkerCalls } from './calls.ts';
import type { WorkerThread } from './threads.ts';

/**
 * A thread is stuck that was sent an abort, has answered no abort for so long, and is in no call that it is known to
 * run, milliseconds.
 */
const unresponsiveAfterMs = 500;

/**
 * Calls of one worker that wait there although nobody waits for them: their callers have left, or they were answered at
 * their deadline. They have no slot any more, but their handlers still hold what they hold. Their results are dropped.
 */
export class Orphans {
  readonly #limit: number;
  readonly #items = new Map<number, QueuedCall>();
  /** Those that have been left by their callers and may still end in time. */
  readonly #left: OrphanCounts;

  /** @param limit with so many calls of either kind the worker is full of them */
  constructor(limit: number) {
    this.#limit = limit;
    this.#left = new OrphanCounts(limit);
  }

  /** Calls whose callers have left and whose deadline has not come. */
  get left(): number {
    return this.#left.total;
  }

  /** Calls that go on beyond their deadline. */
  get overdue(): number {
    return this.#items.size - this.left;
  }

  /** Whether so many handlers do not end that the worker must be replaced. */
  get isSpent(): boolean {
    return this.overdue >= this.#limit;
  }

  /** See {@link OrphanCounts.isFullOf}. */
  isFullOf(method: string): boolean {
    return this.#left.isFullOf(method);
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
    if (!item.isAnswered) this.#left.add(item.call.procedure.name);
  }

  of(ticket: number): QueuedCall | undefined {
    return this.#items.get(ticket);
  }

  /** A call is about to be answered at its deadline, and goes on in the worker. */
  expire(item: QueuedCall): void {
    this.#left.remove(item.call.procedure.name);
  }

  /** A call has ended, or its thread has. */
  remove(item: QueuedCall): void {
    if (this.#items.delete(item.ticket) && !item.isAnswered) this.expire(item);
  }
}

/** Ends calls of a worker that do not end by themselves: their callers leave, or their time is over. */
export class CallDeadlines {
  readonly #thread: WorkerThread;
  readonly #calls: WorkerCalls;
  readonly #orphans: Orphans;
  /** When the thread last answered an abort, by `clockMs`. It answers many aborts one after another. */
  #heardAt = Number.NEGATIVE_INFINITY;

  constructor(thread: WorkerThread, calls: WorkerCalls, orphans: Orphans) {
    this.#thread = thread;
    this.#calls = calls;
    this.#orphans = orphans;
  }

  /** The caller of a group has gone: aborts the signals of its calls that run. */
  cancel(group: CallGroup): void {
    for (const item of this.#calls.all) {
      if (item === undefined || item.group !== group || item.abortedAt !== undefined) continue;
      // The thread is killed at the call's deadline and not before: a caller that comes and goes must not cost a thread
      // each time.
      this.#abort(item, 'cancelled', Number.POSITIVE_INFINITY);
    }
  }

  /**
   * Answers the calls whose time is over.
   *
   * @param onAnswered called with the group of each
   * @returns the call for which the thread must be killed: its synchronous code runs past its deadline, or its signal
   *   was aborted and the thread does not even answer that
   */
  expire(now: number, onAnswered: (group: CallGroup) => void): QueuedCall | undefined {
    const { ledger } = this.#thread;
    let stuck: QueuedCall | undefined;
    for (const item of this.#calls.all) {
      if (item === undefined) continue;
      item.startedAt = ledger.startedAt(item.ticket);
      if (item.startedAt === undefined) this.#expireUnstarted(item, now);
      else if (this.#expireStarted(item, item.startedAt, now, onAnswered)) stuck = item;
    }
    for (const item of this.#orphans) {
      if (this.#expireStarted(item, item.startedAt ?? now, now, onAnswered)) stuck = item;
    }
    return stuck;
  }

  /** The worker has received an abort. A call that has not ended by now waits, and nobody waits for it. */
  aborted(ticket: number): void {
    const item = this.#calls.of(ticket);
    const aborted = item ?? this.#orphans.of(ticket);
    if (aborted?.abortedAt === undefined) return;
    this.#heardAt = clockMs();
    aborted.abortedAt = Number.POSITIVE_INFINITY;
    if (item === undefined) return;
    item.startedAt = this.#thread.ledger.startedAt(ticket);
    this.#calls.release(item);
    item.forgetParams();
    this.#orphans.add(item);
  }

  /** Whether the thread must be killed for a call that has started. */
  #expireStarted(
    item: QueuedCall,
    startedAt: number,
    now: number,
    onAnswered: (group: CallGroup) => void,
  ): boolean {
    const timeoutMs = this.#calls.timeoutOf(item);
    const { scope } = item.call;
    if (now < startedAt + timeoutMs && now < scope.expiresAt) return false;
    const isOrphan = this.#orphans.of(item.ticket) === item;
    const isRunning = !isOrphan && this.#thread.ledger.isRunning(item.ticket);
    const isStuck = isRunning || this.#isSilent(item, now);
    if (item.isAnswered) return isStuck;
    const own = startedAt + timeoutMs <= scope.expiresAt || scope.timeoutMs === undefined;
    const refusal = deadlineExceeded(own ? timeoutMs : scope.timeoutMs);
    if (isOrphan) this.#orphans.expire(item);
    item.refuse(refusal, (now - startedAt) * 1000);
    if (!isRunning) this.#abort(item, 'deadline', now);
    onAnswered(item.group);
    return isStuck;
  }

  #expireUnstarted(item: QueuedCall, now: number): void {
    const { scope } = item.call;
    if (scope.timeoutMs === undefined || now < scope.expiresAt) return;
    if (!this.#thread.ledger.revoke(item.ticket)) return;
    this.#calls.release(item);
    item.refuse(deadlineExceeded(scope.timeoutMs), neverRan);
  }

  #isSilent({ abortedAt }: QueuedCall, now: number): boolean {
    if (abortedAt === undefined) return false;
    if (now - Math.max(abortedAt, this.#heardAt) <= unresponsiveAfterMs) return false;
    return !this.#thread.ledger.isBusy();
  }

  #abort(item: QueuedCall, reason: 'cancelled' | 'deadline', at: number): void {
    item.abortedAt = at;
    this.#thread.ledger.cancel(item.ticket);
    this.#thread.post({ type: 'abort', ticket: item.ticket, reason });
  }
}

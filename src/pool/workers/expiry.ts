import { clockMs } from '../../base/clock.ts';
import { deadlineExceeded } from '../../dispatch/limit.ts';
import { neverRan } from '../../dispatch/observer.ts';
import type { CallTrain, QueuedCall } from '../../dispatch/queue/call-train.ts';
import type { Orphans } from './orphans.ts';
import type { Slots } from './slots.ts';
import type { ReplicaThread } from './threads.ts';

/**
 * A thread is stuck that was sent an abort, has answered no abort for so long, and is in no call that it is known to
 * run, milliseconds.
 */
const unresponsiveAfterMs = 500;

/** Ends calls of a worker that do not end by themselves: their callers leave, or their time is over. */
export class Expiry {
  readonly #thread: ReplicaThread;
  readonly #slots: Slots;
  readonly #orphans: Orphans;
  readonly #timeoutOf: (item: QueuedCall) => number;
  /**
   * When the thread last answered an abort, by `clockMs`. It answers thousands that were sent at once one after
   * another.
   */
  #heardAt = Number.NEGATIVE_INFINITY;

  /** @param timeoutOf milliseconds a call may run */
  constructor(
    thread: ReplicaThread,
    slots: Slots,
    orphans: Orphans,
    timeoutOf: (item: QueuedCall) => number,
  ) {
    this.#thread = thread;
    this.#slots = slots;
    this.#orphans = orphans;
    this.#timeoutOf = timeoutOf;
  }

  /** The caller of a train has gone: aborts the signals of its calls that run. */
  cancel(train: CallTrain): void {
    for (const item of this.#slots.all) {
      if (item === undefined || item.train !== train || item.abortedAt !== undefined) continue;
      // The thread is killed at the call's deadline and not before: a caller that comes and goes must not cost a thread
      // each time.
      this.#abort(item, 'cancelled', Number.POSITIVE_INFINITY);
    }
  }

  /**
   * Answers the calls whose time is over.
   *
   * @param onAnswered told of the train of each
   * @returns the call for which the thread must be killed: its synchronous code runs past its deadline, or its signal
   *   was aborted and the thread does not even answer that
   */
  expire(now: number, onAnswered: (train: CallTrain) => void): QueuedCall | undefined {
    const { ledger } = this.#thread;
    let stuck: QueuedCall | undefined;
    for (const item of this.#slots.all) {
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
    const item = this.#slots.of(ticket);
    const told = item ?? this.#orphans.of(ticket);
    if (told?.abortedAt === undefined) return;
    this.#heardAt = clockMs();
    told.abortedAt = Number.POSITIVE_INFINITY;
    if (item === undefined) return;
    item.startedAt = this.#thread.ledger.startedAt(ticket);
    this.#slots.release(item);
    item.forgetParams();
    this.#orphans.add(item);
  }

  /** Whether the thread must be killed for a call that has started. */
  #expireStarted(
    item: QueuedCall,
    startedAt: number,
    now: number,
    onAnswered: (train: CallTrain) => void,
  ): boolean {
    const timeoutMs = this.#timeoutOf(item);
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
    onAnswered(item.train);
    return isStuck;
  }

  #expireUnstarted(item: QueuedCall, now: number): void {
    const { scope } = item.call;
    if (scope.timeoutMs === undefined || now < scope.expiresAt) return;
    if (!this.#thread.ledger.revoke(item.ticket)) return;
    this.#slots.release(item);
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

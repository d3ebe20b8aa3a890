import type { BodyLease, BodyMemory } from '../dispatch/body-memory.ts';
import { neverRan } from '../dispatch/observer.ts';
import { ErrorCode, type LossReason } from '../jsonrpc/errors.ts';
import { frameBudgetUs, type WorkerLoad } from './balance.ts';
import { FrameBuilder } from './frame.ts';
import { slotCount } from './ledger.ts';
import type { PoolCounters } from './stats.ts';
import type { ReplicaThread } from './threads.ts';
import type { Unit, UnitCall } from './unit.ts';

/** A thread that was sent an abort and neither answers it nor is in a call it is known to run is stuck. */
const unresponsiveAfterMs = 500;

/** A synchronous call running longer than this gives back what was sent to wait behind it. */
const overrunMs = 5;

/** A call expected to take no longer may begin before the results ahead of it are told of, microseconds. */
const shortUs = 50;

/**
 * A thread that is in no call and has not started what it was sent for so long is held up between calls:
 * by what goes on behind an await, or was left behind by a call that has its answer.
 */
const stalledAfterMs = 50;

/** The front end's side of one worker: what is with it, what that is expected to cost, how to get it back. */
export class WorkerLink implements WorkerLoad {
  readonly thread: ReplicaThread;
  threadId = 0;
  /** Calls it has ended. */
  completed = 0;
  /** Bytes it holds, as far as it has told. */
  memory = 0;
  /** It finishes what it has, and takes no more. */
  isRetiring = false;
  readonly #defaultTimeoutMs: number;
  readonly #counters: PoolCounters;
  readonly #slots: (UnitCall | undefined)[] = [];
  readonly #free: number[] = [];
  #sequence = 1;
  #count = 0;
  #working = 0;
  #loadUs = 0;
  #overrun = false;
  /** The call that is to start next, and since when it is, as far as was looked. */
  #nextTicket = -1;
  #nextSince = 0;
  /** Since when the thread owes a sign of life. */
  #probedAt: number | undefined;
  readonly #frame: FrameBuilder;
  /** Shared bytes that the thread may read until it has ended. */
  #unsettled: BodyLease[] = [];

  constructor(
    thread: ReplicaThread,
    defaultTimeoutMs: number,
    counters: PoolCounters,
    bodies: BodyMemory,
  ) {
    this.thread = thread;
    this.#frame = new FrameBuilder(bodies);
    this.#defaultTimeoutMs = defaultTimeoutMs;
    this.#counters = counters;
  }

  /** Calls with this worker. */
  get inFlight(): number {
    return this.#count;
  }

  /** Whether all calls here have their answers: what still runs was given up at its deadline. */
  get isAnswered(): boolean {
    return this.#slots.every((item) => item === undefined || item.isAnswered);
  }

  /** Expected work of what is here, microseconds. */
  get workUs(): number {
    return this.#loadUs;
  }

  get loadUs(): number {
    return this.#overrun ? Number.POSITIVE_INFINITY : this.#loadUs;
  }

  get freeSlots(): number {
    return this.isRetiring ? 0 : slotCount - this.#count;
  }

  /**
   * Whether more calls should wait until they are at least as many as those here have still to run, and this
   * worker has half of what it may have: frames then share the price of a message among many, and the worker
   * never runs dry. Else a stream of calls can come to a state of one call a message, which costs five times
   * the CPU and keeps itself up.
   */
  holdsBack(waiting: number): boolean {
    if (this.#frame.count > 0) return false;
    return this.#working > waiting || this.#loadUs > frameBudgetUs / 2;
  }

  /** Puts a unit's waiting calls into the next frame. */
  add(unit: Unit): void {
    let follows = false;
    unit.state = 'sent';
    for (; unit.next < unit.calls.length; unit.next++) {
      const item = unit.calls[unit.next] as UnitCall;
      const slot = this.#free.pop() ?? this.#slots.length;
      item.ticket = this.#sequence++ * slotCount + slot;
      item.loadUs = item.expectedUs;
      this.#slots[slot] = item;
      this.#count++;
      this.#working++;
      this.#loadUs += item.loadUs;
      this.thread.ledger.send(item.ticket);
      const isShort = item.expectedUs <= shortUs;
      item.lease = this.#frame.add(item.call, item.ticket, follows, isShort, this.#timeoutOf(item));
      follows = true;
    }
  }

  /** Posts the frame that `add` has filled. */
  flush(): void {
    if (this.#frame.count === 0) return;
    this.#counters.frames++;
    this.#counters.framedCalls += this.#frame.count;
    this.thread.post(this.#frame.take());
  }

  /** Takes a result in. Gives the call it answers, undefined where that is with this worker no more. */
  settle(
    ticket: number,
    code: number,
    micros: number,
    elapsedUs: number,
    reply: string | Uint8Array,
  ): UnitCall | undefined {
    const item = this.#slots[ticket % slotCount];
    this.#isAlive();
    if (item === undefined || item.ticket !== ticket) return undefined;
    this.#release(item);
    this.completed++;
    item.cost.record(micros);
    item.answer(reply === '' ? undefined : reply, code, elapsedUs);
    return item;
  }

  /** The worker has started all it had up to `lastTicket`: what of it has not ended waits. */
  waits(lastTicket: number): void {
    this.#isAlive();
    for (const item of this.#slots) {
      if (item === undefined || item.ticket > lastTicket || item.loadUs === 0) continue;
      this.#working--;
      this.#loadUs -= item.loadUs;
      item.loadUs = 0;
    }
  }

  /** The worker has received an abort. */
  aborted(ticket: number): void {
    const item = this.#slots[ticket % slotCount];
    if (item?.ticket !== ticket) return;
    item.abortedAt = Number.POSITIVE_INFINITY;
    // Told, and answered: whether it ever ends is nobody's business, and its slot may be another's.
    if (item.isAnswered) this.#release(item);
  }

  /** Takes back what has not started: of one unit, or all. Their units stand at the first call to run. */
  takeBack(of?: Unit): Unit[] {
    const units = new Set<Unit>();
    for (const item of this.#slots) {
      if (item === undefined || (of !== undefined && item.unit !== of)) continue;
      if (!this.thread.ledger.revoke(item.ticket)) continue;
      this.#release(item);
      item.unit.next = Math.min(item.unit.next, item.index);
      item.unit.state = 'held';
      units.add(item.unit);
    }
    return [...units];
  }

  /** The caller of a unit has gone: what runs of it is told, where it can hear. */
  cancel(unit: Unit): void {
    for (const item of this.#slots) {
      if (item === undefined || item.unit !== unit || item.abortedAt !== undefined) continue;
      // Killed at its deadline and not before: callers that come and go must not buy a thread each.
      this.#abort(item, 'cancelled', Number.POSITIVE_INFINITY);
    }
  }

  /**
   * Answers the calls whose time is over.
   *
   * @param onAnswered told of the unit of each
   * @returns the call for whose sake the thread must be killed: it is in its synchronous code past its
   *   deadline, or was told to end and the thread does not even answer that
   */
  expire(now: number, onAnswered: (unit: Unit) => void): UnitCall | undefined {
    const { ledger } = this.thread;
    let stuck: UnitCall | undefined;
    for (const item of this.#slots) {
      if (item === undefined) continue;
      const startedAt = ledger.startedAt(item.ticket);
      if (startedAt === undefined) {
        this.#expireUnstarted(item, now);
        continue;
      }
      const timeoutMs = this.#timeoutOf(item);
      const { scope } = item.call;
      if (now < startedAt + timeoutMs && now < scope.expiresAt) continue;
      const isRunning = ledger.isRunning(item.ticket);
      if (isRunning || this.#isSilent(item, now)) stuck = item;
      if (item.isAnswered) continue;
      const own = startedAt + timeoutMs <= scope.expiresAt || scope.timeoutMs === undefined;
      const data = { timeoutMs: own ? timeoutMs : scope.timeoutMs };
      item.fail(ErrorCode.DeadlineExceeded, data, (now - startedAt) * 1000);
      if (!isRunning) this.#abort(item, 'deadline', now);
      onAnswered(item.unit);
    }
    return stuck;
  }

  /** Whether what waits here is held up: by a call that has outlived its estimate, or between calls. */
  hasOverrun(now: number): boolean {
    if (this.#overrun || this.#count === 0) return false;
    const { ledger } = this.thread;
    const running = this.#slots.find((item) => item !== undefined && ledger.isRunning(item.ticket));
    if (running === undefined) return this.#isStalled(now);
    const startedAt = ledger.startedAt(running.ticket);
    return this.#count > 1 && startedAt !== undefined && now - startedAt > overrunMs;
  }

  /** Nothing more is sent here until the worker has ended what it is in. */
  markOverrun(now: number): void {
    this.#overrun = true;
    if (this.#probedAt !== undefined) return;
    this.#probedAt = now;
    this.thread.post({ type: 'probe' });
  }

  /** Held up for longer than a call may run, and no call is left here whose deadline would end it. */
  isHung(now: number): boolean {
    if (this.#probedAt === undefined || now - this.#probedAt < this.#defaultTimeoutMs) return false;
    return this.isAnswered && !this.thread.ledger.isBusy();
  }

  /** The thread is gone: answers what had started. Call `takeBack` first, for what had not. */
  lose(reason: LossReason): void {
    const { ledger } = this.thread;
    const hasCulprit = this.#slots.some(
      (item) => item !== undefined && ledger.isRunning(item.ticket),
    );
    for (const item of this.#slots) {
      if (item === undefined) continue;
      // Where the thread was in no call's synchronous code, nobody can tell whose continuation it was.
      const own = !hasCulprit || ledger.isRunning(item.ticket);
      this.#answerLost(item, own ? reason : 'neighbour');
    }
  }

  /** Answers all that is here with -32002. */
  abandon(reason: LossReason): void {
    for (const item of this.#slots) if (item !== undefined) this.#answerLost(item, reason);
  }

  /** The thread has ended: it reads nothing any more. */
  onGone(): void {
    for (const lease of this.#unsettled) lease.release();
    this.#unsettled = [];
  }

  #isAlive(): void {
    this.#overrun = false;
    this.#probedAt = undefined;
  }

  /** The oldest call that nothing keeps from starting is the same for too long. */
  #isStalled(now: number): boolean {
    let next: UnitCall | undefined;
    for (const item of this.#slots) {
      if (item === undefined || (next !== undefined && item.ticket > next.ticket)) continue;
      const before = item.unit.calls[item.index - 1];
      if (before !== undefined && !before.isAnswered) continue;
      if (this.thread.ledger.startedAt(item.ticket) === undefined) next = item;
    }
    if (next === undefined) return false;
    if (next.ticket === this.#nextTicket) return now - this.#nextSince > stalledAfterMs;
    this.#nextTicket = next.ticket;
    this.#nextSince = now;
    return false;
  }

  #timeoutOf(item: UnitCall): number {
    return item.call.procedure.timeoutMs ?? this.#defaultTimeoutMs;
  }

  #isSilent(item: UnitCall, now: number): boolean {
    const { abortedAt } = item;
    if (abortedAt === undefined || now - abortedAt <= unresponsiveAfterMs) return false;
    return !this.thread.ledger.isBusy();
  }

  #answerLost(item: UnitCall, reason: LossReason): void {
    const startedAt = this.thread.ledger.startedAt(item.ticket);
    const runUs = startedAt === undefined ? neverRan : (Date.now() - startedAt) * 1000;
    // Given up, but not by the thread: it may be a zombie, or in the middle of reading.
    if (item.lease !== undefined) this.#unsettled.push(item.lease);
    item.lease = undefined;
    this.#release(item);
    item.fail(ErrorCode.WorkerLost, { reason }, runUs);
  }

  #expireUnstarted(item: UnitCall, now: number): void {
    const { scope } = item.call;
    if (scope.timeoutMs === undefined || now < scope.expiresAt) return;
    if (!this.thread.ledger.revoke(item.ticket)) return;
    this.#release(item);
    item.fail(ErrorCode.DeadlineExceeded, { timeoutMs: scope.timeoutMs }, neverRan);
  }

  #abort(item: UnitCall, reason: 'cancelled' | 'deadline', at: number): void {
    item.abortedAt = at;
    this.thread.post({ type: 'abort', ticket: item.ticket, reason });
  }

  #release(item: UnitCall): void {
    const slot = item.ticket % slotCount;
    // It has settled the call, was told of its end, or will not start it.
    item.lease?.release();
    item.lease = undefined;
    this.#slots[slot] = undefined;
    this.#free.push(slot);
    this.#count--;
    if (item.loadUs > 0) this.#working--;
    this.#loadUs -= item.loadUs;
  }
}

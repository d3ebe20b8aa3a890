import { clockMs } from '../../base/clock.ts';
import { placeOfGroup } from '../../base/worker-group.ts';
import type { BodyLease } from '../../dispatch/body-memory.ts';
import type { RunObserver } from '../../dispatch/executor.ts';
import { lostCall } from '../../dispatch/limit.ts';
import { neverRan } from '../../dispatch/observer.ts';
import { frameBudgetUs, type WorkerLoad } from '../../dispatch/queue/balance.ts';
import type { CallTrain, QueuedCall } from '../../dispatch/queue/call-train.ts';
import { shortBoundUs } from '../../dispatch/queue/cost.ts';
import { type OpenStreams, retryStreamMs } from '../../dispatch/streams/open-streams.ts';
import type { LossReason } from '../../jsonrpc/errors.ts';
import type { RunningCall } from '../stats.ts';
import { slotCount } from '../wire/ledger.ts';
import type { WorkerEvents } from '../worker-events.ts';
import { Expiry } from './expiry.ts';
import { Orphans } from './orphans.ts';
import { Outgoing, type OutgoingOptions } from './outgoing.ts';
import { Pulse } from './pulse.ts';
import { Slots } from './slots.ts';
import type { ReplicaThread } from './threads.ts';
import { WorkerStreams } from './worker-streams.ts';

/** A call is ended about at its limit. A time that lies further beyond it than this can't be true, microseconds. */
const latenessUs = 60_000_000;

export interface WorkerStateOptions extends OutgoingOptions {
  /** See {@link Orphans}. */
  readonly maxOrphansPerWorker: number;
  /** See `PoolOptions`. */
  readonly group: string | undefined;
  readonly streams: OpenStreams;
}

/** The front end's view of one worker: its calls, their expected cost, and the way to take them back. */
export class WorkerState implements WorkerLoad {
  readonly thread: ReplicaThread;
  threadId = 0;
  /** Calls it has ended. */
  completed = 0;
  /** Bytes that the worker holds, by its last message about it. */
  memory = 0;
  /** Whether the worker finishes what it has and takes no more. */
  isRetiring = false;
  readonly orphans: Orphans;
  readonly pulse: Pulse;
  readonly expiry: Expiry;
  readonly streams: WorkerStreams;
  readonly #onRun: RunObserver;
  readonly #events: WorkerEvents;
  #isGarbled = false;
  readonly #slots = new Slots();
  readonly #outgoing: Outgoing;
  /** Shared bytes that the thread may read until it has ended. */
  #unsettled: BodyLease[] = [];

  constructor(
    thread: ReplicaThread,
    options: WorkerStateOptions,
    onRun: RunObserver,
    events: WorkerEvents,
  ) {
    this.thread = thread;
    this.#onRun = onRun;
    this.#events = events;
    this.orphans = new Orphans(options.maxOrphansPerWorker);
    this.pulse = new Pulse(thread, this.#slots, options.timeoutMs);
    this.#outgoing = new Outgoing(thread, this.#slots, options, (fault) => events.onFault(fault));
    this.expiry = new Expiry(thread, this.#slots, this.orphans, (item) =>
      this.#outgoing.timeoutOf(item),
    );
    const { streams, timeoutMs } = options;
    const place = placeOfGroup(options.group);
    this.streams = new WorkerStreams(thread, { streams, place, timeoutMs }, (detail) =>
      this.noteGarbled(detail),
    );
  }

  /** Calls at this worker that somebody waits for, or that its thread may be running. */
  get inFlight(): number {
    return this.#slots.count;
  }

  /** Whether all calls here have their answers. A call that still runs was given up at its deadline. */
  get isAnswered(): boolean {
    if (this.orphans.left > 0) return false;
    return this.#slots.all.every((item) => item === undefined || item.isAnswered);
  }

  /** Whether nothing here could be ended by a deadline or by the thread's silence. */
  get isQuiet(): boolean {
    if (this.#slots.count > 0 || this.orphans.left > 0) return false;
    for (const { abortedAt } of this.orphans) {
      if (abortedAt !== Number.POSITIVE_INFINITY) return false;
    }
    return true;
  }

  /** Expected work of all calls here, microseconds. */
  get workUs(): number {
    return this.#slots.loadUs;
  }

  get loadUs(): number {
    return this.pulse.isHeldUp ? Number.POSITIVE_INFINITY : this.#slots.loadUs;
  }

  /** Whether a short call that comes now would wait for a call that is long, or has turned out to be long. */
  get isHeldByLong(): boolean {
    if (this.#slots.long > 0 || this.pulse.isHeldUp) return true;
    return this.pulse.runningForMs(clockMs()) * 1000 > shortBoundUs;
  }

  /** What the thread is in, by the ledger; undefined: it is in no call and in no generator, or enters one now. */
  runningAt(now: number): RunningCall | undefined {
    const { ledger } = this.thread;
    const { stretch } = ledger;
    const procedure =
      stretch === undefined
        ? this.#slots.all[ledger.runningSlot]?.call.procedure.name
        : this.streams.procedureOf(stretch.ticket);
    return procedure === undefined
      ? undefined
      : { procedure, ms: Math.max(0, Math.round(this.pulse.runningForMs(now))) };
  }

  get freeSlots(): number {
    return this.isRetiring ? 0 : slotCount - this.#slots.count;
  }

  get streamCount(): number {
    return this.streams.generators;
  }

  /** See {@link Orphans.isFullOf}. A worker with as many generators as it may have is crowded, too. */
  isCrowdedBy(train: CallTrain): boolean {
    if (this.streams.isFull && train.calls.some(({ call }) => call.sink !== undefined)) return true;
    if (this.orphans.left === 0) return false;
    return train.calls.some(({ call }) => this.orphans.isFullOf(call.procedure.name));
  }

  /** How long until the call whose caller left first is given up, milliseconds. */
  crowdedForMs(now: number): number {
    const { oldest } = this.orphans;
    if (oldest === undefined) return this.streams.isFull ? retryStreamMs : 0;
    return (
      Math.min(
        (oldest.startedAt ?? now) + this.#outgoing.timeoutOf(oldest),
        oldest.call.scope.expiresAt,
      ) - now
    );
  }

  /**
   * Whether more calls should wait: until as many wait as the worker has still to run, while the worker has at least
   * half of the work that it may have. So many calls share the price of one message, and the worker never runs out of
   * work. Without this rule steady calls can settle at one call a message, which costs five times the CPU and does not
   * end by itself.
   */
  holdsBack(waiting: number): boolean {
    if (this.#outgoing.hasFrame) return false;
    return this.#slots.working > waiting || this.#slots.loadUs > frameBudgetUs / 2;
  }

  /** Puts a train's waiting calls into the next frame. */
  add(train: CallTrain): void {
    this.#outgoing.add(train);
  }

  /** Posts the frame that `add` has filled. */
  flush(): void {
    this.#outgoing.flush();
  }

  /** Takes the result of a call. */
  settle(
    ticket: number,
    code: number,
    micros: number,
    elapsedUs: number,
    reply: string | Uint8Array,
  ): void {
    this.pulse.beat();
    const item = this.#slots.of(ticket);
    if (item !== undefined) this.#slots.release(item);
    const ended = item ?? this.orphans.of(ticket);
    if (ended === undefined) return;
    if (item === undefined) this.orphans.remove(ended);
    this.completed++;
    const longestUs = this.#outgoing.timeoutOf(ended) * 1000 + latenessUs;
    const isTimed =
      micros >= 0 &&
      micros <= longestUs &&
      elapsedUs >= 0 &&
      (elapsedUs <= longestUs || ended.isAnswered);
    if (isTimed) ended.cost.record(micros);
    else this.noteGarbled(`a call took ${micros} us, ${elapsedUs} us with its waiting`);
    const runUs = isTimed ? elapsedUs : 0;
    const { id, sink } = ended.call;
    // An empty reply of a call with an id: its stream has opened.
    if (reply === '' && code === 0 && sink !== undefined && id !== undefined)
      this.streams.enter(ended, sink, runUs);
    else ended.answer(reply === '' ? undefined : reply, code, runUs);
    if (isTimed && code === 0) this.#onRun(ended.call, micros);
  }

  /**
   * The worker sent something that no replica sends. Logged once: what is wrong in a thread is wrong at each of its
   * calls.
   */
  noteGarbled(detail: string): void {
    if (this.#isGarbled) return;
    this.#isGarbled = true;
    this.#events.onGarbled(detail);
  }

  /** The worker has started all its calls up to `lastTicket`: those that have not ended only wait. */
  waits(lastTicket: number): void {
    this.pulse.beat();
    for (const item of this.#slots.all) {
      if (item !== undefined && item.ticket <= lastTicket) this.#slots.rest(item);
    }
  }

  /**
   * Takes calls back that have not started: those of one train, or all.
   *
   * @returns their trains, whose `next` is the first call to run
   */
  takeBack(of?: CallTrain): CallTrain[] {
    return this.#outgoing.takeBack((item) => of === undefined || item.train === of);
  }

  /** The thread is gone: answers the calls that had started. Call `takeBack` first, for those that had not. */
  lose(reason: LossReason): void {
    const { ledger } = this.thread;
    this.streams.lose(reason);
    const isRunning = (item: QueuedCall | undefined): boolean =>
      item !== undefined && ledger.isRunning(item.ticket);
    const hasCulprit = ledger.stretch !== undefined || this.#slots.all.some(isRunning);
    // Where the thread was in no call's synchronous code, nobody can tell whose continuation it was.
    this.#answerAll((item) =>
      !hasCulprit || (this.#slots.of(item.ticket) === item && ledger.isRunning(item.ticket))
        ? reason
        : 'neighbour',
    );
  }

  /** The service ends: answers all calls that are here with -32002, and ends the streams. */
  abandon(): void {
    this.streams.cut('shutdown');
    const reason = 'shutdown';
    this.#answerAll(() => reason);
  }

  /** The thread has ended: it reads shared bytes no more. */
  onGone(): void {
    for (const lease of this.#unsettled) lease.release();
    this.#unsettled = [];
  }

  #answerAll(reasonFor: (item: QueuedCall) => LossReason): void {
    for (const item of this.#slots.all) {
      if (item === undefined) continue;
      item.startedAt = this.thread.ledger.startedAt(item.ticket);
      const reason = reasonFor(item);
      // The call is given up, but its thread may still read the bytes: it may be a zombie.
      if (item.lease !== undefined) this.#unsettled.push(item.lease);
      item.lease = undefined;
      this.#slots.release(item);
      this.#answerLost(item, reason);
    }
    for (const item of this.orphans) {
      const reason = reasonFor(item);
      this.orphans.remove(item);
      this.#answerLost(item, reason);
    }
  }

  #answerLost(item: QueuedCall, reason: LossReason): void {
    const { startedAt } = item;
    const runUs = startedAt === undefined ? neverRan : (clockMs() - startedAt) * 1000;
    item.refuse(lostCall(item.call, reason), runUs);
  }
}

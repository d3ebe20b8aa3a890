import { clockMs } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';
import { maxSuspects, type Suspects } from '../base/running-code.ts';
import type { BodyLease } from '../dispatch/body-lease.ts';
import { lostCall, neverRan, usualRetryMs } from '../dispatch/call.ts';
import { frameBudgetUs, shortBoundUs } from '../dispatch/queue/cost.ts';
import type { QueuedCall, SentBatch } from '../dispatch/queue/queued-call.ts';
import type { Files } from '../modules/modules.ts';
import type { BroadcastOutcome, BroadcastResult, BroadcastRun } from '../procedures/broadcast.ts';
import type { LossReason } from '../protocol/errors.ts';
import { WorkerCalls } from './calls.ts';
import type { ChangedFileError, Loading } from './loading.ts';
import type {
  PoolOptions,
  RunningCall,
  ThreadExit,
  WorkerEvents,
  WorkerStats,
  WorkerThread,
} from './options.ts';
import { Watchdog } from './watchdog.ts';
import { slotCount } from './wire/ledger.ts';
import { isStreamItem, type Notice, type ResultReader } from './wire/messages.ts';
import { WorkerStreams } from './worker-streams.ts';

/** A call is ended about at its limit: a time that lies further beyond it can't be true, microseconds. */
const latenessUs = 60_000_000;

/** Most of `gapUs`: what waits at a worker is not in the queue, whose bounds and shares do not hold for it. */
const maxGapUs = 50_000;

/** Runs of a synchronous batch procedure at one worker: one that it runs, and one that it finds when that has ended. */
const synchronousRuns = 2;

export type ReadyNotice = Extract<Notice, { readonly type: 'ready' }>;
type FailedNotice = Extract<Notice, { readonly type: 'failed' }>;
type BroadcastNotice = Extract<Notice, { readonly type: 'broadcast' }>;
type LoadNotice = Extract<Notice, { readonly type: 'stage' | 'ready' | 'failed' }>;

/** The set that a worker belongs to: decides what becomes of it. */
export interface WorkerOwner {
  /** A worker can take more calls, or has ended something. */
  onCapacity(): void;
  /** The worker has loaded what it was to load. */
  onLoaded(worker: PoolWorker, notice: ReadyNotice): void;
  /** The worker can't load, or its files have changed. Its thread has not ended yet. */
  onLoadFailed(worker: PoolWorker, error: Error): void;
  /** The worker has not loaded within `startTimeoutMs`: the step `doing` has not ended. */
  onLate(worker: PoolWorker, doing: string): void;
  /** The worker has loaded files that it had not reported before. */
  onFiles(worker: PoolWorker, files: Files): void;
  /** The worker can't be worked with. */
  onBroken(worker: PoolWorker, detail: string): void;
  /** Teardown after `retire` has run. */
  onRetired(worker: PoolWorker): void;
  onUncaught(detail: string, line: string): void;
  /** The thread is gone. `doing`: the step of loading that it was in; undefined: it had loaded. */
  onEnd(worker: PoolWorker, exit: ThreadExit, doing: string | undefined): void;
}

/** The main thread's side of one worker: its thread, its calls and their expected cost, from its start to its end. */
export class PoolWorker {
  readonly thread: WorkerThread;
  threadId = 0;
  /** The operating system's number of the thread; 0: not known. */
  tid = 0;
  /** Calls it has ended. */
  completed = 0;
  /** Whether the worker finishes what it has and takes no more. */
  isRetiring = false;
  /** The snapshot of its heap that it is to write when it retires: it is replaced by a fresh one, however old it is. */
  heap: HeapSnapshot | undefined;
  /** Whether it takes short calls alone, and waits for a place that becomes free. */
  isSpare = false;
  /** Of which keys it is the home, by number, from 0: a worker that replaces another one gets the home of that one. -1: it is a spare. */
  home = -1;
  /** undefined: it has loaded, or has failed to. */
  loading: Loading | undefined;
  readonly calls: WorkerCalls;
  readonly watchdog: Watchdog;
  readonly streams: WorkerStreams;
  readonly #owner: WorkerOwner;
  readonly #options: PoolOptions;
  readonly #events: WorkerEvents;
  #isGarbled = false;
  #onAnswer: (() => void) | undefined;
  /** What waits for the ends of broadcasts, by their numbers. */
  readonly #broadcasts = new Map<number, (outcome: BroadcastOutcome) => void>();
  #lastBroadcast = 0;
  /** Shared bytes that the thread may read until it has ended. */
  #unsettled: BodyLease[] = [];

  /** @param start starts the thread, which tells the worker what happens to it */
  constructor(
    start: (worker: PoolWorker) => WorkerThread,
    loading: Loading | undefined,
    owner: WorkerOwner,
    options: PoolOptions,
    events: WorkerEvents,
  ) {
    const thread = start(this);
    this.thread = thread;
    this.loading = loading;
    this.#owner = owner;
    this.#options = options;
    this.#events = events;
    this.calls = new WorkerCalls(
      thread,
      options,
      (fault) => events.onFault(fault),
      (procedure) => events.onPlaceHeld(procedure),
    );
    this.watchdog = new Watchdog(thread, this.calls, options.timeoutMs);
    this.streams = new WorkerStreams(thread, options, (detail) => this.#noteGarbled(detail));
    loading?.watch(
      options.startTimeoutMs,
      () => owner.onLate(this, loading.doing),
      (error: ChangedFileError) => owner.onLoadFailed(this, error),
    );
  }

  /** Bytes that the thread holds, by its own last reading; 0: it has read none. */
  get memory(): number {
    return this.thread.ledger.memory;
  }

  /** Calls at this worker that somebody waits for, or that its thread may be running. */
  get inFlight(): number {
    return this.calls.count;
  }

  /** Whether all calls here have their answers, and no stream is open. A call that still runs was given up at its deadline. */
  get isAnswered(): boolean {
    if (this.calls.orphans.left.total > 0 || this.streams.open > 0) return false;
    return this.calls.all.every((item) => item === undefined || item.isAnswered);
  }

  /** Whether a call here has started and has no answer. */
  get hasStarted(): boolean {
    return this.calls.orphans.left.total > 0 || this.#started.some((item) => !item.isAnswered);
  }

  /** Whether nothing here could be ended by a deadline or by the thread's silence. */
  get isQuiet(): boolean {
    if (this.calls.count > 0 || this.calls.orphans.left.total > 0 || this.watchdog.isHeldUp)
      return false;
    for (const { abortedAt } of this.calls.orphans) {
      if (abortedAt !== Number.POSITIVE_INFINITY) return false;
    }
    return true;
  }

  get loadUs(): number {
    return this.watchdog.isHeldUp ? Number.POSITIVE_INFINITY : this.calls.loadUs;
  }

  /** Work that may wait here in addition. Between two slices calls have as much time as the last slice took. */
  get gapUs(): number {
    return Math.min(this.watchdog.heldForMs * 1000, maxGapUs);
  }

  /** Whether a short call that comes now would wait for a call that is long, or has turned out to be long. */
  get isHeldByLong(): boolean {
    if (this.calls.long > 0 || this.watchdog.isHeldUp) return true;
    return this.watchdog.runningForMs(clockMs()) * 1000 > shortBoundUs;
  }

  get idleMs(): number {
    return this.thread.idleMs;
  }

  /** What the thread is in, by the ledger; undefined: it is in no call and in no generator, or enters one now. */
  runningAt(now: number): RunningCall | undefined {
    const { ledger } = this.thread;
    const { stretch } = ledger;
    const procedure =
      stretch === undefined
        ? this.calls.all[ledger.runningSlot]?.call.procedure.name
        : this.streams.callOf(stretch.ticket)?.procedure.name;
    return procedure === undefined
      ? undefined
      : { procedure, ms: Math.max(0, Math.round(this.watchdog.runningForMs(now))) };
  }

  statsAt(now: number): WorkerStats {
    const { threadId, inFlight, completed, streams } = this;
    const { open, generators } = streams;
    const { orphans } = this.calls;
    return {
      threadId,
      inFlight,
      completed,
      streams: open,
      left: orphans.left.total + generators - open,
      overdue: orphans.overdue,
      running: this.runningAt(now),
    };
  }

  /** Whether it is to be replaced by a fresh one. */
  get isOld(): boolean {
    const { maxWorkerMemory } = this.#options;
    return (
      this.heap !== undefined ||
      this.calls.isSpent(clockMs()) ||
      this.streams.isSpent(clockMs()) ||
      // A worker that has just loaded is as its replacement would be.
      (maxWorkerMemory > 0 && this.completed > 0 && this.memory > maxWorkerMemory)
    );
  }

  /** Who may have ended the thread, by the ledger. Call this before `takeBack` and `lose`. */
  suspects(): Suspects {
    const running = this.runningAt(clockMs());
    if (running !== undefined) return { names: [running.procedure], isCertain: true };
    const names = new Set(this.streams.names);
    for (const { call } of [...this.calls.orphans, ...this.#started])
      names.add(call.procedure.name);
    return { names: [...names].slice(0, maxSuspects), isCertain: false };
  }

  get #started(): QueuedCall[] {
    const items = this.calls.all.filter((item) => item !== undefined);
    return items.filter(({ ticket }) => this.thread.ledger.startedAt(ticket) !== undefined);
  }

  get freeSlots(): number {
    return this.isRetiring ? 0 : slotCount - this.calls.count;
  }

  get streamCount(): number {
    return this.streams.generators;
  }

  /** See {@link OrphanCounts.isFullOf}. A worker with as many generators as it may have is crowded, too. */
  isCrowdedBy(first: QueuedCall): boolean {
    const { left } = this.calls.orphans;
    if (!left.isFull && !this.streams.isFull) return false;
    for (let item: QueuedCall | undefined = first; item !== undefined; item = item.next) {
      if (this.streams.isFull && item.call.sink !== undefined) return true;
      if (left.isFullOf(item.procedure.name)) return true;
    }
    return false;
  }

  /** Whether one more run of a batch procedure may be here: of a synchronous one a second is sent ahead. */
  mayRun({ procedure: { name, isAsync, batch } }: QueuedCall): boolean {
    const most = isAsync ? (batch?.parallel ?? 1) : synchronousRuns;
    return this.calls.batchesOf(name) < most;
  }

  /** How long until the call whose caller left first is given up, milliseconds. */
  crowdedForMs(now: number): number {
    const { oldest } = this.calls.orphans;
    if (oldest === undefined) return this.streams.isFull ? usualRetryMs : 0;
    const ownMs = (oldest.startedAt ?? now) - now + this.calls.timeoutOf(oldest);
    return Math.min(ownMs, oldest.call.scope.expiresAt - now);
  }

  /**
   * Whether more calls should wait: until as many wait as the worker has still to run, while the worker has at least
   * half of the work that it may have. Without this rule steady calls can settle at one call a message, which costs five
   * times the CPU and does not end by itself.
   */
  holdsBack(waiting: number): boolean {
    if (this.calls.hasFrame || this.gapUs > 0) return false;
    return this.calls.working > waiting || this.calls.loadUs > frameBudgetUs / 2;
  }

  /** A call has ended, or a stream has an item. A field: the outbox calls it once for each result. */
  readonly onResult: ResultReader<string | Uint8Array> = (ticket, code, micros, elapsed, reply) => {
    if (isStreamItem(ticket)) {
      if (this.streams.take(ticket, code, micros, elapsed, reply)) this.#owner.onCapacity();
      return;
    }
    if (this.isSpare) this.#options.counters.counts.expressCalls++;
    this.watchdog.beat();
    const item = this.calls.of(ticket);
    const ended = item ?? this.calls.orphans.of(ticket);
    if (item !== undefined) this.calls.release(item);
    else if (ended !== undefined) this.calls.removeOrphan(ended);
    if (ended !== undefined) this.#answer(ended, code, micros, elapsed, reply);
    this.#owner.onCapacity();
  };

  onNotice(notice: Notice): void {
    switch (notice.type) {
      case 'idle':
        this.#onAnswer?.();
        this.watchdog.beat();
        // The worker has started all its calls up to this one: those that have not ended only wait.
        for (const item of this.calls.all) {
          if (item !== undefined && item.ticket <= notice.lastTicket) this.calls.rest(item);
        }
        this.#owner.onCapacity();
        break;
      case 'aborted':
        this.calls.aborted(notice.ticket);
        this.#owner.onCapacity();
        break;
      case 'fault':
        this.#events.onFault(notice.fault);
        break;
      case 'line':
        this.#events.onLine(notice.line);
        break;
      case 'broadcast':
        this.#send(notice);
        break;
      case 'broadcast-ended':
        this.#endBroadcast(notice.number, notice);
        break;
      case 'broadcast-failed':
        this.#events.onBroadcastFailed(notice.name, notice.detail);
        break;
      case 'uncaught':
        this.#owner.onUncaught(notice.detail, notice.line);
        break;
      case 'files':
        this.#owner.onFiles(this, notice.files);
        break;
      case 'broken':
        this.#owner.onBroken(this, notice.detail);
        break;
      case 'heap':
        this.heap?.end(notice.error);
        break;
      case 'retired':
        if (this.isRetiring) this.#owner.onRetired(this);
        break;
      default:
        this.#onLoadNotice(notice);
    }
  }

  /** What the thread wrote or posted can't be read: no result of the thread that comes now can be trusted. */
  onUnreadable(detail = 'what it wrote can not be read'): void {
    this.#owner.onBroken(this, detail);
  }

  onEnd(exit: ThreadExit): void {
    this.heap?.end('the worker ended before it had written it');
    const { loading } = this;
    loading?.stop();
    this.loading = undefined;
    // A worker that was given up has its replacement already, however its thread came to its end.
    const end = loading?.isUnwanted ? 'killed' : exit.end;
    const gone = { ok: false, text: 'its thread ended before it answered' } as const;
    for (const number of this.#broadcasts.keys()) this.#endBroadcast(number, gone);
    this.#owner.onEnd(this, { ...exit, end }, loading?.doing);
  }

  /** The thread runs nothing and reads no shared bytes any more. For a zombie this comes later than `onEnd`, or never. */
  onGone(): void {
    for (const lease of this.#unsettled) lease.release();
    this.#unsettled = [];
  }

  /** Has the thread run a broadcast, once it has come to it. Never rejects. */
  broadcast(run: BroadcastRun): Promise<BroadcastOutcome> {
    const number = ++this.#lastBroadcast;
    return new Promise((resolve) => {
      this.#broadcasts.set(number, resolve);
      this.thread.post({ type: 'broadcast', number, ...run });
    });
  }

  #endBroadcast(number: number, outcome: BroadcastOutcome): void {
    this.#broadcasts.get(number)?.(outcome);
    this.#broadcasts.delete(number);
  }

  /** Code in the thread asks for a broadcast. */
  #send({ number, ...request }: BroadcastNotice): void {
    const answer = (results: BroadcastResult[] | { readonly error: string }): void =>
      this.thread.post({ type: 'broadcast-results', number, results });
    this.#options.broadcasts
      .send(request)
      .then(answer, (error: unknown) => answer({ error: messageOf(error) }));
  }

  #onLoadNotice(notice: LoadNotice): void {
    const { loading } = this;
    if (loading === undefined) return;
    if (notice.type === 'stage') {
      this.threadId = notice.threadId;
      loading.enter(notice.stage);
    } else loading.stop();
    // A thread that has failed to load does not end by itself.
    if (loading.isUnwanted) this.thread.kill();
    if (loading.isUnwanted || notice.type === 'stage') return;
    this.loading = undefined;
    const error = notice.type === 'ready' ? loading.verify() : failureOf(notice, loading);
    if (error !== undefined) this.#owner.onLoadFailed(this, error);
    else if (notice.type === 'ready') {
      this.tid = notice.tid;
      this.#owner.onLoaded(this, notice);
    }
  }

  /** Ends the thread of a worker that will not serve. A thread that has not come to its modules is ended once it has. */
  discard(): void {
    if (this.loading !== undefined) {
      this.loading.isUnwanted = true;
      if (!this.loading.hasBegun) return;
    }
    this.thread.kill();
  }

  /** Resolves when the thread answers, after everything that it threw before. */
  answer(): Promise<void> {
    return new Promise((resolve) => {
      this.#onAnswer = resolve;
      this.thread.post({ type: 'probe' });
    });
  }

  #answer(
    ended: QueuedCall,
    code: number,
    micros: number,
    elapsedUs: number,
    reply: string | Uint8Array,
  ): void {
    this.completed++;
    const longestUs = this.calls.timeoutOf(ended) * 1000 + latenessUs;
    const isOnTime = elapsedUs <= longestUs || ended.isAnswered;
    const isTimed = micros >= 0 && micros <= longestUs && elapsedUs >= 0 && isOnTime;
    if (isTimed && ended.run === undefined) ended.cost.record(micros);
    else if (isTimed) this.#learn(ended, ended.run, micros);
    else this.#noteGarbled(`a call took ${micros} us, ${elapsedUs} us with its waiting`);
    const runUs = isTimed ? elapsedUs : 0;
    const busyUs = isTimed ? micros : 0;
    const { id, sink } = ended.call;
    // An empty reply of a call with an id: its stream has opened.
    if (reply === '' && code === 0 && sink !== undefined && id !== undefined)
      this.streams.enter(ended, sink, runUs, busyUs);
    else ended.answer(reply === '' ? undefined : reply, code, runUs, busyUs);
  }

  /** A run of many calls counts once. @param micros how long it held the thread, divided by its calls */
  #learn({ cost }: QueuedCall, batch: SentBatch | undefined, micros: number): void {
    if (batch === undefined || batch.isTimed) return;
    batch.isTimed = true;
    cost.record(micros);
    cost.runSize.record(batch.size, micros * batch.size);
  }

  /** The worker sent something that no replica sends. Logged once: it may do so at each of its calls. */
  #noteGarbled(detail: string): void {
    if (this.#isGarbled) return;
    this.#isGarbled = true;
    this.#events.onGarbled(detail);
  }

  /** The thread is gone: answers the calls that had started. Call `takeBack` first, for those that had not. */
  lose(reason: LossReason): void {
    const { ledger } = this.thread;
    this.streams.lose(reason);
    const running = this.calls.all[ledger.runningSlot];
    // If the thread was in no call's synchronous code, nobody can tell whose continuation it was.
    const isKnown = ledger.stretch !== undefined || running !== undefined;
    this.#answerAll((item) => {
      const isOfRun = item === running || (item.run !== undefined && item.run === running?.run);
      return isKnown && !isOfRun ? 'neighbour' : reason;
    }, running);
  }

  /** The service ends: answers all calls that are here with -32002, and ends the streams. */
  abandon(): void {
    this.streams.cut('shutdown');
    this.#answerAll(() => 'shutdown');
  }

  /** @param running the call whose synchronous code the thread was in */
  #answerAll(reasonFor: (item: QueuedCall) => LossReason, running?: QueuedCall): void {
    const refuse = (item: QueuedCall): void => {
      const { startedAt } = item;
      const runUs = startedAt === undefined ? neverRan : (clockMs() - startedAt) * 1000;
      item.refuse(lostCall(item.call, reasonFor(item)), runUs, item === running ? runUs : 0);
    };
    for (const item of this.calls.all) {
      if (item === undefined) continue;
      item.startedAt = this.thread.ledger.startedAt(item.ticket);
      // The call is given up, but its thread may still read the bytes: it may be a zombie.
      if (item.lease !== undefined) this.#unsettled.push(item.lease);
      item.lease = undefined;
      this.calls.release(item);
      refuse(item);
    }
    for (const item of this.calls.orphans) {
      this.calls.removeOrphan(item);
      refuse(item);
    }
  }
}

/** Why a worker could not load. Other files may be all that is wrong. */
function failureOf({ message, stack }: FailedNotice, loading: Loading): Error {
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return loading.verify(message) ?? error;
}

/** A snapshot of a worker's heap. */
export class HeapSnapshot {
  readonly file: string;
  /** Resolves when the file is written; rejects with one line if it is not. */
  readonly written: Promise<void>;
  #end!: (error: string | undefined) => void;

  constructor(file: string) {
    this.file = file;
    this.written = new Promise((resolve, reject) => {
      this.#end = (error) => (error === undefined ? resolve() : reject(new Error(error)));
    });
  }

  /** Idempotent. @param error one line; undefined: the file is written */
  end(error: string | undefined): void {
    this.#end(error);
  }
}

import type { RunObserver } from '../../dispatch/executor.ts';
import { SourceFiles } from '../../modules/source-files.ts';
import type { LoadedReplica, Notice } from '../wire/messages.ts';
import type { WorkerEvents } from '../worker-events.ts';
import { LoadWatch } from './load-watch.ts';
import { type ChangedFileError, type Expected, Loading } from './loading.ts';
import { isNiced } from './niceness.ts';
import type { ReplicaThreads, ThreadExit, ThreadListener } from './threads.ts';
import { Timers } from './timers.ts';
import { WorkerState, type WorkerStateOptions } from './worker-state.ts';

type ReadyNotice = Extract<Notice, { readonly type: 'ready' }>;
/** What a replica tells once it has loaded. */
export type ServingNotice = Exclude<Notice, { readonly type: 'stage' | 'ready' | 'failed' }>;

export interface StarterOptions extends WorkerStateOptions {
  readonly startTimeoutMs: number;
  readonly niceIncrement: number;
  /** What replicas must load. undefined: the first replica tells it. */
  readonly expected: Expected | undefined;
}

export interface StarterEvents {
  /** A replica has loaded what it was to load. */
  onReady(worker: WorkerState, loaded: LoadedReplica): void;
  /** A replica has failed to load. Its thread has not ended yet. */
  onFailed(worker: WorkerState, error: Error): void;
  /** No replica was started: the modules are not what replicas must load. */
  onRefused(error: ChangedFileError): void;
  /** The modules have changed under a replica that loads them. Call `end` to end its thread. */
  onChanged(error: ChangedFileError, end: () => void): void;
  /** A replica has not loaded within `startTimeoutMs`: the step `doing` has not ended. Call `end` to end its thread. */
  onLate(doing: string, end: () => void): void;
  onNotice(worker: WorkerState, notice: ServingNotice): void;
  onResult(worker: WorkerState, ...result: Parameters<ThreadListener['onResult']>): void;
  /** What a replica has written into its outbox can't be read any more. */
  onUnreadable(worker: WorkerState): void;
  /**
   * The thread of a replica is gone.
   *
   * @param doing the step of loading that it was in; undefined: it had loaded
   */
  onEnd(worker: WorkerState, exit: ThreadExit, doing: string | undefined): void;
}

/** Starts replicas, and knows which ones are loading. */
export class Starter {
  /** What replicas must load. undefined: the next replica tells it. */
  expected: Expected | undefined;
  readonly #threads: ReplicaThreads;
  readonly #options: StarterOptions;
  readonly #onRun: RunObserver;
  readonly #workerEvents: WorkerEvents;
  readonly #events: StarterEvents;
  readonly #loading = new Map<WorkerState, Loading>();
  /** One for each thread that was started and has not gone: it resolves when the thread goes. */
  readonly #going = new Set<Promise<void>>();
  readonly #timers = new Timers();
  #nicenessChecked = false;

  constructor(
    threads: ReplicaThreads,
    options: StarterOptions,
    onRun: RunObserver,
    workerEvents: WorkerEvents,
    events: StarterEvents,
  ) {
    this.#threads = threads;
    this.expected = options.expected;
    this.#options = options;
    this.#onRun = onRun;
    this.#workerEvents = workerEvents;
    this.#events = events;
  }

  /** Replicas that are loading. */
  get count(): number {
    return this.#loading.size;
  }

  start(count: number): void {
    for (let i = 0; i < count; i++) this.#startOne();
  }

  /** From now on replicas need not have loaded the same files, as long as they registered the same procedures. */
  takeOtherCode(): void {
    if (this.expected === undefined) return;
    this.expected = { ...this.expected, sources: new SourceFiles(new Map()) };
  }

  /**
   * Every replica was told to end. Resolves when all are gone, or their time is over.
   *
   * @param loadingMs how long replicas that are loading may go on: a thread that is ended while it loads leaves the
   *   files open that it had opened, for as long as the process lives (Node 20)
   * @param isGivenUp the loading may hang: it is ended after the grace
   */
  async close(graceMs: number, loadingMs: number, isGivenUp: boolean): Promise<void> {
    const gone = Promise.all(this.#going);
    // From now on no replica is reported as late.
    this.#timers.clearAll();
    const mostMs = this.count > 0 ? Math.max(graceMs, loadingMs) : graceMs;
    if (isGivenUp) this.#timers.set(graceMs, () => this.#endAll());
    const limit = new Promise<void>((resolve) => {
      this.#timers.set(mostMs, resolve);
    });
    await Promise.race([gone, limit]);
    this.#timers.clearAll();
  }

  #startOne(): void {
    const loading = new Loading(this.expected);
    const changed = loading.verify();
    if (changed !== undefined) {
      this.#events.onRefused(changed);
      return;
    }
    let worker: WorkerState | undefined;
    let onGone: () => void = () => {};
    const gone = new Promise<void>((resolve) => {
      onGone = resolve;
    });
    this.#going.add(gone);
    const giveUp = (): void => {
      if (worker !== undefined) this.#end(worker, loading);
    };
    const watch = new LoadWatch(this.#timers, this.#options.startTimeoutMs, loading, {
      onLate: () => this.#events.onLate(loading.doing, giveUp),
      onChanged: (error) => this.#events.onChanged(error, giveUp),
    });
    const listener: ThreadListener = {
      onGarbled: (detail) => worker?.noteGarbled(detail),
      onUnreadable: () => {
        if (worker !== undefined) this.#events.onUnreadable(worker);
      },
      onResult: (ticket, code, micros, elapsedUs, reply) => {
        if (worker === undefined) return;
        this.#events.onResult(worker, ticket, code, micros, elapsedUs, reply);
      },
      onNotice: (notice) => {
        if (notice.type === 'ready' || notice.type === 'failed') watch.stop();
        if (worker !== undefined) this.#onNotice(worker, notice);
      },
      onEnd: (exit) => {
        watch.stop();
        this.#going.delete(gone);
        onGone();
        if (worker === undefined) return;
        const doing = this.#loading.delete(worker) ? loading.doing : undefined;
        // One that was given up has its replacement already, however its thread came to its end.
        const end = loading.isUnwanted ? 'killed' : exit.end;
        this.#events.onEnd(worker, { ...exit, end }, doing);
      },
      onGone: () => worker?.onGone(),
    };
    const thread = this.#threads.start(listener, this.expected?.fingerprint);
    worker = new WorkerState(thread, this.#options, this.#onRun, this.#workerEvents);
    this.#loading.set(worker, loading);
  }

  /** Ends the replicas that are loading. A thread that has not come to its modules is ended once it has. */
  #endAll(): void {
    for (const [worker, loading] of this.#loading) this.#end(worker, loading);
  }

  #end(worker: WorkerState, loading: Loading): void {
    loading.isUnwanted = true;
    if (loading.hasBegun) worker.thread.kill();
  }

  #onNotice(worker: WorkerState, notice: Notice): void {
    const loading = this.#loading.get(worker);
    switch (notice.type) {
      case 'stage':
        loading?.enter(notice.stage);
        if (loading?.isUnwanted) worker.thread.kill();
        break;
      case 'ready':
        if (loading === undefined || loading.isUnwanted) return;
        this.#loading.delete(worker);
        this.#onReady(worker, loading, notice);
        break;
      case 'failed':
        if (loading === undefined) return;
        this.#loading.delete(worker);
        // It never ends by itself, and nobody else would end it.
        if (loading.isUnwanted) worker.thread.kill();
        // Other files may be all that is wrong.
        else this.#events.onFailed(worker, loading.verify(notice.message) ?? toError(notice));
        break;
      default:
        this.#events.onNotice(worker, notice);
    }
  }

  #onReady(worker: WorkerState, loading: Loading, notice: ReadyNotice): void {
    const changed = loading.verify();
    if (changed !== undefined) {
      this.#events.onFailed(worker, changed);
      return;
    }
    worker.threadId = notice.threadId;
    this.#checkNiceness(notice.nice);
    this.#events.onReady(worker, notice.loaded);
  }

  #checkNiceness(nice: number): void {
    if (this.#nicenessChecked) return;
    this.#nicenessChecked = true;
    if (!isNiced(nice, this.#options.niceIncrement)) this.#workerEvents.onNotNiced();
  }
}

function toError({ message, stack }: Extract<Notice, { readonly type: 'failed' }>): Error {
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

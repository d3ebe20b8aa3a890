import type { Notice } from '../wire/messages.ts';
import { type Expected, Loading } from './loading.ts';
import type { ReplicaThreads, ThreadExit, ThreadListener } from './threads.ts';
import { Timers } from './timers.ts';
import { WorkerState, type WorkerStateEvents, type WorkerStateOptions } from './worker-state.ts';

export type ReadyNotice = Extract<Notice, { readonly type: 'ready' }>;
/** What a replica tells once it has loaded. */
export type ServingNotice = Exclude<Notice, { readonly type: 'stage' | 'ready' | 'failed' }>;

export interface StarterOptions extends WorkerStateOptions {
  readonly startTimeoutMs: number;
}

export interface StarterEvents {
  /** A replica has loaded what it was to load. */
  onReady(worker: WorkerState, notice: ReadyNotice): void;
  /** It has not, and will not. It is not ended yet. */
  onFailed(worker: WorkerState, error: Error): void;
  /** It has not within `startTimeoutMs`: `doing` has not ended. To be ended by `end`. */
  onLate(doing: string, end: () => void): void;
  onNotice(worker: WorkerState, notice: ServingNotice): void;
  onResult(worker: WorkerState, ...result: Parameters<ThreadListener['onResult']>): void;
  /** What it has written can't be read any more. */
  onUnreadable(worker: WorkerState): void;
  /** Its thread is gone; `doing`: while it was doing that, undefined: it had loaded. */
  onEnd(worker: WorkerState, exit: ThreadExit, doing: string | undefined): void;
}

/** Starts replicas, and knows those that load. */
export class Starter {
  /** undefined: the next one is to tell. */
  expected: Expected | undefined;
  readonly #threads: ReplicaThreads;
  readonly #options: StarterOptions;
  readonly #linkEvents: WorkerStateEvents;
  readonly #events: StarterEvents;
  readonly #loading = new Map<WorkerState, Loading>();
  readonly #ended = new Set<Promise<void>>();
  readonly #timers = new Timers();

  constructor(
    threads: ReplicaThreads,
    expected: Expected | undefined,
    options: StarterOptions,
    linkEvents: WorkerStateEvents,
    events: StarterEvents,
  ) {
    this.#threads = threads;
    this.expected = expected;
    this.#options = options;
    this.#linkEvents = linkEvents;
    this.#events = events;
  }

  /** Replicas that load. */
  get count(): number {
    return this.#loading.size;
  }

  /** Resolves when every replica that was started is gone. */
  async gone(): Promise<void> {
    await Promise.all(this.#ended);
  }

  start(): void {
    let worker: WorkerState | undefined;
    let ended: () => void = () => {};
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    this.#ended.add(end);
    const loading = new Loading(this.expected);
    // Without this a module that waits for ever would keep the slot: nobody else tells of it.
    const limit = this.#timers.set(this.#options.startTimeoutMs, () => {
      const late = worker;
      if (late === undefined || loading.isUnwanted) return;
      this.#events.onLate(loading.doing, () => this.#end(late, loading));
    });
    limit.unref();
    // One line: what goes wrong in a thread goes wrong at each of its calls.
    const onGarbled = once((detail: string) => this.#linkEvents.onGarbled(detail));
    const listener: ThreadListener = {
      onGarbled,
      onUnreadable: () => {
        if (worker !== undefined) this.#events.onUnreadable(worker);
      },
      onResult: (ticket, code, micros, elapsedUs, reply) => {
        if (worker === undefined) return;
        this.#events.onResult(worker, ticket, code, micros, elapsedUs, reply);
      },
      onNotice: (notice) => {
        if (notice.type === 'ready' || notice.type === 'failed') this.#timers.clear(limit);
        if (worker !== undefined) this.#onNotice(worker, notice);
      },
      onEnd: (exit) => {
        this.#timers.clear(limit);
        this.#ended.delete(end);
        ended();
        if (worker === undefined) return;
        const doing = this.#loading.delete(worker) ? loading.doing : undefined;
        this.#events.onEnd(worker, exit, doing);
      },
      onGone: () => worker?.onGone(),
    };
    const thread = this.#threads.start(listener, this.expected?.fingerprint);
    const { onRun, onFault } = this.#linkEvents;
    worker = new WorkerState(thread, this.#options, { onRun, onFault, onGarbled });
    this.#loading.set(worker, loading);
  }

  /** Ends what loads the modules; a thread that has not come to them yet, once it has. */
  end(): void {
    for (const [worker, loading] of this.#loading) this.#end(worker, loading);
  }

  /** Nothing is told to be late any more. */
  stopWaiting(): void {
    this.#timers.clearAll();
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
        // Other files may be all that is wrong.
        if (!loading.isUnwanted) {
          this.#events.onFailed(worker, loading.verify(notice.message) ?? toError(notice));
        }
        break;
      default:
        this.#events.onNotice(worker, notice);
    }
  }

  #onReady(worker: WorkerState, loading: Loading, notice: ReadyNotice): void {
    const changed = loading.verify();
    if (changed === undefined) this.#events.onReady(worker, notice);
    else this.#events.onFailed(worker, changed);
  }
}

function once(tell: (detail: string) => void): (detail: string) => void {
  let isTold = false;
  return (detail) => {
    if (!isTold) tell(detail);
    isTold = true;
  };
}

function toError({ message, stack }: Extract<Notice, { readonly type: 'failed' }>): Error {
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

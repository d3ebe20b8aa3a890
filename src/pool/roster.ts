import type { RunObserver } from '../dispatch/executor.ts';
import type { LossReason } from '../jsonrpc/errors.ts';
import type { Fault } from '../router/invoke.ts';
import { Backoff } from './backoff.ts';
import { WorkerLink } from './link.ts';
import { isNiced } from './niceness.ts';
import { Retirement, type RetirementLimits } from './retirement.ts';
import { ReplicaThreads, type ThreadExit, type ThreadOptions } from './threads.ts';
import { Timers } from './timers.ts';
import type { Unit } from './unit.ts';
import type { Notice } from './wire.ts';

export interface RosterOptions extends Omit<ThreadOptions, 'threads'>, RetirementLimits {
  /** Replicas that serve. */
  readonly workers: number;
  /** Replicas that stand ready to take the place of one that is lost. */
  readonly spareWorkers: number;
  readonly startTimeoutMs: number;
  /** Milliseconds a call may run where its procedure does not say. */
  readonly timeoutMs: number;
}

export interface RosterEvents {
  readonly onRun: RunObserver;
  /** A worker has become free for more, or has joined. */
  onCapacity(): void;
  /** A worker is gone, and these had not started on it. */
  onLost(unstarted: readonly Unit[], reason: LossReason, detail: string | undefined): void;
  /** A replica that was to take a lost one's place could not start; it is tried again. */
  onRestartFailed(message: string, retryMs: number): void;
  /** A worker that has grown old is about to be replaced. */
  onWorkerRetired(calls: number, memory: number): void;
  onNotNiced(): void;
  onFault(fault: Fault): void;
  onUncaught(detail: string): void;
}

/** A retiring worker whose teardown takes longer is ended all the same. */
const longestTeardownMs = 10_000;

/** Keeps the workers: starts replicas, replaces those that are lost, from warm spares first. */
export class Roster {
  /** The workers that take calls. */
  readonly active: WorkerLink[] = [];
  readonly threads: ReplicaThreads;
  /** Workers lost against our will, and threads killed at a deadline. */
  deaths = 0;
  kills = 0;
  readonly #spares: WorkerLink[] = [];
  readonly #starting = new Set<WorkerLink>();
  readonly #options: RosterOptions;
  readonly #events: RosterEvents;
  readonly #ready: Promise<void>;
  #onReady: () => void = () => {};
  #onFailed: (error: Error) => void = () => {};
  #isReady = false;
  readonly #retirement: Retirement;
  #nicenessChecked = false;
  #closing = false;
  readonly #backoff = new Backoff();
  readonly #timers = new Timers();
  readonly #ended = new Set<Promise<void>>();

  constructor(options: RosterOptions, events: RosterEvents) {
    this.#options = options;
    this.#events = events;
    this.#retirement = new Retirement(options, {
      onBegun: ({ completed, memory }) => {
        options.counters.retirements++;
        events.onWorkerRetired(completed, memory);
        this.#fill();
      },
      onIdle: (link) => {
        link.thread.post({ type: 'retire' });
        this.#timers.set(longestTeardownMs, () => this.#endRetired(link)).unref();
      },
    });
    this.#ready = new Promise((resolve, reject) => {
      this.#onReady = resolve;
      this.#onFailed = reject;
    });
    this.#ready.catch(() => {}); // whoever asks with ready() is told
    const threads = options.workers + options.spareWorkers;
    this.threads = new ReplicaThreads({ ...options, threads }, (error) =>
      events.onUncaught(error.stack ?? error.message),
    );
    for (let i = 0; i < options.workers; i++) this.#start();
    const limit = this.#timers.set(options.startTimeoutMs, () => {
      if (this.#isReady) return;
      const count = `${this.active.length} of ${options.workers} workers were ready`;
      this.#onFailed(
        new Error(
          `after ${options.startTimeoutMs} ms only ${count}: look for a module that waits at its top level or in setup(), or raise startTimeoutMs`,
        ),
      );
    });
    limit.unref();
  }

  /** Resolves when every worker serves; rejects when one could not load its modules. */
  ready(): Promise<void> {
    return this.#ready;
  }

  get spares(): number {
    return this.#spares.length;
  }

  /** Threads that load the modules. */
  get starting(): number {
    return this.#starting.size;
  }

  /** Terminates a worker's thread under what it is running. Call `takeBack` first. */
  kill(link: WorkerLink): void {
    if (!this.#remove(link)) return; // being killed already
    this.kills++;
    this.#options.counters.kills++;
    link.thread.kill();
    this.#replace(0);
  }

  /** Replaces workers that have grown old, one at a time. To be called now and then; whether one is being replaced. */
  recycle(): boolean {
    return this.#isReady && !this.#closing && this.#retirement.advance(this.active);
  }

  /**
   * Ends every replica, after its teardown. Resolves when no thread is left.
   *
   * @param loadingMs how long replicas may go on that load their modules: one that is ended meanwhile leaves
   *   the files it had open behind, for as long as the process lives (Node 20)
   */
  async close(graceMs: number, loadingMs: number): Promise<void> {
    this.#closing = true;
    this.#onFailed(new Error('closed before the workers were ready'));
    this.#timers.clearAll();
    for (const link of [...this.active, ...this.#spares]) link.thread.post({ type: 'close' });
    const gone = Promise.all(this.#ended);
    await Promise.race([
      gone,
      new Promise((resolve) => {
        const limitMs = this.#starting.size > 0 ? Math.max(graceMs, loadingMs) : graceMs;
        this.#timers.set(limitMs, () => resolve(undefined));
      }),
    ]);
    this.#timers.clearAll();
    await this.threads.destroy();
  }

  #start(): void {
    let link: WorkerLink | undefined;
    let ended: (() => void) | undefined;
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    this.#ended.add(end);
    const { startTimeoutMs } = this.#options;
    const limit = this.#timers.set(startTimeoutMs, () => {
      // Without this a module that waits for ever would keep the slot: nobody else tells of it.
      if (!this.#isReady || link === undefined || this.#closing) return;
      this.#starting.delete(link);
      link.thread.kill();
      this.#failed({ message: `it has not loaded its modules within ${startTimeoutMs} ms` });
    });
    limit.unref();
    const thread = this.threads.start({
      onResult: (ticket, code, micros, elapsedUs, reply) => {
        const item = link?.settle(ticket, code, micros, elapsedUs, reply);
        if (item !== undefined && code === 0) this.#events.onRun(item.call, micros);
        this.#events.onCapacity();
      },
      onNotice: (notice) => {
        if (notice.type === 'ready' || notice.type === 'failed') this.#timers.clear(limit);
        if (link !== undefined) this.#notice(link, notice);
      },
      onEnd: (exit) => {
        this.#timers.clear(limit);
        this.#ended.delete(end);
        ended?.();
        if (link !== undefined) this.#gone(link, exit);
      },
      onGone: () => link?.onGone(),
    });
    const { timeoutMs, counters, bodies } = this.#options;
    link = new WorkerLink(thread, timeoutMs, counters, bodies);
    this.#starting.add(link);
  }

  #notice(link: WorkerLink, notice: Notice): void {
    switch (notice.type) {
      case 'ready':
        this.#starting.delete(link);
        link.threadId = notice.threadId;
        this.#checkNiceness(notice.nice);
        this.#join(link);
        break;
      case 'failed':
        this.#starting.delete(link);
        link.thread.kill();
        this.#failed(notice);
        break;
      case 'idle':
        link.waits(notice.lastTicket);
        this.#events.onCapacity();
        break;
      case 'memory':
        link.memory = notice.bytes;
        break;
      case 'retired':
        this.#endRetired(link);
        break;
      case 'aborted':
        link.aborted(notice.ticket);
        this.#events.onCapacity();
        break;
      case 'fault':
        this.#events.onFault(notice.fault);
        break;
      case 'uncaught':
        this.#events.onUncaught(notice.detail);
        break;
    }
  }

  #checkNiceness(nice: number): void {
    if (this.#nicenessChecked) return;
    this.#nicenessChecked = true;
    if (!isNiced(nice, this.#options.niceIncrement)) this.#events.onNotNiced();
  }

  #join(link: WorkerLink): void {
    if (this.#closing) {
      link.thread.post({ type: 'close' });
      return;
    }
    this.#spares.push(link);
    if (!this.#fill()) return;
    if (!this.#isReady && this.active.length === this.#options.workers) {
      this.#isReady = true;
      this.#onReady();
      // Spares load only now, so that they do not compete with the start.
      for (let i = 0; i < this.#options.spareWorkers; i++) this.#start();
    }
  }

  /** Puts spares in the places that are free. False: none was, or there is no spare. */
  #fill(): boolean {
    let free = this.#options.workers;
    for (const link of this.active) if (!link.isRetiring) free--;
    const joining = this.#spares.splice(0, free);
    if (joining.length === 0) return false;
    this.active.push(...joining);
    this.#events.onCapacity();
    return true;
  }

  /** By force: a task that ends leaves its thread alive, and in it what made it old. */
  #endRetired(link: WorkerLink): void {
    if (this.#closing || !this.#remove(link)) return;
    link.thread.kill();
    this.#replace(0);
  }

  #failed(notice: { readonly message: string; readonly stack?: string | undefined }): void {
    if (this.#isReady) {
      const delay = this.#backoff.delayMs(false);
      this.#events.onRestartFailed(notice.message, delay);
      this.#replace(delay);
      return;
    }
    const error = new Error(notice.message);
    if (notice.stack !== undefined) error.stack = notice.stack;
    this.#onFailed(error);
  }

  #gone(link: WorkerLink, exit: ThreadExit): void {
    this.#starting.delete(link);
    if (exit.end === 'killed') {
      link.lose('neighbour');
      return;
    }
    this.#remove(link);
    if (exit.end === 'closed') {
      link.abandon('shutdown');
      return;
    }
    if (!this.#isReady) {
      this.#onFailed(new Error(`it ended while it loaded the modules: ${exit.detail}`));
      return;
    }
    this.deaths++;
    this.#options.counters.deaths[exit.end]++;
    const unstarted = link.takeBack();
    link.lose(exit.end);
    this.#events.onLost(unstarted, exit.end, exit.detail);
    this.#replace(this.#backoff.delayMs(link.completed > 0));
  }

  /** Takes a worker off the roster; a spare takes its place. False: it was not on it. */
  #remove(link: WorkerLink): boolean {
    const spare = this.#spares.indexOf(link);
    if (spare !== -1) {
      this.#spares.splice(spare, 1);
      return true;
    }
    const index = this.active.indexOf(link);
    if (index === -1) return false;
    this.active.splice(index, 1);
    this.#retirement.forget(link);
    this.#fill();
    return true;
  }

  #replace(delayMs: number): void {
    if (this.#closing) return;
    this.#options.counters.restarts++;
    if (delayMs === 0) this.#start();
    else this.#timers.set(delayMs, () => this.#start());
  }
}

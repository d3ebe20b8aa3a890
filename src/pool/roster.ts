import { getPriority } from 'node:os';
import type { RunObserver } from '../dispatch/executor.ts';
import type { LossReason } from '../jsonrpc/errors.ts';
import type { Fault } from '../router/invoke.ts';
import { WorkerLink } from './link.ts';
import { ReplicaThreads, type ThreadExit, type ThreadOptions } from './threads.ts';
import type { Unit } from './unit.ts';
import type { FromReplica, Notice } from './wire.ts';

export interface RosterOptions extends Omit<ThreadOptions, 'threads'> {
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
  onNotNiced(): void;
  onFault(fault: Fault): void;
  onUncaught(detail: string): void;
}

/** Replacements that die young wait twice as long each time, up to this. */
const longestBackoffMs = 5000;
const firstBackoffMs = 100;
/** A death this long after the one before it is not a repetition. */
const backoffForgetsMs = 10_000;
/** Deaths in a row that are replaced at once. */
const freeRestarts = 3;

/** Keeps the workers: starts replicas, replaces those that are lost, from warm spares first. */
export class Roster {
  /** The workers that take calls. */
  readonly active: WorkerLink[] = [];
  readonly threads: ReplicaThreads;
  /** Workers lost against our will, and threads killed at a deadline. */
  deaths = 0;
  kills = 0;
  readonly #spares: WorkerLink[] = [];
  readonly #options: RosterOptions;
  readonly #events: RosterEvents;
  readonly #ready: Promise<void>;
  #onReady: () => void = () => {};
  #onFailed: (error: Error) => void = () => {};
  #isReady = false;
  #nicenessChecked = false;
  #closing = false;
  #deathsInARow = 0;
  #lastDeathAt = 0;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #ended = new Set<Promise<void>>();

  constructor(options: RosterOptions, events: RosterEvents) {
    this.#options = options;
    this.#events = events;
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
    const limit = this.#setTimer(options.startTimeoutMs, () => {
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

  /** Terminates a worker's thread under what it is running. Call `takeBack` first. */
  kill(link: WorkerLink): void {
    if (!this.#remove(link)) return; // being killed already
    this.kills++;
    link.thread.kill();
    this.#replace(0);
  }

  /** Ends every replica, after its teardown. Resolves when no thread is left. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.#onFailed(new Error('closed before the workers were ready'));
    for (const timer of this.#timers) clearTimeout(timer);
    for (const link of [...this.active, ...this.#spares]) link.thread.post({ type: 'close' });
    const gone = Promise.all(this.#ended);
    await Promise.race([
      gone,
      new Promise((resolve) => this.#setTimer(graceMs, () => resolve(undefined))),
    ]);
    for (const timer of this.#timers) clearTimeout(timer);
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
    const limit = this.#setTimer(startTimeoutMs, () => {
      // Without this a module that waits for ever would keep the slot: nobody else tells of it.
      if (!this.#isReady || link === undefined || this.#closing) return;
      link.thread.kill();
      this.#failed({ message: `it has not loaded its modules within ${startTimeoutMs} ms` });
    });
    limit.unref();
    const thread = this.threads.start(
      (message) => {
        if (!Array.isArray(message) && (message.type === 'ready' || message.type === 'failed')) {
          this.#clearTimer(limit);
        }
        if (link !== undefined) this.#receive(link, message);
      },
      (exit) => {
        this.#clearTimer(limit);
        this.#ended.delete(end);
        ended?.();
        if (link !== undefined) this.#gone(link, exit);
      },
    );
    link = new WorkerLink(thread, this.#options.timeoutMs);
  }

  #receive(link: WorkerLink, message: FromReplica): void {
    if (Array.isArray(message)) {
      const item = link.settle(message);
      const [, code, us] = message;
      if (item !== undefined && code === 0) this.#events.onRun(item.call, us);
      this.#events.onCapacity();
    } else {
      this.#notice(link, message);
    }
  }

  #notice(link: WorkerLink, notice: Notice): void {
    switch (notice.type) {
      case 'ready':
        link.threadId = notice.threadId;
        this.#checkNiceness(notice.nice);
        this.#join(link);
        break;
      case 'failed':
        link.thread.kill();
        this.#failed(notice);
        break;
      case 'idle':
        link.waits(notice.lastTicket);
        this.#events.onCapacity();
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

  /** On Linux a thread's niceness is its own; elsewhere there is nothing to compare. */
  #checkNiceness(nice: number): void {
    const { niceIncrement } = this.#options;
    if (this.#nicenessChecked || process.platform !== 'linux') return;
    this.#nicenessChecked = true;
    const highest = 19;
    if (nice < Math.min(getPriority() + niceIncrement, highest)) this.#events.onNotNiced();
  }

  #join(link: WorkerLink): void {
    if (this.#closing) {
      link.thread.post({ type: 'close' });
      return;
    }
    if (this.active.length === this.#options.workers) {
      this.#spares.push(link);
      return;
    }
    this.active.push(link);
    if (!this.#isReady && this.active.length === this.#options.workers) {
      this.#isReady = true;
      this.#onReady();
      // Spares load only now, so that they do not compete with the start.
      for (let i = 0; i < this.#options.spareWorkers; i++) this.#start();
    }
    this.#events.onCapacity();
  }

  #failed(notice: { readonly message: string; readonly stack?: string | undefined }): void {
    if (this.#isReady) {
      const delay = this.#backoff(0);
      this.#events.onRestartFailed(notice.message, delay);
      this.#replace(delay);
      return;
    }
    const error = new Error(notice.message);
    if (notice.stack !== undefined) error.stack = notice.stack;
    this.#onFailed(error);
  }

  #gone(link: WorkerLink, exit: ThreadExit): void {
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
    const unstarted = link.takeBack();
    link.lose(exit.end);
    this.#events.onLost(unstarted, exit.end, exit.detail);
    this.#replace(this.#backoff(link.completed));
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
    const next = this.#spares.shift();
    if (next !== undefined) {
      this.active.push(next);
      this.#events.onCapacity();
    }
    return true;
  }

  #replace(delayMs: number): void {
    if (this.#closing) return;
    if (delayMs === 0) this.#start();
    else this.#setTimer(delayMs, () => this.#start());
  }

  /** @param completed calls that the one which died had ended: it works, and is missed */
  #backoff(completed: number): number {
    if (completed > 0) {
      this.#deathsInARow = 0;
      return 0;
    }
    const now = Date.now();
    this.#deathsInARow = now - this.#lastDeathAt > backoffForgetsMs ? 1 : this.#deathsInARow + 1;
    this.#lastDeathAt = now;
    const excess = this.#deathsInARow - freeRestarts;
    return excess <= 0 ? 0 : Math.min(firstBackoffMs * 2 ** (excess - 1), longestBackoffMs);
  }

  /** Keeps the process alive: there may be no thread that does. */
  #setTimer(delayMs: number, run: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    this.#timers.add(timer);
    return timer;
  }

  #clearTimer(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#timers.delete(timer);
  }
}

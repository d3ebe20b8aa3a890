import { clockMs } from '../../base/clock.ts';
import { type DelayPolicy, RestartDelay } from '../../base/restart-delay.ts';
import { hangHint } from '../../modules/load-stage.ts';
import { SourceFiles } from '../../modules/source-files.ts';
import type { RosterEvents, RosterOptions } from '../pool-options.ts';
import { ChangedFileError, type Expected } from './loading.ts';
import { isNiced } from './niceness.ts';
import { Retirement } from './retirement.ts';
import { type ReadyNotice, type ServingNotice, Starter } from './starter.ts';
import { ReplicaThreads, type ThreadExit } from './threads.ts';
import { Timers } from './timers.ts';
import { Trial } from './trial.ts';
import type { WorkerState } from './worker-state.ts';

/** Replacements that die young wait: repeated deaths must not spin. */
const restartPolicy: DelayPolicy = {
  free: 3,
  firstMs: 100,
  longestMs: 5000,
  forgetsMs: 10_000,
};

/** A retiring worker whose teardown takes longer is ended all the same. */
const longestTeardownMs = 10_000;

/** Keeps the workers: starts replicas, replaces those that are lost, from warm spares first. */
export class Roster {
  /** The workers that take calls. */
  readonly active: WorkerState[] = [];
  readonly threads: ReplicaThreads;
  /** undefined: there is none, or it is over. */
  trial: Trial | undefined;
  /** Workers lost against our will, and threads killed at a deadline. */
  deaths = 0;
  kills = 0;
  readonly #spares: WorkerState[] = [];
  readonly #starter: Starter;
  readonly #options: RosterOptions;
  readonly #events: RosterEvents;
  readonly #ready: Promise<void>;
  #onReady: () => void = () => {};
  #onFailed: (error: Error) => void = () => {};
  #isReady = false;
  readonly #retirement: Retirement;
  #nicenessChecked = false;
  #closing = false;
  readonly #restarts = new RestartDelay(restartPolicy);
  readonly #timers = new Timers();

  constructor(options: RosterOptions, events: RosterEvents) {
    this.#options = options;
    this.#events = events;
    this.#retirement = new Retirement(options, {
      onBegun: ({ completed, memory }) => {
        options.counters.retirements++;
        events.onWorkerRetired(completed, memory);
        this.#fill();
      },
      onIdle: (worker) => {
        worker.thread.post({ type: 'retire' });
        this.#timers.set(longestTeardownMs, () => this.#endRetired(worker)).unref();
      },
    });
    this.#ready = new Promise((resolve, reject) => {
      this.#onReady = resolve;
      this.#onFailed = reject;
    });
    this.#ready.catch(() => {}); // whoever asks with ready() is told
    if (options.expected === undefined) this.trial = new Trial();
    const threads = options.workers + options.spareWorkers;
    this.threads = new ReplicaThreads({ ...options, threads }, (error) =>
      events.onUncaught(error.stack ?? error.message),
    );
    this.#starter = new Starter(this.threads, options.expected, options, events, {
      onReady: (worker, notice) => this.#onLoaded(worker, notice),
      onFailed: (worker, error) => this.#dismiss(worker, error),
      onLate: (doing, end) => this.#onLate(doing, end),
      onNotice: (worker, notice) => this.#notice(worker, notice),
      onResult: (worker, ticket, code, micros, elapsedUs, reply) => {
        worker.settle(ticket, code, micros, elapsedUs, reply);
        this.#events.onCapacity();
      },
      onUnreadable: (worker) => this.#giveUp(worker, 'what it wrote can not be read'),
      onEnd: (worker, exit, doing) => this.#gone(worker, exit, doing),
    });
    // Where nobody knows yet what the modules do, one thread is enough to find out.
    this.#start(this.trial === undefined ? options.workers : 1);
  }

  /** Where the first replica has told: starts the others, which are to load the same. */
  expect(expected: Expected): void {
    this.#starter.expected = expected;
    this.#start(this.#options.workers - 1);
  }

  /** From now on replicas need not have loaded the same files, as long as they registered the same procedures. */
  takeOtherCode(): void {
    const { expected } = this.#starter;
    if (expected === undefined) return;
    this.#starter.expected = { ...expected, sources: new SourceFiles(new Map()) };
  }

  /**
   * See {@link Trial.settle}. Of all workers that are ready by now.
   *
   * @throws the first fault
   */
  async settle(settleMs: number): Promise<void> {
    await this.trial?.settle(this.active, settleMs, this.#options.startTimeoutMs);
  }

  /** Ends the trial: from now on what goes wrong in a worker costs that worker. */
  pass(): void {
    this.trial = undefined;
    this.#start(this.#options.spareWorkers);
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
    return this.#starter.count;
  }

  /** Terminates a worker's thread under what it is running. Call `takeBack` first. */
  kill(worker: WorkerState): void {
    if (!this.#remove(worker)) return; // being killed already
    this.kills++;
    this.#options.counters.kills++;
    worker.thread.kill();
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
   * @param isGivenUp what they load may hang: after the grace it is ended
   */
  async close(graceMs: number, loadingMs: number, isGivenUp: boolean): Promise<void> {
    this.#closing = true;
    this.#doom(new Error('closed before the workers were ready'));
    this.#timers.clearAll();
    for (const worker of [...this.active, ...this.#spares]) worker.thread.post({ type: 'close' });
    const gone = this.#starter.gone();
    this.#starter.stopWaiting();
    const mostMs = this.#starter.count > 0 ? Math.max(graceMs, loadingMs) : graceMs;
    if (isGivenUp) this.#timers.set(graceMs, () => this.#starter.end());
    await Promise.race([
      gone,
      new Promise<void>((resolve) => {
        this.#timers.set(mostMs, resolve);
      }),
    ]);
    this.#timers.clearAll();
    await this.threads.destroy();
  }

  #start(count: number): void {
    for (let i = 0; i < count; i++) this.#starter.start();
  }

  #notice(worker: WorkerState, notice: ServingNotice): void {
    switch (notice.type) {
      case 'idle':
        this.trial?.onIdle(worker);
        worker.waits(notice.lastTicket);
        this.#events.onCapacity();
        break;
      case 'memory':
        worker.memory = notice.bytes;
        break;
      case 'retired':
        if (worker.isRetiring) this.#endRetired(worker);
        break;
      case 'aborted':
        worker.expiry.aborted(notice.ticket);
        this.#events.onCapacity();
        break;
      case 'fault':
        this.#events.onFault(notice.fault);
        break;
      case 'uncaught':
        if (this.trial === undefined) this.#events.onUncaught(notice.detail);
        else this.#doom(new Error(`outside of any call ${notice.line}`));
        break;
    }
  }

  #onLoaded(worker: WorkerState, { threadId, nice, loaded }: ReadyNotice): void {
    worker.threadId = threadId;
    this.#checkNiceness(nice);
    this.#join(worker);
    this.trial?.onReady(loaded);
  }

  #onLate(doing: string, end: () => void): void {
    if (this.#isProbing) this.threads.letGo();
    end();
    const { workers, startTimeoutMs } = this.#options;
    const ready = this.#isReady
      ? ''
      : `only ${this.active.length} of ${workers} workers were ready, `;
    this.#failed(
      new Error(`after ${startTimeoutMs} ms ${ready}${doing} had not ended: ${hangHint}`),
    );
  }

  /** Ends a worker that can't be worked with, and answers what had started there. */
  #giveUp(worker: WorkerState, detail: string): void {
    if (!this.active.includes(worker)) return; // ended already
    const unstarted = worker.takeBack();
    worker.lose('error');
    this.kill(worker);
    this.#events.onLost(unstarted, 'error', detail);
  }

  #checkNiceness(nice: number): void {
    if (this.#nicenessChecked) return;
    this.#nicenessChecked = true;
    if (!isNiced(nice, this.#options.niceIncrement)) this.#events.onNotNiced();
  }

  #join(worker: WorkerState): void {
    if (this.#closing) {
      worker.thread.post({ type: 'close' });
      return;
    }
    this.#spares.push(worker);
    if (!this.#fill()) return;
    if (!this.#isReady && this.active.length === this.#options.workers) {
      this.#isReady = true;
      this.#onReady();
      // Spares load only now, so that they do not compete with the start.
      if (this.trial === undefined) this.#start(this.#options.spareWorkers);
    }
  }

  /** Puts spares in the places that are free. False: none was, or there is no spare. */
  #fill(): boolean {
    let free = this.#options.workers;
    for (const worker of this.active) if (!worker.isRetiring) free--;
    const joining = this.#spares.splice(0, free);
    if (joining.length === 0) return false;
    this.active.push(...joining);
    this.#events.onCapacity();
    return true;
  }

  /** By force: a task that ends leaves its thread alive, and in it what made it old. */
  #endRetired(worker: WorkerState): void {
    if (this.#closing || !this.#remove(worker)) return;
    worker.thread.kill();
    this.#replace(0);
  }

  /** Ends a replica that could not load what it was to load. */
  #dismiss(worker: WorkerState, error: Error): void {
    // First: piscina replaces a thread as soon as it is ended.
    if (this.#isProbing) this.threads.letGo();
    worker.thread.kill();
    this.#failed(error);
  }

  /** Whether what goes wrong in a replica is the end of all. */
  get #isProbing(): boolean {
    return !this.#isReady || this.trial !== undefined;
  }

  #failed(error: Error): void {
    if (this.#closing) return;
    if (this.#isProbing) {
      this.#doom(error);
      return;
    }
    const delay = this.#restarts.next(clockMs());
    this.#events.onRestartFailed(error.message, delay);
    this.#replace(delay);
    if (error instanceof ChangedFileError && this.active.length === 0) this.#events.onOutdated();
  }

  /** This pool will not come to serve: nothing is started in it any more. */
  #doom(error: Error): void {
    this.threads.letGo();
    this.#onFailed(error);
    this.trial?.fail(error);
  }

  #gone(worker: WorkerState, exit: ThreadExit, doing: string | undefined): void {
    if (exit.end === 'killed') {
      worker.lose('neighbour');
      return;
    }
    this.#remove(worker);
    if (exit.end === 'closed') {
      worker.abandon('shutdown');
      return;
    }
    if (this.#isProbing) {
      const when = doing === undefined ? 'after it had loaded' : `during ${doing}`;
      this.#doom(new Error(`its thread ended ${when}: ${exit.detail}`));
      return;
    }
    this.deaths++;
    this.#options.counters.deaths[exit.end]++;
    const unstarted = worker.takeBack();
    worker.lose(exit.end);
    this.#events.onLost(unstarted, exit.end, exit.detail);
    this.#replace(this.#restartDelay(worker));
  }

  /** A worker that has served works and is missed: its replacement waits for nothing. */
  #restartDelay({ completed }: WorkerState): number {
    if (completed === 0) return this.#restarts.next(clockMs());
    this.#restarts.reset();
    return 0;
  }

  /** Takes a worker off the roster; a spare takes its place. False: it was not on it. */
  #remove(worker: WorkerState): boolean {
    const spare = this.#spares.indexOf(worker);
    if (spare !== -1) {
      this.#spares.splice(spare, 1);
      return true;
    }
    const index = this.active.indexOf(worker);
    if (index === -1) return false;
    this.active.splice(index, 1);
    this.#retirement.forget(worker);
    this.#fill();
    return true;
  }

  #replace(delayMs: number): void {
    if (this.#closing) return;
    this.#options.counters.restarts++;
    if (delayMs === 0) this.#start(1);
    else this.#timers.set(delayMs, () => this.#start(1));
  }
}

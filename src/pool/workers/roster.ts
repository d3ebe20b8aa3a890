import type { RunObserver } from '../../dispatch/executor.ts';
import { hangHint } from '../../modules/load-stage.ts';
import type { RosterOptions, RosterOwner } from '../pool-options.ts';
import { isStreamItem } from '../wire/stream-item.ts';
import type { WorkerEvents } from '../worker-events.ts';
import { Crew } from './crew.ts';
import { ChangedFileError } from './loading.ts';
import { Probation } from './probation.ts';
import { Restarts } from './restarts.ts';
import { Retirement } from './retirement.ts';
import { type ServingNotice, Starter } from './starter.ts';
import { ReplicaThreads, type ThreadExit } from './threads.ts';
import type { WorkerState } from './worker-state.ts';

/** The workers that calls may be sent to. */
export interface ServingWorkers {
  /** Workers that take all calls. The array stays the same object. */
  readonly active: readonly WorkerState[];
  /** The warm spare that takes short calls; undefined: there is none now. */
  readonly lane: WorkerState | undefined;
}

/** Keeps the workers: starts replicas, and replaces lost workers, by warm spares first. */
export class Roster implements ServingWorkers {
  readonly threads: ReplicaThreads;
  readonly probation: Probation;
  readonly #crew: Crew;
  readonly #starter: Starter;
  readonly #restarts: Restarts;
  readonly #retirement: Retirement;
  readonly #options: RosterOptions;
  readonly #owner: RosterOwner;
  readonly #events: WorkerEvents;
  #closing = false;

  constructor(
    options: RosterOptions,
    owner: RosterOwner,
    onRun: RunObserver,
    events: WorkerEvents,
  ) {
    this.#options = options;
    this.#owner = owner;
    this.#events = events;
    this.#crew = new Crew(options.workers);
    this.#retirement = new Retirement(options, {
      onBegun: ({ completed, memory }) => {
        options.counters.retirements++;
        events.onRetired(completed, memory);
        this.#fill();
      },
      onOver: (worker) => this.#endRetired(worker),
    });
    const threads = options.workers + options.spareWorkers;
    this.threads = new ReplicaThreads({ ...options, threads }, (error) =>
      events.onUncaught(error.stack ?? error.message),
    );
    this.#starter = new Starter(this.threads, options, onRun, events, {
      onReady: (worker, loaded) => {
        this.#join(worker);
        this.probation.onLoaded(loaded);
      },
      onFailed: (worker, error) => this.#dismiss(worker, error),
      onRefused: (error) => this.#failed(error),
      onChanged: (error, end) => this.#giveUpLoading(error, end),
      onLate: (doing, end) => this.#onLate(doing, end),
      onNotice: (worker, notice) => this.#notice(worker, notice),
      onResult: (worker, ticket, code, micros, elapsedUs, reply) => {
        if (isStreamItem(ticket)) {
          if (worker.streams.take(ticket, code, micros, elapsedUs, reply)) owner.onCapacity();
          return;
        }
        if (worker === this.lane) options.counters.laneCalls++;
        worker.settle(ticket, code, micros, elapsedUs, reply);
        owner.onCapacity();
      },
      onUnreadable: (worker) => this.#giveUp(worker, 'what it wrote can not be read'),
      onEnd: (worker, exit, doing) => this.#gone(worker, exit, doing),
    });
    this.#restarts = new Restarts(() => this.#starter.start(1), options.counters);
    this.probation = new Probation(options, this.threads, this.#starter, this.#crew);
    this.probation.begin();
  }

  get active(): readonly WorkerState[] {
    return this.#crew.active;
  }

  /** Closed until the pool serves, and after a loss until another spare is ready. */
  get lane(): WorkerState | undefined {
    return this.probation.isOver ? this.#crew.nextSpare : undefined;
  }

  /** All workers that may have calls. */
  get all(): readonly WorkerState[] {
    return this.#crew.all;
  }

  get spares(): number {
    return this.#crew.spares;
  }

  /** Threads that load the modules. */
  get starting(): number {
    return this.#starter.count;
  }

  /** See {@link Starter.takeOtherCode}. */
  takeOtherCode(): void {
    this.#starter.takeOtherCode();
  }

  /** Terminates a worker's thread while it runs something. Call `takeBack` first. */
  kill(worker: WorkerState): void {
    if (!this.#remove(worker)) return; // being killed already
    this.#options.counters.kills++;
    worker.thread.kill();
    this.#restarts.now();
  }

  /**
   * Replaces workers that have grown old, one at a time. To be called now and then.
   *
   * @returns whether a worker is being replaced
   */
  recycle(): boolean {
    if (!this.probation.isReady || this.#closing) return false;
    // A spare grows old only by the calls of the lane.
    return this.#retirement.advance(
      this.all.filter((worker) => worker.completed > 0 || this.active.includes(worker)),
    );
  }

  /**
   * Ends every replica, after its teardown. Resolves when no thread is left.
   *
   * @param loadingMs see {@link Starter.close}
   * @param isGivenUp see there
   */
  async close(graceMs: number, loadingMs: number, isGivenUp: boolean): Promise<void> {
    this.#closing = true;
    this.probation.doom(new Error('closed before the workers were ready'));
    this.#restarts.close();
    this.#retirement.close();
    for (const worker of this.all) worker.thread.post({ type: 'close' });
    await this.#starter.close(graceMs, loadingMs, isGivenUp);
    await this.threads.destroy();
  }

  #notice(worker: WorkerState, notice: ServingNotice): void {
    switch (notice.type) {
      case 'idle':
        this.probation.onIdle(worker);
        worker.waits(notice.lastTicket);
        this.#owner.onCapacity();
        break;
      case 'memory':
        worker.memory = notice.bytes;
        break;
      case 'retired':
        if (worker.isRetiring) this.#endRetired(worker);
        break;
      case 'aborted':
        worker.expiry.aborted(notice.ticket);
        this.#owner.onCapacity();
        break;
      case 'fault':
        this.#events.onFault(notice.fault);
        break;
      case 'line':
        this.#events.onLine(notice.line);
        break;
      case 'uncaught':
        if (this.probation.trial === undefined) this.#events.onUncaught(notice.detail);
        else this.probation.doom(new Error(`outside of any call ${notice.line}`));
        break;
    }
  }

  #onLate(doing: string, end: () => void): void {
    const { workers, startTimeoutMs } = this.#options;
    const ready = this.probation.isReady
      ? ''
      : `only ${this.active.length} of ${workers} workers were ready, `;
    this.#giveUpLoading(
      new Error(`after ${startTimeoutMs} ms ${ready}${doing} had not ended: ${hangHint}`),
      end,
    );
  }

  /** Ends a replica that is loading. @param end ends its thread */
  #giveUpLoading(error: Error, end: () => void): void {
    this.probation.beforeEnd();
    end();
    this.#failed(error);
  }

  /** Ends a worker that can't be worked with, and answers the calls that had started there. */
  #giveUp(worker: WorkerState, detail: string): void {
    if (!this.all.includes(worker)) return; // ended already
    const unstarted = worker.takeBack();
    worker.lose('error');
    this.kill(worker);
    this.#owner.onUnstarted(unstarted);
    this.#events.onLost('error', detail);
  }

  #join(worker: WorkerState): void {
    if (this.#closing) {
      worker.thread.post({ type: 'close' });
      return;
    }
    this.#crew.addSpare(worker);
    if (this.#fill()) this.probation.onJoined();
    else this.#owner.onCapacity();
  }

  /** See {@link Crew.fill}. */
  #fill(): boolean {
    const hasJoined = this.#crew.fill();
    if (hasJoined) this.#owner.onCapacity();
    return hasJoined;
  }

  /** Ends the thread by force: the end of its task alone would leave the thread alive, with what made it old. */
  #endRetired(worker: WorkerState): void {
    if (this.#closing || !this.#remove(worker)) return;
    worker.thread.kill();
    this.#restarts.now();
  }

  /** Ends a replica that could not load what it was to load. */
  #dismiss(worker: WorkerState, error: Error): void {
    this.probation.beforeEnd();
    worker.thread.kill();
    this.#failed(error);
  }

  #failed(error: Error): void {
    if (this.#closing) return;
    if (!this.probation.isOver) {
      this.probation.doom(error);
      return;
    }
    const isChange = error instanceof ChangedFileError;
    this.#events.onRestartFailed(error.message, this.#restarts.afterFailure(isChange));
    if (isChange && this.active.length === 0) this.#events.onOutdated();
  }

  #gone(worker: WorkerState, exit: ThreadExit, doing: string | undefined): void {
    if (exit.end === 'killed') {
      worker.lose('neighbour');
      return;
    }
    this.#remove(worker);
    if (exit.end === 'closed') {
      worker.abandon();
      return;
    }
    if (!this.probation.isOver) {
      const when = doing === undefined ? 'after it had loaded' : `during ${doing}`;
      this.probation.doom(new Error(`its thread ended ${when}: ${exit.detail}`));
      return;
    }
    this.#options.counters.deaths[exit.end]++;
    const unstarted = worker.takeBack();
    worker.lose(exit.end);
    this.#owner.onUnstarted(unstarted);
    this.#events.onLost(exit.end, exit.detail);
    this.#restarts.afterDeath(worker.completed);
  }

  /**
   * Takes a worker off the roster. A spare takes its place.
   *
   * @returns false: it was not on the roster
   */
  #remove(worker: WorkerState): boolean {
    if (!this.#crew.remove(worker)) return false;
    this.#retirement.forget(worker);
    this.#fill();
    return true;
  }
}

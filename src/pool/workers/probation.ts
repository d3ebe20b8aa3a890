import type { RosterOptions } from '../pool-options.ts';
import type { LoadedReplica } from '../wire/messages.ts';
import type { Crew } from './crew.ts';
import type { Expected } from './loading.ts';
import type { Starter } from './starter.ts';
import type { ReplicaThreads } from './threads.ts';
import { Trial } from './trial.ts';
import type { WorkerState } from './worker-state.ts';

/**
 * The time before a pool serves: until all its workers are ready and, where its modules are on trial, until the trial
 * is passed. A fault of any worker in this time is the end of the pool.
 */
export class Probation {
  /** Resolves when every worker serves; rejects when one could not load its modules. */
  readonly ready: Promise<void>;
  readonly #options: RosterOptions;
  readonly #threads: ReplicaThreads;
  readonly #starter: Starter;
  readonly #crew: Crew;
  #trial: Trial | undefined;
  #isReady = false;
  #onReady: () => void = () => {};
  #onFailed: (error: Error) => void = () => {};

  constructor(options: RosterOptions, threads: ReplicaThreads, starter: Starter, crew: Crew) {
    this.#options = options;
    this.#threads = threads;
    this.#starter = starter;
    this.#crew = crew;
    this.ready = new Promise((resolve, reject) => {
      this.#onReady = resolve;
      this.#onFailed = reject;
    });
    this.ready.catch(() => {}); // whoever awaits it is told
    if (options.expected === undefined) this.#trial = new Trial();
  }

  /** undefined: there is no trial, or it is over. */
  get trial(): Trial | undefined {
    return this.#trial;
  }

  /** Whether every worker has been ready once. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Whether the pool serves: from then on a fault of a worker costs that worker alone. */
  get isOver(): boolean {
    return this.#isReady && this.#trial === undefined;
  }

  begin(): void {
    // Where nobody knows yet what the modules do, one thread is enough to find out.
    this.#starter.start(this.#trial === undefined ? this.#options.workers : 1);
  }

  /** The first replica has told what it has loaded: starts the others, which must load the same. */
  expect(expected: Expected): void {
    this.#starter.expected = expected;
    this.#starter.start(this.#options.workers - 1);
  }

  /**
   * See {@link Trial.settle}: asks all workers that are ready by now.
   *
   * @throws the first fault
   */
  async settle(settleMs: number): Promise<void> {
    await this.#trial?.settle(this.#crew.active, settleMs, this.#options.startTimeoutMs);
  }

  /** Ends the trial. */
  pass(): void {
    this.#trial = undefined;
    this.#starter.start(this.#options.spareWorkers);
  }

  /** A worker has joined the crew. */
  onJoined(): void {
    if (this.#isReady || !this.#crew.isComplete) return;
    this.#isReady = true;
    this.#onReady();
    // Spares load only now, so that they do not compete with the start.
    if (this.#trial === undefined) this.#starter.start(this.#options.spareWorkers);
  }

  onLoaded(loaded: LoadedReplica): void {
    this.#trial?.onReady(loaded);
  }

  onIdle(worker: WorkerState): void {
    this.#trial?.onIdle(worker);
  }

  /** A replica is about to be ended. Called first: piscina replaces a thread as soon as it has ended. */
  beforeEnd(): void {
    if (!this.isOver) this.#threads.letGo();
  }

  /** This pool will never serve: no replica is started in it any more. */
  doom(error: Error): void {
    this.#threads.letGo();
    this.#onFailed(error);
    this.#trial?.fail(error);
  }
}

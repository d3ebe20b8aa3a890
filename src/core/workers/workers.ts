import { getPriority } from 'node:os';
import { clockMs } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';
import { type DelayPolicy, RestartDelay } from '../base/restart-delay.ts';
import { startTimer, Vacancy } from '../base/timer.ts';
import type { QueuedExecutor } from '../dispatch/queue/queued-executor.ts';
import { hangHint } from '../modules/load-error.ts';
import { SourceFiles } from '../modules/module-files.ts';
import type { Files } from '../modules/modules.ts';
import { ChangedFileError, Loading } from './loading.ts';
import type { Expected, PoolOptions, ThreadExit, WorkerEvents } from './options.ts';
import { describeSight, lookInto } from './stack.ts';
import { WorkerThreads } from './threads.ts';
import type { LoadedReplica } from './wire/messages.ts';
import { PoolWorker, type ReadyNotice, type WorkerOwner } from './worker.ts';

/** After the third death in a row a replacement waits: threads that die at once must not use up the processor. */
const restartPolicy: DelayPolicy = { free: 3, firstMs: 100, longestMs: 5000, forgetsMs: 10_000 };

/** A retiring worker whose teardown, or whose snapshot of its heap, takes longer is ended all the same, milliseconds. */
const [maxTeardownMs, maxSnapshotMs] = [10_000, 600_000];

const highestNiceness = 19;

/** What counts the ends of threads that nobody had asked for. */
const deathCounters = {
  exit: 'deathsByExit',
  memory: 'deathsByMemory',
  error: 'deathsByError',
} as const;

/** How long a thread may take to show its stack before it is ended; less if others wait for the end, milliseconds. */
const [lookMs, lookBesideOthersMs] = [250, 100];

/** Whether it was told that threads show no stacks: once a process. */
let hasToldDenial = false;

/** Where calls of workers that are given up wait again. */
type Requeue = Pick<QueuedExecutor, 'addBack' | 'runAlone'>;

/**
 * The workers of a pool: starts them, and replaces those that are lost, stuck or old, by warm spares first. The threads start at
 * once, and load the modules from `expect` or `startTrial` on.
 */
export class WorkerSet implements WorkerOwner {
  /** All workers that have loaded and may have calls, in the order in which they came. */
  readonly all: PoolWorker[] = [];
  /** Workers that take all calls. A worker that retires is among them, and its place counts as free. */
  readonly active: PoolWorker[] = [];
  readonly startup = new Startup();
  /** A worker can take more calls, or has ended something. */
  readonly onCapacity: () => void;
  readonly #spares: PoolWorker[] = [];
  /** Workers whose threads have not ended. */
  readonly #living = new Set<PoolWorker>();
  /** Workers that are to be ended once their stacks are known. */
  readonly #doomed = new WeakSet<PoolWorker>();
  readonly #vacancy = new Vacancy();
  readonly #threads: WorkerThreads;
  readonly #options: PoolOptions;
  readonly #waiting: Requeue;
  readonly #events: WorkerEvents;
  /** What workers must load. undefined: the one on trial reports it. */
  #expected: Expected | undefined;
  #sources: SourceFiles;
  readonly #restartDelay = new RestartDelay(restartPolicy);
  readonly #restarts = new Set<NodeJS.Timeout>();
  /** The worker that retires, one at a time. `#teardown`: the limit of its teardown, which has begun. */
  #retiring: PoolWorker | undefined;
  #teardown: NodeJS.Timeout | undefined;
  #isClosing = false;
  #isNicenessChecked = false;

  /** @param waiting gets the calls of lost workers that had not started */
  constructor(
    options: PoolOptions,
    waiting: Requeue,
    events: WorkerEvents,
    onCapacity: () => void,
  ) {
    this.#options = options;
    this.#sources = options.sources;
    this.#waiting = waiting;
    this.#events = events;
    this.onCapacity = onCapacity;
    this.#threads = new WorkerThreads(options, (error) =>
      events.onUncaught(error.stack ?? error.message),
    );
  }

  /** The express worker: the next spare, which takes short calls. undefined: the pool does not serve, or has no spare. */
  get express(): PoolWorker | undefined {
    return this.startup.isOver ? this.#spares.find((worker) => !worker.isRetiring) : undefined;
  }

  /** Spares that could take a free place. */
  get spares(): number {
    return this.#spares.filter((worker) => !worker.isRetiring).length;
  }

  /** The workers that a broadcast reaches: each that takes calls, or will take calls when it has loaded. */
  get replicas(): PoolWorker[] {
    return [...this.#living].filter((worker) => {
      if (worker === this.#retiring && this.#teardown !== undefined) return false;
      return this.all.includes(worker) || worker.loading?.isUnwanted === false;
    });
  }

  get loading(): PoolWorker[] {
    return [...this.#living].filter(({ loading }) => loading !== undefined);
  }

  /** Has one worker load modules of which nobody knows yet what they do, and report what it has loaded. */
  startTrial(): void {
    this.startup.isTrial = true;
    this.#start(1);
  }

  /** Has all workers load the modules, or the others after a trial. They must load what is expected. */
  expect(expected: Expected): void {
    this.#expected = expected;
    this.#start(this.#options.workers - (this.startup.isTrial ? 1 : 0));
  }

  /**
   * Resolves when `settleMs` have passed and then each worker that is ready by now has answered.
   *
   * @throws the first fault
   */
  async settle(settleMs: number): Promise<void> {
    const { failure } = this.startup;
    const { startTimeoutMs } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    try {
      const passed = new Promise((resolve) => {
        timer = setTimeout(resolve, settleMs);
      });
      await Promise.race([passed, failure]);
      timer = setTimeout(() => {
        const message = `it had loaded, and then its thread did not answer for ${startTimeoutMs} ms: look for a loop in what it left to run`;
        this.startup.fail(new Error(message));
      }, startTimeoutMs);
      await Promise.race([Promise.all(this.active.map((worker) => worker.answer())), failure]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the trial: the pool serves. */
  passTrial(): void {
    this.startup.isTrial = false;
    this.#start(this.#options.spareWorkers);
  }

  /** From now on workers need not have loaded the same files, as long as they registered the same procedures. */
  takeOtherCode(): void {
    this.#sources = new SourceFiles(() => new Map());
  }

  /**
   * Ends a worker whose thread is stuck. A spare takes its place at once, and its calls that have not started wait for another
   * worker. Then the thread is asked for its stack, and terminated.
   *
   * @returns what the thread was in; undefined: this process may not ask, or the worker has ended already
   */
  async killStuck(worker: PoolWorker): Promise<string | undefined> {
    if (!this.#give(worker)) return undefined;
    this.#doomed.add(worker);
    const seen = await this.#lookInto(worker);
    this.#terminate(worker);
    return seen;
  }

  /** Ends a worker that can't be worked with, and answers the calls that had started there. */
  onBroken(worker: PoolWorker, detail: string): void {
    const suspects = worker.suspects();
    if (!this.#give(worker)) return;
    this.#terminate(worker);
    this.#waiting.runAlone(suspects.names);
    worker.lose('error');
    this.#events.onLost('error', detail, suspects);
  }

  /**
   * Replaces workers that have grown old, one at a time, each after its last call and its last stream. Call this now and
   * then. Returns whether a worker is being replaced.
   */
  recycle(): boolean {
    if (!this.startup.isReady || this.#isClosing) return false;
    this.#retiring ??= this.#retireNext();
    const worker = this.#retiring;
    if (worker === undefined) return this.all.some(({ heap }) => heap !== undefined);
    if (this.#teardown === undefined && worker.inFlight === 0 && worker.isAnswered) {
      const { heap } = worker;
      worker.thread.post({ type: 'retire', heapFile: heap?.file });
      const limitMs = maxTeardownMs + (heap === undefined ? 0 : maxSnapshotMs);
      this.#teardown = setTimeout(() => this.onRetired(worker), limitMs).unref();
    }
    return true;
  }

  /**
   * Ends every worker, after its teardown. Resolves when no thread is left.
   *
   * @param loadingMs how long workers that are loading may go on: a thread that is ended while it loads leaves the files
   *   open that it had opened, for as long as the process lives (Node 20)
   * @param isGivenUp the loading may hang: it is ended after the grace
   */
  async close(graceMs: number, loadingMs: number, isGivenUp: boolean): Promise<void> {
    this.#isClosing = true;
    this.startup.fail(new Error('closed before the workers were ready'));
    for (const timer of this.#restarts) clearTimeout(timer);
    clearTimeout(this.#teardown);
    for (const worker of this.all) worker.thread.post({ type: 'close' });
    // From now on no worker is reported as late.
    for (const { loading } of this.#living) loading?.stop();
    const mostMs = this.loading.length > 0 ? Math.max(graceMs, loadingMs) : graceMs;
    const endLoading = (): void => {
      for (const worker of this.loading) worker.discard();
    };
    const timer = isGivenUp ? startTimer(graceMs, endLoading) : undefined;
    if (this.#living.size > 0) await this.#vacancy.within(mostMs);
    clearTimeout(timer);
    await this.#threads.destroy();
  }

  onLoaded(worker: PoolWorker, { loaded, nice }: ReadyNotice): void {
    this.#checkNiceness(nice);
    if (this.#isClosing) worker.thread.post({ type: 'close' });
    else this.#join(worker);
    this.startup.noteLoaded(loaded);
  }

  onLate(worker: PoolWorker, doing: string): void {
    const { workers, startTimeoutMs } = this.#options;
    void this.#frameOf(worker).then((frame) => {
      // It may have loaded meanwhile, or have ended.
      if (worker.loading === undefined) return;
      const few = `only ${this.active.length} of ${workers} workers were ready, `;
      const ready = this.startup.isReady ? '' : few;
      const message = `after ${startTimeoutMs} ms ${ready}${doing} had not ended${frame}: ${hangHint}`;
      this.onLoadFailed(worker, new Error(message));
    });
  }

  /** Where the code is that holds a thread, for a message; empty: no code of the user holds it, or that is not known. */
  async #frameOf(worker: PoolWorker): Promise<string> {
    const seen = (await this.#lookInto(worker)) ?? '';
    return seen.startsWith('at ') ? `, ${seen.split('\n', 1)[0]}` : '';
  }

  onLoadFailed(worker: PoolWorker, error: Error): void {
    // Until its thread has gone, a second fault may be seen, of its files for example. One replacement is enough.
    if (worker.loading?.isUnwanted) return;
    this.#options.counters.seats.leave(worker);
    worker.discard();
    this.#failToStart(error);
  }

  onFiles(worker: PoolWorker, files: Files): void {
    // A worker that does not serve yet is ended for what it has loaded, and counts for nothing.
    const differing = worker.loading && this.#sources.differsFrom(files);
    if (differing !== undefined) {
      this.onLoadFailed(worker, new ChangedFileError(differing));
      return;
    }
    const mixed = this.#sources.add(files);
    if (mixed !== undefined) this.#events.onOutdated(mixed);
  }

  onRetired(worker: PoolWorker): void {
    if (this.#isClosing || !this.all.includes(worker)) return;
    this.#remove(worker);
    this.#terminate(worker);
  }

  onUncaught(detail: string, line: string): void {
    if (this.startup.isTrial) this.startup.fail(new Error(`outside of any call ${line}`));
    else this.#events.onUncaught(detail);
  }

  onEnd(worker: PoolWorker, exit: ThreadExit, doing: string | undefined): void {
    this.#living.delete(worker);
    this.#options.counters.seats.leave(worker);
    if (this.#living.size === 0) this.#vacancy.tell();
    if (exit.end === 'killed' || this.#doomed.has(worker)) {
      worker.lose('neighbour');
      return;
    }
    this.#remove(worker);
    // Whatever ends a thread that still loads when all is over: nothing is lost with it.
    if (exit.end === 'closed' || (this.#isClosing && doing !== undefined)) {
      worker.abandon();
      return;
    }
    if (!this.startup.isOver) {
      const when = doing === undefined ? 'after it had loaded' : `during ${doing}`;
      this.startup.fail(new Error(`its thread ended ${when}: ${exit.detail}`));
      return;
    }
    this.#options.counters.counts[deathCounters[exit.end]]++;
    const suspects = worker.suspects();
    this.#waiting.runAlone(suspects.names);
    const unstarted = worker.calls.takeBack();
    worker.lose(exit.end);
    this.#waiting.addBack(unstarted);
    this.#events.onLost(exit.end, exit.detail, suspects);
    // If it had ended calls, the modules work and the worker is missed: its replacement starts at once.
    const isUsed = worker.completed > 0;
    if (isUsed) this.#restartDelay.reset();
    this.#restart(isUsed ? 0 : this.#restartDelay.next(clockMs()));
  }

  #start(count: number): void {
    for (let i = 0; i < count; i++) {
      const loading = new Loading(this.#sources);
      const changed = loading.verify();
      if (changed === undefined) {
        const { seats } = this.#options.counters;
        const seat = seats.firstFree(this);
        const run = (starting: PoolWorker) => this.#threads.start(starting, seat, this.#expected);
        const worker = new PoolWorker(run, loading, this, this.#options, this.#events);
        this.#living.add(worker);
        seats.enter(seat, worker, this);
      } else this.#failToStart(changed);
    }
  }

  /** Takes a worker out of the set, to end it. @returns false: that has been done before */
  #give(worker: PoolWorker): boolean {
    if (!this.all.includes(worker)) return false;
    this.#waiting.addBack(worker.calls.takeBack());
    this.#options.counters.counts.kills++;
    this.#remove(worker);
    return true;
  }

  /** Ends the thread by force, and starts another one: the end of its task alone would leave the thread alive. */
  #terminate(worker: PoolWorker): void {
    worker.thread.kill();
    this.#restart(0);
  }

  async #lookInto(worker: PoolWorker): Promise<string | undefined> {
    try {
      const sights = await lookInto([worker], worker.isAnswered ? lookMs : lookBesideOthersMs);
      const sight = sights.get(worker);
      return sight && describeSight(sight);
    } catch (error) {
      if (!hasToldDenial) this.#events.onNoStack(messageOf(error));
      hasToldDenial = true;
      return undefined;
    }
  }

  #join(worker: PoolWorker): void {
    worker.isSpare = true;
    this.all.push(worker);
    this.#spares.push(worker);
    if (!this.#fill()) {
      this.onCapacity();
      return;
    }
    if (this.startup.isReady || this.active.length < this.#options.workers) return;
    this.startup.noteReady();
    // Spares load only now, so that they do not compete with the start.
    if (this.startup.isOver) this.#start(this.#options.spareWorkers);
  }

  /** Puts spares into free places. Returns whether there was one for a place. */
  #fill(): boolean {
    let free = this.#options.workers;
    for (const worker of this.active) if (!worker.isRetiring) free--;
    const joining = this.#spares.filter((worker) => !worker.isRetiring).slice(0, free);
    for (const worker of joining) {
      removeFrom(this.#spares, worker);
      worker.isSpare = false;
      worker.home = this.#freeHome();
      this.active.push(worker);
    }
    if (joining.length > 0) this.onCapacity();
    return joining.length > 0;
  }

  /** A worker that retires takes no calls: its place is free. */
  #freeHome(): number {
    const taken = new Set(this.active.filter((one) => !one.isRetiring).map(({ home }) => home));
    let home = 0;
    while (taken.has(home)) home++;
    return home;
  }

  /** Takes a worker out of the set, if it is there. A spare takes its place. */
  #remove(worker: PoolWorker): void {
    for (const workers of [this.all, this.active, this.#spares]) removeFrom(workers, worker);
    this.#options.counters.seats.leave(worker);
    if (this.#retiring === worker) {
      clearTimeout(this.#teardown);
      this.#retiring = undefined;
      this.#teardown = undefined;
    }
    this.#fill();
  }

  #retireNext(): PoolWorker | undefined {
    // A spare grows old only by the short calls that it takes.
    const worker =
      this.all.find(({ heap }) => heap !== undefined) ??
      this.all.find((one) => (one.completed > 0 || !one.isSpare) && one.isOld);
    if (worker === undefined) return undefined;
    // All may be asked for their heaps at once: the next one leaves when the replacement of the one before serves. There may be none.
    if (worker.heap !== undefined && (this.loading.length > 0 || this.#restarts.size > 0))
      return undefined;
    worker.isRetiring = true;
    worker.streams.retire(this.#options.maxRequestMs);
    this.#options.counters.counts.retirements++;
    this.#events.onRetired(worker.completed, worker.memory);
    this.#fill();
    return worker;
  }

  #failToStart(error: Error): void {
    if (this.#isClosing) return;
    if (!this.startup.isOver) {
      this.startup.fail(error);
      return;
    }
    const isChange = error instanceof ChangedFileError;
    // Whoever writes the files is given a moment each time.
    const leastMs = isChange ? restartPolicy.firstMs : 0;
    const delayMs = Math.max(this.#restartDelay.next(clockMs()), leastMs);
    this.#restart(delayMs);
    if (!isChange || !this.#options.isReloadComing())
      this.#events.onRestartFailed(error.message, delayMs);
    if (isChange && this.active.length === 0) this.#events.onOutdated();
  }

  #restart(delayMs: number): void {
    if (this.#isClosing) return;
    this.#options.counters.counts.restarts++;
    if (delayMs === 0) {
      this.#start(1);
      return;
    }
    // Keeps the process alive, since there may be no thread that does.
    const timer = startTimer(delayMs, () => {
      this.#restarts.delete(timer);
      this.#start(1);
    });
    this.#restarts.add(timer);
  }

  /** Only on Linux is a thread's niceness its own. */
  #checkNiceness(nice: number): void {
    if (this.#isNicenessChecked) return;
    this.#isNicenessChecked = true;
    const wanted = Math.min(getPriority() + this.#options.niceIncrement, highestNiceness);
    if (process.platform === 'linux' && nice < wanted) this.#events.onNotNiced();
  }
}

function removeFrom(workers: PoolWorker[], worker: PoolWorker): void {
  const index = workers.indexOf(worker);
  if (index !== -1) workers.splice(index, 1);
}

/**
 * The time before a pool serves: until all its workers are ready and, if it loads new code, until the trial of that code
 * is passed. To pass, the first worker must load, set up and report what it has loaded, and until the end of the trial
 * no thread may throw outside of a call, end, or stop answering. The first fault is the end of the pool.
 */
class Startup {
  /** Resolves when every worker serves; rejects with the first fault. */
  readonly ready: Promise<void>;
  /** Resolves with what the first worker has loaded; rejects with the first fault. */
  readonly loaded: Promise<LoadedReplica>;
  /** Rejects with the first fault; never resolves. */
  readonly failure: Promise<never>;
  /** Faults of a worker are those of the modules. */
  isTrial = false;
  /** Whether every worker has been ready once. */
  isReady = false;
  #resolveReady!: () => void;
  #resolveLoaded!: (loaded: LoadedReplica) => void;
  #reject!: (error: Error) => void;

  constructor() {
    this.failure = new Promise((_resolve, reject) => {
      this.#reject = reject;
    });
    const ready = new Promise<void>((resolve) => {
      this.#resolveReady = resolve;
    });
    const loaded = new Promise<LoadedReplica>((resolve) => {
      this.#resolveLoaded = resolve;
    });
    this.ready = Promise.race([ready, this.failure]);
    this.loaded = Promise.race([loaded, this.failure]);
    // Whoever awaits one of them gets the error.
    for (const promise of [this.failure, this.ready, this.loaded]) promise.catch(() => {});
  }

  /** Whether the pool serves: from then on a fault of a worker costs that worker alone. */
  get isOver(): boolean {
    return this.isReady && !this.isTrial;
  }

  noteLoaded(loaded: LoadedReplica): void {
    this.#resolveLoaded(loaded);
  }

  noteReady(): void {
    this.isReady = true;
    this.#resolveReady();
  }

  fail(error: Error): void {
    if (!this.isOver) this.#reject(error);
  }
}

import { startTimer } from '../base/timer.ts';
import { describeStage, type LoadStage } from '../modules/load-error.ts';
import type { Expected } from './options.ts';
import type { LoadedReplica } from './wire/messages.ts';

/**
 * How often the files are checked while a replica loads them, milliseconds. The code of a changed file is refused, and may
 * never end loading: once the file is put back, the next try must not wait for `startTimeoutMs`.
 */
const checkFilesMs = 1000;

/** A file is not what the main thread has loaded: what a replica loaded from it may be other code. */
export class ChangedFileError extends Error {
  readonly file: string;

  /** @param failure what the replica met when it loaded what is there now */
  constructor(file: string, failure?: string) {
    const why = failure === undefined ? '' : ` (${failure})`;
    super(`${file} has changed since it was loaded: reload the modules, or put it back${why}`);
    this.file = file;
  }
}

/** A worker that loads its modules: which step it is in, how long it may take, whether it loads what is expected. */
export class Loading {
  /** Whether the worker is to be ended as soon as its thread has started. */
  isUnwanted = false;
  #stage: LoadStage | undefined;
  readonly #changed: (() => string | undefined) | undefined;
  #limit: NodeJS.Timeout | undefined;
  #check: NodeJS.Timeout | undefined;

  constructor(expected: Expected | undefined) {
    this.#changed = expected?.sources.watch();
  }

  /** Watches the time and the files until `stop`, or until one of them is wrong. */
  watch(limitMs: number, onLate: () => void, onChanged: (error: ChangedFileError) => void): void {
    this.#limit = startTimer(limitMs, () => {
      this.stop();
      onLate();
    }).unref();
    this.#check = setInterval(() => {
      const changed = this.verify();
      if (changed === undefined) return;
      this.stop();
      onChanged(changed);
    }, checkFilesMs).unref();
  }

  stop(): void {
    clearTimeout(this.#limit);
    clearInterval(this.#check);
  }

  enter(stage: LoadStage): void {
    this.#stage = stage;
  }

  /**
   * Whether its thread has come to the modules. Before, it reads the files of this package, some hundred of them at
   * once: if it is ended meanwhile, they stay open for as long as the process lives (Node 20).
   */
  get hasBegun(): boolean {
    return this.#stage !== undefined;
  }

  /** The step that has not ended. */
  get doing(): string {
    return this.#stage === undefined ? 'the start of its thread' : describeStage(this.#stage);
  }

  /** Checks whether the files are those that are expected. `failure`: why the worker has failed to load. */
  verify(failure?: string): ChangedFileError | undefined {
    const file = this.#changed?.();
    return file === undefined ? undefined : new ChangedFileError(file, failure);
  }
}

/**
 * The time before a pool serves: until all its workers are ready and, if it loads new code, until the trial of that code
 * is passed. To pass, the first worker must load, set up and report what it has loaded, and until the end of the trial
 * no thread may throw outside of a call, end, or stop answering. The first fault is the end of the pool.
 */
export class Startup {
  /** Resolves when every worker serves; rejects with the first fault. */
  readonly ready: Promise<void>;
  /** Resolves with what the first worker has loaded; rejects with the first fault. */
  readonly loaded: Promise<LoadedReplica>;
  /** Rejects with the first fault; never resolves. */
  readonly failure: Promise<never>;
  isTrial: boolean;
  /** Whether every worker has been ready once. */
  isReady = false;
  #resolveReady!: () => void;
  #resolveLoaded!: (loaded: LoadedReplica) => void;
  #reject!: (error: Error) => void;

  constructor(isTrial: boolean) {
    this.isTrial = isTrial;
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

  /** A worker has loaded. */
  noteLoaded(loaded: LoadedReplica): void {
    this.#resolveLoaded(loaded);
  }

  /** Every worker is ready. */
  noteReady(): void {
    this.isReady = true;
    this.#resolveReady();
  }

  fail(error: Error): void {
    if (!this.isOver) this.#reject(error);
  }

  /**
   * Resolves when `settleMs` have passed and then each of `workers` has answered.
   *
   * @param limitMs how long they may take to answer
   * @throws the first fault
   */
  async settle(
    workers: readonly { answer(): Promise<void> }[],
    settleMs: number,
    limitMs: number,
  ): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    try {
      const passed = new Promise((resolve) => {
        timer = setTimeout(resolve, settleMs);
      });
      await Promise.race([passed, this.failure]);
      timer = setTimeout(() => {
        this.fail(
          new Error(
            `it had loaded, and then its thread did not answer for ${limitMs} ms: look for a loop in what it left to run`,
          ),
        );
      }, limitMs);
      await Promise.race([Promise.all(workers.map((worker) => worker.answer())), this.failure]);
    } finally {
      clearTimeout(timer);
    }
  }
}

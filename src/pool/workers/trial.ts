import type { LoadedReplica } from '../wire/messages.ts';
import type { WorkerState } from './worker-state.ts';

/**
 * The trial of new code, before it is loaded on the thread that serves. To pass, the first replica must load, set up
 * and tell what it has loaded. Until the end of the trial no thread may throw outside of a call, end, or stop
 * answering.
 */
export class Trial {
  /** What the first replica has loaded. */
  readonly loaded: Promise<LoadedReplica>;
  /** Rejects with the first fault; never resolves. */
  readonly failure: Promise<never>;
  readonly #tell: (loaded: LoadedReplica) => void;
  readonly #reject: (error: Error) => void;
  readonly #probed = new Map<WorkerState, () => void>();

  constructor() {
    let reject: (error: Error) => void = () => {};
    let tell: (loaded: LoadedReplica) => void = () => {};
    this.failure = new Promise((_resolve, onFailed) => {
      reject = onFailed;
    });
    this.failure.catch(() => {}); // told to whoever waits for the next step
    this.loaded = Promise.race([
      new Promise<LoadedReplica>((resolve) => {
        tell = resolve;
      }),
      this.failure,
    ]);
    this.loaded.catch(() => {});
    this.#reject = reject;
    this.#tell = tell;
  }

  fail(error: Error): void {
    this.#reject(error);
  }

  onReady(loaded: LoadedReplica): void {
    this.#tell(loaded);
  }

  /** A replica's event loop has turned. */
  onIdle(worker: WorkerState): void {
    this.#probed.get(worker)?.();
    this.#probed.delete(worker);
  }

  /**
   * Resolves when `settleMs` have passed and then each of `workers` has answered. The answer of a worker comes behind
   * everything that it threw before.
   *
   * @param limitMs how long they may take to answer
   * @throws the first fault
   */
  async settle(workers: readonly WorkerState[], settleMs: number, limitMs: number): Promise<void> {
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
      await Promise.race([Promise.all(workers.map((worker) => this.#probe(worker))), this.failure]);
    } finally {
      clearTimeout(timer);
    }
  }

  #probe(worker: WorkerState): Promise<void> {
    return new Promise((resolve) => {
      this.#probed.set(worker, resolve);
      worker.thread.post({ type: 'probe' });
    });
  }
}

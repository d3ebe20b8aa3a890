import type { WorkerLink } from './worker-state.ts';
import type { LoadedReplica } from '../wire/messages.ts';

/**
 * What new code has to pass before it comes near the serving thread: its first replica loads, sets up and tells
 * what it has loaded, and until the end of the trial none of its threads throws outside of a call, ends, or
 * stops answering.
 */
export class Trial {
  /** What the first replica has loaded. */
  readonly loaded: Promise<LoadedReplica>;
  /** Rejects with the first fault. Never resolves. */
  readonly failure: Promise<never>;
  readonly #tell: (loaded: LoadedReplica) => void;
  readonly #reject: (error: Error) => void;
  readonly #probed = new Map<WorkerLink, () => void>();

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
  onIdle(link: WorkerLink): void {
    this.#probed.get(link)?.();
    this.#probed.delete(link);
  }

  /**
   * Resolves when `settleMs` have passed and then every one of `links` has answered, which it does behind all
   * that it threw before.
   *
   * @param limitMs how long they may take to answer
   * @throws the first fault
   */
  async settle(links: readonly WorkerLink[], settleMs: number, limitMs: number): Promise<void> {
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
      await Promise.race([Promise.all(links.map((link) => this.#probe(link))), this.failure]);
    } finally {
      clearTimeout(timer);
    }
  }

  #probe(link: WorkerLink): Promise<void> {
    return new Promise((resolve) => {
      this.#probed.set(link, resolve);
      link.thread.post({ type: 'probe' });
    });
  }
}

import { startTimer } from '../base/timer.ts';
import { describeStage, type LoadStage } from '../modules/load-error.ts';
import type { SourceFiles } from '../modules/module-files.ts';

/** A worker that loads its modules: which step it is in, how long it may take, whether it loads what is expected. */
export class Loading {
  /** Whether the worker is to be ended as soon as its thread has started. */
  isUnwanted = false;
  #stage: LoadStage | undefined;
  readonly #changed: () => string | undefined;
  readonly #sources: SourceFiles;
  #limit: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;

  constructor(sources: SourceFiles) {
    this.#sources = sources;
    this.#changed = sources.watch();
  }

  /** Watches the time and the files until `stop`, or until one of them is wrong. */
  watch(limitMs: number, onLate: () => void, onChanged: (error: ChangedFileError) => void): void {
    this.#limit = startTimer(limitMs, () => {
      this.stop();
      onLate();
    }).unref();
    this.#unwatch = this.#sources.onChanged(() => {
      const changed = this.verify();
      if (changed === undefined) return;
      this.stop();
      onChanged(changed);
    });
  }

  stop(): void {
    clearTimeout(this.#limit);
    this.#unwatch?.();
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
    const file = this.#changed();
    return file === undefined ? undefined : new ChangedFileError(file, failure);
  }
}

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

import { describeStage, type LoadStage } from '../../modules/load-stage.ts';
import type { SourceFiles } from '../../modules/source-files.ts';

/** What replicas must have loaded: what their front end serves. */
export interface Expected {
  readonly fingerprint: string;
  readonly sources: SourceFiles;
}

/** A file is not what the front end has loaded: what a replica loaded from it may be other code. */
export class ChangedFileError extends Error {
  readonly file: string;

  /** @param failure what the replica met when it loaded what is there now */
  constructor(file: string, failure?: string) {
    const why = failure === undefined ? '' : ` (${failure})`;
    super(`${file} has changed since it was loaded: reload the modules, or put it back${why}`);
    this.file = file;
  }
}

/** A replica that loads its modules: which step it is in, and whether it loads what is expected. */
export class Loading {
  /** Whether the replica is to be ended as soon as its thread has started. */
  isUnwanted = false;
  #stage: LoadStage | undefined;
  readonly #changed: (() => string | undefined) | undefined;

  constructor(expected: Expected | undefined) {
    this.#changed = expected?.sources.watch();
  }

  enter(stage: LoadStage): void {
    this.#stage = stage;
  }

  /**
   * Whether its thread has come to the modules. Before, it reads the files of this package, some hundred of them at
   * once: ended meanwhile it leaves them open, for as long as the process lives (Node 20).
   */
  get hasBegun(): boolean {
    return this.#stage !== undefined;
  }

  /** The step that has not ended. */
  get doing(): string {
    return this.#stage === undefined ? 'the start of its thread' : describeStage(this.#stage);
  }

  /**
   * Checks what a replica has loaded. To be called when it is ready, or has failed.
   *
   * @param failure why it has failed
   * @returns undefined: it has loaded what is expected
   */
  verify(failure?: string): ChangedFileError | undefined {
    const file = this.#changed?.();
    return file === undefined ? undefined : new ChangedFileError(file, failure);
  }
}

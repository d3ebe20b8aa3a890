import { setTimeout as pause } from 'node:timers/promises';
import { StartupError } from '../base/startup-error.ts';
import { watchFiles } from '../modules/source-files.ts';
import { ChangedFileError } from '../pool/workers/loading.ts';
import { GenerationLoad } from './load-generation.ts';
import type { LoadedService, ServiceContext } from './loaded-service.ts';

/** How many times modules are loaded at most, where their files are being written meanwhile. */
const tries = 3;

/** A file that nobody has written for this long counts as complete. */
const quietMs = 100;
/**
 * After this many looks at a file that is still being written the modules are loaded all the same. The comparison
 * after that load decides.
 */
const looks = 20;

/**
 * One attempt to load the modules until they serve. It ends when they serve, when a load fails, or when it is given
 * up.
 */
export class LoadAttempt {
  readonly #paths: readonly string[];
  readonly #context: ServiceContext;
  readonly #givenUp = new AbortController();
  readonly #changed: () => string | undefined;
  #load: GenerationLoad | undefined;

  /** @param known the files of the previous loading */
  constructor(paths: readonly string[], known: Iterable<string>, context: ServiceContext) {
    this.#paths = paths;
    this.#context = context;
    this.#changed = watchFiles(known);
  }

  /** Whether files have changed since this attempt began, so that it may load older code than the files hold now. */
  get isOutdated(): boolean {
    return this.#changed() !== undefined;
  }

  /** Aborted when this attempt is given up. */
  get givenUp(): AbortSignal {
    return this.#givenUp.signal;
  }

  /** Makes `load` reject with `reason` at once. */
  giveUp(reason: Error): void {
    this.#givenUp.abort(reason);
  }

  /** Resolves when nothing of a failed attempt is left, except for what hangs. */
  async discarded(): Promise<void> {
    await this.#load?.discarded;
  }

  /**
   * @param isFirst see {@link GenerationLoad.first}
   * @throws StartupError, or the reason for which the attempt was given up
   */
  async load(isFirst: boolean): Promise<LoadedService> {
    const { signal } = this.#givenUp;
    for (let left = tries; ; ) {
      this.#load = new GenerationLoad(this.#paths, this.#context, signal);
      try {
        const isStart = isFirst && left === tries;
        return await (isStart ? this.#load.first() : this.#load.next());
      } catch (error) {
        if (!(error instanceof ChangedFileError)) throw error;
        left--;
        if (left === 0) {
          throw new StartupError(
            `${error.file} changed while it was being loaded, ${tries} times: try again when nobody writes it`,
            { cause: error },
          );
        }
        await quiet(error.file, signal);
      }
    }
  }
}

async function quiet(file: string, signal: AbortSignal): Promise<void> {
  for (let look = 0; look < looks; look++) {
    const changed = watchFiles([file]);
    await pause(quietMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    if (changed() === undefined) return;
  }
}

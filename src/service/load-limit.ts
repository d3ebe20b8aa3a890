import { StartupError } from '../base/startup-error.ts';
import {
  describeStage,
  hangHint,
  type LoadControl,
  type LoadStage,
} from '../modules/load-stage.ts';

/**
 * Gives up a load of modules on this thread that has not ended in time. The error names the module and the step that
 * have not ended.
 */
export class LoadLimit implements LoadControl {
  readonly signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #stage: LoadStage | undefined;

  /** @param outer another signal that gives the load up */
  constructor(limitMs: number, outer: AbortSignal) {
    const late = new AbortController();
    this.signal = AbortSignal.any([outer, late.signal]);
    this.#timer = setTimeout(() => {
      const what = this.#stage === undefined ? 'it' : describeStage(this.#stage);
      late.abort(
        new StartupError(
          `${what} had not ended on the main thread after ${limitMs} ms: ${hangHint}`,
        ),
      );
    }, limitMs);
  }

  readonly onStage = (stage: LoadStage): void => {
    this.#stage = stage;
  };

  clear(): void {
    clearTimeout(this.#timer);
  }
}

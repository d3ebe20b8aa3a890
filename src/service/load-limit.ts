import { StartupError } from '../base/startup-error.ts';
import {
  describeStage,
  hangHint,
  type LoadControl,
  type LoadStage,
} from '../modules/load-stage.ts';

/** Gives a load of modules on this thread up when it has not ended in time, and says what has not. */
export class LoadLimit implements LoadControl {
  readonly signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #stage: LoadStage | undefined;

  /** @param outer gives it up, too */
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

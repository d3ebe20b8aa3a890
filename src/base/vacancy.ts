import { startTimer } from './timer.ts';

/** Lets others wait until something is empty. */
export class Vacancy {
  readonly #waiting = new Set<() => void>();

  /** It is empty now. */
  tell(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next `tell`, or after `ms`; Infinity: at the `tell` alone. */
  within(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = startTimer(ms, wake);
      this.#waiting.add(wake);
    });
  }
}

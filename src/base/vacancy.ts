/** Lets others wait until something is empty. */
export class Vacancy {
  readonly #waiting = new Set<() => void>();

  /** It is empty now. */
  tell(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next `tell`, or after `ms`. */
  within(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiting.add(wake);
    });
  }
}

import { startTimer } from '../../base/timer.ts';

/**
 * Timers that can be cleared together. They keep the process alive unless told otherwise, since there may be no thread
 * that does.
 */
export class Timers {
  readonly #timers = new Set<NodeJS.Timeout>();

  set(delayMs: number, run: () => void): NodeJS.Timeout {
    const timer = startTimer(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
    return timer;
  }

  clear(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#timers.delete(timer);
  }

  clearAll(): void {
    for (const timer of this.#timers) this.clear(timer);
  }
}

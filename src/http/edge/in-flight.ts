import { startTimer } from '../../base/timer.ts';

/** Requests whose handler was entered and whose reply is not written yet. A drain waits for them. */
export class InFlight {
  #count = 0;
  #draining = false;
  #wake: (() => void) | undefined;

  /** true once `drain` was called: replies then tell the client to close its connection. */
  get draining(): boolean {
    return this.#draining;
  }

  enter(): void {
    this.#count++;
  }

  leave(): void {
    this.#count--;
    if (this.#count === 0) this.#wake?.();
  }

  /** Resolves when nothing is in flight, or when the grace is over. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    let graceOver = false;
    const timer = startTimer(graceMs, () => {
      graceOver = true;
      this.#wake?.();
    });
    do {
      if (this.#count > 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      // The last reply may still be corked: promises run before the turn of the parser ends. In the rest of that turn
      // another request may come in on a connection that is still open.
      await new Promise<void>((resolve) => setImmediate(resolve));
    } while (this.#count > 0 && !graceOver);
    clearTimeout(timer);
  }
}

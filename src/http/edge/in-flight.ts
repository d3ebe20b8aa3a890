/** Requests whose handler was entered and whose reply is not written yet: what a drain waits for. */
export class InFlight {
  #count = 0;
  #draining = false;
  #wake: (() => void) | undefined;

  /** From here on replies tell the client to close its connection. */
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
    const timer = setTimeout(() => {
      graceOver = true;
      this.#wake?.();
    }, graceMs);
    do {
      if (this.#count > 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      // The last reply may still be in the cork of a parser's turn: promises go on before that turn ends.
      // In the rest of it another request may come in on a connection that is still open.
      await new Promise<void>((resolve) => setImmediate(resolve));
    } while (this.#count > 0 && !graceOver);
    clearTimeout(timer);
  }
}

/** Replies that are waited for, by number. None is left without an end. */
export class Pending {
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #last = 0;

  /**
   * The reply to what `send` sends under a number; undefined where the other side has gone, or has not
   * replied after `limitMs`.
   */
  ask(send: (id: number) => void, limitMs?: number): Promise<unknown> {
    const id = ++this.#last;
    return new Promise((resolve) => {
      const timer =
        limitMs === undefined ? undefined : setTimeout(() => this.reply(id, undefined), limitMs);
      this.#waiting.set(id, (value) => {
        clearTimeout(timer);
        resolve(value);
      });
      send(id);
    });
  }

  reply(id: number, value: unknown): void {
    this.#waiting.get(id)?.(value);
    this.#waiting.delete(id);
  }

  /** The other side has gone. */
  end(): void {
    for (const id of this.#waiting.keys()) this.reply(id, undefined);
  }
}

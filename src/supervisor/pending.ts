/** Questions to the other side of a channel, by number. Each gets a reply, or undefined when the other side has gone. */
export class Pending {
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #last = 0;

  /**
   * Sends a question and waits for its reply.
   *
   * @param send sends the question with this number
   * @returns the reply; undefined where the other side has gone, or has not replied after `limitMs`
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

  /** Ends all questions: the other side has gone. */
  end(): void {
    for (const id of this.#waiting.keys()) this.reply(id, undefined);
  }
}

/**
 * Counts what still runs on one thread although nobody waits for it: calls whose callers have left or that were answered
 * at their deadline, and generators that were told to end.
 */
export class OrphanCounts {
  readonly #limit: number;
  readonly #byProcedure = new Map<string, number>();
  #total = 0;
  #overdue = 0;
  /** Kept as a field: the main thread reads it for each call. */
  #isFull = false;

  /** @param limit with so many the thread takes no more calls of their procedures */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get total(): number {
    return this.#total;
  }

  /** Calls among them that were answered at their deadline. */
  get overdue(): number {
    return this.#overdue;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Whether the thread takes no more calls of a procedure: it is full, and the procedure has a part in that. */
  isFullOf(procedure: string): boolean {
    return this.#isFull && this.#byProcedure.has(procedure);
  }

  add(procedure: string): void {
    this.#change(procedure, 1);
  }

  /** Counts something until it has ended; undefined: it has. */
  addUntil(procedure: string, ended: Promise<unknown> | undefined): void {
    if (ended === undefined) return;
    this.add(procedure);
    void ended.then(() => this.remove(procedure));
  }

  addOverdue(procedure: string): void {
    this.add(procedure);
    this.#overdue++;
  }

  remove(procedure: string): void {
    this.#change(procedure, -1);
  }

  removeOverdue(procedure: string): void {
    this.remove(procedure);
    this.#overdue--;
  }

  #change(procedure: string, change: 1 | -1): void {
    const count = (this.#byProcedure.get(procedure) ?? 0) + change;
    if (count === 0) this.#byProcedure.delete(procedure);
    else this.#byProcedure.set(procedure, count);
    this.#total += change;
    this.#isFull = this.#total >= this.#limit;
  }
}

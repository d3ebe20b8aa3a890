/** Stands for a database that is so many milliseconds away: its driver has some connections, and queries wait for one. */
export class DistantDatabase {
  readonly #ms: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(connections: number, ms: number) {
    this.#free = connections;
    this.#ms = ms;
  }

  /** The rows of these ids, in an order of the database's own. */
  async query(ids: readonly number[]): Promise<{ id: number; name: string }[]> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await new Promise((resolve) => setTimeout(resolve, this.#ms));
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
    return ids.map((id) => ({ id, name: `name ${id}` })).reverse();
  }
}

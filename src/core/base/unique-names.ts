/** Makes names unique: a taken name gets `_2`, `_3` and so on. */
export class UniqueNames {
  /** The next number for each taken name: many equal names would take quadratic time without it. */
  readonly #next = new Map<string, number>();
  readonly #separator: string;
  readonly #keyOf: (name: string) => string;

  /** @param options keyOf: names are the same if their keys are */
  constructor(
    reserved: readonly string[] = [],
    { separator = '_', keyOf = (name: string) => name } = {},
  ) {
    this.#separator = separator;
    this.#keyOf = keyOf;
    for (const name of reserved) this.#next.set(keyOf(name), 2);
  }

  has(name: string): boolean {
    return this.#next.has(this.#keyOf(name));
  }

  take(wanted: string): string {
    const numbered = (count: number): string => `${wanted}${this.#separator}${count}`;
    let count = this.#next.get(this.#keyOf(wanted));
    while (count !== undefined && this.has(numbered(count))) count += 1;
    const name = count === undefined ? wanted : numbered(count);
    if (count !== undefined) this.#next.set(this.#keyOf(wanted), count + 1);
    this.#next.set(this.#keyOf(name), 2);
    return name;
  }
}

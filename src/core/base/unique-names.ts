/** Makes names unique: a taken name gets `_2`, `_3` and so on. `#next` keeps many equal names from taking quadratic time. */
export class UniqueNames {
  readonly #next = new Map<string, number>();

  constructor(reserved: readonly string[] = []) {
    for (const name of reserved) this.#next.set(name, 2);
  }

  has(name: string): boolean {
    return this.#next.has(name);
  }

  take(wanted: string): string {
    let count = this.#next.get(wanted);
    if (count === undefined) {
      this.#next.set(wanted, 2);
      return wanted;
    }
    while (this.#next.has(`${wanted}_${count}`)) count += 1;
    this.#next.set(wanted, count + 1);
    this.#next.set(`${wanted}_${count}`, 2);
    return `${wanted}_${count}`;
  }
}

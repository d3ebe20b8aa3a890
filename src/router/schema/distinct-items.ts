/**
 * Tells equal JSON values by a number: two have the same one if and only if they are equal, whatever the order of their
 * members. Each value is looked at once, however often it is asked for and however deep it lies in another.
 */
export class ValueIds {
  /** Of scalars. A Map takes 0 and -0 for one, as JSON Schema does. */
  readonly #scalars = new Map<unknown, number>();
  /** Of arrays and objects, by the ids of what they hold. */
  readonly #made = new Map<string, number>();
  readonly #known = new Map<object, number>();
  #count = 0;

  areDistinct(items: readonly unknown[]): boolean {
    return new Set(items.map((item) => this.#idOf(item))).size === items.length;
  }

  #idOf(value: unknown): number {
    if (typeof value !== 'object' || value === null) return this.#intern(this.#scalars, value);
    let id = this.#known.get(value);
    if (id === undefined) {
      id = this.#intern(
        this.#made,
        Array.isArray(value) ? this.#ofItems(value) : this.#ofMembers(value),
      );
      this.#known.set(value, id);
    }
    return id;
  }

  #ofItems(items: readonly unknown[]): string {
    return `[${items.map((item) => this.#idOf(item)).join(',')}`;
  }

  #ofMembers(value: object): string {
    const members = Object.entries(value).map(
      ([name, member]) => [this.#idOf(name), this.#idOf(member)] as const,
    );
    members.sort(([a], [b]) => a - b);
    return `{${members.map((pair) => pair.join(':')).join(',')}`;
  }

  #intern<Key>(ids: Map<Key, number>, key: Key): number {
    let id = ids.get(key);
    if (id === undefined) {
      id = this.#count;
      this.#count += 1;
      ids.set(key, id);
    }
    return id;
  }
}

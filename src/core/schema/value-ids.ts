/**
 * Gives JSON values numbers: two values have the same number if and only if they are equal. The order of members does
 * not count. Each array and object is read once, however often it is asked for and however deep it lies within others,
 * so values must not change in between.
 *
 *     ids.of([1, { a: 2 }])     1 -> 0    'a' -> 1    2 -> 2    '{1:2' -> 3    '[0,3' -> 4
 */
export class ValueIds {
  /** Numbers of scalars. A Map treats 0 and -0 as one key, as JSON Schema does. */
  readonly #scalars = new Map<unknown, number>();
  /** Numbers of arrays and objects, by a text of the numbers of their items or members. */
  readonly #made = new Map<string, number>();
  readonly #known = new Map<object, number>();
  #count = 0;

  areDistinct(items: readonly unknown[]): boolean {
    return new Set(items.map((item) => this.of(item))).size === items.length;
  }

  /** @returns the same number for equal values */
  of(value: unknown): number {
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
    return `[${items.map((item) => this.of(item)).join(',')}`;
  }

  #ofMembers(value: object): string {
    const members = Object.entries(value).map(
      ([name, member]) => [this.of(name), this.of(member)] as const,
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

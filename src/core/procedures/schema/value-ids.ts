import { cached } from './schema-tree.ts';

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
  readonly #next = (): number => this.#count++;

  areDistinct(items: readonly unknown[]): boolean {
    return new Set(items.map((item) => this.of(item))).size === items.length;
  }

  /** @returns the same number for equal values */
  of(value: unknown): number {
    if (typeof value !== 'object' || value === null)
      return cached(this.#scalars, value, this.#next);
    return cached(this.#known, value, () => cached(this.#made, this.#textOf(value), this.#next));
  }

  #textOf(value: object): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.of(item)).join(',')}`;
    const members = Object.entries(value)
      .map(([name, member]) => [this.of(name), this.of(member)] as const)
      .sort(([a], [b]) => a - b);
    return `{${members.map((pair) => pair.join(':')).join(',')}`;
  }
}

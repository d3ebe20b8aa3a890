/**
 * Gives equal JSON values the same number; the order of members says nothing, since TypeBox has several. Each
 * object is looked at once, however deep it lies in others that are asked for too. Values may not change
 * in between.
 */
export class JsonIdentities {
  /** By what a value is made of, with the numbers of its parts in their place. */
  readonly #numbers = new Map<string, number>();
  readonly #known = new WeakMap<object, number>();

  of(value: unknown): number {
    if (typeof value !== 'object' || value === null) {
      return this.#numberOf(JSON.stringify(value) ?? 'null');
    }
    let number = this.#known.get(value);
    if (number === undefined) {
      number = this.#numberOf(Array.isArray(value) ? this.#listText(value) : this.#textOf(value));
      this.#known.set(value, number);
    }
    return number;
  }

  /** Of several values, in their order. */
  #listText(values: readonly unknown[]): string {
    return `[${values.map((value) => this.of(value)).join()}]`;
  }

  #textOf(object: object): string {
    const members = Object.entries(object).filter(([, value]) => value !== undefined);
    const texts = members.map(([name, value]) => `${JSON.stringify(name)}:${this.of(value)}`);
    return `{${texts.sort().join()}}`;
  }

  #numberOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(text, number);
    return number;
  }
}

import { cached } from '../base/cached.ts';

/**
 * JavaScript that is written at registration, so that a call runs code made for its schema. Its writer puts every
 * name and text of a schema through JSON.stringify, and hands in other values with `value`.
 */
export class Code {
  readonly #values = new Map<unknown, readonly [name: string, value: unknown]>();
  readonly #lines: string[] = ['"use strict";'];
  #count = 0;

  name(prefix: string): string {
    this.#count += 1;
    return `${prefix}${this.#count}`;
  }

  /** The name by which the code knows a value. @param key the same for values that may stand for each other */
  value(value: unknown, key: unknown = value): string {
    return cached(this.#values, key, () => [this.name('h'), value] as const)[0];
  }

  add(line: string): void {
    this.#lines.push(line);
  }

  /** Runs the code. @returns the value of the expression `result` */
  run(result: string): unknown {
    const values = [...this.#values.values()];
    const source = [...this.#lines, `return ${result};`].join('\n');
    // oxlint-disable-next-line typescript/no-implied-eval -- only checks and projections write it
    const run = new Function(...values.map(([name]) => name), source) as (
      ...given: unknown[]
    ) => unknown;
    return run(...values.map(([, value]) => value));
  }
}

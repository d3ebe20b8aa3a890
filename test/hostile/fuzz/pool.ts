import { interleavings, type Property } from '../../faults/interleavings.ts';
import { assertProperty, type Fuzzer, type FuzzParameters } from './run.ts';

/** Random interleavings of calls, deaths, cancellations and reloads (test/faults/interleavings.ts). */
export class PoolFuzzer implements Fuzzer {
  readonly #property: Property;
  readonly #cleaners: readonly (() => unknown)[];

  private constructor(property: Property, cleaners: readonly (() => unknown)[]) {
    this.#property = property;
    this.#cleaners = cleaners;
  }

  static async start(): Promise<PoolFuzzer> {
    const cleaners: (() => unknown)[] = [];
    const property = await interleavings({ after: (clean) => cleaners.push(clean) });
    return new PoolFuzzer(property, cleaners);
  }

  async run(parameters: FuzzParameters): Promise<void> {
    await assertProperty(this.#property, parameters);
  }

  async close(): Promise<void> {
    for (const clean of this.#cleaners.toReversed()) await clean();
  }
}

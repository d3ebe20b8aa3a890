import { frameBudgetUs } from './balance.ts';

/** Handing a call over and taking its result, beside the procedure's own time: microseconds. */
const overheadUs = 4;

/** Copying a byte to another thread, microseconds. */
const usPerByte = 0.001;

/** Rises fast and falls slowly: a call believed cheap that is not delays those behind it. */
const rise = 0.5;
const fall = 0.1;

/** What a procedure's calls cost a worker, learned from its runs. */
export class CostEstimate {
  #micros: number | undefined;

  /** A procedure that never ran may be heavy: it fills a worker's budget alone. */
  get expectedUs(): number {
    return this.#micros === undefined ? frameBudgetUs : this.#micros + overheadUs;
  }

  record(micros: number): void {
    if (this.#micros === undefined) this.#micros = micros;
    else this.#micros += (micros - this.#micros) * (micros > this.#micros ? rise : fall);
  }
}

export function transferCostUs(bytes: number): number {
  return bytes * usPerByte;
}

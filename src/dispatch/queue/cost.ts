import { frameBudgetUs } from './balance.ts';

/** Handing a call over and taking its result, beside the procedure's own time: microseconds. */
const overheadUs = 4;

/** Copying a byte to another thread, microseconds. */
const usPerByte = 0.001;

/** Rises fast and falls slowly: a call believed cheap that is not delays those behind it. */
const rise = 0.5;
const fall = 0.1;

/** A group is short that is expected to take no longer, microseconds. */
export const shortBoundUs = 8000;

/**
 * A low quantile of the runs: falls fast and rises slowly, so that a procedure that the machine held up now and then
 * stays short. A mean does not do: one learned beside neighbours that use every core calls 2 ms long for ever.
 */
const quantileRise = 0.02;
const quantileFall = 0.3;

/** What a procedure's calls cost a worker, learned from its runs. */
export class CostEstimate {
  #micros: number | undefined;
  #leastUs: number | undefined;

  /** A procedure that never ran may be heavy: it fills a worker's budget alone. */
  get expectedUs(): number {
    return this.#micros === undefined ? frameBudgetUs : this.#micros + overheadUs;
  }

  /** What most calls take at least. A procedure that never ran takes for ever. */
  get leastUs(): number {
    return this.#leastUs ?? Number.POSITIVE_INFINITY;
  }

  record(micros: number): void {
    this.#micros = approach(this.#micros, micros, rise, fall);
    this.#leastUs = approach(this.#leastUs, micros, quantileRise, quantileFall);
  }
}

function approach(from: number | undefined, to: number, up: number, down: number): number {
  return from === undefined ? to : from + (to - from) * (to > from ? up : down);
}

export function transferCostUs(bytes: number): number {
  return bytes * usPerByte;
}

import { frameBudgetUs } from './balance.ts';

/** What handing a call over and taking its result costs beside the procedure's own time, microseconds. */
const overheadUs = 4;

/** Copying a byte to another thread, microseconds. */
const usPerByte = 0.001;

/**
 * The estimate rises fast and falls slowly: a call that was wrongly believed to be cheap delays the calls behind it.
 */
const rise = 0.5;
const fall = 0.1;

/** A train that is expected to take at most so long is short, microseconds. */
export const shortBoundUs = 8000;

/**
 * A low quantile of the runs falls fast and rises slowly, so that a procedure stays short which the machine held up now
 * and then. A mean would not do: learned beside other programs that use every core, it would call a procedure of 2 ms
 * long for ever.
 */
const quantileRise = 0.02;
const quantileFall = 0.3;

/** What a procedure's calls cost a worker, learned from its runs. */
export class CostEstimate {
  #micros: number | undefined;
  #leastUs: number | undefined;

  /** A procedure that never ran may be heavy: one call of it counts for a worker's whole budget. */
  get expectedUs(): number {
    return this.#micros === undefined ? frameBudgetUs : this.#micros + overheadUs;
  }

  /** Microseconds that most calls take at least; Infinity for a procedure that never ran. */
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

/** What the choice of a worker is made from. */
export interface WorkerLoad {
  /**
   * Expected work that was sent to the worker, microseconds. Calls that have ended, or that only wait, do not count.
   */
  readonly loadUs: number;
  /** Free slots of the worker's ledger: so many more calls can be sent. */
  readonly freeSlots: number;
  /** Generators of streams on the worker: each may want the thread at any time. */
  readonly streamCount: number;
  /**
   * Work that may wait at the worker beyond `frameBudgetUs`, microseconds: code that is no call holds its thread. What waits
   * there when that code ends runs before it goes on. undefined: none.
   */
  readonly gapUs?: number;
}

/**
 * Work that may wait at one worker, microseconds. It is enough to share the price of a message among many small calls,
 * and to keep the worker busy while the next frame is on its way. It is so little that a call behind it does not notice
 * the wait.
 */
export const frameBudgetUs = 1000;

/**
 * The worker that takes calls of an expected cost; undefined: no worker does now. A worker takes calls that fit its
 * budget, an idle worker takes any. Of several workers the least loaded one takes the calls, and of equally loaded
 * workers the one with the fewest streams.
 */
export function chooseWorker<Worker extends WorkerLoad>(
  workers: readonly Worker[],
  costUs: number,
  slots: number,
): Worker | undefined {
  let best: Worker | undefined;
  for (const worker of workers) {
    if (worker.freeSlots < slots) continue;
    const { loadUs } = worker;
    if (loadUs > 0 && loadUs + costUs > frameBudgetUs + (worker.gapUs ?? 0)) continue;
    if (best === undefined || isLess(worker, best)) best = worker;
  }
  return best;
}

function isLess(worker: WorkerLoad, best: WorkerLoad): boolean {
  if (worker.loadUs !== best.loadUs) return worker.loadUs < best.loadUs;
  return worker.streamCount < best.streamCount;
}

/** What handing a call over and taking its result costs beside the procedure's own time, microseconds. */
const overheadUs = 4;

/** Copying a byte to another thread, microseconds. */
const usPerByte = 0.001;

/**
 * The estimate rises fast and falls slowly: a call that was wrongly believed to be cheap delays the calls behind it.
 */
const rise = 0.5;
const fall = 0.1;

/** A group that is expected to take at most so long is short, microseconds. */
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

/** Short groups may go before a long one until their work adds up to this many times the work of the long one. */
const patience = 4;

/**
 * Most work of short groups that may go before a long one, microseconds. Without this bound a group that takes seconds
 * would wait for many times as long.
 */
const mostPassedUs = 1_000_000;

/**
 * Whether a long group goes next although short groups wait. This is counted in work, not by the clock: where groups of
 * both kinds come faster than the workers can serve them, all waits grow, and neither kind would ever reach a given
 * ratio of waits. So the long groups get at least a fifth of the workers' time, and the short groups get the rest while
 * they need it.
 *
 * @param longUs what the long group is expected to cost
 * @param passedUs the sum of `passUs` of the short groups that went before it
 */
export function isDue(longUs: number, passedUs: number): boolean {
  return passedUs >= Math.min(patience * longUs, mostPassedUs);
}

/**
 * What a short group counts for, microseconds, when it goes to a worker while a long group waits. On an idle worker it
 * counts for a whole frame's budget at least: a long group needs an idle worker, and a trickle of tiny calls must not
 * take every idle worker for next to nothing.
 *
 * @param isIdle the worker had nothing to do
 */
export function passUs(expectedUs: number, isIdle: boolean): number {
  return isIdle ? Math.max(expectedUs, frameBudgetUs) : expectedUs;
}

import { RunSize } from '../../procedures/batch-run.ts';

/**
 * Work that may wait at one worker, microseconds: enough to share the price of a message among many small calls, and so
 * little that a call behind it does not notice the wait.
 */
export const frameBudgetUs = 1000;

/** How busy a worker is. */
export interface WorkerLoad {
  /** Expected work that was sent to the worker, microseconds. Calls that have ended or only wait do not count. */
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

/** An idle worker takes any calls that its ledger has slots for, another one those that fit its budget. */
export function hasRoom(worker: WorkerLoad, costUs: number, slots: number): boolean {
  if (worker.freeSlots < slots) return false;
  return worker.loadUs === 0 || worker.loadUs + costUs <= frameBudgetUs + (worker.gapUs ?? 0);
}

/** What handing a call over and taking its result costs beside the procedure's own time, microseconds. */
const overheadUs = 4;

/** Copying a byte to another thread, microseconds. */
const usPerByte = 0.001;

/** The estimate rises fast and falls slowly: a call that was wrongly believed to be cheap delays those behind it. */
const rise = 0.5;
const fall = 0.1;

/** A call that is expected to take at most so long is short, with those that follow it in its batch, microseconds. */
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
  /** Of a batch procedure: how many calls may run together. */
  readonly runSize = new RunSize();
  /** A procedure that never ran may be heavy: one call of it counts for a worker's whole budget. */
  expectedUs = frameBudgetUs;
  /** Microseconds that most calls take at least; Infinity for a procedure that never ran. */
  leastUs = Number.POSITIVE_INFINITY;
  #hasRun = false;

  record(micros: number): void {
    const us = micros + overheadUs;
    this.expectedUs = this.#hasRun ? approach(this.expectedUs, us, rise, fall) : us;
    this.leastUs = this.#hasRun
      ? approach(this.leastUs, micros, quantileRise, quantileFall)
      : micros;
    this.#hasRun = true;
  }
}

function approach(from: number, to: number, up: number, down: number): number {
  return from + (to - from) * (to > from ? up : down);
}

export function transferCostUs(bytes: number): number {
  return bytes * usPerByte;
}

/** Short calls may go before a long one until their work adds up to this many times the work of the long one. */
const patience = 4;

/** Most work of short calls that may go before a long one, microseconds: a call that takes seconds waits no longer. */
const maxPassedUs = 1_000_000;

/**
 * Whether a long call goes next although short calls wait. This is counted in work, not by the clock: where calls of
 * both kinds come faster than the workers can serve them, all waits grow, and neither kind would ever reach a given
 * ratio of waits. So the long calls get at least a fifth of the workers' time, and the short calls get the rest while
 * they need it.
 *
 * @param longUs what the long call is expected to cost
 * @param passedUs the sum of `passUs` of the short calls that went before it
 */
export function isDue(longUs: number, passedUs: number): boolean {
  return passedUs >= Math.min(patience * longUs, maxPassedUs);
}

/**
 * What a short call counts for, microseconds, when it goes to a worker while a long call waits. On an idle worker it
 * counts for a whole frame's budget at least: a long call needs an idle worker, and a trickle of tiny calls must not
 * take every idle worker for next to nothing.
 *
 * @param isIdle the worker had nothing to do
 */
export function passUs(expectedUs: number, isIdle: boolean): number {
  return isIdle ? Math.max(expectedUs, frameBudgetUs) : expectedUs;
}

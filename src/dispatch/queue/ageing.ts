import { frameBudgetUs } from './balance.ts';

/** Short trains may go before a long one until their work adds up to this many times the work of the long one. */
const patience = 4;

/**
 * Most work of short trains that may go before a long one, microseconds. Without this bound a train that takes seconds
 * would wait for many times as long.
 */
const mostPassedUs = 1_000_000;

/**
 * Whether a long train goes next although short trains wait. This is counted in work, not by the clock: where trains of
 * both kinds come faster than the workers can serve them, all waits grow, and neither kind would ever reach a given
 * ratio of waits. So the long trains get at least a fifth of the workers' time, and the short trains get the rest while
 * they need it.
 *
 * @param longUs what the long train is expected to cost
 * @param passedUs the sum of `passUs` of the short trains that went before it
 */
export function isDue(longUs: number, passedUs: number): boolean {
  return passedUs >= Math.min(patience * longUs, mostPassedUs);
}

/**
 * What a short train counts for, microseconds, when it goes to a worker while a long train waits. On an idle worker it
 * counts for a whole frame's budget at least: a long train needs an idle worker, and a trickle of tiny calls must not
 * take every idle worker for next to nothing.
 *
 * @param isIdle the worker had nothing to do
 */
export function passUs(expectedUs: number, isIdle: boolean): number {
  return isIdle ? Math.max(expectedUs, frameBudgetUs) : expectedUs;
}

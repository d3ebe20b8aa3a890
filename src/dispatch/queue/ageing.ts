import { frameBudgetUs } from './balance.ts';

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

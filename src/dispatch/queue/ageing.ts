import { frameBudgetUs } from './balance.ts';

/** Short groups may pass a long one until their work is so many times its own. */
const patience = 4;

/** And no more than that, microseconds: a group of seconds must have its turn before it has waited too long. */
const mostPassedUs = 1_000_000;

/**
 * Whether it is a long group's turn, though short ones wait. Counted in work, not by the clock: where both kinds come faster
 * than they can be served all waits grow, and a ratio of waits would be reached by neither. So the long ones are sure of
 * a fifth of the workers' time, and the short ones of the rest while they need it.
 *
 * @param longUs what the group is expected to cost
 * @param passedUs the sum of `passUs` of the short groups that went in its place
 */
export function isDue(longUs: number, passedUs: number): boolean {
  return passedUs >= Math.min(patience * longUs, mostPassedUs);
}

/**
 * What a short group counts for that a worker is given while a long one waits, microseconds. An idle worker counts as given away for
 * as long as it may be filled: a long group needs one that is idle, and a trickle of tiny calls must not take each.
 *
 * @param isIdle the worker had nothing to do
 */
export function passUs(expectedUs: number, isIdle: boolean): number {
  return isIdle ? Math.max(expectedUs, frameBudgetUs) : expectedUs;
}

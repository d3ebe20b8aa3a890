/** The longest delay that setTimeout takes. With a longer one, Infinity too, it fires at once. */
export const longestDelayMs = 2 ** 31 - 1;

/**
 * As setTimeout, for any delay: one that is too long is cut to the longest, and with Infinity `run` is never called. The
 * timer keeps the process alive in any case, for whoever waits. `clearTimeout` ends it.
 */
export function startTimer(ms: number, run: () => void): NodeJS.Timeout {
  if (ms === Number.POSITIVE_INFINITY) return setInterval(() => {}, longestDelayMs);
  return setTimeout(run, Math.min(ms, longestDelayMs));
}

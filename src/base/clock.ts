import { performance } from 'node:perf_hooks';

/**
 * Milliseconds on a clock that no one sets: what is measured or limited inside goes by it. The wall clock stands only
 * where people or other programs read it (`context.deadline`, log lines, spans).
 *
 * Taken before any module of procedures is loaded: one that replaces `performance.now`, as fake timers do, misleads
 * nobody but itself.
 */
export const clockMs: () => number = performance.now.bind(performance);

/**
 * What the clock that all threads share (`process.hrtime`) is ahead of this thread's `clockMs`, milliseconds: each
 * thread's begins at 0 when the thread does. Times that cross between threads are corrected by the difference.
 */
export const aheadMs: number = measureAhead();

/** The best of a few readings: this thread may be put aside between the two looks. */
function measureAhead(): number {
  let shortest = Number.POSITIVE_INFINITY;
  let ahead = 0;
  for (let i = 0; i < 8; i++) {
    const before = clockMs();
    const [seconds, nanoseconds] = process.hrtime();
    const after = clockMs();
    if (after - before >= shortest) continue;
    shortest = after - before;
    ahead = seconds * 1e3 + nanoseconds / 1e6 - (before + after) / 2;
  }
  return ahead;
}

/** The wall clock at a reading of `clockMs`, Unix milliseconds, as far as the wall clock is right now. */
export function wallTimeOf(at: number): number {
  return Date.now() + at - clockMs();
}

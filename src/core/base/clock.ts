import { performance } from 'node:perf_hooks';

/**
 * Milliseconds on a clock that nobody can set. Everything that this package measures or limits uses this clock. The
 * wall clock is used only for what people or other programs read: `context.deadline`, log lines, spans.
 *
 * The function is kept before any module of procedures is loaded: a module that replaces `performance.now`, as fake
 * timers do, misleads only itself.
 */
export const clockMs: () => number = performance.now.bind(performance);

/**
 * How far the clock that all threads share (`process.hrtime`) is ahead of this thread's `clockMs`, in milliseconds.
 * `clockMs` begins at 0 when its thread starts, so a time that crosses between threads is corrected by this difference.
 */
export const aheadMs: number = measureAhead();

/** Takes the reading that was made fastest: the system may suspend this thread between the two clocks. */
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

/** Unix milliseconds for a reading of `clockMs`, by the wall clock as it is set now. */
export function wallTimeOf(at: number): number {
  return Date.now() + at - clockMs();
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import { clockMs } from './clock.ts';

/** The longest delay that setTimeout takes. With a longer one, Infinity too, it fires at once. */
export const maxDelayMs = 2 ** 31 - 1;

/**
 * As setTimeout, for any delay: one that is too long is cut to the longest, and with Infinity `run` is never called. The
 * timer keeps the process alive in any case, for whoever waits. `clearTimeout` ends it.
 */
export function startTimer(ms: number, run: () => void): NodeJS.Timeout {
  if (ms === Number.POSITIVE_INFINITY) return setInterval(() => {}, maxDelayMs);
  return setTimeout(run, Math.min(Math.max(ms, 0), maxDelayMs));
}

/**
 * Waits for a promise, but not for ever, unless `ms` is Infinity.
 *
 * @returns whether `done` resolved within `ms` milliseconds
 * @throws what `done` rejects with within them
 */
export async function isDoneWithin(done: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = startTimer(ms, () => resolve(false));
  });
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets others wait until something is empty. */
export class Vacancy {
  readonly #waiting = new Set<() => void>();

  /** It is empty now. */
  tell(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next `tell`, or after `ms`; Infinity: at the `tell` alone. */
  within(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = startTimer(ms, wake);
      this.#waiting.add(wake);
    });
  }
}

/** Looks at each item, `perTurn` of them in a turn of the event loop, so that nothing else waits for all of them. */
export async function inTurns<T>(
  items: Iterable<T>,
  perTurn: number,
  look: (item: T) => void,
): Promise<void> {
  let seen = 0;
  for (const item of items) {
    if (seen > 0 && seen % perTurn === 0) await nextTurn();
    seen++;
    look(item);
  }
}

/** Work in steps, each of which takes a millisecond at most. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Does all of it at once: for commands, beside which nothing else runs. */
export function doAll<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** How long such work holds its thread in one turn of the event loop, milliseconds. */
const sliceMs = 3;

/** Does it in slices, between which others have a turn. */
export async function inSlices<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const until = clockMs() + sliceMs;
    do {
      const step = steps.next();
      if (step.done) return step.value;
    } while (clockMs() < until);
    await nextTurn();
  }
}

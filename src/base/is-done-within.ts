import { startTimer } from './timer.ts';

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

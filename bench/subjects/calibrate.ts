import { burn } from './work.ts';

/** How many steps of `burn` take so many milliseconds while nothing else runs, by the fastest of several tries. */
export function stepsFor(milliseconds: number): number {
  const steps = 1_000_000;
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 12; i++) {
    const began = performance.now();
    burn({ steps: steps + i });
    best = Math.min(best, performance.now() - began);
  }
  return Math.round((steps * milliseconds) / best);
}

import { burn } from './work.ts';

/** Steps of `burn` that take so many milliseconds where nothing else runs: the shortest of several tries. */
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

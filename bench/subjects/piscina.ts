import { Piscina } from 'piscina';

/**
 * A pool as piscina's documentation sets it up: created once, with `run` for each task. It has as many threads as ours.
 * https://piscinajs.dev/getting-started/Basic%20Usage
 */
export function createPool(
  threads: number,
  options: { concurrentTasksPerWorker?: number; recordTiming?: boolean } = {},
): Piscina {
  const source = import.meta.url;
  const extension = source.endsWith('.ts') ? '.ts' : '.js';
  return new Piscina({
    filename: new URL(`./pool-task${extension}`, source).href,
    minThreads: threads,
    maxThreads: threads,
    ...options,
  });
}

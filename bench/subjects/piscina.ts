import { Piscina } from 'piscina';

/**
 * As its documentation sets it up: a pool made once, `run` per task. As many threads as ours has.
 * https://piscinajs.dev/getting-started/Basic%20Usage
 */
export function createPool(
  threads: number,
  options: { concurrentTasksPerWorker?: number } = {},
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

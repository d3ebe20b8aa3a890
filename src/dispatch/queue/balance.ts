/** What the choice of a worker is made from. */
export interface WorkerLoad {
  /** Expected work sent to it that has neither ended nor gone to wait, microseconds. */
  readonly loadUs: number;
  /** Calls it can still take note of. */
  readonly freeSlots: number;
  /** Generators there: each of them may want the thread at any time. */
  readonly streamCount: number;
}

/**
 * Work that may stand in line at one worker, microseconds: enough to share the price of a message among
 * many small calls and to keep the worker busy while the next frame is on its way, and so little that a
 * call which waits behind it does not notice.
 */
export const frameBudgetUs = 1000;

/**
 * Which worker takes calls of an expected cost, undefined: none now. A worker takes what fits its budget;
 * one that is idle takes anything. The least loaded wins, of those that are loaded alike the one with the fewest streams.
 */
export function chooseWorker<Worker extends WorkerLoad>(
  workers: readonly Worker[],
  costUs: number,
  slots: number,
): Worker | undefined {
  let best: Worker | undefined;
  for (const worker of workers) {
    if (worker.freeSlots < slots) continue;
    if (worker.loadUs > 0 && worker.loadUs + costUs > frameBudgetUs) continue;
    if (best === undefined || isLess(worker, best)) best = worker;
  }
  return best;
}

function isLess(worker: WorkerLoad, best: WorkerLoad): boolean {
  if (worker.loadUs !== best.loadUs) return worker.loadUs < best.loadUs;
  return worker.streamCount < best.streamCount;
}

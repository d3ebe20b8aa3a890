/** What the choice of a worker is made from. */
export interface WorkerLoad {
  /**
   * Expected work that was sent to the worker, microseconds. Calls that have ended, or that only wait, do not count.
   */
  readonly loadUs: number;
  /** Free slots of the worker's ledger: so many more calls can be sent. */
  readonly freeSlots: number;
  /** Generators of streams on the worker: each may want the thread at any time. */
  readonly streamCount: number;
}

/**
 * Work that may wait at one worker, microseconds. It is enough to share the price of a message among many small calls,
 * and to keep the worker busy while the next frame is on its way. It is so little that a call behind it does not notice
 * the wait.
 */
export const frameBudgetUs = 1000;

/**
 * The worker that takes calls of an expected cost; undefined: no worker does now. A worker takes calls that fit its
 * budget, an idle worker takes any. Of several workers the least loaded one takes the calls, and of equally loaded
 * workers the one with the fewest streams.
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

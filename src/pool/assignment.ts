import type { Refusal } from '../dispatch/limit.ts';
import { chooseWorker } from '../dispatch/queue/balance.ts';
import type { CallGroup } from '../dispatch/queue/call-group.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import type { WorkerState } from './workers/worker-state.ts';

/**
 * Which worker a group goes to now; undefined: it waits. `crowded`: none may take it that could, since callers have left
 * so many calls of its procedures there. It does not wait for the others to become free: behind it wait those that
 * any worker takes.
 */
export function assign(
  group: CallGroup,
  workers: readonly WorkerState[],
): WorkerState | 'crowded' | undefined {
  const worker = chooseWorker(workers, group.expectedUs, group.waiting);
  if (worker?.isCrowdedBy(group) !== true) return worker;
  const others = workers.filter((other) => !other.isCrowdedBy(group));
  return chooseWorker(others, group.expectedUs, group.waiting) ?? 'crowded';
}

/** Says when the first of the calls that nobody waits for is given up. */
export function refusalOfCrowded(workers: readonly WorkerState[], now: number): Refusal {
  return overloaded(Math.min(...workers.map((worker) => worker.crowdedForMs(now))));
}

/** Says how long the work that is here will take the workers, as far as their past tells. */
export function refusalOfBusy(
  workers: readonly WorkerState[],
  queuedUs: number,
  count: number,
): Refusal {
  let workUs = queuedUs;
  for (const worker of workers) workUs += worker.workUs;
  return overloaded(workUs / 1000 / count);
}

function overloaded(retryMs: number): Refusal {
  return { code: ErrorCode.Overloaded, data: { retryAfterMs: Math.max(1, Math.ceil(retryMs)) } };
}

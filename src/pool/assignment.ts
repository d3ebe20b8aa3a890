import type { Refusal } from '../dispatch/limit.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { chooseWorker } from './balance.ts';
import type { WorkerLink } from './workers/worker-state.ts';
import type { Unit } from '../dispatch/queue/call-group.ts';

/**
 * Which worker a unit goes to now; undefined: it waits. `crowded`: none may take it that could, since callers have left
 * so many calls of its procedures there. It does not wait for the others to become free: behind it wait those that
 * any worker takes.
 */
export function assign(
  unit: Unit,
  links: readonly WorkerLink[],
): WorkerLink | 'crowded' | undefined {
  const link = chooseWorker(links, unit.expectedUs, unit.waiting);
  if (link?.isCrowdedBy(unit) !== true) return link;
  const others = links.filter((other) => !other.isCrowdedBy(unit));
  return chooseWorker(others, unit.expectedUs, unit.waiting) ?? 'crowded';
}

/** Says when the first of the calls that nobody waits for is given up. */
export function refusalOfCrowded(links: readonly WorkerLink[], now: number): Refusal {
  return overloaded(Math.min(...links.map((link) => link.crowdedForMs(now))));
}

/** Says how long the work that is here will take the workers, as far as their past tells. */
export function refusalOfBusy(
  links: readonly WorkerLink[],
  queuedUs: number,
  workers: number,
): Refusal {
  let workUs = queuedUs;
  for (const link of links) workUs += link.workUs;
  return overloaded(workUs / 1000 / workers);
}

function overloaded(retryMs: number): Refusal {
  return { code: ErrorCode.Overloaded, data: { retryAfterMs: Math.max(1, Math.ceil(retryMs)) } };
}

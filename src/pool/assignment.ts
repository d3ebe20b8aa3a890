import type { Refusal } from '../dispatch/limit.ts';
import { chooseWorker, type WorkerLoad } from '../dispatch/queue/balance.ts';
import type { Heads } from '../dispatch/queue/intake.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import type { WorkerState } from './workers/worker-state.ts';

/** What the choice of a worker is made from, of a group. */
export interface WaitingGroup {
  /** Expected work of what it sends next, microseconds. */
  readonly nextUs: number;
  /** Calls of it that are with no worker. */
  readonly waiting: number;
}

/** And of a worker. */
export interface Candidate<Group> extends WorkerLoad {
  /** A call that is long, or runs for long, is in the way of what comes now. */
  readonly isHeldByLong: boolean;
  /** Callers have left so many calls there of procedures of the group that it takes no more of them. */
  isCrowdedBy(group: Group): boolean;
}

/** `crowded`: the group is refused, since none may take it that could. */
export interface Assignment<Group, Worker> {
  readonly group: Group;
  readonly worker: Worker | 'crowded';
}

/**
 * Which group goes next, and to which worker; undefined: none now. Short groups go first, until a long one is due. A short one
 * goes to the lane where a long call is in its way at every worker. Where there is merely work for a millisecond it
 * waits: the lane is for what would wait for long, and small calls travel together.
 */
export function assign<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  { short, long, isLongDue }: Heads<Group>,
  workers: readonly Worker[],
  lane: Worker | undefined,
): Assignment<Group, Worker> | undefined {
  if (isLongDue) {
    // One worker is kept from further short groups: with them it would never be idle.
    return place(long, workers) ?? placeShort(short, withoutNextIdle(workers), workers, lane);
  }
  return placeShort(short, workers, workers, lane) ?? place(long, workers);
}

/** @param open those of `workers` that take short groups now */
function placeShort<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  group: Group | undefined,
  open: readonly Worker[],
  workers: readonly Worker[],
  lane: Worker | undefined,
): Assignment<Group, Worker> | undefined {
  if (group === undefined) return undefined;
  const placed = place(group, open);
  if (placed !== undefined || lane === undefined) return placed;
  if (!workers.every(({ freeSlots, isHeldByLong }) => freeSlots === 0 || isHeldByLong)) {
    return undefined;
  }
  if (chooseWorker([lane], group.nextUs, group.waiting) === undefined) return undefined;
  return lane.isHeldByLong || lane.isCrowdedBy(group) ? undefined : { group, worker: lane };
}

/** Where a worker is crowded the group does not wait for the others: behind it wait those that any worker takes. */
function place<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  group: Group | undefined,
  workers: readonly Worker[],
): Assignment<Group, Worker> | undefined {
  if (group === undefined) return undefined;
  const { nextUs, waiting } = group;
  const worker = chooseWorker(workers, nextUs, waiting);
  if (worker === undefined) return undefined;
  if (!worker.isCrowdedBy(group)) return { group, worker };
  const others = workers.filter((other) => !other.isCrowdedBy(group));
  return { group, worker: chooseWorker(others, nextUs, waiting) ?? 'crowded' };
}

function withoutNextIdle<Worker extends WorkerLoad>(workers: readonly Worker[]): Worker[] {
  let next: Worker | undefined;
  for (const worker of workers) {
    if (worker.freeSlots === 0) continue;
    if (next === undefined || worker.loadUs < next.loadUs) next = worker;
  }
  return workers.filter((worker) => worker !== next);
}

/** Says when the first of the calls that nobody waits for is given up. */
export function refusalOfCrowded(workers: readonly WorkerState[], now: number): Refusal {
  return overloaded(Math.min(...workers.map((worker) => worker.crowdedForMs(now))));
}

/**
 * Says how long the work that is here will take the workers, as far as their past tells.
 *
 * @param queuedUs of what waits, what comes before a call of this caller
 */
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

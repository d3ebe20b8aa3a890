import type { Refusal } from '../dispatch/limit.ts';
import { chooseWorker, type WorkerLoad } from '../dispatch/queue/balance.ts';
import type { Heads } from '../dispatch/queue/intake.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import type { WorkerState } from './workers/worker-state.ts';

/** What the choice looks at in a group. */
export interface WaitingGroup {
  /** Expected work of the calls that the group sends next, microseconds. */
  readonly nextUs: number;
  /** Calls of the group that are at no worker. */
  readonly waiting: number;
}

/** What the choice looks at in a worker. */
export interface Candidate<Group> extends WorkerLoad {
  /** Whether a long call, or one that has run for long, is in the way of a call that comes now. */
  readonly isHeldByLong: boolean;
  /** Whether callers have left so many calls of the group's procedures on the worker that it takes no more of them. */
  isCrowdedBy(group: Group): boolean;
}

/** `crowded`: the group is refused, since every worker that has room is crowded by calls of its procedures. */
export interface Assignment<Group, Worker> {
  readonly group: Group;
  readonly worker: Worker | 'crowded';
}

/**
 * The group that goes next, and its worker; undefined: no group can go now. Short groups go first until a long one is
 * due. A short group goes to the lane where a long call is in its way at every worker. Where the workers merely have
 * work for a millisecond, the short group waits for them: the lane is for calls that would wait for long, and small
 * calls travel together.
 */
export function assign<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  { short, long, isLongDue }: Heads<Group>,
  workers: readonly Worker[],
  lane: Worker | undefined,
): Assignment<Group, Worker> | undefined {
  if (isLongDue) {
    // The worker that will be idle next gets no further short groups: with them it would never be idle.
    return place(long, workers) ?? placeShort(short, withoutNextIdle(workers), workers, lane);
  }
  return placeShort(short, workers, workers, lane) ?? place(long, workers);
}

/** @param open the workers that take short groups now */
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

/**
 * Where the chosen worker is crowded, the group goes to another worker that has room now, or is refused. It does not
 * wait: groups that any worker takes wait behind it.
 */
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

/** The refusal says after what time the first of the calls that nobody waits for is given up. */
export function refusalOfCrowded(workers: readonly WorkerState[], now: number): Refusal {
  return overloaded(Math.min(...workers.map((worker) => worker.crowdedForMs(now))));
}

/**
 * The refusal says how long the workers will take for the work that is here, judged by earlier runs.
 *
 * @param queuedUs expected work that waits and comes before a call of this caller, microseconds
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

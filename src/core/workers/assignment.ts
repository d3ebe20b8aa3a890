import { overloaded, type Refusal } from '../dispatch/limit.ts';
import { chooseWorker, type WorkerLoad } from '../dispatch/queue/cost.ts';
import type { Heads } from '../dispatch/queue/waiting-groups.ts';
import type { PoolWorker } from './worker.ts';

/** What the choice of a worker depends on in a group. */
export interface WaitingGroup {
  /** Expected work of the calls that the group sends next, microseconds. */
  readonly nextUs: number;
  /** Calls of the group that are at no worker. */
  readonly waiting: number;
}

/** What the choice of a worker depends on in a worker. */
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
 * due. A short group goes to the express worker if a long call is in its way at every worker. If the workers merely have
 * work for a millisecond, it waits for them: small calls share a message.
 */
export function assign<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  { short, long, isLongDue }: Heads<Group>,
  workers: readonly Worker[],
  express: Worker | undefined,
): Assignment<Group, Worker> | undefined {
  if (isLongDue) {
    // The worker that will be idle next gets no further short groups: with them it would never be idle.
    return place(long, workers) ?? placeShort(short, withoutNextIdle(workers), workers, express);
  }
  return placeShort(short, workers, workers, express) ?? place(long, workers);
}

/** @param open the workers that take short groups now */
function placeShort<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  group: Group | undefined,
  open: readonly Worker[],
  workers: readonly Worker[],
  express: Worker | undefined,
): Assignment<Group, Worker> | undefined {
  if (group === undefined) return undefined;
  const placed = place(group, open);
  if (placed !== undefined || express === undefined) return placed;
  if (!workers.every(({ freeSlots, isHeldByLong }) => freeSlots === 0 || isHeldByLong)) {
    return undefined;
  }
  if (chooseWorker([express], group.nextUs, group.waiting) === undefined) return undefined;
  return express.isHeldByLong || express.isCrowdedBy(group)
    ? undefined
    : { group: group, worker: express };
}

/**
 * If the chosen worker is crowded, the group goes to another worker that has room now, or is refused. It does not wait,
 * since groups that any worker takes would wait for it.
 */
function place<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  group: Group | undefined,
  workers: readonly Worker[],
): Assignment<Group, Worker> | undefined {
  if (group === undefined) return undefined;
  const { nextUs, waiting } = group;
  const worker = chooseWorker(workers, nextUs, waiting);
  if (worker === undefined) return undefined;
  if (!worker.isCrowdedBy(group)) return { group: group, worker };
  const others = workers.filter((other) => !other.isCrowdedBy(group));
  return { group: group, worker: chooseWorker(others, nextUs, waiting) ?? 'crowded' };
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
export function refusalOfCrowded(workers: readonly PoolWorker[], now: number): Refusal {
  const ms = Math.min(...workers.map((worker) => worker.crowdedForMs(now)));
  // Else the workers are crowded by their generators.
  const hasOrphans = workers.some(({ orphans }) => orphans.left > 0);
  return overloaded(hasOrphans ? 'orphans' : 'generators', wholeMs(ms));
}

/**
 * How long the workers will take for the work that is here, judged by earlier runs, milliseconds.
 *
 * @param queuedUs expected work that waits and comes before a call of this caller, microseconds
 */
export function busyForMs(workers: readonly PoolWorker[], queuedUs: number, count: number): number {
  let workUs = queuedUs;
  for (const worker of workers) workUs += worker.workUs;
  return wholeMs(workUs / 1000 / count);
}

function wholeMs(ms: number): number {
  return Math.max(1, Math.ceil(ms));
}

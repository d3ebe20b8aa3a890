import type { Refusal } from '../dispatch/limit.ts';
import { chooseWorker, type WorkerLoad } from '../dispatch/queue/balance.ts';
import type { Heads } from '../dispatch/queue/intake.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import type { WorkerState } from './workers/worker-state.ts';

/** What the choice looks at in a train. */
export interface WaitingTrain {
  /** Expected work of the calls that the train sends next, microseconds. */
  readonly nextUs: number;
  /** Calls of the train that are at no worker. */
  readonly waiting: number;
}

/** What the choice looks at in a worker. */
export interface Candidate<Train> extends WorkerLoad {
  /** Whether a long call, or one that has run for long, is in the way of a call that comes now. */
  readonly isHeldByLong: boolean;
  /** Whether callers have left so many calls of the train's procedures on the worker that it takes no more of them. */
  isCrowdedBy(train: Train): boolean;
}

/** `crowded`: the train is refused, since every worker that has room is crowded by calls of its procedures. */
export interface Assignment<Train, Worker> {
  readonly train: Train;
  readonly worker: Worker | 'crowded';
}

/**
 * The train that goes next, and its worker; undefined: no train can go now. Short trains go first until a long one is
 * due. A short train goes to the lane where a long call is in its way at every worker. Where the workers merely have
 * work for a millisecond, the short train waits for them: the lane is for calls that would wait for long, and small
 * calls travel together.
 */
export function assign<Train extends WaitingTrain, Worker extends Candidate<Train>>(
  { short, long, isLongDue }: Heads<Train>,
  workers: readonly Worker[],
  lane: Worker | undefined,
): Assignment<Train, Worker> | undefined {
  if (isLongDue) {
    // The worker that will be idle next gets no further short trains: with them it would never be idle.
    return place(long, workers) ?? placeShort(short, withoutNextIdle(workers), workers, lane);
  }
  return placeShort(short, workers, workers, lane) ?? place(long, workers);
}

/** @param open the workers that take short trains now */
function placeShort<Train extends WaitingTrain, Worker extends Candidate<Train>>(
  train: Train | undefined,
  open: readonly Worker[],
  workers: readonly Worker[],
  lane: Worker | undefined,
): Assignment<Train, Worker> | undefined {
  if (train === undefined) return undefined;
  const placed = place(train, open);
  if (placed !== undefined || lane === undefined) return placed;
  if (!workers.every(({ freeSlots, isHeldByLong }) => freeSlots === 0 || isHeldByLong)) {
    return undefined;
  }
  if (chooseWorker([lane], train.nextUs, train.waiting) === undefined) return undefined;
  return lane.isHeldByLong || lane.isCrowdedBy(train) ? undefined : { train, worker: lane };
}

/**
 * Where the chosen worker is crowded, the train goes to another worker that has room now, or is refused. It does not
 * wait: trains that any worker takes wait behind it.
 */
function place<Train extends WaitingTrain, Worker extends Candidate<Train>>(
  train: Train | undefined,
  workers: readonly Worker[],
): Assignment<Train, Worker> | undefined {
  if (train === undefined) return undefined;
  const { nextUs, waiting } = train;
  const worker = chooseWorker(workers, nextUs, waiting);
  if (worker === undefined) return undefined;
  if (!worker.isCrowdedBy(train)) return { train, worker };
  const others = workers.filter((other) => !other.isCrowdedBy(train));
  return { train, worker: chooseWorker(others, nextUs, waiting) ?? 'crowded' };
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

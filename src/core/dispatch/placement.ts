import { inlinePlace, type Place, placeOfGroup, remotePlace, workerPlace } from '../base/place.ts';
import type { Placement, Procedure } from '../procedures/types.ts';

/** Why a procedure runs where it does, as one of few words: a label of /metrics. */
export type PlacementCause =
  | 'declared'
  | 'asynchronous'
  | 'synchronous'
  | 'no modules'
  | 'held the main thread'
  | 'served by members';

export interface PlacementDecision {
  readonly place: Place;
  /** One clause for people: the log and stats() show it. */
  readonly reason: string;
  readonly cause: PlacementCause;
}

/** What is known of a procedure without running it. */
export interface PlacementFacts {
  readonly placement: Placement;
  readonly group: string | undefined;
  readonly isAsync: boolean;
  /** Whether it yields values before its result. */
  readonly isStream: boolean;
  /** Whether there are worker replicas at all. */
  readonly hasWorkers: boolean;
}

/**
 * Where a procedure begins. An explicit placement is obeyed, and a group is one; of the others the asynchronous run inline,
 * where waiting costs nothing, and the synchronous in the pool, where they can hold up nobody.
 */
export function decidePlacement(facts: PlacementFacts): PlacementDecision {
  const { group } = facts;
  if (group !== undefined) {
    const reason = `declared group: '${group}'`;
    return { place: placeOfGroup(group), reason, cause: 'declared' };
  }
  if (facts.placement === 'inline') {
    return { place: inlinePlace, reason: 'declared inline', cause: 'declared' };
  }
  if (!facts.hasWorkers) {
    const reason = 'the router has no modules to replicate';
    return { place: inlinePlace, reason, cause: 'no modules' };
  }
  if (facts.placement === 'worker') {
    return { place: workerPlace, reason: 'declared worker', cause: 'declared' };
  }
  return facts.isAsync
    ? { place: inlinePlace, reason: 'asynchronous', cause: 'asynchronous' }
    : { place: workerPlace, reason: 'synchronous', cause: 'synchronous' };
}

/** Of procedures that run on other machines. */
export const placedRemotely: PlacementDecision = {
  place: remotePlace,
  reason: 'members serve it',
  cause: 'served by members',
};

/** A procedure moves to the workers when it has blocked the main thread so often: once and twice may be a cold start. */
export const blockedToMove = 3;

/** Why a procedure that blocked the main thread runs in the workers from now on. */
export function movedForBlocking(times: number, longestMs: number): PlacementDecision {
  const reason = `it held the main thread ${times} times, the longest ${Math.round(longestMs)} ms`;
  return { place: workerPlace, reason, cause: 'held the main thread' };
}

/** Whether calls of a procedure of a module may ever come to the threads of a place: those that it begins on, or moves to. */
export function mayRunAt(
  place: Place,
  {
    placement,
    group,
    isAsync,
    stream,
  }: Pick<Procedure, 'placement' | 'group' | 'isAsync' | 'stream'>,
): boolean {
  const facts = { placement, group, isAsync, isStream: stream !== undefined, hasWorkers: true };
  return decidePlacement(facts).place === place || (place === workerPlace && mayMove(facts));
}

/** Whether a procedure that blocks the main thread may move: not where that was declared, and not without replicas. */
export function mayMove(facts: PlacementFacts): boolean {
  const { placement, group, isAsync, isStream, hasWorkers } = facts;
  return placement === 'auto' && group === undefined && isAsync && !isStream && hasWorkers;
}

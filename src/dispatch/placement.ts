import { inlinePlace, type Place, remotePlace, workerPlace } from '../base/place.ts';
import { placeOfGroup } from '../base/worker-group.ts';
import type { Placement } from '../router/types.ts';

/** Why a procedure runs where it does, as one of few words: a label of /metrics, and a column of `tandem top`. */
export type PlacementCause =
  | 'declared'
  | 'asynchronous'
  | 'synchronous'
  | 'no modules'
  | 'measured'
  | 'held the front end'
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

/** Whether measurement may move the procedure: only where the operator has asked for it. */
export function isMeasured(
  { placement, group, isAsync, isStream, hasWorkers }: PlacementFacts,
  { inlineBelowUs }: PlacementLimits,
): boolean {
  const isOpen = placement === 'auto' && group === undefined && !isStream;
  return inlineBelowUs > 0 && isOpen && !isAsync && hasWorkers;
}

export interface PlacementLimits {
  /** A procedure moves inline when 99% of its runs take less than this, microseconds; 0: never. */
  readonly inlineBelowUs: number;
  /** One inline run above this moves it back, microseconds. */
  readonly demoteAboveUs: number;
}

/** What has been seen of a procedure since it last moved. */
export interface Measurement {
  readonly place: Place;
  readonly runs: number;
  /** Runs that took `inlineBelowUs` or more: fewer than 1% of the runs is a p99 below it. */
  readonly slowRuns: number;
  /** How often it was moved back. */
  readonly demotions: number;
  readonly lastUs: number;
}

/** Runs to see before a procedure moves inline; doubled by each time it had to be moved back. */
const firstRuns = 200;

/** Where measurement moves a procedure; undefined: it stays. */
export function movePlacement(
  { place, runs, slowRuns, demotions, lastUs }: Measurement,
  { inlineBelowUs, demoteAboveUs }: PlacementLimits,
): PlacementDecision | undefined {
  if (place === inlinePlace) {
    if (lastUs <= demoteAboveUs) return undefined;
    const reason = `measured: an inline run took ${Math.round(lastUs)} us; needs ${runsNeeded(demotions + 1)} good runs to come back`;
    return { place: workerPlace, reason, cause: 'measured' };
  }
  const needed = runsNeeded(demotions);
  if (runs < needed || slowRuns * 100 >= runs) return undefined;
  const reason = `measured: p99 of ${runs} runs below ${inlineBelowUs} us`;
  return { place: inlinePlace, reason, cause: 'measured' };
}

/** Runs a procedure must show before it moves inline, after it was moved back so many times. */
export function runsNeeded(demotions: number): number {
  return firstRuns * 2 ** Math.min(demotions, 20);
}

/** A procedure moves to the workers when it has blocked the front end so often: once and twice may be a cold start. */
export const blockedToMove = 3;

/** Why a procedure that blocked the front end runs in the workers from now on. */
export function movedForBlocking(times: number, longestMs: number): PlacementDecision {
  const reason = `it held the front end ${times} times, the longest ${Math.round(longestMs)} ms`;
  return { place: workerPlace, reason, cause: 'held the front end' };
}

/** Whether a procedure that blocks the front end may move: not where that was declared, and not without replicas. */
export function mayMove({ placement, isAsync, isStream, hasWorkers }: PlacementFacts): boolean {
  return placement === 'auto' && isAsync && !isStream && hasWorkers;
}

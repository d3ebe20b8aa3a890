import { clockMs } from '../base/clock.ts';
import { type Refusal, refusalBeforeStart } from '../dispatch/limit.ts';
import { neverRan } from '../dispatch/observer.ts';
import { passUs } from '../dispatch/queue/ageing.ts';
import type { CallGroup, GroupCall } from '../dispatch/queue/call-group.ts';
import { Intake } from '../dispatch/queue/intake.ts';
import type { CallerShares } from '../dispatch/queue/queued-callers.ts';
import { assign, refusalOfBusy, refusalOfCrowded } from './assignment.ts';
import type { Places } from './workers/roster.ts';

export interface WaitingLimits {
  readonly workers: number;
  /** Calls that may wait for a worker. */
  readonly maxQueue: number;
  /** Milliseconds a call may wait for a worker. */
  readonly maxQueueMs: number;
  /** How the workers are shared out among callers whose calls wait. */
  readonly shares: CallerShares;
}

/**
 * The groups that are with no worker: they wait here, and leave for the workers together at the end of a turn of the
 * event loop. What may not wait, or has waited too long, is refused here.
 */
export class WaitingGroups {
  readonly #limits: WaitingLimits;
  readonly #places: Places;
  readonly #onSent: () => void;
  readonly #intake: Intake;
  #flushPlanned = false;

  /**
   * @param places the workers, as they are at any time
   * @param onSent called when groups have left, or were looked at and stay
   */
  constructor(limits: WaitingLimits, places: Places, onSent: () => void) {
    this.#limits = limits;
    this.#places = places;
    this.#onSent = onSent;
    this.#intake = new Intake(limits.maxQueue, limits.shares);
  }

  /** Calls that wait. */
  get size(): number {
    return this.#intake.size;
  }

  /** Whether any of them could go to a worker. */
  get hasNext(): boolean {
    return this.#intake.hasNext;
  }

  /** So many calls come. Where one turn of the event loop brings far too many, who has most of them gives room at once. */
  expect(calls: number): void {
    if (this.#intake.isFlooded(calls)) this.#refuseExcess();
  }

  add(group: CallGroup): void {
    this.#intake.add(group);
    this.plan();
  }

  /** Back to where they stood, by their age; a batch when its running call has ended. */
  addBack(groups: readonly CallGroup[]): void {
    for (const group of groups.toReversed()) {
      // The answers of a lost worker's calls may have brought it back already.
      if (group.state !== 'held' || group.isDone || !group.mayGoOn) continue;
      group.state = 'queued';
      group.waitingSince = clockMs();
      this.#intake.addBack(group);
      this.plan();
    }
  }

  /** A group has its answers: another of its procedure may go in its place. */
  leave(group: CallGroup): void {
    if (this.#intake.leave(group)) this.plan();
  }

  /** Answers what of a group is with no worker. */
  refuse(group: CallGroup, refusal: Refusal): void {
    group.queue?.drop(group);
    // Not queued any more, so that the answers don't bring it back.
    group.state = 'sent';
    for (let i = group.next; i < group.calls.length; i++) {
      (group.calls[i] as GroupCall).refuse(refusal, neverRan);
    }
  }

  refuseAll(refusal: Refusal): void {
    for (const group of this.#intake.all) this.refuse(group, refusal);
  }

  /** Answers groups whose request has no time left, and those that have waited too long. */
  expire(now: number): void {
    for (const group of this.#intake.all) {
      if (group.queue === undefined) continue;
      const expired = refusalBeforeStart(group.scope, now);
      if (expired !== undefined) this.refuse(group, expired);
      else if (now - group.waitingSince > this.#limits.maxQueueMs) {
        this.refuse(group, this.#overload(group));
      }
    }
  }

  /**
   * Frames leave after all that this turn of the event loop brings has arrived; but what finds all workers at
   * rest goes at once, and those that come behind it share the next frame.
   */
  plan(): void {
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    if (this.#places.active.every((worker) => worker.inFlight === 0)) queueMicrotask(this.#send);
    else setImmediate(this.#send);
  }

  readonly #send = (): void => {
    this.#flushPlanned = false;
    const { active, lane } = this.#places;
    for (;;) {
      const next = assign(this.#intake.heads(), active, lane);
      if (next === undefined) break;
      const { group, worker } = next;
      if (worker === 'crowded') {
        this.refuse(group, refusalOfCrowded(active, clockMs()));
        continue;
      }
      // Then no worker is idle: there is none for a long group either.
      if (worker.holdsBack(this.#intake.sizeBeside(group))) break;
      const isIdle = worker.loadUs === 0;
      this.#intake.take(group, worker === lane ? 0 : passUs(group.nextUs, isIdle));
      worker.add(group);
    }
    for (const worker of active) worker.flush();
    lane?.flush();
    this.#refuseExcess();
    this.#onSent();
  };

  /** What no worker could take and may not wait either is refused: of who has most of it, the newest first. */
  #refuseExcess(): void {
    for (;;) {
      const group = this.#intake.excess();
      if (group === undefined) return;
      this.refuse(group, this.#overload(group));
    }
  }

  #overload(group: CallGroup): Refusal {
    return refusalOfBusy(this.#places.active, this.#intake.waitUsOf(group), this.#limits.workers);
  }
}

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
 * The groups that are at no worker. They wait here, and leave for the workers together at the end of a turn of the
 * event loop. Groups that may not wait, or have waited too long, are refused here.
 */
export class WaitingGroups {
  readonly #limits: WaitingLimits;
  readonly #places: Places;
  readonly #onSent: () => void;
  readonly #intake: Intake;
  #flushPlanned = false;

  /**
   * @param places the workers, kept up to date by the roster
   * @param onSent called when groups have left, or have found no worker
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

  /** Whether any group could go to a worker. */
  get hasNext(): boolean {
    return this.#intake.hasNext;
  }

  /**
   * Makes room for so many calls that are about to come: where one turn of the event loop brings far too many, groups
   * of the caller that has the most are refused at once.
   */
  expect(calls: number): void {
    if (this.#intake.isFlooded(calls)) this.#refuseExcess();
  }

  add(group: CallGroup): void {
    this.#intake.add(group);
    this.plan();
  }

  /**
   * Puts groups back to where they stood, by their age. A batch whose running call has not ended is put back when that
   * call ends.
   */
  addBack(groups: readonly CallGroup[]): void {
    for (const group of groups.toReversed()) {
      // The answers of a lost worker's calls may have put the group back already.
      if (group.state !== 'held' || group.isDone || !group.mayGoOn) continue;
      group.state = 'queued';
      group.waitingSince = clockMs();
      this.#intake.addBack(group);
      this.plan();
    }
  }

  /** A group has its answers: another group of its procedure may go in its place. */
  leave(group: CallGroup): void {
    if (this.#intake.leave(group)) this.plan();
  }

  /** Refuses the calls of a group that are at no worker. */
  refuse(group: CallGroup, refusal: Refusal): void {
    group.queue?.drop(group);
    // Not `held`: the answers below must not put the group back.
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
   * Sends groups at the end of this turn of the event loop, when all its calls have arrived. But a group that finds all
   * workers at rest goes at once, and the calls behind it share the next frame.
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
      // A worker that holds back shows that no worker is idle: a long group would find none either.
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

  /**
   * Refuses groups that no worker could take and that are too many to wait: the newest ones of the caller that has the
   * most calls.
   */
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

import { clockMs } from '../../base/clock.ts';
import { type Refusal, refusalBeforeStart } from '../limit.ts';
import { neverRan } from '../observer.ts';
import type { CallGroup, GroupCall } from './call-group.ts';
import { Intake } from './intake.ts';
import type { CallerShares } from './queued-callers.ts';

/** Where the groups of one executor go. */
export interface Sender {
  /** Whether nothing is under way there: a group that comes then is sent at once. */
  readonly isIdle: boolean;
  /**
   * Sends away what may go now.
   *
   * @param refuse answers a group that may neither go nor wait
   */
  send(waiting: Intake, refuse: (group: CallGroup, refusal: Refusal) => void): void;
  /** Has `act` called when the groups that come at the same time have come: at the end of a turn of the event loop. */
  defer(act: () => void): void;
  /** Groups have left, or were looked at and stay. */
  onSent(): void;
  /** @param queuedUs expected work that waits and comes before a call of this caller, microseconds */
  overload(queuedUs: number): Refusal;
}

export interface WaitingLimits {
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
  readonly #sender: Sender;
  readonly #intake: Intake;
  #flushPlanned = false;

  constructor(limits: WaitingLimits, sender: Sender) {
    this.#limits = limits;
    this.#sender = sender;
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
   * Puts groups back to where they stood, by their age: they wait anew. A batch whose running call has not ended is put
   * back when that call ends.
   */
  addBack(groups: readonly CallGroup[]): void {
    const now = clockMs();
    for (const group of groups.toReversed()) if (this.#putBack(group)) group.waitingSince = now;
  }

  /** Puts groups back that came to no worker: the time for which they have waited goes on. */
  takeBack(groups: readonly CallGroup[]): void {
    for (const group of groups.toReversed()) this.#putBack(group);
  }

  #putBack(group: CallGroup): boolean {
    // The answers of a lost worker's calls may have put the group back already.
    if (group.state !== 'held' || group.isDone || !group.mayGoOn) return false;
    group.state = 'queued';
    this.#intake.addBack(group);
    this.plan();
    return true;
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
    if (this.#sender.isIdle) queueMicrotask(this.#send);
    else this.#sender.defer(this.#send);
  }

  readonly #send = (): void => {
    this.#flushPlanned = false;
    this.#sender.send(this.#intake, this.#refuse);
    this.#refuseExcess();
    this.#sender.onSent();
  };

  readonly #refuse = (group: CallGroup, refusal: Refusal): void => this.refuse(group, refusal);

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
    return this.#sender.overload(this.#intake.waitUsOf(group));
  }
}

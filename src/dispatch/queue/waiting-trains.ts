import { clockMs } from '../../base/clock.ts';
import { type Refusal, refusalBeforeStart } from '../limit.ts';
import { neverRan } from '../observer.ts';
import type { CallTrain, QueuedCall } from './call-train.ts';
import { Intake } from './intake.ts';
import type { CallerShares } from './queued-callers.ts';

/** Where the trains of one executor go. */
export interface Sender {
  /** Whether nothing is under way there: a train that comes then is sent at once. */
  readonly isIdle: boolean;
  /**
   * Sends away what may go now.
   *
   * @param refuse answers a train that may neither go nor wait
   */
  send(waiting: Intake, refuse: (train: CallTrain, refusal: Refusal) => void): void;
  /** Has `act` called when the trains that come at the same time have come: at the end of a turn of the event loop. */
  defer(act: () => void): void;
  /** Trains have left, or were looked at and stay. */
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
 * The trains that are at no worker. They wait here, and leave for the workers together at the end of a turn of the
 * event loop. Trains that may not wait, or have waited too long, are refused here.
 */
export class WaitingTrains {
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

  /** Whether any train could go to a worker. */
  get hasNext(): boolean {
    return this.#intake.hasNext;
  }

  /**
   * Makes room for so many calls that are about to come: where one turn of the event loop brings far too many, trains
   * of the caller that has the most are refused at once.
   */
  expect(calls: number): void {
    if (this.#intake.isFlooded(calls)) this.#refuseExcess();
  }

  add(train: CallTrain): void {
    this.#intake.add(train);
    this.plan();
  }

  /**
   * Puts trains back to where they stood, by their age: they wait anew. A batch whose running call has not ended is put
   * back when that call ends.
   */
  addBack(trains: readonly CallTrain[]): void {
    const now = clockMs();
    for (const train of trains.toReversed()) if (this.#putBack(train)) train.waitingSince = now;
  }

  /** Puts trains back that came to no worker: the time for which they have waited goes on. */
  takeBack(trains: readonly CallTrain[]): void {
    for (const train of trains.toReversed()) this.#putBack(train);
  }

  #putBack(train: CallTrain): boolean {
    // The answers of a lost worker's calls may have put the train back already.
    if (train.state !== 'held' || train.isDone || !train.mayGoOn) return false;
    train.state = 'queued';
    this.#intake.addBack(train);
    this.plan();
    return true;
  }

  /** A train has its answers: another train of its procedure may go in its place. */
  leave(train: CallTrain): void {
    if (this.#intake.leave(train)) this.plan();
  }

  /** Refuses the calls of a train that are at no worker. */
  refuse(train: CallTrain, refusal: Refusal): void {
    train.queue?.drop(train);
    // Not `held`: the answers below must not put the train back.
    train.state = 'sent';
    for (let i = train.next; i < train.calls.length; i++) {
      (train.calls[i] as QueuedCall).refuse(refusal, neverRan);
    }
  }

  refuseAll(refusal: Refusal): void {
    for (const train of this.#intake.all) this.refuse(train, refusal);
  }

  /** Answers trains whose request has no time left, and those that have waited too long. */
  expire(now: number): void {
    for (const train of this.#intake.all) {
      if (train.queue === undefined) continue;
      const expired = refusalBeforeStart(train.scope, now);
      if (expired !== undefined) this.refuse(train, expired);
      else if (now - train.waitingSince > this.#limits.maxQueueMs) {
        this.refuse(train, this.#overload(train));
      }
    }
  }

  /**
   * Sends trains at the end of this turn of the event loop, when all its calls have arrived. But a train that finds all
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

  readonly #refuse = (train: CallTrain, refusal: Refusal): void => this.refuse(train, refusal);

  /**
   * Refuses trains that no worker could take and that are too many to wait: the newest ones of the caller that has the
   * most calls.
   */
  #refuseExcess(): void {
    for (;;) {
      const train = this.#intake.excess();
      if (train === undefined) return;
      this.refuse(train, this.#overload(train));
    }
  }

  #overload(train: CallTrain): Refusal {
    return this.#sender.overload(this.#intake.waitUsOf(train));
  }
}

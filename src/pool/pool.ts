import { clockMs } from '../base/clock.ts';
import { type Call, paramsLength } from '../dispatch/call.ts';
import type { Executor } from '../dispatch/executor.ts';
import { errorFor, type Refusal, refusalBeforeStart } from '../dispatch/limit.ts';
import { type CallObserver, neverRan } from '../dispatch/observer.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import { assign, refusalOfBusy, refusalOfCrowded } from './assignment.ts';
import { CostEstimate, transferCostUs } from '../dispatch/queue/cost.ts';
import { Intake } from '../dispatch/queue/intake.ts';
import type { WorkerLink } from './workers/worker-state.ts';
import type { PoolEvents, PoolOptions } from './options.ts';
import { Roster } from './workers/roster.ts';
import type { PoolStats } from './stats.ts';
import { Sweep } from '../dispatch/queue/sweep.ts';
import { Unit, UnitCall, type UnitOwner } from '../dispatch/queue/call-group.ts';

/**
 * The executor over worker threads. Calls that arrive in one turn of the event loop leave together, one
 * message per worker; what finds no worker waits in a bounded queue of its own.
 */
export class Pool implements Executor, UnitOwner {
  readonly takesUnparsed = true;
  readonly maxReplyBytes: number;
  readonly observer: CallObserver | undefined;
  readonly roster: Roster;
  readonly #options: PoolOptions;
  readonly #events: PoolEvents;
  readonly #intake: Intake;
  readonly #costs = new Map<string, CostEstimate>();
  #flushPlanned = false;
  readonly #sweep = new Sweep((now) => this.#look(now));
  #closing = false;
  #onDrained: (() => void) | undefined;

  constructor(options: PoolOptions, events: PoolEvents) {
    this.maxReplyBytes = options.replica.maxReplyBytes;
    this.observer = events.observer;
    this.#options = options;
    this.#events = events;
    this.#intake = new Intake(options.maxQueue);
    this.roster = new Roster(options, {
      onRun: events.onRun,
      onCapacity: () => this.#onCapacity(),
      onLost: (unstarted, reason, detail) => {
        this.#requeue(unstarted);
        events.onWorkerLost(reason, detail);
      },
      onRestartFailed: (message, retryMs) => events.onRestartFailed(message, retryMs),
      onWorkerRetired: (calls, memory) => events.onWorkerRetired(calls, memory),
      onNotNiced: () => events.onNotNiced(),
      onOutdated: () => events.onOutdated(),
      onFault: (fault) => events.onFault(fault),
      onUncaught: (detail) => events.onUncaught(detail),
      onGarbled: (detail) => events.onGarbled(detail),
    });
  }

  ready(): Promise<void> {
    return this.roster.ready();
  }

  /** See {@link Roster.takeOtherCode}. */
  takeOtherCode(): void {
    this.roster.takeOtherCode();
  }

  execute(call: Call): Reply | Promise<Reply> {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, 1, now);
    if (refusal !== undefined) return this.#refuse(call, refusal);
    return new Promise((resolve) => {
      this.#enqueue([call], now, (unit) => resolve(unit.calls[0]?.reply));
    });
  }

  executeInOrder(calls: readonly Call[]): Reply[] | Promise<Reply[]> {
    const first = calls[0];
    if (first === undefined) return [];
    // One whose concurrency is bounded must be able to wait without its neighbours.
    if (calls.some(({ procedure }) => procedure.maxConcurrency !== undefined)) {
      return this.#executeOneByOne(calls);
    }
    const now = clockMs();
    const refusal = this.#refusal(first.scope, calls.length, now);
    if (refusal !== undefined) return calls.map((call) => this.#refuse(call, refusal));
    return new Promise((resolve) => {
      this.#enqueue(calls, now, (unit) => resolve(unit.calls.map(({ reply }) => reply)));
    });
  }

  onDone(unit: Unit): void {
    unit.scope.removeListener(unit);
    if (this.#intake.leave(unit)) this.#plan();
    unit.resolve(unit);
  }

  onTooLarge(unit: Unit): void {
    for (const link of this.roster.active) link.takeBack(unit);
    this.#answerWaiting(unit, {
      code: ErrorCode.LimitExceeded,
      data: { limit: this.maxReplyBytes },
    });
  }

  onResume(unit: Unit): void {
    this.#requeue([unit]);
  }

  onCancelled(unit: Unit): void {
    if (unit.state !== 'queued') {
      for (const link of this.roster.active) {
        link.takeBack(unit);
        link.expiry.cancel(unit);
      }
    }
    this.#answerWaiting(unit, { code: ErrorCode.Cancelled });
    // What it leaves free on a worker is news of which no message comes.
    this.#onCapacity();
  }

  stats(): PoolStats {
    const { active, spares, starting, deaths, kills } = this.roster;
    return {
      workers: active.map(({ threadId, inFlight, completed, orphans }) => ({
        threadId,
        inFlight,
        completed,
        left: orphans.left,
        overdue: orphans.overdue,
      })),
      spares,
      starting,
      queued: this.#intake.size,
      deaths,
      kills,
      // Of the pools before it too: a reload does not make a thread go.
      zombies: this.#options.counters.zombiesNow,
    };
  }

  /**
   * Finishes what is here, for `graceMs` at most: then what never started gets -32003, what still runs
   * -32002. Resolves when the threads are gone.
   *
   * @param loadingMs see {@link Roster.close}
   * @param isGivenUp see there
   */
  async close(graceMs: number, loadingMs = 0, isGivenUp = false): Promise<void> {
    const until = clockMs() + graceMs;
    this.#closing = true;
    if (!this.#isAnswered()) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        this.#onDrained = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#sweep.stop();
    for (const link of this.roster.active) {
      for (const unit of link.takeBack()) this.#answerWaiting(unit, { code: ErrorCode.Cancelled });
      link.abandon('shutdown');
    }
    for (const unit of this.#intake) this.#answerWaiting(unit, { code: ErrorCode.Cancelled });
    await this.roster.close(Math.max(until - clockMs(), 1000), loadingMs, isGivenUp);
  }

  async #executeOneByOne(calls: readonly Call[]): Promise<Reply[]> {
    const replies: Reply[] = [];
    for (const call of calls) replies.push(await this.execute(call));
    return replies;
  }

  /** Why calls of a request are not taken in at all. */
  #refusal(scope: RequestScope, count: number, now: number): Refusal | undefined {
    if (this.#closing) return { code: ErrorCode.Cancelled };
    if (this.#intake.isFlooded(count)) return this.#overload();
    return refusalBeforeStart(scope, now);
  }

  #refuse(call: Call, { code, data }: Refusal): Reply {
    const reply = errorFor(call, code, data);
    this.observer?.onCall(call, code, 'worker', 0, neverRan, reply);
    return reply;
  }

  #enqueue(calls: readonly Call[], now: number, resolve: (unit: Unit) => void): void {
    const items = calls.map((call) => {
      const cost = this.#costOf(call.procedure.name);
      return new UnitCall(call, cost, cost.expectedUs + transferCostUs(paramsLength(call)));
    });
    const unit = new Unit(items, now, this, resolve);
    unit.scope.addListener(unit);
    this.#intake.add(unit);
    this.#plan();
  }

  #costOf(name: string): CostEstimate {
    let cost = this.#costs.get(name);
    if (cost === undefined) {
      cost = new CostEstimate();
      this.#costs.set(name, cost);
    }
    return cost;
  }

  /**
   * Frames leave after all that this turn of the event loop brings has arrived; but what finds all workers at
   * rest goes at once, and those that come behind it share the next frame.
   */
  #plan(): void {
    if (this.#flushPlanned) return;
    this.#flushPlanned = true;
    const send = (): void => {
      this.#flushPlanned = false;
      this.#send();
    };
    if (this.roster.active.every((link) => link.inFlight === 0)) queueMicrotask(send);
    else setImmediate(send);
  }

  #send(): void {
    const links = this.roster.active;
    for (;;) {
      const unit = this.#intake.peek();
      if (unit === undefined) break;
      const link = assign(unit, links);
      if (link === 'crowded') {
        this.#answerWaiting(unit, refusalOfCrowded(links, clockMs()));
        continue;
      }
      if (link === undefined || link.holdsBack(this.#intake.size)) break;
      this.#intake.take(unit);
      link.add(unit);
    }
    for (const link of links) link.flush();
    this.#refuseExcess();
    this.#sweep.wake();
  }

  /** What no worker could take and may not wait either is refused, the newest first. */
  #refuseExcess(): void {
    for (;;) {
      const unit = this.#intake.excess();
      if (unit === undefined) return;
      this.#answerWaiting(unit, this.#overload());
    }
  }

  #overload(): Refusal {
    return refusalOfBusy(this.roster.active, this.#intake.workUs, this.#options.workers);
  }

  #onCapacity(): void {
    if (this.#intake.hasNext) this.#plan();
    else if (this.#onDrained !== undefined && this.#isAnswered()) this.#onDrained();
  }

  /** Whether nobody waits for anything here. */
  #isAnswered(): boolean {
    return this.#intake.size === 0 && this.roster.active.every((link) => link.isAnswered);
  }

  /** Back to the front of the queue, in the order they had; a batch when its running call has ended. */
  #requeue(units: readonly Unit[]): void {
    for (const unit of units.toReversed()) {
      // The answers of a lost worker's calls may have brought it back already.
      if (unit.state !== 'held' || unit.isDone || !unit.mayGoOn) continue;
      unit.state = 'queued';
      unit.waitingSince = clockMs();
      this.#intake.addFirst(unit);
      this.#plan();
    }
  }

  /** Answers what of a unit is with no worker. */
  #answerWaiting(unit: Unit, { code, data }: Refusal): void {
    unit.queue?.drop(unit);
    // Not queued any more, so that the answers don't bring it back.
    unit.state = 'sent';
    for (let i = unit.next; i < unit.calls.length; i++) {
      const item = unit.calls[i] as UnitCall;
      item.fail(code, data, neverRan);
    }
  }

  /** Deadlines, waiting times and overruns. False: there is nothing here. */
  #look(now: number): boolean {
    // What was expected to be short and is not keeps its thread from telling of the results before it.
    for (const { thread } of this.roster.active) thread.collect();
    // A copy: the roster changes with a kill.
    for (const link of this.roster.active.slice()) this.#lookAt(link, now);
    // After the workers: what they gave back may be overdue.
    this.#expireQueued(now);
    if (this.#intake.hasNext) this.#plan();
    if (this.#onDrained !== undefined && this.#isAnswered()) this.#onDrained();
    const isRecycling = this.roster.recycle();
    return isRecycling || this.#intake.size > 0 || this.roster.active.some((link) => !link.isQuiet);
  }

  #lookAt(link: WorkerLink, now: number): void {
    // What follows an overdue call of a batch must not wait for that one to end.
    const stuck = link.expiry.expire(now, (unit) => this.#requeue(link.takeBack(unit)));
    if (stuck !== undefined) {
      this.#requeue(link.takeBack());
      this.roster.kill(link);
      this.#events.onWorkerKilled(stuck.call.procedure.name);
    } else if (link.pulse.hasOverrun(now)) {
      this.#requeue(link.takeBack());
      link.pulse.markOverrun(now);
    } else if (link.isAnswered && link.pulse.isHung(now)) {
      this.#requeue(link.takeBack());
      this.roster.kill(link);
      const detail = 'it was held up outside of any call for longer than a call may run';
      this.#events.onWorkerLost('error', detail);
    }
  }

  #expireQueued(now: number): void {
    for (const unit of this.#intake) {
      const expired = refusalBeforeStart(unit.scope, now);
      if (expired !== undefined) this.#answerWaiting(unit, expired);
      else if (now - unit.waitingSince > this.#options.maxQueueMs) {
        this.#answerWaiting(unit, this.#overload());
      }
    }
  }
}

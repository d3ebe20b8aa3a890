import { clockMs } from '../base/clock.ts';
import { type Call, paramsLength } from '../dispatch/call.ts';
import type { Executor } from '../dispatch/executor.ts';
import { errorFor, type Refusal, refusalBeforeStart } from '../dispatch/limit.ts';
import { type CallObserver, neverRan } from '../dispatch/observer.ts';
import { CallGroup, GroupCall, type GroupOwner } from '../dispatch/queue/call-group.ts';
import { CostEstimate, transferCostUs } from '../dispatch/queue/cost.ts';
import { Intake } from '../dispatch/queue/intake.ts';
import { Sweep } from '../dispatch/queue/sweep.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import { assign, refusalOfBusy, refusalOfCrowded } from './assignment.ts';
import type { PoolEvents, PoolOptions } from './pool-options.ts';
import type { PoolStats } from './stats.ts';
import { Roster } from './workers/roster.ts';
import type { WorkerState } from './workers/worker-state.ts';

/**
 * The executor over worker threads. Calls that arrive in one turn of the event loop leave together, one
 * message per worker; what finds no worker waits in a bounded queue of its own.
 */
export class Pool implements Executor, GroupOwner {
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
      this.#enqueue([call], now, (group) => resolve(group.calls[0]?.reply));
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
      this.#enqueue(calls, now, (group) => resolve(group.calls.map(({ reply }) => reply)));
    });
  }

  onDone(group: CallGroup): void {
    group.scope.removeListener(group);
    if (this.#intake.leave(group)) this.#plan();
    group.resolve(group);
  }

  onTooLarge(group: CallGroup): void {
    for (const worker of this.roster.active) worker.takeBack(group);
    this.#answerWaiting(group, {
      code: ErrorCode.LimitExceeded,
      data: { limit: this.maxReplyBytes },
    });
  }

  onResume(group: CallGroup): void {
    this.#requeue([group]);
  }

  onCancelled(group: CallGroup): void {
    if (group.state !== 'queued') {
      for (const worker of this.roster.active) {
        worker.takeBack(group);
        worker.expiry.cancel(group);
      }
    }
    this.#answerWaiting(group, { code: ErrorCode.Cancelled });
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
    for (const worker of this.roster.active) {
      for (const group of worker.takeBack())
        this.#answerWaiting(group, { code: ErrorCode.Cancelled });
      worker.abandon('shutdown');
    }
    for (const group of this.#intake) this.#answerWaiting(group, { code: ErrorCode.Cancelled });
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

  #enqueue(calls: readonly Call[], now: number, resolve: (group: CallGroup) => void): void {
    const items = calls.map((call) => {
      const cost = this.#costOf(call.procedure.name);
      return new GroupCall(call, cost, cost.expectedUs + transferCostUs(paramsLength(call)));
    });
    const group = new CallGroup(items, now, this, resolve);
    group.scope.addListener(group);
    this.#intake.add(group);
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
    if (this.roster.active.every((worker) => worker.inFlight === 0)) queueMicrotask(send);
    else setImmediate(send);
  }

  #send(): void {
    const workers = this.roster.active;
    for (;;) {
      const group = this.#intake.peek();
      if (group === undefined) break;
      const worker = assign(group, workers);
      if (worker === 'crowded') {
        this.#answerWaiting(group, refusalOfCrowded(workers, clockMs()));
        continue;
      }
      if (worker === undefined || worker.holdsBack(this.#intake.size)) break;
      this.#intake.take(group);
      worker.add(group);
    }
    for (const worker of workers) worker.flush();
    this.#refuseExcess();
    this.#sweep.wake();
  }

  /** What no worker could take and may not wait either is refused, the newest first. */
  #refuseExcess(): void {
    for (;;) {
      const group = this.#intake.excess();
      if (group === undefined) return;
      this.#answerWaiting(group, this.#overload());
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
    return this.#intake.size === 0 && this.roster.active.every((worker) => worker.isAnswered);
  }

  /** Back to the front of the queue, in the order they had; a batch when its running call has ended. */
  #requeue(groups: readonly CallGroup[]): void {
    for (const group of groups.toReversed()) {
      // The answers of a lost worker's calls may have brought it back already.
      if (group.state !== 'held' || group.isDone || !group.mayGoOn) continue;
      group.state = 'queued';
      group.waitingSince = clockMs();
      this.#intake.addFirst(group);
      this.#plan();
    }
  }

  /** Answers what of a group is with no worker. */
  #answerWaiting(group: CallGroup, { code, data }: Refusal): void {
    group.queue?.drop(group);
    // Not queued any more, so that the answers don't bring it back.
    group.state = 'sent';
    for (let i = group.next; i < group.calls.length; i++) {
      const item = group.calls[i] as GroupCall;
      item.fail(code, data, neverRan);
    }
  }

  /** Deadlines, waiting times and overruns. False: there is nothing here. */
  #look(now: number): boolean {
    // What was expected to be short and is not keeps its thread from telling of the results before it.
    for (const { thread } of this.roster.active) thread.collect();
    // A copy: the roster changes with a kill.
    for (const worker of this.roster.active.slice()) this.#lookAt(worker, now);
    // After the workers: what they gave back may be overdue.
    this.#expireQueued(now);
    if (this.#intake.hasNext) this.#plan();
    if (this.#onDrained !== undefined && this.#isAnswered()) this.#onDrained();
    const isRecycling = this.roster.recycle();
    return (
      isRecycling || this.#intake.size > 0 || this.roster.active.some((worker) => !worker.isQuiet)
    );
  }

  #lookAt(worker: WorkerState, now: number): void {
    // What follows an overdue call of a batch must not wait for that one to end.
    const stuck = worker.expiry.expire(now, (group) => this.#requeue(worker.takeBack(group)));
    if (stuck !== undefined) {
      this.#requeue(worker.takeBack());
      this.roster.kill(worker);
      this.#events.onWorkerKilled(stuck.call.procedure.name);
    } else if (worker.pulse.hasOverrun(now)) {
      this.#requeue(worker.takeBack());
      worker.pulse.markOverrun(now);
    } else if (worker.isAnswered && worker.pulse.isHung(now)) {
      this.#requeue(worker.takeBack());
      this.roster.kill(worker);
      const detail = 'it was held up outside of any call for longer than a call may run';
      this.#events.onWorkerLost('error', detail);
    }
  }

  #expireQueued(now: number): void {
    for (const group of this.#intake) {
      const expired = refusalBeforeStart(group.scope, now);
      if (expired !== undefined) this.#answerWaiting(group, expired);
      else if (now - group.waitingSince > this.#options.maxQueueMs) {
        this.#answerWaiting(group, this.#overload());
      }
    }
  }
}

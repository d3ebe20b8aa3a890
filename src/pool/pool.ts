import { clockMs } from '../base/clock.ts';
import type { Place } from '../base/place.ts';
import { placeOfGroup } from '../base/worker-group.ts';
import { type Call, paramsLength } from '../dispatch/call.ts';
import { CallEnding } from '../dispatch/call-ending.ts';
import type { Executor, ExecutorFigures } from '../dispatch/executor.ts';
import { type Refusal, refusalBeforeStart } from '../dispatch/limit.ts';
import { CallGroup, GroupCall, type GroupOwner } from '../dispatch/queue/call-group.ts';
import { CostEstimate } from '../dispatch/queue/cost.ts';
import { Sweep } from '../dispatch/queue/sweep.ts';
import { type GoesToSink, goesToSink, type ReplySink } from '../dispatch/reply-sink.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import type { CallListeners, PoolOptions, RosterOwner } from './pool-options.ts';
import type { PoolStats, WorkerStats } from './stats.ts';
import { WaitingGroups } from './waiting-groups.ts';
import type { WorkerEvents } from './worker-events.ts';
import { Roster } from './workers/roster.ts';
import type { WorkerState } from './workers/worker-state.ts';

/** How often calls are looked at, and threads that have streams. */
const [callsEveryMs, streamsEveryMs] = [10, 50];

/** Why a call that has not started never will. */
const cancelled: Refusal = { code: ErrorCode.Cancelled };

/**
 * The executor over worker threads. Calls that arrive in one turn of the event loop leave together, one
 * message per worker; what finds no worker waits in a bounded queue of its own.
 */
export class Pool implements Executor, ExecutorFigures, GroupOwner, RosterOwner {
  readonly place: Place;
  readonly takesUnparsed = true;
  readonly ending: CallEnding;
  readonly roster: Roster;
  readonly #options: PoolOptions;
  readonly #events: WorkerEvents;
  readonly #waiting: WaitingGroups;
  readonly #costs = new Map<string, CostEstimate>();
  readonly #sweep = new Sweep(callsEveryMs, (now) => this.#look(now));
  readonly #streamSweep = new Sweep(streamsEveryMs, (now) => this.#lookAtStreams(now));
  #closing = false;
  #onDrained: (() => void) | undefined;

  /** @param events told of what happens to the workers */
  constructor(options: PoolOptions, { observer, onRun }: CallListeners, events: WorkerEvents) {
    this.place = placeOfGroup(options.group);
    this.ending = new CallEnding(this.place, options.replica.maxReplyBytes, observer);
    this.#options = options;
    this.#events = events;
    this.roster = new Roster(options, this, onRun, events);
    this.#waiting = new WaitingGroups(options, this.roster, () => this.#sweep.wake());
  }

  ready(): Promise<void> {
    return this.roster.probation.ready;
  }

  /** See {@link Roster.takeOtherCode}. */
  takeOtherCode(): void {
    this.roster.takeOtherCode();
  }

  execute(call: Call): Reply | Promise<Reply> {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, now);
    if (refusal !== undefined) return this.ending.refuse(call, refusal);
    this.#waiting.expect(1);
    return new Promise((resolve) => {
      this.#enqueue([this.#itemOf(call)], now, (group) => resolve(group.calls[0]?.reply));
    });
  }

  executeInto(call: Call, sink: ReplySink): Reply | GoesToSink {
    const now = clockMs();
    const refusal = this.#refusal(call.scope, now);
    if (refusal !== undefined) return this.ending.refuse(call, refusal);
    this.#waiting.expect(1);
    this.#enqueue([this.#itemOf(call)], now, sink);
    return goesToSink;
  }

  executeInOrder(calls: readonly Call[]): Reply[] | Promise<Reply[]> {
    const first = calls[0];
    if (first === undefined) return [];
    // One whose concurrency is bounded must be able to wait without its neighbours.
    if (calls.some(({ procedure }) => procedure.maxConcurrency !== undefined)) {
      return this.#executeOneByOne(calls);
    }
    const now = clockMs();
    const refusal = this.#refusal(first.scope, now);
    if (refusal !== undefined) return calls.map((call) => this.ending.refuse(call, refusal));
    this.#waiting.expect(calls.length);
    return new Promise((resolve) => {
      const items = calls.map((call) => this.#itemOf(call));
      this.#enqueue(items, now, (group) => resolve(group.calls.map(({ reply }) => reply)));
    });
  }

  onDone(group: CallGroup): void {
    group.scope.removeListener(group);
    this.#waiting.leave(group);
    group.deliver();
  }

  onTooLarge(group: CallGroup): void {
    for (const worker of this.roster.all) worker.takeBack(group);
    const limit = this.ending.maxReplyBytes;
    this.#waiting.refuse(group, { code: ErrorCode.LimitExceeded, data: { limit } });
  }

  onResume(group: CallGroup): void {
    this.#waiting.addBack([group]);
  }

  onCancelled(group: CallGroup): void {
    if (group.state !== 'queued') {
      for (const worker of this.roster.all) {
        worker.takeBack(group);
        worker.expiry.cancel(group);
      }
    }
    this.#waiting.refuse(group, cancelled);
    // What it leaves free on a worker is news of which no message comes.
    this.onCapacity();
  }

  onCapacity(): void {
    if (this.#waiting.hasNext) this.#waiting.plan();
    else this.#tellDrained();
  }

  onUnstarted(groups: readonly CallGroup[]): void {
    this.#waiting.addBack(groups);
  }

  get inFlight(): number {
    let calls = 0;
    for (const { inFlight } of this.roster.all) calls += inFlight;
    return calls;
  }

  stats(): PoolStats {
    const { active, lane, spares, starting } = this.roster;
    const { deaths, kills, zombiesNow } = this.#options.counters;
    return {
      workers: active.map(statsOf),
      lane: lane && statsOf(lane),
      spares,
      starting,
      queued: this.#waiting.size,
      deaths: deaths.exit + deaths.memory + deaths.error,
      kills,
      zombies: zombiesNow,
    };
  }

  /**
   * Finishes what is here, for `graceMs` at most: then what never started gets -32003, what still runs
   * -32002. Streams are waited for; whoever keeps them (`OpenStreams`) tells them to end. Resolves when the threads are gone.
   *
   * @param loadingMs see {@link Roster.close}
   * @param isGivenUp see there
   */
  async close(graceMs: number, loadingMs = 0, isGivenUp = false): Promise<void> {
    const until = clockMs() + graceMs;
    this.#closing = true;
    if (!this.#isAnswered) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        this.#onDrained = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#sweep.stop();
    this.#streamSweep.stop();
    for (const worker of this.roster.all) {
      for (const group of worker.takeBack()) this.#waiting.refuse(group, cancelled);
      worker.abandon();
    }
    this.#waiting.refuseAll(cancelled);
    await this.roster.close(Math.max(until - clockMs(), 1000), loadingMs, isGivenUp);
  }

  async #executeOneByOne(calls: readonly Call[]): Promise<Reply[]> {
    const replies: Reply[] = [];
    for (const call of calls) replies.push(await this.execute(call));
    return replies;
  }

  /** Why calls of a request are not taken in at all. */
  #refusal(scope: RequestScope, now: number): Refusal | undefined {
    return this.#closing ? cancelled : refusalBeforeStart(scope, now);
  }

  #enqueue(
    items: readonly GroupCall[],
    now: number,
    receiver: ReplySink | ((group: CallGroup) => void),
  ): void {
    const group = new CallGroup(items, now, this, receiver);
    group.scope.addListener(group);
    this.#waiting.add(group);
  }

  #itemOf(call: Call): GroupCall {
    return new GroupCall(call, this.#costOf(call.procedure.name), paramsLength(call));
  }

  #costOf(name: string): CostEstimate {
    let cost = this.#costs.get(name);
    if (cost === undefined) {
      cost = new CostEstimate();
      this.#costs.set(name, cost);
    }
    return cost;
  }

  /** Whether nobody waits for anything here. */
  get #isAnswered(): boolean {
    const isOver = ({ isAnswered, streams }: WorkerState): boolean =>
      isAnswered && streams.open === 0;
    return this.#waiting.size === 0 && this.roster.all.every(isOver);
  }

  #tellDrained(): void {
    if (this.#onDrained !== undefined && this.#isAnswered) this.#onDrained();
  }

  /** Deadlines, waiting times and overruns. False: there is nothing here. */
  #look(now: number): boolean {
    // What was expected to be short and is not keeps its thread from telling of the results before it.
    for (const { thread } of this.roster.all) thread.collect();
    // A copy: the roster changes with a kill.
    for (const worker of this.roster.all.slice()) this.#lookAt(worker, now);
    // After the workers: what they gave back may be overdue.
    this.#waiting.expire(now);
    if (this.#waiting.hasNext) this.#waiting.plan();
    this.#tellDrained();
    const isRecycling = this.roster.recycle();
    if (this.#hasStreams) this.#streamSweep.wake();
    return (
      isRecycling || this.#waiting.size > 0 || this.roster.all.some((worker) => !worker.isQuiet)
    );
  }

  /** As long as there are generators: one look at each thread, however many it has. */
  #lookAtStreams(now: number): boolean {
    for (const worker of this.roster.all.slice()) {
      if (worker.streams.generators === 0) continue;
      // A value may lie there, behind which a generator holds the thread.
      worker.thread.collect();
      const stuck = worker.streams.expire(now);
      if (stuck !== undefined) this.#kill(worker, stuck);
      else if (!this.#endsHung(worker, now)) worker.pulse.askNowAndThen(now);
    }
    this.#tellDrained();
    if (this.roster.recycle()) this.#sweep.wake();
    return this.#hasStreams;
  }

  get #hasStreams(): boolean {
    return this.roster.all.some(({ streams }) => streams.generators > 0);
  }

  #lookAt(worker: WorkerState, now: number): void {
    // What follows an overdue call of a batch must not wait for that one to end.
    const stuck = worker.expiry.expire(now, (group) =>
      this.#waiting.addBack(worker.takeBack(group)),
    );
    if (stuck !== undefined) {
      this.#kill(worker, stuck.call.procedure.name);
    } else if (worker.pulse.hasOverrun(now)) {
      this.#waiting.addBack(worker.takeBack());
      worker.pulse.markOverrun(now);
    } else {
      this.#endsHung(worker, now);
    }
  }

  #kill(worker: WorkerState, method: string): void {
    this.#waiting.addBack(worker.takeBack());
    this.roster.kill(worker);
    this.#events.onKilled(method);
  }

  /** Whether a thread was killed, since it does not even say that it lives. */
  #endsHung(worker: WorkerState, now: number): boolean {
    if (!worker.isAnswered || !worker.pulse.isHung(now)) return false;
    this.#waiting.addBack(worker.takeBack());
    this.roster.kill(worker);
    const detail = 'it was held up outside of any call for longer than a call may run';
    this.#events.onLost('error', detail);
    return true;
  }
}

function statsOf(worker: WorkerState): WorkerStats {
  const { threadId, inFlight, completed, streams, orphans } = worker;
  const { left, overdue } = orphans;
  return { threadId, inFlight, completed, streams: streams.open, left, overdue };
}

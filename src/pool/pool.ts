import { clockMs } from '../base/clock.ts';
import type { Place } from '../base/place.ts';
import { Vacancy } from '../base/vacancy.ts';
import { placeOfGroup } from '../base/worker-group.ts';
import { type Call, paramsLength } from '../dispatch/call.ts';
import { CallEnding } from '../dispatch/call-ending.ts';
import type { Executor, ExecutorFigures } from '../dispatch/executor.ts';
import { type Refusal, refusalBeforeStart } from '../dispatch/limit.ts';
import { CallGroup, GroupCall, type GroupOwner } from '../dispatch/queue/call-group.ts';
import { CostEstimate } from '../dispatch/queue/cost.ts';
import { Sweep } from '../dispatch/queue/sweep.ts';
import { WaitingGroups } from '../dispatch/queue/waiting-groups.ts';
import { type GoesToSink, goesToSink, type ReplySink } from '../dispatch/reply-sink.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import type { CallListeners, PoolOptions, RosterOwner } from './pool-options.ts';
import type { PoolStats, WorkerStats } from './stats.ts';
import type { WorkerEvents } from './worker-events.ts';
import { WorkerSender } from './worker-sender.ts';
import { Roster } from './workers/roster.ts';
import type { WorkerState } from './workers/worker-state.ts';

/** How often the pool looks at its calls, and at threads that have streams, milliseconds. */
const [callsEveryMs, streamsEveryMs] = [10, 50];

/** The refusal of calls that have not started when the pool closes, or whose caller has gone. */
const cancelled: Refusal = { code: ErrorCode.Cancelled };

/**
 * The executor over worker threads. Calls that arrive in one turn of the event loop leave together, in one message for
 * each worker. Calls that find no worker wait in a bounded queue.
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
  /** Of calls and streams: told only while the pool closes. */
  readonly #vacancy = new Vacancy();

  /** @param events told of what happens to the workers */
  constructor(options: PoolOptions, { observer, onRun }: CallListeners, events: WorkerEvents) {
    this.place = placeOfGroup(options.group);
    this.ending = new CallEnding(this.place, options.replica.maxReplyBytes, observer);
    this.#options = options;
    this.#events = events;
    this.roster = new Roster(options, this, onRun, events);
    const sender = new WorkerSender(options.workers, this.roster, () => this.#sweep.wake());
    this.#waiting = new WaitingGroups(options, sender);
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
    // A call whose procedure has `maxConcurrency` must be able to wait without its neighbours.
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
    // No message tells of the room that the group leaves on its worker.
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
    const now = clockMs();
    return {
      workers: active.map((worker) => statsOf(worker, now)),
      lane: lane && statsOf(lane, now),
      spares,
      starting,
      queued: this.#waiting.size,
      deaths: deaths.exit + deaths.memory + deaths.error,
      kills,
      zombies: zombiesNow,
    };
  }

  /**
   * Finishes the calls that are here, for `graceMs` at most. After that, a call that never started gets -32003, and a
   * call that still runs -32002. Waits for streams, too: `OpenStreams`, which keeps them, tells them to end. Resolves
   * when the threads are gone.
   *
   * @param loadingMs see {@link Roster.close}
   * @param isGivenUp see there
   */
  async close(graceMs: number, loadingMs = 0, isGivenUp = false): Promise<void> {
    const until = clockMs() + graceMs;
    this.#closing = true;
    if (!this.#isAnswered) await this.#vacancy.within(graceMs);
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

  /** Why the calls of a request are refused before they wait; undefined: they are not. */
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

  /** Whether no call waits for an answer, and no stream is open. */
  get #isAnswered(): boolean {
    const isOver = ({ isAnswered, streams }: WorkerState): boolean =>
      isAnswered && streams.open === 0;
    return this.#waiting.size === 0 && this.roster.all.every(isOver);
  }

  #tellDrained(): void {
    if (this.#closing && this.#isAnswered) this.#vacancy.tell();
  }

  /**
   * Looks at deadlines, waiting times and overruns.
   *
   * @returns false where there is nothing to look at
   */
  #look(now: number): boolean {
    // A call that was expected to be short and is not keeps its thread from telling of the results before it: they are
    // read now.
    for (const { thread } of this.roster.all) thread.collect();
    // A copy: the roster changes with a kill.
    for (const worker of this.roster.all.slice()) this.#lookAt(worker, now);
    // After the workers: groups that they gave back may be overdue.
    this.#waiting.expire(now);
    if (this.#waiting.hasNext) this.#waiting.plan();
    this.#tellDrained();
    const isRecycling = this.roster.recycle();
    if (this.#hasStreams) this.#streamSweep.wake();
    return (
      isRecycling || this.#waiting.size > 0 || this.roster.all.some((worker) => !worker.isQuiet)
    );
  }

  /**
   * Looks at each thread that has generators, once however many it has.
   *
   * @returns false where there are no generators
   */
  #lookAtStreams(now: number): boolean {
    for (const worker of this.roster.all.slice()) {
      if (worker.streams.generators === 0) continue;
      // A value may lie in the outbox whose generator holds the thread now.
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
    // The calls behind an overdue call of a batch must not wait for that call to end.
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

  /**
   * Kills a worker whose thread gives no sign of life.
   *
   * @returns whether it was killed
   */
  #endsHung(worker: WorkerState, now: number): boolean {
    if (!worker.isAnswered || !worker.pulse.isHung(now)) return false;
    this.#waiting.addBack(worker.takeBack());
    this.roster.kill(worker);
    const detail = 'it was held up outside of any call for longer than a call may run';
    this.#events.onLost('error', detail);
    return true;
  }
}

function statsOf(worker: WorkerState, now: number): WorkerStats {
  const { threadId, inFlight, completed, streams, orphans } = worker;
  const { left, overdue } = orphans;
  const running = worker.runningAt(now);
  return { threadId, inFlight, completed, streams: streams.open, left, overdue, running };
}

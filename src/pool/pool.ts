import { clockMs } from '../base/clock.ts';
import { placeOfGroup } from '../base/worker-group.ts';
import type { Call } from '../dispatch/call.ts';
import { cancelled, limitExceeded } from '../dispatch/limit.ts';
import type { CallTrain } from '../dispatch/queue/call-train.ts';
import { QueuedExecutor } from '../dispatch/queue/queued-executor.ts';
import { Sweep } from '../dispatch/queue/sweep.ts';
import { WaitingTrains } from '../dispatch/queue/waiting-trains.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import type { CallListeners, PoolOptions, RosterOwner } from './pool-options.ts';
import type { PoolStats, WorkerStats } from './stats.ts';
import type { WorkerEvents } from './worker-events.ts';
import { WorkerSender } from './worker-sender.ts';
import { Roster } from './workers/roster.ts';
import type { WorkerState } from './workers/worker-state.ts';

/** How often the pool looks at its calls, and at threads that have streams, milliseconds. */
const [callsEveryMs, streamsEveryMs] = [10, 50];

/** How long threads may take to tear down and end, even where no grace is left, milliseconds. */
const shortestEndMs = 1000;

/**
 * The executor over worker threads. Calls that arrive in one turn of the event loop leave together, in one message for
 * each worker. Calls that find no worker wait in a bounded queue.
 */
export class Pool extends QueuedExecutor implements RosterOwner {
  readonly roster: Roster;
  readonly #options: PoolOptions;
  readonly #events: WorkerEvents;
  protected readonly waiting: WaitingTrains;
  readonly #sweep = new Sweep(callsEveryMs, (now) => this.#look(now));
  readonly #streamSweep = new Sweep(streamsEveryMs, (now) => this.#lookAtStreams(now));

  /** @param events told of what happens to the workers */
  constructor(options: PoolOptions, { observer, onRun }: CallListeners, events: WorkerEvents) {
    super(placeOfGroup(options.group), options.replica.maxReplyBytes, observer);
    this.#options = options;
    this.#events = events;
    this.roster = new Roster(options, this, onRun, events);
    const sender = new WorkerSender(options.workers, this.roster, () => this.#sweep.wake());
    this.waiting = new WaitingTrains(options, sender);
  }

  ready(): Promise<void> {
    return this.roster.probation.ready;
  }

  /** See {@link Roster.takeOtherCode}. */
  takeOtherCode(): void {
    this.roster.takeOtherCode();
  }

  override executeInOrder(calls: readonly Call[]): Reply[] | Promise<Reply[]> {
    // A call whose procedure has `maxConcurrency` must be able to wait without its neighbours.
    return calls.some(({ procedure }) => procedure.maxConcurrency !== undefined)
      ? this.#executeOneByOne(calls)
      : super.executeInOrder(calls);
  }

  onTooLarge(train: CallTrain): void {
    for (const worker of this.roster.all) worker.takeBack(train);
    this.waiting.refuse(train, limitExceeded(this.ending.maxReplyBytes));
  }

  onCancelled(train: CallTrain): void {
    if (train.state !== 'queued') {
      for (const worker of this.roster.all) {
        worker.takeBack(train);
        worker.expiry.cancel(train);
      }
    }
    this.waiting.refuse(train, cancelled);
    // No message tells of the room that the train leaves on its worker.
    this.onCapacity();
  }

  onCapacity(): void {
    if (this.waiting.hasNext) this.waiting.plan();
    else this.tellVacancy();
  }

  onUnstarted(trains: readonly CallTrain[]): void {
    this.waiting.addBack(trains);
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
      queued: this.waiting.size,
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
    await this.stopIntake(graceMs);
    this.#sweep.stop();
    this.#streamSweep.stop();
    for (const worker of this.roster.all) {
      for (const train of worker.takeBack()) this.waiting.refuse(train, cancelled);
      worker.abandon();
    }
    this.waiting.refuseAll(cancelled);
    await this.roster.close(Math.max(until - clockMs(), shortestEndMs), loadingMs, isGivenUp);
  }

  async #executeOneByOne(calls: readonly Call[]): Promise<Reply[]> {
    const replies: Reply[] = [];
    for (const call of calls) replies.push(await this.execute(call));
    return replies;
  }

  /** Whether no call waits for an answer, and no stream is open. */
  protected get isAnswered(): boolean {
    const isOver = ({ isAnswered, streams }: WorkerState): boolean =>
      isAnswered && streams.open === 0;
    return this.waiting.size === 0 && this.roster.all.every(isOver);
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
    // After the workers: trains that they gave back may be overdue.
    this.waiting.expire(now);
    if (this.waiting.hasNext) this.waiting.plan();
    this.tellVacancy();
    const isRecycling = this.roster.recycle();
    if (this.#hasStreams) this.#streamSweep.wake();
    return (
      isRecycling || this.waiting.size > 0 || this.roster.all.some((worker) => !worker.isQuiet)
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
    this.tellVacancy();
    if (this.roster.recycle()) this.#sweep.wake();
    return this.#hasStreams;
  }

  get #hasStreams(): boolean {
    return this.roster.all.some(({ streams }) => streams.generators > 0);
  }

  #lookAt(worker: WorkerState, now: number): void {
    // The calls behind an overdue call of a batch must not wait for that call to end.
    const stuck = worker.expiry.expire(now, (train) =>
      this.waiting.addBack(worker.takeBack(train)),
    );
    if (stuck !== undefined) {
      this.#kill(worker, stuck.call.procedure.name);
    } else if (worker.pulse.hasOverrun(now)) {
      this.waiting.addBack(worker.takeBack());
      worker.pulse.markOverrun(now);
    } else {
      this.#endsHung(worker, now);
    }
  }

  #kill(worker: WorkerState, method: string): void {
    this.waiting.addBack(worker.takeBack());
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
    this.waiting.addBack(worker.takeBack());
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

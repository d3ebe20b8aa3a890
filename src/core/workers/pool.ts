import { clockMs } from '../base/clock.ts';
import { placeOfGroup } from '../base/place.ts';
import {
  type AffinityOutcome,
  type Call,
  type CallObserver,
  cancelled,
  limitExceeded,
  overloaded,
  type Refusal,
} from '../dispatch/call.ts';
import { Sweep } from '../dispatch/deadline.ts';
import {
  type CallGroup,
  hasRoom,
  passUs,
  shortBoundUs,
  type WorkerLoad,
} from '../dispatch/queue/call-group.ts';
import {
  type Heads,
  QueuedExecutor,
  type WaitingGroups,
} from '../dispatch/queue/queued-executor.ts';
import { promised, type Reply, type ReplySink } from '../protocol/reply.ts';
import type { Overrun, UnstartedCalls } from './calls.ts';
import type { PoolOptions, PoolStats, WorkerEvents } from './options.ts';
import type { HeapSnapshot, PoolWorker } from './worker.ts';
import { WorkerSet } from './workers.ts';

/** How often the pool looks at its calls, and at threads that have streams, milliseconds. */
const [callsEveryMs, streamsEveryMs] = [10, 50];

/** How long threads may take to tear down and end, even where no grace is left, milliseconds. */
const shortestEndMs = 1000;

/**
 * The executor over worker threads. Calls that arrive in one turn of the event loop leave together, in one message for
 * each worker. Calls that find no worker wait in a bounded queue.
 */
export class Pool extends QueuedExecutor {
  readonly workers: WorkerSet;
  readonly #options: PoolOptions;
  readonly #events: WorkerEvents;
  readonly #sweep = new Sweep(callsEveryMs, (now) => this.#look(now));
  readonly #streamSweep = new Sweep(streamsEveryMs, (now) => this.#lookAtStreams(now));

  /** Workers where calls wait for the end of a slice, and could start nowhere else at the last look. */
  #behindSlices: PoolWorker[] = [];

  /** @param events called for what happens to the workers */
  constructor(options: PoolOptions, observer: CallObserver | undefined, events: WorkerEvents) {
    super(placeOfGroup(options.group), options, options.replica.maxReplyBytes, observer);
    this.#options = options;
    this.#events = events;
    this.workers = new WorkerSet(options, this.waiting, events, () => this.#onCapacity());
  }

  /** Resolves when every worker serves; rejects if one could not load its modules. */
  ready(): Promise<void> {
    return this.workers.startup.ready;
  }

  /** A group that finds all workers at rest goes at once, and the calls behind it share the next frame. */
  get isIdle(): boolean {
    return this.workers.active.every((worker) => worker.inFlight === 0);
  }

  /** Sends one frame to each worker. */
  send(waiting: WaitingGroups): void {
    const { active, express } = this.workers;
    if (waiting.hasStopped) waiting.resume((head) => this.#mayRun(head));
    for (;;) {
      const heads = waiting.heads();
      const hasBatch = heads.short?.batch !== undefined || heads.long?.batch !== undefined;
      if (hasBatch && this.#stopsOne(heads, waiting)) continue;
      const next = assign(heads, active, express);
      if (next === undefined) break;
      const { group, worker } = next;
      if (worker === 'crowded') {
        waiting.refuse(group, refusalOfCrowded(active, clockMs()));
        continue;
      }
      // A worker that holds back shows that no worker is idle: a long group would find none either.
      if (worker.holdsBack(waiting.sizeBeside(group))) break;
      const isIdle = worker.loadUs === 0;
      if (group.batch !== undefined) {
        this.#sendTogether(group, worker, waiting);
        continue;
      }
      waiting.take(group, worker === express ? 0 : passUs(group.nextUs, isIdle));
      this.#sendTo(worker, group);
    }
    for (const worker of active) worker.calls.flush();
    express?.calls.flush();
  }

  #sendTo(worker: PoolWorker, group: CallGroup): void {
    if (group.procedure.affinity !== undefined) this.#noteAffinity(group, worker);
    group.sendTo(worker.calls);
  }

  #noteAffinity(group: CallGroup, worker: PoolWorker): void {
    // Calls in order of a request go together, to any worker.
    if (group.calls.length > 1) return;
    const { home } = group;
    const outcome: AffinityOutcome = home === -1 ? 'none' : worker.home === home ? 'hit' : 'steal';
    group.affinity = { outcome, waitMs: clockMs() - group.arrivedAt };
  }

  /** Calls of a batch procedure run together: what waits is shared out among the workers that are idle. */
  #sendTogether(head: CallGroup, worker: PoolWorker, waiting: WaitingGroups): void {
    const { active, express } = this.workers;
    const isExpress = worker === express;
    const isIdle = worker.loadUs === 0;
    let idle = 0;
    for (const one of active) if (one.loadUs === 0 && one.mayRun(head)) idle++;
    const share = Math.ceil(waiting.together(head) / Math.max(idle, 1));
    const run = {
      calls: Math.min(share, worker.freeSlots),
      us: isExpress ? shortBoundUs : Number.POSITIVE_INFINITY,
    };
    const groups = waiting.takeTogether(head, run, (us) => (isExpress ? 0 : passUs(us, isIdle)));
    worker.calls.sendTogether(groups);
  }

  /** Stops a head of a batch procedure that no worker may run now, so that others pass. Returns whether it did. */
  #stopsOne({ short, long }: Heads<CallGroup>, waiting: WaitingGroups): boolean {
    return this.#stops(short, waiting) || this.#stops(long, waiting);
  }

  #stops(head: CallGroup | undefined, waiting: WaitingGroups): boolean {
    if (head?.batch === undefined || this.#mayRun(head)) return false;
    waiting.stop(head);
    return true;
  }

  #mayRun(head: CallGroup): boolean {
    const { active, express } = this.workers;
    if (active.some((worker) => worker.mayRun(head))) return true;
    return express?.mayRun(head) === true && active.every(isTaken);
  }

  defer(act: () => void): void {
    setImmediate(act);
  }

  onSent(): void {
    this.#sweep.wake();
  }

  /** Judged by earlier runs. */
  busyForMs(queuedUs: number): number {
    let workUs = queuedUs;
    for (const { calls } of this.workers.active) workUs += calls.loadUs;
    return wholeMs(workUs / 1000 / this.#options.workers);
  }

  override executeInOrder(calls: readonly Call[], sink: ReplySink<readonly Reply[]>): void {
    // A call whose procedure has `maxConcurrency` must be able to wait without its neighbours.
    if (calls.some(({ procedure }) => procedure.maxConcurrency !== undefined))
      void this.#executeOneByOne(calls).then((replies) => sink.onReply(replies));
    else super.executeInOrder(calls, sink);
  }

  onTooLarge(group: CallGroup): void {
    for (const worker of this.workers.all) worker.calls.takeBack((sent) => sent === group);
    this.waiting.refuse(group, limitExceeded(this.ending.maxReplyBytes));
  }

  onCancelled(group: CallGroup): void {
    if (group.state !== 'queued') {
      for (const worker of this.workers.all) {
        worker.calls.takeBack((sent) => sent === group);
        worker.calls.cancel(group);
      }
    }
    this.waiting.refuse(group, cancelled);
    // No message tells of the room that the group leaves on its worker.
    this.#onCapacity();
  }

  get inFlight(): number {
    let calls = 0;
    for (const { inFlight } of this.workers.all) calls += inFlight;
    return calls;
  }

  /** Has each worker replaced by a fresh one after its calls and streams. @returns how many they are */
  recycle(): number {
    const count = this.workers.dismiss();
    this.#sweep.wake();
    return count;
  }

  /** See {@link WorkerSet.dismissForHeap}. */
  retireForHeap(worker: PoolWorker, heap: HeapSnapshot): void {
    this.workers.dismissForHeap(worker, heap);
    this.#sweep.wake();
  }

  stats(): PoolStats {
    const { active, express, spares, loading } = this.workers;
    const { counts, zombiesNow } = this.#options.counters;
    const now = clockMs();
    return {
      workers: active.map((worker) => worker.statsAt(now)),
      lane: express?.statsAt(now),
      spares,
      starting: loading.length,
      queued: this.waiting.size,
      deaths: counts.deathsByExit + counts.deathsByMemory + counts.deathsByError,
      kills: counts.kills,
      zombies: zombiesNow,
    };
  }

  /**
   * Finishes the calls and streams that are here, for `graceMs` at most; whoever keeps the streams tells them to end. After
   * that, a call that never started gets -32003, and a call that still runs -32002. Resolves when the threads are gone.
   *
   * @param loadingMs see {@link WorkerSet.close}
   * @param isGivenUp see there
   */
  async close(graceMs: number, loadingMs = 0, isGivenUp = false): Promise<void> {
    const until = clockMs() + graceMs;
    await this.stopIntake(graceMs);
    this.#sweep.stop();
    this.#streamSweep.stop();
    for (const worker of this.workers.all) {
      for (const group of worker.calls.takeBack()) this.waiting.refuse(group, cancelled);
      worker.abandon();
    }
    this.waiting.refuseAll(cancelled);
    await this.workers.close(Math.max(until - clockMs(), shortestEndMs), loadingMs, isGivenUp);
  }

  /** A worker can take more calls, or has ended something. */
  #onCapacity(): void {
    if (this.#behindSlices.length > 0) this.#lookBehindSlices();
    if (this.waiting.hasNext) this.waiting.plan();
    else this.tellVacancy();
  }

  async #executeOneByOne(calls: readonly Call[]): Promise<Reply[]> {
    const replies: Reply[] = [];
    for (const call of calls) {
      replies.push(await promised<Reply>((sink) => this.execute(call, sink)));
    }
    return replies;
  }

  /** Whether no call waits for an answer, and no stream is open. */
  protected get isAnswered(): boolean {
    return this.waiting.size === 0 && this.workers.all.every(({ isAnswered }) => isAnswered);
  }

  /** Looks at deadlines, waiting times and overruns. Returns whether there is anything left to look at. */
  #look(now: number): boolean {
    // A call that was expected to be short and is not keeps its thread from telling of the results before it.
    for (const { thread } of this.workers.all) thread.collect();
    if (this.waiting.size > 0) this.#chargeStreams(now);
    this.#behindSlices = [];
    // A copy: the set changes with a kill.
    for (const worker of this.workers.all.slice()) this.#lookAt(worker, now);
    // After the workers: groups that they gave back may be overdue.
    this.waiting.expire(now);
    if (this.waiting.hasNext) this.waiting.plan();
    this.tellVacancy();
    const isRecycling = this.workers.recycle();
    if (this.#hasStreams) this.#streamSweep.wake();
    return (
      isRecycling || this.waiting.size > 0 || this.workers.all.some((worker) => !worker.isQuiet)
    );
  }

  /** Callers pay for the generators that compute now, by the time between two looks. */
  #chargeStreams(now: number): void {
    for (const { streams, thread } of this.workers.all) {
      if (streams.generators === 0) continue;
      const { stretch } = thread.ledger;
      const call = stretch && streams.callOf(stretch.ticket);
      if (stretch === undefined || call === undefined) continue;
      this.waiting.charge(call.scope, Math.min(now - stretch.since, callsEveryMs) * 1000);
    }
  }

  /** Looks at each thread that has generators. Returns whether there are any. */
  #lookAtStreams(now: number): boolean {
    for (const worker of this.workers.all.slice()) {
      if (worker.streams.generators === 0) continue;
      // A value may lie in the outbox whose generator holds the thread now.
      worker.thread.collect();
      const stuck = worker.streams.expire(now);
      if (stuck !== undefined) this.#kill(worker, stuck);
      else if (!this.#endsHung(worker, now)) worker.watchdog.askNowAndThen(now);
    }
    this.tellVacancy();
    if (this.workers.recycle()) this.#sweep.wake();
    return this.#hasStreams;
  }

  get #hasStreams(): boolean {
    return this.workers.all.some(({ streams }) => streams.generators > 0);
  }

  #lookAt(worker: PoolWorker, now: number): void {
    // The calls behind an overdue call of a batch must not wait for that call to end.
    const stuck = worker.calls.expire(now, (group) =>
      this.waiting.addBack(worker.calls.takeBack((sent) => sent === group)),
    );
    if (stuck !== undefined) {
      this.#kill(worker, stuck.call.procedure.name);
      return;
    }
    const overrun = worker.watchdog.overrun(now);
    if (overrun !== undefined && this.#moveFrom(worker, overrun, now)) return;
    if (overrun === 'stall') worker.watchdog.probe(now);
    this.#endsHung(worker, now);
  }

  /**
   * Takes calls back from a thread that is held up, to whatever thread has room next. But a thread with generators reads its
   * port between two slices: what is taken back from there, and sent again, may come when the next slice has begun, slice after
   * slice. From there a call goes straight to a thread that can start it now, and at most once. Else it stays.
   *
   * @returns false if all of them stay
   */
  #moveFrom(worker: PoolWorker, overrun: Overrun, now: number): boolean {
    if (worker.streams.generators > 0) {
      this.#moveOn(worker, now);
      this.#behindSlices.push(worker);
      return false;
    }
    const groups = worker.calls.takeBack((group) => overrun === 'call' || !group.cameBack);
    if (groups.length === 0 && overrun !== 'call') return false;
    this.waiting.addBack(groups);
    worker.watchdog.markOverrun(now);
    return true;
  }

  #moveOn(worker: PoolWorker, now: number): void {
    const { active, express } = this.workers;
    const isFree = (other: PoolWorker): boolean => other !== worker && other.watchdog.isFree(now);
    const free = active.filter(isFree);
    const lane = express !== undefined && isFree(express) ? [express] : [];
    if (free.length === 0 && lane.length === 0) return;
    for (const run of worker.calls.unstarted) {
      const { stream } = run.first.procedure;
      const isShort = run.leastUs <= shortBoundUs && stream === undefined;
      const target = starterOf(run, free) ?? (isShort ? starterOf(run, lane) : undefined);
      if (target === undefined) continue;
      const groups = worker.calls.takeBack((group) => run.groups.has(group));
      // One of them may have begun meanwhile: the calls after it go on when it has ended.
      const ready = groups.filter(({ mayGoOn }) => mayGoOn);
      if (run.first.batch !== undefined) target.calls.sendTogether(ready);
      else for (const group of ready) this.#sendTo(target, group);
      target.calls.flush();
    }
  }

  /** A worker has room: calls that wait behind a slice elsewhere are older than many that wait for a worker. */
  #lookBehindSlices(): void {
    const workers = this.#behindSlices;
    this.#behindSlices = [];
    const now = clockMs();
    for (const worker of workers) {
      const overrun = worker.watchdog.overrun(now);
      if (overrun !== undefined) this.#moveFrom(worker, overrun, now);
    }
  }

  #kill(worker: PoolWorker, method: string): void {
    const ms = worker.runningAt(clockMs())?.ms;
    this.waiting.runAlone([method]);
    void this.workers.killStuck(worker).then((detail) => this.#events.onKilled(method, ms, detail));
  }

  /** Kills a worker whose thread gives no sign of life. Returns whether it did. */
  #endsHung(worker: PoolWorker, now: number): boolean {
    if (worker.watchdog.isDeaf(now)) {
      this.workers.onBroken(worker, 'it does not read what it is sent');
      return true;
    }
    if (!worker.watchdog.isHung(now) || worker.hasStarted) return false;
    const suspects = worker.suspects();
    this.waiting.runAlone(suspects.names);
    const why = 'it was held up outside of any call for longer than a call may run';
    void this.workers.killStuck(worker).then((seen) => {
      const detail = seen === undefined ? why : `${why}\n${seen}`;
      this.#events.onLost('error', detail, suspects);
    });
    return true;
  }
}

/** Of threads that are free, the one that takes calls which have not begun elsewhere. */
function starterOf(run: UnstartedCalls, free: readonly PoolWorker[]): PoolWorker | undefined {
  const { first, expectedUs, calls } = run;
  const isOpen = (worker: PoolWorker): boolean =>
    !worker.isCrowdedBy(first) && (first.batch === undefined || worker.mayRun(first));
  return chooseWorker(free.filter(isOpen), expectedUs, calls);
}

/** What the choice of a worker depends on in a group. */
type WaitingGroup = Pick<CallGroup, 'nextUs' | 'waiting'> &
  Partial<Pick<CallGroup, 'batch' | 'procedure' | 'home'>>;

/**
 * The worker that takes calls of an expected cost; undefined: no worker does now. A worker takes calls that fit its
 * budget, an idle worker takes any. Of several workers the least loaded one takes the calls, and of equally loaded
 * workers the one with the fewest streams.
 */
export function chooseWorker<Worker extends WorkerLoad>(
  workers: readonly Worker[],
  costUs: number,
  slots: number,
): Worker | undefined {
  let best: Worker | undefined;
  for (const worker of workers) {
    if (!hasRoom(worker, costUs, slots)) continue;
    const { loadUs } = worker;
    const isLess =
      best === undefined ||
      loadUs < best.loadUs ||
      (loadUs === best.loadUs && worker.streamCount < best.streamCount);
    if (isLess) best = worker;
  }
  return best;
}

/** What the choice of a worker depends on in a worker. */
interface Candidate<Group> extends WorkerLoad {
  /** The place of the worker in its pool, which affinity names. undefined: it is the home of no key. */
  readonly home?: number;
  /** Whether a long call, or one that has run for long, is in the way of a call that comes now. */
  readonly isHeldByLong: boolean;
  /** Whether callers have left so many calls of the group's procedures on the worker that it takes no more of them. */
  isCrowdedBy(group: Group): boolean;
  /** Whether the worker has room for a run of the group's batch procedure. Asked only for such a group. */
  mayRun?(group: Group): boolean;
}

/** `crowded`: the group is refused, since every worker that has room is crowded by calls of its procedures. */
interface Assignment<Group, Worker> {
  readonly group: Group;
  readonly worker: Worker | 'crowded';
}

/**
 * The group that goes next, and its worker; undefined: no group can go now. Short groups go first until a long one is
 * due. A short group goes to the express worker if a long call is in its way at every worker. If the workers merely have
 * work for a millisecond, it waits for them: small calls share a message.
 */
export function assign<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  { short, long, isLongDue }: Heads<Group>,
  workers: readonly Worker[],
  express: Worker | undefined,
): Assignment<Group, Worker> | undefined {
  if (isLongDue) {
    // The worker that will be idle next gets no further short groups: with them it would never be idle.
    return place(long, workers) ?? placeShort(short, withoutNextIdle(workers), workers, express);
  }
  return placeShort(short, workers, workers, express) ?? place(long, workers);
}

/** @param open the workers that take short groups now */
function placeShort<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  group: Group | undefined,
  open: readonly Worker[],
  workers: readonly Worker[],
  express: Worker | undefined,
): Assignment<Group, Worker> | undefined {
  if (group === undefined) return undefined;
  const placed = place(group, open);
  if (express === undefined) return placed;
  // A stream that opens there would take the express worker from the short calls.
  if (placed !== undefined && (!isBehindSlice(placed) || group.procedure?.stream !== undefined))
    return placed;
  if (!workers.every(isTaken)) return placed;
  if (group.batch !== undefined && express.mayRun?.(group) !== true) return placed;
  if (chooseWorker([express], group.nextUs, group.waiting) === undefined) return placed;
  return express.isHeldByLong || express.isCrowdedBy(group) ? placed : { group, worker: express };
}

/** Whether a generator has held the worker's thread for longer than a short call may take. */
function isBehindSlice({ worker }: Assignment<unknown, Candidate<never>>): boolean {
  return worker !== 'crowded' && worker.streamCount > 0 && worker.isHeldByLong;
}

/** Whether a short call had to wait here for a long one. */
function isTaken({ freeSlots, isHeldByLong }: Pick<PoolWorker, 'freeSlots' | 'isHeldByLong'>) {
  return freeSlots === 0 || isHeldByLong;
}

/**
 * If the chosen worker is crowded, the group goes to another worker that has room now, or is refused. It does not wait,
 * since groups that any worker takes would wait for it.
 */
function place<Group extends WaitingGroup, Worker extends Candidate<Group>>(
  group: Group | undefined,
  all: readonly Worker[],
): Assignment<Group, Worker> | undefined {
  if (group === undefined) return undefined;
  const { nextUs, waiting, batch, home = -1 } = group;
  const workers = batch === undefined ? all : all.filter((one) => one.mayRun?.(group) === true);
  // A call goes to the worker of its key if that one has room now, and never waits for it.
  const own = home === -1 ? undefined : workers.find((one) => one.home === home);
  const worker =
    (own && chooseWorker([own], nextUs, waiting)) ?? chooseWorker(workers, nextUs, waiting);
  if (worker === undefined) return undefined;
  if (!worker.isCrowdedBy(group)) return { group, worker };
  const others = workers.filter((one) => !one.isCrowdedBy(group));
  return { group, worker: chooseWorker(others, nextUs, waiting) ?? 'crowded' };
}

function withoutNextIdle<Worker extends WorkerLoad>(workers: readonly Worker[]): Worker[] {
  let next: Worker | undefined;
  for (const worker of workers) {
    if (worker.freeSlots === 0) continue;
    if (next === undefined || worker.loadUs < next.loadUs) next = worker;
  }
  return workers.filter((worker) => worker !== next);
}

/** The refusal says after what time the first of the calls that nobody waits for is given up. */
function refusalOfCrowded(workers: readonly PoolWorker[], now: number): Refusal {
  const ms = Math.min(...workers.map((worker) => worker.crowdedForMs(now)));
  // Else the workers are crowded by their generators.
  const hasOrphans = workers.some(({ calls }) => calls.orphans.left.total > 0);
  return overloaded(hasOrphans ? 'orphans' : 'generators', wholeMs(ms));
}

function wholeMs(ms: number): number {
  return Math.max(1, Math.ceil(ms));
}

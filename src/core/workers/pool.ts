import { clockMs } from '../base/clock.ts';
import { placeOfGroup } from '../base/place.ts';
import {
  type AffinityOutcome,
  type CallObserver,
  cancelled,
  limitExceeded,
  overloaded,
  type Refusal,
} from '../dispatch/call.ts';
import { Sweep } from '../dispatch/deadline.ts';
import { hasRoom, passUs, shortBoundUs, type WorkerLoad } from '../dispatch/queue/cost.ts';
import type { QueuedCall } from '../dispatch/queue/queued-call.ts';
import { type Heads, QueuedExecutor } from '../dispatch/queue/queued-executor.ts';
import type { UnstartedCalls } from './calls.ts';
import type { PoolOptions, PoolStats, WorkerEvents } from './options.ts';
import type { Overrun } from './watchdog.ts';
import type { HeapSnapshot, PoolWorker } from './worker.ts';
import { WorkerSet } from './workers.ts';

/** How often the pool looks at its calls, and at threads that have streams, milliseconds. */
const [callsEveryMs, streamsEveryMs] = [10, 50];

/** How long threads may take to tear down and end, even where no grace is left, milliseconds. */
const minEndMs = 1000;

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
    this.workers = new WorkerSet(options, this, events, () => this.#onCapacity());
  }

  /** Resolves when every worker serves; rejects if one could not load its modules. */
  ready(): Promise<void> {
    return this.workers.startup.ready;
  }

  /** A call that finds all workers at rest goes at once, and the calls behind it share the next frame. */
  protected get isIdle(): boolean {
    return this.workers.active.every((worker) => worker.inFlight === 0);
  }

  /** Sends one frame to each worker. */
  protected send(): void {
    const { active, express } = this.workers;
    this.resumeProcedures((head) => this.#mayRun(head));
    for (;;) {
      const heads = this.heads();
      const hasBatch = heads.short?.rules !== undefined || heads.long?.rules !== undefined;
      if (hasBatch && this.#stopsOne(heads)) continue;
      const next = assign(heads, active, express);
      if (next === undefined) break;
      const { item, worker } = next;
      if (worker === 'crowded') {
        this.refuse(item, refusalOfCrowded(active, clockMs()));
        continue;
      }
      // A worker that holds back shows that no worker is idle: a long call would find none either.
      if (worker.holdsBack(this.sizeBeside(item))) break;
      const isIdle = worker.loadUs === 0;
      if (item.rules !== undefined) {
        this.#sendTogether(item, worker);
        continue;
      }
      this.take(item, worker === express ? 0 : passUs(item.nextUs, isIdle));
      this.#sendTo(worker, item);
    }
    for (const worker of active) worker.calls.flush();
    express?.calls.flush();
  }

  #sendTo(worker: PoolWorker, item: QueuedCall): void {
    if (item.procedure.affinity !== undefined && item.order === undefined)
      noteAffinity(item, worker);
    item.sendTo(worker.calls);
  }

  /** Calls of a batch procedure run together: what waits is shared out among the workers that are idle. */
  #sendTogether(head: QueuedCall, worker: PoolWorker): void {
    const { active, express } = this.workers;
    const isExpress = worker === express;
    const isIdle = worker.loadUs === 0;
    let idle = 0;
    for (const one of active) if (one.loadUs === 0 && one.mayRun(head)) idle++;
    const share = Math.ceil(this.sizeTogether(head) / Math.max(idle, 1));
    const run = {
      calls: Math.min(share, worker.freeSlots),
      us: isExpress ? shortBoundUs : Number.POSITIVE_INFINITY,
    };
    const items = this.takeTogether(head, run, (us) => (isExpress ? 0 : passUs(us, isIdle)));
    worker.calls.sendTogether(items);
  }

  /** Stops a head of a batch procedure that no worker may run now, so that others pass. Returns whether it did. */
  #stopsOne({ short, long }: Heads<QueuedCall>): boolean {
    return this.#stops(short) || this.#stops(long);
  }

  #stops(head: QueuedCall | undefined): boolean {
    if (head?.rules === undefined || this.#mayRun(head)) return false;
    this.setAside(head);
    return true;
  }

  #mayRun(head: QueuedCall): boolean {
    const { active, express } = this.workers;
    if (active.some((worker) => worker.mayRun(head))) return true;
    return express?.mayRun(head) === true && active.every(isTaken);
  }

  protected defer(act: () => void): void {
    setImmediate(act);
  }

  protected onSent(): void {
    this.#sweep.wake();
  }

  /** Judged by earlier runs. */
  protected busyForMs(queuedUs: number): number {
    let workUs = queuedUs;
    for (const { calls } of this.workers.active) workUs += calls.loadUs;
    return wholeMs(workUs / 1000 / this.#options.workers);
  }

  onTooLarge(item: QueuedCall): void {
    if (isAtNoWorker(item)) this.refuse(item, limitExceeded(this.ending.maxReplyBytes));
  }

  onCancelled(item: QueuedCall): void {
    if (isAtNoWorker(item)) this.refuse(item, cancelled);
    else item.receiver?.cancel(item);
    // No message tells of the room that the call leaves on its worker.
    this.#onCapacity();
  }

  get inFlight(): number {
    let calls = 0;
    for (const { inFlight } of this.workers.all) calls += inFlight;
    return calls;
  }

  /** Has a worker write a snapshot of its heap when it has ended its calls, and replaced by a fresh one. */
  retireForHeap(worker: PoolWorker, heap: HeapSnapshot): void {
    worker.heap = heap;
    this.#sweep.wake();
  }

  stats(): PoolStats {
    const { active, express, spares, loading } = this.workers;
    const { counts, zombiesNow } = this.#options.counters;
    const now = clockMs();
    return {
      workers: active.map((worker) => worker.statsAt(now)),
      express: express?.statsAt(now),
      spares,
      starting: loading.length,
      queued: this.queued,
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
      for (const item of worker.calls.takeBack()) this.refuse(item, cancelled);
      worker.abandon();
    }
    this.refuseQueued(cancelled);
    await this.workers.close(Math.max(until - clockMs(), minEndMs), loadingMs, isGivenUp);
  }

  /** A worker can take more calls, or has ended something. */
  #onCapacity(): void {
    if (this.#behindSlices.length > 0) this.#lookBehindSlices();
    if (this.hasNext) this.planSend();
    else this.tellVacancy();
  }

  /** Whether no call waits for an answer, and no stream is open. */
  protected get isAnswered(): boolean {
    return this.queued === 0 && this.workers.all.every(({ isAnswered }) => isAnswered);
  }

  /** Looks at deadlines, waiting times and overruns. Returns whether there is anything left to look at. */
  #look(now: number): boolean {
    // A call that was expected to be short and is not keeps its thread from telling of the results before it.
    for (const { thread } of this.workers.all) thread.collect();
    if (this.queued > 0) this.#chargeStreams(now);
    this.#behindSlices = [];
    // A copy: the set changes with a kill.
    for (const worker of this.workers.all.slice()) this.#lookAt(worker, now);
    // After the workers: calls that they gave back may be overdue.
    this.refuseLate(now);
    if (this.hasNext) this.planSend();
    this.tellVacancy();
    const isRecycling = this.workers.recycle();
    if (this.#hasStreams) this.#streamSweep.wake();
    return isRecycling || this.queued > 0 || this.workers.all.some((worker) => !worker.isQuiet);
  }

  /** Callers pay for the generators that compute now, by the time between two looks. */
  #chargeStreams(now: number): void {
    for (const { streams, thread } of this.workers.all) {
      if (streams.generators === 0) continue;
      const { stretch } = thread.ledger;
      const call = stretch && streams.callOf(stretch.ticket);
      if (stretch === undefined || call === undefined) continue;
      this.chargeCaller(call.scope, Math.min(now - stretch.since, callsEveryMs) * 1000);
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
    // The calls after an overdue call of a batch must not wait for that call to end.
    const stuck = worker.calls.expire(now, ({ order }) => {
      if (order !== undefined) this.addBack(worker.calls.takeBack((sent) => sent.order === order));
    });
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
    const items = worker.calls.takeBack((item) => overrun === 'call' || !item.isReturned);
    if (items.length === 0 && overrun !== 'call') return false;
    this.addBack(items);
    worker.watchdog.markOverrun(now);
    return true;
  }

  #moveOn(worker: PoolWorker, now: number): void {
    const { active, express } = this.workers;
    const isFree = (other: PoolWorker): boolean => other !== worker && other.watchdog.isFree(now);
    const free = active.filter(isFree);
    const freeExpress = express !== undefined && isFree(express) ? [express] : [];
    if (free.length === 0 && freeExpress.length === 0) return;
    for (const run of worker.calls.unstarted) {
      const { stream } = run.first.procedure;
      const isShort = run.leastUs <= shortBoundUs && stream === undefined;
      const target = starterOf(run, free) ?? (isShort ? starterOf(run, freeExpress) : undefined);
      if (target === undefined) continue;
      const items = worker.calls.takeBack((item) => run.items.has(item));
      // One of them may have begun meanwhile: the calls after it go on when it has ended.
      const ready = items.filter(({ before }) => before === undefined);
      if (run.first.rules !== undefined) target.calls.sendTogether(ready);
      else for (const item of ready) this.#sendTo(target, item);
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
    this.runAlone([method]);
    void this.workers.killStuck(worker).then((detail) => this.#events.onKilled(method, ms, detail));
  }

  /** Kills a worker whose thread gives no sign of life. Returns whether it did. */
  #endsHung(worker: PoolWorker, now: number): boolean {
    if (worker.watchdog.isDeaf(now, worker.tid)) {
      this.workers.onBroken(worker, 'it does not read what it is sent');
      return true;
    }
    if (!worker.watchdog.isHung(now) || worker.hasStarted) return false;
    const suspects = worker.suspects();
    this.runAlone(suspects.names);
    const why = 'it was held up outside of any call for longer than a call may run';
    void this.workers.killStuck(worker).then((seen) => {
      const detail = seen === undefined ? why : `${why}\n${seen}`;
      this.#events.onLost('error', detail, suspects);
    });
    return true;
  }
}

/** Whether no worker has a call, or not any more: it is taken back if it has not begun. */
function isAtNoWorker(item: QueuedCall): boolean {
  return item.state !== 'sent' || item.receiver?.withdraw(item) === true;
}

function noteAffinity(item: QueuedCall, worker: PoolWorker): void {
  const { home } = item;
  const outcome: AffinityOutcome = home === -1 ? 'none' : worker.home === home ? 'hit' : 'steal';
  item.affinity = { outcome, waitMs: clockMs() - item.arrivedAt };
}

/** Of threads that are free, the one that takes calls which have not begun elsewhere. */
function starterOf(run: UnstartedCalls, free: readonly PoolWorker[]): PoolWorker | undefined {
  const { first, expectedUs, items } = run;
  const isOpen = (worker: PoolWorker): boolean =>
    !worker.isCrowdedBy(first) && (first.rules === undefined || worker.mayRun(first));
  return chooseWorker(free.filter(isOpen), expectedUs, items.size);
}

/** What the choice of a worker depends on in a call. */
type Waiting = Pick<QueuedCall, 'nextUs' | 'waiting'> &
  Partial<Pick<QueuedCall, 'rules' | 'procedure' | 'home'>>;

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
interface Candidate<Item> extends WorkerLoad {
  /** The place of the worker in its pool, which affinity names. undefined: it is the home of no key. */
  readonly home?: number;
  /** Whether a long call, or one that has run for long, is in the way of a call that comes now. */
  readonly isHeldByLong: boolean;
  /** Whether callers have left so many calls of the call's procedures on the worker that it takes no more of them. */
  isCrowdedBy(item: Item): boolean;
  /** Whether the worker has room for a run of the call's batch procedure. Asked only for such a call. */
  mayRun?(item: Item): boolean;
}

/** `crowded`: the call is refused, since every worker that has room is crowded by calls of its procedures. */
interface Assignment<Item, Worker> {
  readonly item: Item;
  readonly worker: Worker | 'crowded';
}

/**
 * The call that goes next, and its worker; undefined: no call can go now. Short calls go first until a long one is
 * due. A short call goes to the express worker if a long call is in its way at every worker. If the workers merely have
 * work for a millisecond, it waits for them: small calls share a message.
 */
export function assign<Item extends Waiting, Worker extends Candidate<Item>>(
  { short, long, isLongDue }: Heads<Item>,
  workers: readonly Worker[],
  express: Worker | undefined,
): Assignment<Item, Worker> | undefined {
  if (isLongDue) {
    // The worker that will be idle next gets no further short calls: with them it would never be idle.
    return place(long, workers) ?? placeShort(short, withoutNextIdle(workers), workers, express);
  }
  return placeShort(short, workers, workers, express) ?? place(long, workers);
}

/** @param open the workers that take short calls now */
function placeShort<Item extends Waiting, Worker extends Candidate<Item>>(
  item: Item | undefined,
  open: readonly Worker[],
  workers: readonly Worker[],
  express: Worker | undefined,
): Assignment<Item, Worker> | undefined {
  if (item === undefined) return undefined;
  const placed = place(item, open);
  if (express === undefined) return placed;
  // A stream that opens there would take the express worker from the short calls.
  if (placed !== undefined && (!isBehindSlice(placed) || item.procedure?.stream !== undefined))
    return placed;
  if (!workers.every(isTaken)) return placed;
  if (item.rules !== undefined && express.mayRun?.(item) !== true) return placed;
  if (chooseWorker([express], item.nextUs, item.waiting) === undefined) return placed;
  return express.isHeldByLong || express.isCrowdedBy(item) ? placed : { item, worker: express };
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
 * If the chosen worker is crowded, the call goes to another worker that has room now, or is refused. It does not wait,
 * since calls that any worker takes would wait for it.
 */
function place<Item extends Waiting, Worker extends Candidate<Item>>(
  item: Item | undefined,
  all: readonly Worker[],
): Assignment<Item, Worker> | undefined {
  if (item === undefined) return undefined;
  const { nextUs, waiting, rules, home = -1 } = item;
  const workers = rules === undefined ? all : all.filter((one) => one.mayRun?.(item) === true);
  // A call goes to the worker of its key if that one has room now, and never waits for it.
  const own = home === -1 ? undefined : workers.find((one) => one.home === home);
  const worker =
    (own && chooseWorker([own], nextUs, waiting)) ?? chooseWorker(workers, nextUs, waiting);
  if (worker === undefined) return undefined;
  if (!worker.isCrowdedBy(item)) return { item, worker };
  const others = workers.filter((one) => !one.isCrowdedBy(item));
  return { item, worker: chooseWorker(others, nextUs, waiting) ?? 'crowded' };
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

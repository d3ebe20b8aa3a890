import { fileURLToPath } from 'node:url';
import { clockMs } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';
import { aWorkerOf, inlinePlace } from '../base/place.ts';
import { StartupError } from '../base/startup-error.ts';
import { isDoneWithin, Vacancy } from '../base/timer.ts';
import type { GroupOptions } from '../config/groups.ts';
import type { Executor, ExecutorFigures } from '../dispatch/executor.ts';
import { InlineExecutor, InlineHost } from '../dispatch/inline.ts';
import type { Routing } from '../dispatch/kernel.ts';
import {
  blockedToMove,
  decidePlacement,
  mayMove,
  mayRunAt,
  movedForBlocking,
  type PlacementDecision,
  type PlacementFacts,
  placedRemotely,
} from '../dispatch/placement.ts';
import { OpenStreams } from '../dispatch/streams/open-streams.ts';
import {
  describeStage,
  hangHint,
  type LoadControl,
  type LoadStage,
  orAborted,
} from '../modules/load-error.ts';
import { locateModule, SourceFiles } from '../modules/module-files.ts';
import { type LoadedModules, loadModules } from '../modules/modules.ts';
import { workerExecArgv } from '../modules/typescript.ts';
import {
  type Broadcast,
  type BroadcastOutcome,
  type BroadcastRun,
  toBroadcastRequest,
} from '../procedures/broadcast.ts';
import { fingerprint } from '../procedures/document/introspect.ts';
import { type AnyRouter, Router, tableOf } from '../procedures/router.ts';
import { usesTopics } from '../procedures/stream.ts';
import type { Procedure } from '../procedures/types.ts';
import { ChangedFileError } from '../workers/loading.ts';
import type { CountersByGroup, Expected, WorkerBroadcasts } from '../workers/options.ts';
import { Pool } from '../workers/pool.ts';
import type { PoolWorker } from '../workers/worker.ts';
import type { Replica } from './broadcasts.ts';
import type { ServiceContext } from './context.ts';
import { usedGroups } from './servable.ts';
import { logBroadcastFault, logFault, logLine, workerLog } from './worker-log.ts';

/** The pools of one deployment, by the group that their workers are; undefined: the workers of all other procedures. */
export type Pools = ReadonlyMap<string | undefined, Pool>;

/** A worker, with the group and the number by which operators know it. */
export interface NamedWorker {
  readonly group: string | undefined;
  readonly number: number;
  readonly pool: Pool;
  readonly worker: PoolWorker;
}

/** All workers of pools that have loaded and may have calls. */
export function workersOf(pools: Pools, counters: CountersByGroup): NamedWorker[] {
  return [...pools].flatMap(([group, pool]) => {
    const { seats } = counters.of(group);
    return pool.workers.all.map((worker) => {
      return { group, number: seats.of(worker)?.number ?? 0, pool, worker };
    });
  });
}

interface Placed {
  /** Changes once, if the procedure has blocked the main thread. */
  decision: PlacementDecision;
  executor: Executor;
  /** How often it has blocked the main thread since it was loaded, and for how long at most, milliseconds. */
  blocked: number;
  longestMs: number;
}

/** What to do about a procedure that blocks the main thread. */
const advice = {
  moves: `async does not make CPU work harmless; it moves to the workers at the ${blockedToMove}rd time, or declare placement: 'worker'`,
  moved: 'it runs in the workers now',
  declared: "it stays inline, as it is declared; declare placement: 'worker'",
  stream: "a stream is never moved; declare placement: 'worker'",
  topics:
    "it stays on the main thread, where the topics of this process live; declare placement: 'worker' if it uses none",
  alone: 'serve its router with the option modules, and it can run in workers',
};

/**
 * How long new code is watched in its worker before the serving thread loads that code. Code that throws late mostly
 * throws at once, or when its first connection is refused.
 */
const settleMs = 200;

/** How long a teardown may take even if there is no grace. Most teardowns only close what is open. */
const minTeardownMs = 1000;

/** How long the teardown of modules that never served may take. */
const teardownMs = 1000;

/** How modules come into a deployment. */
export interface ModuleLoad {
  /** The modules as the operator named them. */
  readonly paths: readonly string[];
  /** Gives the loading up, which then rejects with the signal's reason. */
  readonly givenUp: AbortSignal;
  /** See `WorkerEvents.onOutdated`. */
  readonly onOutdated: (deployment: Deployment, pool: Pool, mixed: string | undefined) => void;
}

/** `signal`: aborted when the loading is given up or has failed. */
type Loading = ModuleLoad & { readonly signal: AbortSignal };

/** A table of procedures with their executors, which serves requests until the next one takes over. */
export class Deployment implements Routing {
  /** Empty if a router without modules is served: such a router exists on this thread only. */
  readonly pools = new Map<string | undefined, Pool>();
  /** The files that the modules were loaded from, on this thread and in the workers. */
  readonly sources = new SourceFiles(() => this.modules?.files ?? new Map());
  readonly streams: OpenStreams;
  /** undefined: they have not loaded, or the router was given as an object. */
  modules: LoadedModules | undefined;
  /** The procedures of this process: none before modules have loaded. */
  router: AnyRouter;
  /** Requests that have no answer yet. */
  inFlight = 0;
  /** Set once they are set up on this thread, or have begun to be: a broadcast that comes now is not replayed here. */
  #entered: LoadedModules | undefined;
  readonly #context: ServiceContext;
  readonly #broadcasts: WorkerBroadcasts;
  readonly #inline: InlineHost;
  readonly #placed = new Map<Procedure, Placed>();
  readonly #vacancy = new Vacancy();
  #closing: Promise<void> | undefined;

  /** @param router given as an object; left out: modules will be loaded */
  constructor(
    context: ServiceContext,
    broadcasts: WorkerBroadcasts,
    router: AnyRouter = new Router(),
  ) {
    this.router = router;
    this.#context = context;
    this.#broadcasts = broadcasts;
    const { config, log, deadlines, observation, orphans, turns, watch, shares } = context;
    this.streams = new OpenStreams(config, deadlines, context.streamShare, observation);
    const { checkResults, timeoutMs, maxReplyBytes } = config;
    const reports = { onFault: logFault(log), onLine: logLine(log) };
    const broadcast: Broadcast = async (...given) => broadcasts.send(toBroadcastRequest(...given));
    const options = { checkResults, timeoutMs, maxReplyBytes, broadcast, ...reports };
    this.#inline = new InlineHost({
      options,
      deadlines,
      streams: this.streams,
      orphans,
      turns,
      observer: observation,
      watch,
      callers: shares,
    });
  }

  /**
   * Loads modules into a deployment that has none. A load may fail, or be given up, at any step: nothing of it is left then,
   * except for what hangs.
   *
   * @param isFirst nothing serves yet
   * @throws StartupError, ChangedFileError, or the signal's reason
   */
  async load(load: ModuleLoad, isFirst: boolean): Promise<void> {
    const failed = new AbortController();
    const { givenUp } = load;
    const loading = { ...load, signal: AbortSignal.any([givenUp, failed.signal]) };
    try {
      await (isFirst ? this.#loadFirst(loading) : this.#loadNext(loading));
    } catch (error) {
      failed.abort(error);
      const { startTimeoutMs } = this.#context.config;
      const pools = [...this.pools.values()];
      await Promise.all(pools.map((pool) => pool.close(0, startTimeoutMs, givenUp.aborted)));
      // The caller is told why the load failed, not that the teardown failed too.
      if (this.modules !== undefined)
        await teardownWithin(this.modules, teardownMs).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Whether all files that the modules were loaded from are known and have not changed.
   *
   * @param paths the modules as the operator named them
   * @throws StartupError if one of the modules has gone
   */
  async isUpToDate(paths: readonly string[]): Promise<boolean> {
    if (this.modules?.complete !== true) return false;
    const { modules } = this.modules;
    if ((await this.sources.changed()) !== undefined) return false;
    // A path may lead to another file by now, such as a link to the newest release.
    return paths.every((path, i) => locateModule(path).url === modules[i]?.url);
  }

  /**
   * The copies of the modules that exist, those that load among them.
   *
   * @param group undefined: those of all threads
   */
  replicas(group: string | undefined): Replica[] {
    const meant = group === undefined ? [...this.pools.values()] : [this.pools.get(group)];
    const workers = meant.flatMap((pool) => {
      if (pool === undefined) return [];
      const { place } = pool;
      return pool.workers.replicas.map((worker) => ({
        place,
        run: (run: BroadcastRun) => worker.broadcast(run),
      }));
    });
    const modules = this.#entered;
    if (modules === undefined || group !== undefined) return workers;
    const run = async (broadcast: BroadcastRun): Promise<BroadcastOutcome> => {
      const outcome = await modules.broadcasts.run(broadcast);
      if (!outcome.ok && outcome.detail !== undefined)
        logBroadcastFault(this.#context.log, inlinePlace)(broadcast.name, outcome.detail);
      return outcome;
    };
    return [{ place: inlinePlace, run }, ...workers];
  }

  get executors(): readonly ExecutorFigures[] {
    return [this.#inline, ...this.pools.values()];
  }

  /** The procedures that are served: those of this deployment, and in a gateway those that members serve. */
  get served(): AnyRouter {
    return this.#context.cluster?.mergedWith(this.router) ?? this.router;
  }

  get table(): ReadonlyMap<string, Procedure> {
    return tableOf(this.served);
  }

  get isIncomplete(): boolean {
    return this.#context.cluster?.isIncomplete === true;
  }

  executorFor(procedure: Procedure): Executor {
    return this.#context.cluster?.executorOf(procedure) ?? this.#placedOf(procedure).executor;
  }

  placementOf(procedure: Procedure): PlacementDecision {
    if (this.#context.cluster?.executorOf(procedure) !== undefined) return placedRemotely;
    return this.#placedOf(procedure).decision;
  }

  /** Counts a request until `leave`. */
  enter(): void {
    this.inFlight++;
  }

  leave(): void {
    if (--this.inFlight === 0) this.#vacancy.tell();
  }

  /** Resolves when no request is in flight, or after `graceMs`. */
  async idle(graceMs: number): Promise<void> {
    if (this.inFlight > 0) await this.#vacancy.within(graceMs);
  }

  /** Finishes the requests in flight and ends. Another deployment takes new requests. */
  async retire(graceMs: number): Promise<void> {
    await Promise.all([this.idle(graceMs), this.streams.drain('reload', graceMs)]);
    // Nobody waits for this close, so a spare worker that still loads gets the time to finish loading.
    await this.close(0, this.#context.config.startTimeoutMs);
  }

  /** Ends the workers and tears the modules down. Calls that still run after `graceMs` are lost. */
  close(graceMs: number, loadingMs = 0): Promise<void> {
    this.#closing ??= this.#close(graceMs, loadingMs);
    return this.#closing;
  }

  async #close(graceMs: number, loadingMs: number): Promise<void> {
    const until = clockMs() + Math.max(graceMs, loadingMs);
    this.#inline.close();
    const streamsEnded = this.streams.drain('shutdown', graceMs, 0);
    const poolsClosed = Array.from(this.pools.values(), (pool) => pool.close(graceMs, loadingMs));
    await Promise.all([streamsEnded, ...poolsClosed]);
    if (this.modules === undefined) return;
    const leftMs = Math.round(until - clockMs());
    const hung = await teardownWithin(this.modules, Math.max(leftMs, minTeardownMs));
    if (hung === undefined) return;
    const { log } = this.#context;
    log.error({ event: 'teardown-failed', detail: hung }, 'modules could not be torn down');
  }

  /**
   * Loads the modules at the start of a service: on this thread, then in every worker. Nobody is served yet whom
   * faulty code could harm.
   */
  async #loadFirst(load: Loading): Promise<void> {
    const beganMs = performance.now();
    // Its threads start while this one loads the modules.
    this.#createPool(undefined, load);
    const modules = await this.#loadHere(0, undefined, load);
    const loadedMs = performance.now();
    const { mayImport } = modules;
    const expected = { fingerprint: fingerprintOf(modules), mayImport };
    for (const group of this.#groupsOf(modules)) this.#createPool(group, load);
    for (const { workers } of this.pools.values()) workers.expect(expected);
    await this.#workersReady((aWorker) => `${aWorker} could not start`, load.signal);
    // Later a thread that starts need not read what was seen here.
    void this.sources.changed();
    const [codeMs, modulesMs, workersMs] = [
      beganMs,
      loadedMs - beganMs,
      performance.now() - loadedMs,
    ].map(Math.round);
    this.#context.log.debug(
      { event: 'modules-loaded', codeMs, modulesMs, workersMs },
      'the modules are loaded',
    );
  }

  /**
   * Loads the modules while an older loading serves: first in one worker. This thread and the other workers load only
   * modules that loaded, registered and were set up in that worker, and threw nothing there. The workers of groups come
   * last, since only the procedures say which groups there are.
   */
  async #loadNext(load: Loading): Promise<void> {
    const { workers } = this.#createPool(undefined, load);
    workers.startTrial();
    const { loaded, failure } = workers.startup;
    const inWorker = <T>(step: Promise<T>): Promise<T> =>
      ofWorkers(Promise.race([step, failure]), 'tried in a worker', load.signal);
    const expected = await inWorker(loaded);
    workers.expect(expected);
    await inWorker(workers.settle(settleMs));
    const modules = await Promise.race([this.#loadHere(1, expected, load), inWorker(failure)]);
    for (const group of this.#groupsOf(modules))
      this.#createPool(group, load).workers.expect(expected);
    const ready = this.#workersReady((aWorker) => `tried in ${aWorker}`, load.signal);
    await Promise.race([ready, inWorker(failure)]);
    await inWorker(workers.settle(0));
    const changed = await inWorker(this.sources.changed());
    if (changed !== undefined) throw new ChangedFileError(changed);
    workers.passTrial();
  }

  async #loadHere(
    generation: number,
    expected: Expected | undefined,
    { paths, signal }: Loading,
  ): Promise<LoadedModules> {
    const limitMs = this.#context.config.startTimeoutMs;
    const late = new AbortController();
    let stage: LoadStage | undefined;
    const timer = setTimeout(() => {
      const what = stage === undefined ? `loading ${paths.join(', ')}` : describeStage(stage);
      const message = `${what} had not ended on the main thread after ${limitMs} ms: ${hangHint}`;
      late.abort(new StartupError(message));
    }, limitMs);
    const control: LoadControl = {
      signal: AbortSignal.any([signal, late.signal]),
      onStage: (next) => {
        stage = next;
      },
    };
    try {
      const modules = await loadModules(paths, { generation, ...control });
      const differing = this.sources.differsFrom(modules.files);
      this.modules = modules;
      this.router = modules.router;
      if (differing !== undefined) throw new ChangedFileError(differing);
      if (expected !== undefined) assertSame(modules, expected, paths);
      this.#entered = modules;
      await modules.setup(
        {
          group: undefined,
          isMainThread: true,
          runs: (procedure) => mayRunAt(inlinePlace, procedure),
          replays: this.#broadcasts.replaysFor(undefined),
          onBroadcastFailed: logBroadcastFault(this.#context.log, inlinePlace),
        },
        control,
      );
      return modules;
    } finally {
      clearTimeout(timer);
    }
  }

  #groupsOf({ router }: LoadedModules): string[] {
    const { config, log } = this.#context;
    return usedGroups(router, Object.keys(config.groups), log);
  }

  /**
   * Every worker of every group is ready.
   *
   * @param what see `ofWorkers`
   */
  async #workersReady(what: (aWorker: string) => string, signal: AbortSignal): Promise<void> {
    const all = Array.from(this.pools, ([group, pool]) =>
      ofWorkers(pool.ready(), what(aWorkerOf(group)), signal),
    );
    await Promise.all(all);
  }

  #createPool(group: string | undefined, { paths, onOutdated }: Loading): Pool {
    const { config, log, observation, poolCounters, places, bodies, shares, reloads } =
      this.#context;
    // Each path is resolved once for all workers: a link that is changed meanwhile must not give two workers two
    // modules.
    const modules = paths.map((path) => fileURLToPath(locateModule(path).url));
    const own = group === undefined ? config : (config.groups[group] as GroupOptions);
    const options = {
      ...config,
      ...own,
      group,
      modules,
      sources: this.sources,
      isReloadComing: () => reloads.isUnderWay || reloads.isComing,
      execArgv: workerExecArgv(modules),
      replica: config,
      counters: poolCounters.of(group),
      places,
      bodies,
      shares,
      streams: this.streams,
      broadcasts: this.#broadcasts,
    };
    const events = {
      ...workerLog(log, group),
      onOutdated: (mixed?: string) => onOutdated(this, pool, mixed),
    };
    const pool = new Pool(options, observation, events);
    this.pools.set(group, pool);
    return pool;
  }

  #placedOf(procedure: Procedure): Placed {
    const known = this.#placed.get(procedure);
    if (known !== undefined) return known;
    const { name, placement, group, isAsync, stream } = procedure;
    const pool = this.pools.get(group);
    const isStream = stream !== undefined;
    const facts = { placement, group, isAsync, isStream, hasWorkers: pool !== undefined };
    const decision = decidePlacement(facts);
    const onBlocked = (ms: number): void => this.#noteBlocked(name, placed, facts, ms);
    const inline = new InlineExecutor(this.#inline, onBlocked, name);
    const executor = pool?.place === decision.place ? pool : inline;
    const placed: Placed = { decision, executor, blocked: 0, longestMs: 0 };
    this.#placed.set(procedure, placed);
    return placed;
  }

  /** Counts that a procedure has held the main thread for so long, and moves it to the workers if it does so often. */
  #noteBlocked(name: string, placed: Placed, facts: PlacementFacts, ms: number): void {
    const { blockers, log } = this.#context;
    const pool = this.pools.get(undefined);
    placed.blocked++;
    placed.longestMs = Math.max(placed.longestMs, ms);
    blockers.note(name, ms, adviceOf(placed, facts));
    if (!mayMove(facts) || pool === undefined || placed.executor === pool) return;
    if (placed.blocked < blockedToMove) return;
    // The procedure may publish to a topic or subscribe to it, which it could not do in a worker.
    const staysForTopics = usesTopics();
    if (!staysForTopics) {
      placed.decision = movedForBlocking(placed.blocked, placed.longestMs);
      placed.executor = pool;
    } else if (placed.blocked > blockedToMove) return;
    const { place, reason } = placed.decision;
    log.warn(
      { event: 'placement', method: name, place, reason },
      staysForTopics
        ? `not moved: ${advice.topics}`
        : 'a procedure moved: it no longer shares the memory of its module with procedures that run inline',
    );
  }
}

function fingerprintOf({ router, broadcasts }: LoadedModules): string {
  return fingerprint(router, broadcasts.names);
}

function adviceOf({ decision }: Placed, facts: PlacementFacts): string {
  if (!facts.hasWorkers) return advice.alone;
  if (facts.placement === 'inline') return advice.declared;
  if (facts.isStream) return advice.stream;
  if (decision.place !== inlinePlace || !facts.isAsync) return advice.moved;
  return usesTopics() ? advice.topics : advice.moves;
}

/**
 * Tears modules down, for `limitMs` at most. A teardown that hangs is not waited for any longer.
 *
 * @returns one line that names what hangs; undefined if all have ended
 * @throws StartupError of a teardown that failed
 */
async function teardownWithin(
  modules: LoadedModules,
  limitMs: number,
): Promise<string | undefined> {
  const torn = modules.teardown();
  torn.catch(() => {}); // the teardown may fail after the limit, when nobody listens
  if (await isDoneWithin(torn, limitMs)) return undefined;
  const named = modules.modules.filter(({ teardown }) => teardown !== undefined);
  const paths = named.map(({ given }) => given).join(', ');
  return `teardown() of ${paths} had not ended after ${limitMs} ms: it is left behind`;
}

/** This thread has loaded what the worker that tried the modules has loaded. */
function assertSame(modules: LoadedModules, expected: Expected, paths: readonly string[]): void {
  if (fingerprintOf(modules) === expected.fingerprint) return;
  throw new StartupError(
    `the modules registered other procedures, or other middleware, in the main thread than in a worker (${paths.join(', ')}), or export other broadcasts: ` +
      'registration must not depend on the thread, the time or chance',
  );
}

/** @param what the beginning of the error's message, before what went wrong in the worker */
async function ofWorkers<T>(step: Promise<T>, what: string, signal: AbortSignal): Promise<T> {
  try {
    return await orAborted(step, signal);
  } catch (error) {
    if (signal.aborted || error instanceof ChangedFileError) throw error;
    const message = messageOf(error);
    throw new StartupError(`${what}: ${message}`, { cause: error });
  }
}

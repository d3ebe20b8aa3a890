import { clockMs } from '../base/clock.ts';
import { Vacancy } from '../base/vacancy.ts';
import type { Config } from '../config/config.ts';
import type { BodyMemory } from '../dispatch/body-memory.ts';
import type { Call } from '../dispatch/call.ts';
import type { DeadlineSweep } from '../dispatch/deadline.ts';
import type { Executor, ExecutorFigures } from '../dispatch/executor.ts';
import type { FrontEndWatch } from '../dispatch/front-end-watch.ts';
import { InlineHost } from '../dispatch/inline.ts';
import { type PlacementDecision, placedRemotely } from '../dispatch/placement.ts';
import type { CallerShares } from '../dispatch/queue/queued-callers.ts';
import type { Routing } from '../dispatch/routing.ts';
import { OpenStreams, type StreamCount } from '../dispatch/streams/open-streams.ts';
import { locateModule } from '../modules/module-file.ts';
import type { LoadedModules } from '../modules/modules.ts';
import type { SourceFiles } from '../modules/source-files.ts';
import type { Log } from '../observe/log.ts';
import type { Pool } from '../pool/pool.ts';
import type { CountersByGroup } from '../pool/stats.ts';
import { tableOf } from '../router/router.ts';
import type { AnyRouter } from '../router/router-state.ts';
import type { Procedure } from '../router/types.ts';
import type { Cluster } from './cluster.ts';
import type { FrontEndBlockers } from './front-end-blockers.ts';
import type { Observation } from './observation.ts';
import { Placements, type Pools } from './placements.ts';
import type { RequestCounter } from './request.ts';
import { assertRunsInline, usedGroups } from './servable.ts';
import { teardownWithin } from './teardown.ts';
import { logFault, logLine } from './worker-log.ts';

/** What all loadings of the modules share. */
export interface ServiceContext {
  readonly config: Config;
  readonly log: Log;
  readonly deadlines: DeadlineSweep;
  readonly observation: Observation;
  readonly poolCounters: CountersByGroup;
  readonly bodies: BodyMemory;
  readonly watch: FrontEndWatch;
  readonly blockers: FrontEndBlockers;
  readonly streamCount: StreamCount;
  /** How the workers are shared out among callers whose calls wait. */
  readonly shares: CallerShares;
  /** undefined: this process is alone. */
  readonly cluster: Cluster | undefined;
  /**
   * Called when no worker is left in one of the loading's pools and no replacement can be had, since the loading's files
   * have changed.
   */
  readonly onOutdated: (loaded: LoadedService | undefined, pool: Pool) => void;
}

/** How long a teardown may take even where there is no grace. Most teardowns only close what is open. */
const shortestTeardownMs = 1000;

/** The streams of one loading. */
export function createStreams(context: ServiceContext): OpenStreams {
  const { config, deadlines, streamCount, observation } = context;
  return new OpenStreams(config, deadlines, streamCount, observation);
}

/**
 * One loading of the modules, which serves requests until the next loading takes over: a router, and where its calls
 * run.
 */
export class LoadedService implements Routing, RequestCounter {
  readonly router: AnyRouter;
  /** Empty where a router without modules is served. */
  readonly pools: Pools;
  /** The files that the modules were loaded from, on this thread and in the workers. */
  readonly sources: SourceFiles | undefined;
  readonly streams: OpenStreams;
  readonly #modules: LoadedModules | undefined;
  readonly #context: ServiceContext;
  readonly #inline: InlineHost;
  readonly #placements: Placements;
  #inFlight = 0;
  /** Of requests in flight. */
  readonly #vacancy = new Vacancy();
  #closing: Promise<void> | undefined;

  private constructor(
    router: AnyRouter,
    context: ServiceContext,
    pools: Pools,
    streams: OpenStreams,
    modules?: LoadedModules,
    sources?: SourceFiles,
  ) {
    this.router = router;
    this.pools = pools;
    this.sources = sources;
    this.#modules = modules;
    this.#context = context;
    const { config, log, deadlines, observation, watch } = context;
    const { checkResults, timeoutMs, maxReplyBytes } = config;
    const options = {
      checkResults,
      timeoutMs,
      maxReplyBytes,
      onFault: logFault(log),
      onLine: logLine(log),
    };
    this.streams = streams;
    this.#inline = new InlineHost(options, deadlines, streams, observation, watch);
    this.#placements = new Placements(context, this.#inline, pools);
  }

  /** Serves a router given as an object. Such a router exists on this thread only, so all its calls run inline. */
  static ofRouter(router: AnyRouter, context: ServiceContext): LoadedService {
    assertRunsInline(router, context.log, context.cluster?.isGateway === true);
    usedGroups(router, Object.keys(context.config.groups), context.log);
    return new LoadedService(router, context, new Map(), createStreams(context));
  }

  /** Serves modules that this thread and the workers of `pools` have loaded from `sources` and set up. */
  static ofModules(
    modules: LoadedModules,
    pools: Pools,
    streams: OpenStreams,
    sources: SourceFiles,
    context: ServiceContext,
  ): LoadedService {
    return new LoadedService(modules.router, context, pools, streams, modules, sources);
  }

  /**
   * Whether all files that the modules were loaded from are known and have not changed.
   *
   * @param paths the modules as the operator named them
   * @throws StartupError where one of the modules has gone
   */
  isUpToDate(paths: readonly string[]): boolean {
    if (this.#modules?.complete !== true || this.sources?.changed() !== undefined) return false;
    const { modules } = this.#modules;
    // A path may lead to another file by now, such as a link to the newest release.
    return paths.every((path, i) => locateModule(path, process.cwd()).url === modules[i]?.url);
  }

  /** Requests without an answer yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** The executors of this loading, with how many calls each has. */
  get executors(): readonly ExecutorFigures[] {
    return [this.#inline, ...this.pools.values()];
  }

  /** The procedures that are served: those of this loading, and in a gateway those that members serve. */
  get served(): AnyRouter {
    const { cluster } = this.#context;
    return cluster?.isGateway === true ? cluster.mergedWith(this.router) : this.router;
  }

  get table(): ReadonlyMap<string, Procedure> {
    return tableOf(this.served);
  }

  get isIncomplete(): boolean {
    return this.#context.cluster?.isIncomplete === true;
  }

  /** Notes that a call ran in a worker for `us` microseconds. */
  recordRun(call: Call, us: number): void {
    this.#placements.recordRun(call, us);
  }

  get placesByLength(): boolean {
    return this.#context.config.inlineBelowUs > 0;
  }

  executorFor(procedure: Procedure, length: number): Executor {
    return (
      this.#context.cluster?.executorOf(procedure) ??
      this.#placements.executorFor(procedure, length)
    );
  }

  placementOf(procedure: Procedure): PlacementDecision {
    if (this.#context.cluster?.executorOf(procedure) !== undefined) return placedRemotely;
    return this.#placements.of(procedure);
  }

  /** Counts a request as in flight until its reply is there. */
  track<R>(reply: R | Promise<R>): R | Promise<R> {
    if (!(reply instanceof Promise)) return reply;
    this.enter();
    return reply.then((value) => {
      this.leave();
      return value;
    });
  }

  enter(): void {
    this.#inFlight++;
  }

  leave(): void {
    if (--this.#inFlight === 0) this.#vacancy.tell();
  }

  /** Resolves when no request is in flight, or after `graceMs`. */
  idle(graceMs: number): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return this.#vacancy.within(graceMs);
  }

  /** Finishes the requests in flight and ends. Another loading takes new requests. */
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
    this.#placements.close();
    const poolsClosed = Array.from(this.pools.values(), (pool) => pool.close(graceMs, loadingMs));
    await Promise.all([streamsEnded, ...poolsClosed]);
    if (this.#modules === undefined) return;
    const leftMs = Math.round(until - clockMs());
    const hung = await teardownWithin(this.#modules, Math.max(leftMs, shortestTeardownMs));
    if (hung === undefined) return;
    const { log } = this.#context;
    log.error({ event: 'teardown-failed', detail: hung }, 'modules could not be torn down');
  }
}

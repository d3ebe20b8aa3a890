import { inlinePlace, workerPlace } from '../base/place.ts';
import type { Config } from '../config/config.ts';
import type { BodyMemory } from '../dispatch/body-memory.ts';
import { type Call, paramsLength } from '../dispatch/call.ts';
import type { DeadlineSweep } from '../dispatch/deadline.ts';
import type { Executor, ExecutorFigures } from '../dispatch/executor.ts';
import { InlineExecutor, InlineHost } from '../dispatch/inline.ts';
import { LearnedPlacement } from '../dispatch/learned-placement.ts';
import { decidePlacement, isMeasured, type PlacementDecision } from '../dispatch/placement.ts';
import type { Routing } from '../dispatch/routing.ts';
import { locateModule } from '../modules/module-file.ts';
import type { LoadedModules } from '../modules/modules.ts';
import type { SourceFiles } from '../modules/source-files.ts';
import type { Log } from '../observe/log.ts';
import type { Pool } from '../pool/pool.ts';
import type { PoolCounters } from '../pool/stats.ts';
import { type Router, tableOf } from '../router/router.ts';
import type { Procedure } from '../router/types.ts';
import type { Observation } from './observation.ts';
import { assertRunsInline } from './servable.ts';
import { teardownWithin } from './teardown.ts';
import { logFault } from './worker-log.ts';

/** What all loadings of the modules share. */
export interface ServiceContext {
  readonly config: Config;
  readonly log: Log;
  readonly deadlines: DeadlineSweep;
  readonly observation: Observation;
  readonly poolCounters: PoolCounters;
  readonly bodies: BodyMemory;
  /** No worker of that loading is left, and none can be had: its files have changed. */
  readonly onOutdated: (loaded: LoadedService | undefined) => void;
}

/** What a teardown may take where there is no grace: most only close what is open. */
const shortestTeardownMs = 1000;

/** Where a procedure's calls run: settled, or moved by measurement. */
interface Placed {
  readonly fixed: PlacementDecision;
  readonly executor: Executor;
  /** Where measurement has moved it here: its runs are timed on. */
  readonly inline: Executor;
  readonly measured: LearnedPlacement | undefined;
}

/** What serves requests from one loading of the modules to the next: a router, and where its calls run. */
export class LoadedService implements Routing {
  readonly router: Router;
  readonly pool: Pool | undefined;
  /** What the modules were loaded from, on this thread and in the workers. */
  readonly sources: SourceFiles | undefined;
  readonly #modules: LoadedModules | undefined;
  readonly #context: ServiceContext;
  readonly #inline: InlineHost;
  readonly #placed = new Map<Procedure, Placed>();
  #inFlight = 0;
  readonly #onIdle = new Set<() => void>();
  #closing: Promise<void> | undefined;

  private constructor(
    router: Router,
    context: ServiceContext,
    modules?: LoadedModules,
    pool?: Pool,
    sources?: SourceFiles,
  ) {
    this.router = router;
    this.pool = pool;
    this.sources = sources;
    this.#modules = modules;
    this.#context = context;
    const { config, log, deadlines, observation } = context;
    const { checkResults, timeoutMs, maxReplyBytes } = config;
    const options = {
      checkResults,
      timeoutMs,
      maxReplyBytes,
      onFault: logFault(log),
    };
    this.#inline = new InlineHost(options, deadlines, observation);
  }

  /** A router given as an object: it exists on this thread only, so all its calls run inline. */
  static ofRouter(router: Router, context: ServiceContext): LoadedService {
    assertRunsInline(router, context.log);
    return new LoadedService(router, context);
  }

  /** What this thread and the workers of `pool` have loaded from `sources` and set up. */
  static ofModules(
    modules: LoadedModules,
    pool: Pool,
    sources: SourceFiles,
    context: ServiceContext,
  ): LoadedService {
    return new LoadedService(modules.router, context, modules, pool, sources);
  }

  /**
   * Whether all files that the modules were loaded from are known, and are what they were.
   *
   * @param paths the modules as they are named
   * @throws StartupError where one of them has gone
   */
  isUpToDate(paths: readonly string[]): boolean {
    if (this.#modules?.complete !== true || this.sources?.changed() !== undefined) return false;
    const { modules } = this.#modules;
    // A path may lead elsewhere by now: a link to the newest release, say.
    return paths.every((path, i) => locateModule(path, process.cwd()).url === modules[i]?.url);
  }

  /** Requests that have not been answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Where its calls are. */
  get executors(): readonly ExecutorFigures[] {
    return this.pool === undefined ? [this.#inline] : [this.#inline, this.pool];
  }

  get table(): ReadonlyMap<string, Procedure> {
    return tableOf(this.router);
  }

  /** A call of a procedure has run in a worker, for so many microseconds. */
  recordRun(call: Call, us: number): void {
    this.#placedOf(call.procedure).measured?.record(us, workerPlace, paramsLength(call));
  }

  get placesByLength(): boolean {
    return this.#context.config.inlineBelowUs > 0;
  }

  executorFor(procedure: Procedure, length: number): Executor {
    const { executor, inline, measured } = this.#placedOf(procedure);
    return measured?.placeOf(length) === inlinePlace ? inline : executor;
  }

  placementOf(procedure: Procedure): PlacementDecision {
    const { fixed, measured } = this.#placedOf(procedure);
    return measured?.decision ?? fixed;
  }

  /** Counts a request until it is answered. */
  track<R>(reply: R | Promise<R>): R | Promise<R> {
    if (!(reply instanceof Promise)) return reply;
    this.#inFlight++;
    return reply.then((value) => {
      if (--this.#inFlight === 0) for (const wake of this.#onIdle) wake();
      return value;
    });
  }

  /** Resolves when no request is in flight, or after `graceMs`. */
  idle(graceMs: number): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#onIdle.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, graceMs);
      this.#onIdle.add(wake);
    });
  }

  /** Finishes its requests and ends: another loading takes the new ones. */
  async retire(graceMs: number): Promise<void> {
    await this.idle(graceMs);
    // Nobody waits for it: there is time for a spare that still loads.
    await this.close(0, this.#context.config.startTimeoutMs);
  }

  /** Ends the workers and tears the modules down. What still runs after `graceMs` is lost. */
  close(graceMs: number, loadingMs = 0): Promise<void> {
    this.#closing ??= this.#close(graceMs, loadingMs);
    return this.#closing;
  }

  async #close(graceMs: number, loadingMs: number): Promise<void> {
    const until = performance.now() + Math.max(graceMs, loadingMs);
    this.#inline.close();
    await this.pool?.close(graceMs, loadingMs);
    if (this.#modules === undefined) return;
    const leftMs = Math.round(until - performance.now());
    const hung = await teardownWithin(this.#modules, Math.max(leftMs, shortestTeardownMs));
    if (hung === undefined) return;
    const { log } = this.#context;
    log.error({ event: 'teardown-failed', detail: hung }, 'modules could not be torn down');
  }

  #placedOf(procedure: Procedure): Placed {
    let placed = this.#placed.get(procedure);
    if (placed === undefined) {
      placed = this.#place(procedure);
      this.#placed.set(procedure, placed);
    }
    return placed;
  }

  #place({ name, placement, isAsync }: Procedure): Placed {
    const { pool } = this;
    const { config, log } = this.#context;
    const facts = { placement, isAsync, hasWorkers: pool !== undefined };
    const fixed = decidePlacement(facts);
    const isPooled = fixed.place === workerPlace && pool !== undefined;
    if (!isMeasured(facts, config)) {
      const inline = new InlineExecutor(this.#inline);
      return { fixed, executor: isPooled ? pool : inline, inline, measured: undefined };
    }
    const measured = new LearnedPlacement(fixed, config, ({ place, reason }) =>
      log.info({ event: 'placement', method: name, place, reason }, 'a procedure moved'),
    );
    const inline = new InlineExecutor(this.#inline, (call, us) =>
      measured.record(us, inlinePlace, paramsLength(call)),
    );
    return { fixed, executor: isPooled ? pool : inline, inline, measured };
  }
}

import type { Config } from './config.ts';
import type { BodyMemory } from './dispatch/body-memory.ts';
import { type Call, paramsLength } from './dispatch/call.ts';
import type { DeadlineSweep } from './dispatch/deadline.ts';
import type { Executor } from './dispatch/executor.ts';
import { InlineExecutor, InlineHost } from './dispatch/inline.ts';
import type { Generation } from './dispatch/kernel.ts';
import { MeasuredPlacement } from './dispatch/measured.ts';
import { decidePlacement, isMeasured, type PlacementDecision } from './dispatch/placement.ts';
import type { Observation } from './observation.ts';
import type { Log } from './observe/log.ts';
import { Pool } from './pool/pool.ts';
import type { PoolCounters } from './pool/stats.ts';
import { logFault, poolEvents } from './pool-log.ts';
import { fingerprint } from './router/document/introspect.ts';
import { type Files, type LoadedModules, loadModules } from './router/modules/modules.ts';
import { workerExecArgv } from './router/modules/typescript.ts';
import { type Router, tableOf } from './router/router.ts';
import type { Procedure } from './router/types.ts';
import { assertRunsInline } from './servable.ts';
import { StartupError } from './startup-error.ts';

/** What every generation of a service shares. */
export interface GenerationContext {
  readonly config: Config;
  readonly log: Log;
  readonly deadlines: DeadlineSweep;
  readonly observation: Observation;
  readonly poolCounters: PoolCounters;
  readonly bodies: BodyMemory;
}

/** Where a procedure's calls run: settled, or moved by measurement. */
interface Placed {
  readonly fixed: PlacementDecision;
  readonly executor: Executor;
  /** Where measurement has moved it here: its runs are timed on. */
  readonly inline: Executor;
  readonly measured: MeasuredPlacement | undefined;
}

/** What serves requests from one loading of the modules to the next: a router, and where its calls run. */
export class ServedGeneration implements Generation {
  readonly router: Router;
  pool: Pool | undefined;
  readonly #modules: LoadedModules | undefined;
  readonly #context: GenerationContext;
  readonly #inline: InlineHost;
  readonly #placed = new Map<Procedure, Placed>();
  #inFlight = 0;
  readonly #onIdle = new Set<() => void>();
  #closing: Promise<void> | undefined;

  private constructor(
    router: Router,
    modules: LoadedModules | undefined,
    context: GenerationContext,
  ) {
    this.router = router;
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
  static ofRouter(router: Router, context: GenerationContext): ServedGeneration {
    assertRunsInline(router, context.log);
    return new ServedGeneration(router, undefined, context);
  }

  /**
   * Loads modules here and in every worker, and resolves when all of them are ready.
   *
   * @param number 0 at the start, then one more for each reload
   * @throws StartupError
   */
  static async ofModules(
    paths: readonly string[],
    number: number,
    context: GenerationContext,
  ): Promise<ServedGeneration> {
    const modules = await loadModules(paths, { generation: number });
    await modules.setup();
    const generation = new ServedGeneration(modules.router, modules, context);
    try {
      await generation.#startPool(modules);
    } catch (error) {
      await generation.close(0);
      const message = error instanceof Error ? error.message : String(error);
      throw new StartupError(`a worker could not start: ${message}`, { cause: error });
    }
    return generation;
  }

  /** The files of the modules with their hashes; undefined where they are not all known. */
  get files(): Files | undefined {
    return this.#modules?.complete === true ? this.#modules.files : undefined;
  }

  /** Requests that have not been answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Inline calls that wait. */
  get inlineInFlight(): number {
    return this.#inline.inFlight;
  }

  get table(): ReadonlyMap<string, Procedure> {
    return tableOf(this.router);
  }

  executorFor(procedure: Procedure, length: number): Executor {
    const { executor, inline, measured } = this.#placedOf(procedure);
    return measured?.placeOf(length) === 'inline' ? inline : executor;
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

  /** Finishes its requests and ends: another generation takes the new ones. */
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
    this.#inline.close();
    await this.pool?.close(graceMs, loadingMs);
    await this.#modules?.teardown();
  }

  async #startPool({ router, modules }: LoadedModules): Promise<void> {
    const { config, log, observation: observer, poolCounters: counters, bodies } = this.#context;
    const urls = modules.map(({ url }) => url);
    const options = {
      ...config,
      modules: urls,
      fingerprint: fingerprint(router),
      execArgv: workerExecArgv(urls),
      replica: config,
      counters,
      bodies,
    };
    const onRun = (call: Call, us: number): void =>
      this.#placedOf(call.procedure).measured?.record(us, 'worker', paramsLength(call));
    this.pool = new Pool(options, { ...poolEvents(log), observer, onRun });
    await this.pool.ready();
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
    const facts = { placement, isAsync, hasWorkers: pool !== undefined };
    const fixed = decidePlacement(facts);
    const isPooled = fixed.place === 'worker' && pool !== undefined;
    if (!isMeasured(facts)) {
      const inline = new InlineExecutor(this.#inline);
      return { fixed, executor: isPooled ? pool : inline, inline, measured: undefined };
    }
    const { config, log } = this.#context;
    const measured = new MeasuredPlacement(fixed, config, ({ place, reason }) =>
      log.info({ event: 'placement', method: name, place, reason }, 'a procedure moved'),
    );
    const inline = new InlineExecutor(this.#inline, (call, us) =>
      measured.record(us, 'inline', paramsLength(call)),
    );
    return { fixed, executor: isPooled ? pool : inline, inline, measured };
  }
}

import { clockMs } from '../base/clock.ts';
import { inlinePlace } from '../base/place.ts';
import { isDoneWithin, Vacancy } from '../base/timer.ts';
import type { Executor, ExecutorFigures } from '../dispatch/executor.ts';
import { InlineExecutor, InlineHost } from '../dispatch/inline.ts';
import type { Routing } from '../dispatch/kernel.ts';
import {
  blockedToMove,
  decidePlacement,
  mayMove,
  movedForBlocking,
  type PlacementDecision,
  type PlacementFacts,
  placedRemotely,
} from '../dispatch/placement.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import { OpenStreams } from '../dispatch/streams/open-streams.ts';
import { locateModule, type SourceFiles } from '../modules/module-files.ts';
import type { LoadedModules } from '../modules/modules.ts';
import type { AnyRouter } from '../procedures/router.ts';
import { tableOf } from '../procedures/router.ts';
import { usesTopics } from '../procedures/stream.ts';
import type { Procedure } from '../procedures/types.ts';
import type { Pool } from '../workers/pool.ts';
import type { ServiceContext } from './context.ts';
import { logFault, logLine } from './worker-log.ts';

/** The pools of one generation, by the group that their workers are; undefined: the workers of all other procedures. */
export type Pools = ReadonlyMap<string | undefined, Pool>;

/** What this thread and the workers have loaded and set up. */
export interface LoadedPools {
  readonly modules: LoadedModules;
  readonly pools: Pools;
  readonly streams: OpenStreams;
  /** The files that the modules were loaded from, on this thread and in the workers. */
  readonly sources: SourceFiles;
}

interface Placed {
  /** Changes once, if the procedure has blocked the main thread. */
  decision: PlacementDecision;
  executor: Executor;
  /** Runs its calls on this thread, if they run here. */
  readonly inline: InlineExecutor;
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

/** How long a teardown may take even where there is no grace. Most teardowns only close what is open. */
const shortestTeardownMs = 1000;

export function createStreams(context: ServiceContext): OpenStreams {
  const { config, deadlines, streamShare, observation } = context;
  return new OpenStreams(config, deadlines, streamShare, observation);
}

/**
 * One loading of the modules, which serves requests until the next one takes over: a router, and where its calls run.
 */
export class Generation implements Routing {
  readonly router: AnyRouter;
  /** Empty where a router without modules is served: such a router exists on this thread only. */
  readonly pools: Pools;
  readonly sources: SourceFiles | undefined;
  readonly streams: OpenStreams;
  readonly #modules: LoadedModules | undefined;
  readonly #context: ServiceContext;
  readonly #inline: InlineHost;
  readonly #placed = new Map<Procedure, Placed>();
  #inFlight = 0;
  readonly #vacancy = new Vacancy();
  #closing: Promise<void> | undefined;

  /** @param loaded undefined: the router was given as an object */
  constructor(context: ServiceContext, router: AnyRouter, loaded?: LoadedPools) {
    this.router = router;
    this.pools = loaded?.pools ?? new Map();
    this.sources = loaded?.sources;
    this.streams = loaded?.streams ?? createStreams(context);
    this.#modules = loaded?.modules;
    this.#context = context;
    const { config, log, deadlines, observation, orphans, watch } = context;
    const { checkResults, timeoutMs, maxReplyBytes } = config;
    const reports = { onFault: logFault(log), onLine: logLine(log) };
    const options = { checkResults, timeoutMs, maxReplyBytes, ...reports };
    this.#inline = new InlineHost(options, deadlines, this.streams, orphans, observation, watch);
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

  get inFlight(): number {
    return this.#inFlight;
  }

  get executors(): readonly ExecutorFigures[] {
    return [this.#inline, ...this.pools.values()];
  }

  /** The procedures that are served: those of this generation, and in a gateway those that members serve. */
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

  executorFor(procedure: Procedure): Executor {
    return this.#context.cluster?.executorOf(procedure) ?? this.#placedOf(procedure).executor;
  }

  placementOf(procedure: Procedure): PlacementDecision {
    if (this.#context.cluster?.executorOf(procedure) !== undefined) return placedRemotely;
    return this.#placedOf(procedure).decision;
  }

  /**
   * Counts a request until its reply is there.
   *
   * @param scope of the request: it is in flight until then
   */
  track<R>(reply: Promise<R>, scope?: RequestScope): Promise<R> {
    this.enter();
    return reply.then((value) => {
      this.leave();
      scope?.leaveFlight();
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

  /** Finishes the requests in flight and ends. Another generation takes new requests. */
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
    for (const { inline } of this.#placed.values()) inline.close();
    const poolsClosed = Array.from(this.pools.values(), (pool) => pool.close(graceMs, loadingMs));
    await Promise.all([streamsEnded, ...poolsClosed]);
    if (this.#modules === undefined) return;
    const leftMs = Math.round(until - clockMs());
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

  #place({ name, placement, group, isAsync, stream }: Procedure): Placed {
    const pool = this.pools.get(group);
    const isStream = stream !== undefined;
    const facts = { placement, group, isAsync, isStream, hasWorkers: pool !== undefined };
    const decision = decidePlacement(facts);
    const onBlocked = (ms: number): void => this.#noteBlocked(name, placed, facts, ms);
    const inline = new InlineExecutor(this.#inline, onBlocked, name);
    const executor = pool?.place === decision.place ? pool : inline;
    const placed: Placed = { decision, executor, inline, blocked: 0, longestMs: 0 };
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
 * @returns one line that names what hangs; undefined where all have ended
 * @throws StartupError of a teardown that failed
 */
export async function teardownWithin(
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

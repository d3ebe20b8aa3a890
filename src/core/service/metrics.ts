import { inlinePlace, type Place, workerPlace } from '../base/place.ts';
import { inTurns } from '../base/timer.ts';
import type { ExecutorFigures } from '../dispatch/executor.ts';
import { lostOutput } from '../observe/log.ts';
import { ProcessGauges } from '../observe/process-gauges.ts';
import { renderMetrics } from '../observe/render.ts';
import type {
  CallTotals,
  Counters,
  Gauges,
  MetricsSnapshot,
  PlacedProcedure,
  WorkerFigures,
} from '../observe/snapshot.ts';
import type { PoolCounters, WorkerStats } from '../workers/options.ts';
import type { ServiceContext } from './context.ts';
import type { Generations } from './generations.ts';

/** How long one rendered text serves all who ask: any number of scrapers cost one rendering a second. */
const keptMs = 1000;

/** Procedures whose figures are read in one turn of the event loop: less than a millisecond. */
const perTurn = 50;

/** The figures of a service: kept as plain numbers, and rendered when somebody asks. */
export class Metrics {
  readonly #context: ServiceContext;
  readonly #generations: Generations;
  readonly #gauges = new ProcessGauges();
  #bytes: Promise<Buffer> | undefined;
  #forgetting: NodeJS.Timeout | undefined;
  /** The name of this process among the processes of its service. */
  process = '0';
  /** Gives the figures that only the server knows; undefined where no server listens. */
  connections: (() => ConnectionFigures) | undefined;
  /** Gives the figures of all processes of the service; undefined where this process is alone. */
  collect: (() => Promise<readonly MetricsSnapshot[]>) | undefined;

  constructor(context: ServiceContext, generations: Generations) {
    this.#context = context;
    this.#generations = generations;
  }

  /** Starts the sampling of figures that must be sampled, such as the delay of the event loop. */
  start(): void {
    this.#gauges.start();
  }

  snapshot(): MetricsSnapshot {
    const source = this.#source();
    const calls = source.observation.counters?.totals() ?? [];
    return snapshotOf(this.process, source, calls, placesOf(calls, source));
  }

  /**
   * The figures of all processes, for who asks each second. Those of this process are read in several turns of the event
   * loop, so that no call waits for a thousand procedures, and without `places`: who asks knows where procedures run.
   */
  async inTurns(): Promise<readonly MetricsSnapshot[]> {
    if (this.collect !== undefined) return this.collect();
    const source = this.#source();
    const calls: CallTotals[] = [];
    const rows = source.observation.counters?.rows() ?? [];
    await inTurns(rows, perTurn, (row) => calls.push(row));
    return [snapshotOf(this.process, source, calls, [])];
  }

  /**
   * The figures in the text format of Prometheus, UTF-8: as they were at some time of the last second, the same bytes
   * for all who ask.
   */
  bytes(): Promise<Buffer> {
    this.#bytes ??= this.#render();
    return this.#bytes;
  }

  async text(): Promise<string> {
    return (await this.bytes()).toString();
  }

  close(): void {
    this.#gauges.close();
    this.#forget();
  }

  #source(): Source {
    return {
      ...this.#context,
      generations: this.#generations,
      processGauges: this.#gauges,
      connections: this.connections?.(),
    };
  }

  async #render(): Promise<Buffer> {
    try {
      return await renderMetrics((await this.collect?.()) ?? [this.snapshot()]);
    } finally {
      // The time is counted from the end of the rendering: a second rendering can't begin while this one goes on.
      this.#forgetting = setTimeout(() => this.#forget(), keptMs).unref();
    }
  }

  #forget(): void {
    clearTimeout(this.#forgetting);
    this.#bytes = undefined;
  }
}

interface ConnectionFigures {
  readonly open: number;
  readonly sockets: number;
  /** Connections closed at once for being too many, since the server started. */
  readonly refused: number;
  /** Those among them whose address held its share of all connections. */
  readonly refusedByShare: number;
}

interface Source extends ServiceContext {
  readonly generations: Generations;
  readonly processGauges: ProcessGauges;
  /** undefined: no server listens. */
  readonly connections: ConnectionFigures | undefined;
}

function snapshotOf(
  process: string,
  source: Source,
  calls: readonly CallTotals[],
  places: readonly PlacedProcedure[],
): MetricsSnapshot {
  const { blockers, poolCounters } = source;
  return {
    process,
    calls,
    counters: countersOf(source),
    blocked: blockers.totals(),
    gauges: gaugesOf(source),
    places,
    workers: workersOf(source),
    events: source.recent.list,
    callers: source.throttled?.list() ?? [],
    members: source.cluster?.members() ?? [],
    groups: poolCounters.groups.map((group) => ({
      group,
      counters: poolCountersOf(poolCounters.of(group)),
      gauges: poolGaugesOf(source, group),
    })),
  };
}

function placesOf(calls: readonly CallTotals[], { generations }: Source): PlacedProcedure[] {
  const { current } = generations;
  const called = new Set(calls.map(({ procedure }) => procedure));
  return [...called].flatMap((procedure) => {
    const known = current?.table.get(procedure);
    if (current === undefined || known === undefined) return [];
    const { place, cause } = current.placementOf(known);
    return [{ procedure, place, cause }];
  });
}

/** Of all generations: an older one that finishes its calls has workers too. */
function workersOf({ generations }: Source): WorkerFigures[] {
  return generations.all.flatMap(({ pools }) =>
    Array.from(pools).flatMap(([group, pool]) => {
      const { workers, lane } = pool.stats();
      const toFigures =
        (isLane: boolean) =>
        (worker: WorkerStats): WorkerFigures => {
          const { threadId, inFlight, completed, streams, running = null } = worker;
          return { group: group ?? null, isLane, threadId, inFlight, completed, streams, running };
        };
      return [...workers.map(toFigures(false)), ...(lane ? [toFigures(true)(lane)] : [])];
    }),
  );
}

function countersOf(source: Source): Counters {
  const { observation, poolCounters, bodies, replies, connections, cluster } = source;
  const { shed, reloads, failedReloads, streams, failedStreams } = observation;
  const open = openStreamsOf(source);
  const refusedByShare = connections?.refusedByShare ?? 0;
  return {
    shed,
    ...observation.refused,
    bodyShare: bodies.refusedByShare,
    bodyMemory: bodies.refused - bodies.refusedByShare,
    connectionShare: refusedByShare,
    connections: (connections?.refused ?? 0) - refusedByShare,
    streams,
    failedStreams,
    streamValues: observation.streamValues + sum(open.map(({ values }) => values)),
    ...poolCountersOf(poolCounters.of(undefined)),
    reloads,
    failedReloads,
    refusedConnections: connections?.refused ?? 0,
    lostOutput: lostOutput(),
    refusedBodies: bodies.refused,
    cutReplies: replies.cut,
    remoteRequeued: cluster?.stats().requeued ?? 0,
    remoteLost: cluster?.stats().lost ?? 0,
    natsReconnects: cluster?.reconnects ?? 0,
  };
}

function openStreamsOf({ generations, cluster }: Source): readonly { readonly values: number }[] {
  const here = generations.all.flatMap(({ streams }) => [...streams]);
  return [...here, ...(cluster?.streams ?? [])];
}

function poolCountersOf(counters: PoolCounters) {
  const { frames, framedCalls, laneCalls, deaths, kills, retirements, restarts, zombies } =
    counters;
  return {
    frames,
    framedCalls,
    laneCalls,
    deathsByExit: deaths.exit,
    deathsByMemory: deaths.memory,
    deathsByError: deaths.error,
    kills,
    retirements,
    restarts,
    zombies,
  } satisfies Partial<Counters>;
}

function gaugesOf(source: Source): Gauges {
  const { generations, bodies, replies, orphans, processGauges, connections, cluster } = source;
  const here = generations.all.flatMap(({ executors }) => executors);
  const remote = cluster?.isGateway === true ? cluster.stats() : undefined;
  return {
    requestsInFlight: generations.inFlight,
    openStreams: openStreamsOf(source).length,
    callsInFlight: inFlightByPlace([...here, ...(cluster?.executors ?? [])]),
    inlineLeftCalls: orphans.total - orphans.overdue,
    inlineOverdueCalls: orphans.overdue,
    ...poolGaugesOf(source, undefined),
    remoteMembers: remote?.members,
    remoteInFlight: remote?.inFlight,
    remoteQueued: remote?.queued,
    bodyMemoryInUse: bodies.stats().inUse,
    bodyMemoryKept: bodies.stats().kept,
    replyMemory: replies.stats().waiting,
    connections: connections?.open,
    sockets: connections?.sockets,
    ...processGauges.read(),
  };
}

/** The workers of a group in all generations together: an older one that finishes its calls counts too. */
function poolGaugesOf({ generations, poolCounters }: Source, group: string | undefined): Gauges {
  const pools = generations.all.flatMap((loaded) => loaded.pools.get(group)?.stats() ?? []);
  const lanes = pools.flatMap(({ lane }) => lane ?? []);
  const workers = [...pools.flatMap((pool) => pool.workers), ...lanes];
  return {
    leftCalls: sum(workers.map(({ left }) => left)),
    overdueCalls: sum(workers.map(({ overdue }) => overdue)),
    laneCallsInFlight: sum(lanes.map(({ inFlight }) => inFlight)),
    queued: sum(pools.map(({ queued }) => queued)),
    activeWorkers: sum(pools.map((pool) => pool.workers.length)),
    spareWorkers: sum(pools.map(({ spares }) => spares)),
    startingWorkers: sum(pools.map(({ starting }) => starting)),
    zombieWorkers: poolCounters.of(group).zombiesNow,
  };
}

/** The places `inline` and `worker` are shown even with no calls; any other place only when an executor names it. */
function inFlightByPlace(executors: readonly ExecutorFigures[]): Record<Place, number> {
  const byPlace: Record<Place, number> = { [inlinePlace]: 0, [workerPlace]: 0 };
  for (const { place, inFlight } of executors) {
    byPlace[place] = (byPlace[place] ?? 0) + inFlight;
  }
  return byPlace;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

import { inlinePlace, type Place, workerPlace } from '../base/place.ts';
import { inTurns } from '../base/turns.ts';
import type { BodyMemory } from '../dispatch/body-memory.ts';
import type { ExecutorFigures } from '../dispatch/executor.ts';
import type { ReplyMemory } from '../dispatch/reply-memory.ts';
import { lostOutput } from '../observe/lost-output.ts';
import type { ProcessGauges } from '../observe/process-gauges.ts';
import type { RecentEvent } from '../observe/recent-events.ts';
import type {
  CallTotals,
  Counters,
  Gauges,
  MetricsSnapshot,
  PlacedProcedure,
  WorkerFigures,
} from '../observe/snapshot.ts';
import type { ThrottledCallers } from '../observe/throttled-callers.ts';
import type { CountersByGroup, PoolCounters, WorkerStats } from '../pool/stats.ts';
import type { Cluster } from './cluster.ts';
import type { FrontEndBlockers } from './front-end-blockers.ts';
import type { Observation } from './observation.ts';
import type { Serving } from './serving.ts';

/** Figures that only a server knows. */
export interface ConnectionFigures {
  readonly open: number;
  /** Those among them that are WebSockets. */
  readonly sockets: number;
  /** Connections closed at once for being too many, since the server started. */
  readonly refused: number;
}

export interface SnapshotSource {
  readonly observation: Observation;
  readonly poolCounters: CountersByGroup;
  readonly bodies: BodyMemory;
  readonly replies: ReplyMemory;
  readonly serving: Serving;
  readonly blockers: FrontEndBlockers;
  readonly cluster: Cluster | undefined;
  readonly processGauges: ProcessGauges;
  readonly recentEvents: readonly RecentEvent[];
  /** undefined: nobody looks at who is refused. */
  readonly throttled: ThrottledCallers | undefined;
  /** undefined: no server listens. */
  readonly connections: ConnectionFigures | undefined;
}

/** The figures of this process as they are now. */
export function snapshotOf(process: string, source: SnapshotSource): MetricsSnapshot {
  const calls = source.observation.counters?.totals() ?? [];
  return assemble(process, source, calls, placesOf(calls, source));
}

/** Procedures whose figures are read in one turn of the event loop: less than a millisecond. */
const perTurn = 50;

/**
 * The same, read in several turns of the event loop, so that no call waits for a thousand procedures. Without `places`: who
 * asks for it knows where procedures run.
 */
export async function snapshotInTurns(
  process: string,
  source: SnapshotSource,
): Promise<MetricsSnapshot> {
  const calls: CallTotals[] = [];
  const rows = source.observation.counters?.rows() ?? [];
  await inTurns(rows, perTurn, (row) => calls.push(row));
  return assemble(process, source, calls, []);
}

function assemble(
  process: string,
  source: SnapshotSource,
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
    events: source.recentEvents,
    callers: source.throttled?.list() ?? [],
    members: source.cluster?.members() ?? [],
    groups: poolCounters.groups.map((group) => ({
      group,
      counters: poolCountersOf(poolCounters.of(group)),
      gauges: poolGaugesOf(source, group),
    })),
  };
}

function placesOf(calls: readonly CallTotals[], { serving }: SnapshotSource): PlacedProcedure[] {
  const { current } = serving;
  const called = new Set(calls.map(({ procedure }) => procedure));
  return [...called].flatMap((procedure) => {
    const known = current?.table.get(procedure);
    if (current === undefined || known === undefined) return [];
    const { place, cause } = current.placementOf(known);
    return [{ procedure, place, cause }];
  });
}

/** Of all loadings: an older one that finishes its calls has workers too. */
function workersOf({ serving }: SnapshotSource): WorkerFigures[] {
  return serving.loadings.flatMap(({ pools }) =>
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

function countersOf(source: SnapshotSource): Counters {
  const { observation, poolCounters, bodies, replies, connections, cluster } = source;
  const { shed, reloads, failedReloads, streams, failedStreams } = observation;
  const open = openStreamsOf(source);
  return {
    shed,
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

/** Of all loadings together. */
function openStreamsOf({
  serving,
  cluster,
}: SnapshotSource): readonly { readonly values: number }[] {
  const here = serving.loadings.flatMap(({ streams }) => [...streams]);
  return [...here, ...(cluster?.streams ?? [])];
}

/** What the workers of a group have counted for themselves. */
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

function gaugesOf(source: SnapshotSource): Gauges {
  const { serving, bodies, replies, processGauges, connections, cluster } = source;
  const here = serving.loadings.flatMap(({ executors }) => executors);
  const remote = cluster?.isGateway === true ? cluster.stats() : undefined;
  return {
    requestsInFlight: serving.inFlight,
    openStreams: openStreamsOf(source).length,
    callsInFlight: inFlightByPlace([...here, ...(cluster?.executors ?? [])]),
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

/** The workers of a group in all loadings together: an older one that finishes its calls counts too. */
function poolGaugesOf(
  { serving, poolCounters }: SnapshotSource,
  group: string | undefined,
): Gauges {
  const pools = serving.loadings.flatMap((loaded) => loaded.pools.get(group)?.stats() ?? []);
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

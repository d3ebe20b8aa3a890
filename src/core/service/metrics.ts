import { setImmediate as nextTurn } from 'node:timers/promises';
import { clockMs } from '../base/clock.ts';
import { inlinePlace, type Place, workerPlace } from '../base/place.ts';
import { inTurns } from '../base/timer.ts';
import type { ExecutorFigures } from '../dispatch/executor.ts';
import { lostOutput } from '../observe/log.ts';
import {
  blockedMetrics,
  callMetrics,
  counterTable,
  type GaugeName,
  gaugeTable,
  type MetricRow,
  placeMetric,
} from '../observe/metric-table.ts';
import { ProcessGauges } from '../observe/process-gauges.ts';
import {
  type AffinityTotals,
  addTotals,
  type BlockedTotals,
  batchBounds,
  bucketBounds,
  type CallTotals,
  type Counters,
  countOf,
  type Gauges,
  type HistogramTotals,
  type MetricsSnapshot,
  type WorkerFigures,
} from '../observe/snapshot.ts';
import { addByKey } from '../observe/sums.ts';
import type { ServiceContext } from './context.ts';
import type { Deployments } from './deployments.ts';

/** How long one rendered text serves all who ask: any number of scrapers cost one rendering a second. */
const keptMs = 1000;

/** Procedures whose figures are read in one turn of the event loop: less than a millisecond. */
const perTurn = 50;

/** The figures of a service: kept as plain numbers, and rendered when somebody asks. */
export class Metrics {
  readonly #context: ServiceContext;
  readonly #deployments: Deployments;
  readonly #gauges = new ProcessGauges();
  #bytes: Promise<Buffer> | undefined;
  #forgetting: NodeJS.Timeout | undefined;
  /** The name of this process among the processes of its service. */
  process = '0';
  /** Gives the figures that only the server knows; undefined if no server listens. */
  connections: (() => ConnectionFigures) | undefined;
  /** Gives the figures of all processes of the service; undefined if this process is alone. */
  collect: (() => Promise<readonly MetricsSnapshot[]>) | undefined;

  constructor(context: ServiceContext, deployments: Deployments) {
    this.#context = context;
    this.#deployments = deployments;
  }

  /** Starts the sampling of figures that must be sampled, such as the delay of the event loop. */
  start(): void {
    this.#gauges.start();
  }

  /** The figures of this process, with the CPU time of its workers as it is now. */
  async read(): Promise<MetricsSnapshot> {
    await this.#readThreads();
    return this.snapshot();
  }

  /** With the CPU time of the workers as it was read last. */
  snapshot(): MetricsSnapshot {
    const calls = this.#context.observation.counters?.totals() ?? [];
    const called = new Set(calls.map(({ procedure }) => procedure));
    const { current } = this.#deployments;
    const places = [...called].flatMap((procedure) => {
      const known = current?.table.get(procedure);
      if (current === undefined || known === undefined) return [];
      const { place, cause } = current.placementOf(known);
      return [{ procedure, place, cause }];
    });
    return this.#snapshotOf(calls, places);
  }

  /**
   * The figures of all processes, for who asks each second. Those of this process are read in several turns of the event
   * loop, so that no call waits for a thousand procedures, and without `places`: who asks knows where procedures run.
   */
  async inTurns(): Promise<readonly MetricsSnapshot[]> {
    if (this.collect !== undefined) return this.collect();
    const calls: CallTotals[] = [];
    const rows = this.#context.observation.counters?.rows() ?? [];
    await inTurns(rows, perTurn, (row) => calls.push(row));
    await this.#readThreads();
    return [this.#snapshotOf(calls, [])];
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

  async #render(): Promise<Buffer> {
    try {
      return await renderMetrics((await this.collect?.()) ?? [await this.read()]);
    } finally {
      // The time is counted from the end of the rendering: a second rendering can't begin while this one goes on.
      this.#forgetting = setTimeout(() => this.#forget(), keptMs).unref();
    }
  }

  async #readThreads(): Promise<void> {
    const { poolCounters } = this.#context;
    await Promise.all(
      [undefined, ...poolCounters.groups].map((group) => poolCounters.of(group).seats.read()),
    );
  }

  #forget(): void {
    clearTimeout(this.#forgetting);
    this.#bytes = undefined;
  }

  #snapshotOf(calls: readonly CallTotals[], places: MetricsSnapshot['places']): MetricsSnapshot {
    const { blockers, poolCounters, recent, throttled, cluster } = this.#context;
    const connections = this.connections?.();
    const groups = poolCounters.groups.map((group) => ({
      group,
      counters: { ...poolCounters.of(group).counts },
      gauges: this.#poolGauges(group),
    }));
    return {
      process: this.process,
      calls,
      counters: this.#counters(connections),
      blocked: blockers.totals(),
      gauges: this.#gaugesNow(connections),
      places,
      workers: this.#workers(),
      events: recent.list,
      callers: throttled?.list() ?? [],
      members: cluster?.members() ?? [],
      groups,
    };
  }

  /** Of all deployments: an older one that finishes its calls has workers too. */
  #workers(): WorkerFigures[] {
    const pools = this.#deployments.all.flatMap((deployment) => [...deployment.pools]);
    const now = clockMs();
    return pools.flatMap(([name, pool]) => {
      const { active, express } = pool.workers;
      const { seats } = this.#context.poolCounters.of(name);
      return [...active, ...(express === undefined ? [] : [express])].map((one) => {
        const { threadId, inFlight, completed, streams, running = null } = one.statsAt(now);
        const { number: worker = 0, cpuSeconds = null, heapBytes = null } = seats.of(one) ?? {};
        const isExpress = one === express;
        const thread = { group: name ?? null, worker, threadId, isExpress, cpuSeconds, heapBytes };
        return { ...thread, inFlight, completed, streams, running };
      });
    });
  }

  #counters(connections: ConnectionFigures | undefined): Counters {
    const { observation, poolCounters, cluster } = this.#context;
    const { counts } = observation;
    const remote = cluster?.stats();
    return {
      ...counts,
      ...poolCounters.of(undefined).counts,
      ...connections?.counts,
      streamValues: counts.streamValues + sum(this.#openStreams(), ({ values }) => values),
      lostOutput: lostOutput(),
      remoteRequeued: remote?.requeued ?? 0,
      remoteLost: remote?.lost ?? 0,
      natsReconnects: cluster?.reconnects ?? 0,
    };
  }

  #openStreams(): readonly { readonly values: number }[] {
    const here = this.#deployments.all.flatMap(({ streams }) => [...streams]);
    return [...here, ...(this.#context.cluster?.streams ?? [])];
  }

  #gaugesNow(connections: ConnectionFigures | undefined): Gauges {
    const { bodies, replies, orphans, cluster } = this.#context;
    const here = this.#deployments.all.flatMap(({ executors }) => executors);
    const remote = cluster?.stats();
    return {
      requestsInFlight: this.#deployments.inFlight,
      openStreams: this.#openStreams().length,
      callsInFlight: inFlightByPlace([...here, ...(cluster?.executors ?? [])]),
      inlineLeftCalls: orphans.total - orphans.overdue,
      inlineOverdueCalls: orphans.overdue,
      ...this.#poolGauges(undefined),
      remoteMembers: remote?.members,
      remoteInFlight: remote?.inFlight,
      remoteQueued: remote?.queued,
      bodyMemoryInUse: bodies.stats().inUse,
      bodyMemoryKept: bodies.stats().kept,
      replyMemory: replies.stats().waiting,
      connections: connections?.open,
      sockets: connections?.sockets,
      ...this.#gauges.read(),
    };
  }

  /** The workers of a group in all deployments together: an older one that finishes its calls counts too. */
  #poolGauges(group: string | undefined): Gauges {
    const pools = this.#deployments.all.flatMap((one) => one.pools.get(group)?.stats() ?? []);
    const expressWorkers = pools.flatMap(({ express }) => express ?? []);
    const workers = [...pools.flatMap((pool) => pool.workers), ...expressWorkers];
    const { zombiesNow, seats } = this.#context.poolCounters.of(group);
    return {
      leftCalls: sum(workers, ({ left }) => left),
      overdueCalls: sum(workers, ({ overdue }) => overdue),
      expressCallsInFlight: sum(expressWorkers, ({ inFlight }) => inFlight),
      queued: sum(pools, ({ queued }) => queued),
      activeWorkers: sum(pools, (pool) => pool.workers.length),
      spareWorkers: sum(pools, ({ spares }) => spares),
      startingWorkers: sum(pools, ({ starting }) => starting),
      zombieWorkers: zombiesNow,
      workerCpu: seats.cpuSeconds(),
      workerHeap: seats.heapBytes(),
    };
  }
}

interface ConnectionFigures {
  readonly open: number;
  readonly sockets: number;
  /** What the servers count. */
  readonly counts: Partial<Counters>;
}

/** The places `inline` and `worker` are shown even with no calls; any other place only when an executor names it. */
function inFlightByPlace(executors: readonly ExecutorFigures[]): Record<Place, number> {
  const byPlace: Record<Place, number> = { [inlinePlace]: 0, [workerPlace]: 0 };
  for (const { place, inFlight } of executors) {
    byPlace[place] = (byPlace[place] ?? 0) + inFlight;
  }
  return byPlace;
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}

type Labels = Readonly<Record<string, string | number>>;

interface Value {
  /** If it differs from the name of the metric: `..._bucket`, `..._sum`, `..._count`. */
  readonly metricName?: string;
  readonly value: number;
  readonly labels: Labels;
}

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly values: Value[];
}

type MetricType = 'counter' | 'gauge' | 'histogram';

/** How many series are rendered, in about a millisecond, before the event loop serves calls again. */
const seriesPerTurn = 1000;

/**
 * Renders the figures of the processes of one service in the text format of Prometheus. Counters are summed over the
 * processes. A gauge has a series for each process, with the label `process`.
 */
export async function renderMetrics(snapshots: readonly MetricsSnapshot[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (const { name, help, type, values } of toMetrics(snapshots)) {
    let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const [i, value] of values.entries()) {
      text += `${value.metricName ?? name}${labelsText(value.labels)} ${value.value}\n`;
      if (i % seriesPerTurn !== seriesPerTurn - 1) continue;
      parts.push(Buffer.from(text));
      text = '';
      await nextTurn();
    }
    parts.push(Buffer.from(text));
  }
  return Buffer.concat(parts);
}

function labelsText(labels: Labels): string {
  let text = '';
  for (const name of Object.keys(labels)) {
    text += `${text === '' ? '{' : ','}${name}="${escaped(labels[name])}"`;
  }
  return text === '' ? '' : `${text}}`;
}

function escaped(value: string | number | undefined): string {
  if (typeof value !== 'string') return String(value);
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function toMetrics(snapshots: readonly MetricsSnapshot[]): Metric[] {
  const { calls, counters, blocked, groups } = addTotals(snapshots);
  const names = Object.keys(counterTable) as (keyof Counters)[];
  const totals = names.map((name): [MetricRow, Value[]] => {
    const row: MetricRow = counterTable[name];
    const values: Value[] = [{ value: counters[name], labels: { ...row.labels } }];
    for (const { group, counters: own } of groups) {
      const value = own[name];
      if (value !== undefined) values.push({ value, labels: { ...row.labels, group } });
    }
    return [row, values];
  });
  return [
    metric(callMetrics.calls, 'counter', callCounts(calls)),
    metric(callMetrics.wait, 'histogram', histogram('wait', calls)),
    metric(callMetrics.duration, 'histogram', histogram('duration', calls)),
    ...grouped([[callMetrics.batches, batchSizes(calls)]], 'histogram'),
    ...grouped(
      [
        [callMetrics.affinity, affinityCounts(calls, 'calls')],
        [callMetrics.affinityWait, affinityCounts(calls, 'waitSeconds')],
        [callMetrics.busy, busySeconds(calls)],
        [blockedMetrics.times, blockedCounts(blocked, 'times')],
        [blockedMetrics.seconds, blockedCounts(blocked, 'seconds')],
      ],
      'counter',
    ),
    ...grouped([[placeMetric, places(snapshots)]], 'gauge'),
    ...grouped(totals, 'counter'),
    ...grouped(gaugesOf(snapshots), 'gauge'),
  ];
}

function places(snapshots: readonly MetricsSnapshot[]): Value[] {
  return inOrder(snapshots).flatMap(({ process, places: own }) =>
    own.map(({ procedure, place, cause: reason }) => {
      return { value: 1, labels: { procedure, place, reason, process } };
    }),
  );
}

function callCounts(calls: readonly CallTotals[]): Value[] {
  return calls.flatMap(({ procedure, place, codes }) =>
    Object.entries(codes).map(([code, value]) => ({ value, labels: { procedure, code, place } })),
  );
}

/** Of no call whose time is not known here: of calls that never ran, and of calls on other machines. */
function busySeconds(calls: readonly CallTotals[]): Value[] {
  return calls.flatMap(({ procedure, place, busy: value }) =>
    value === 0 ? [] : [{ value, labels: { procedure, place } }],
  );
}

function blockedCounts(blocked: readonly BlockedTotals[], of: 'times' | 'seconds'): Value[] {
  return blocked.map((one) => ({ value: one[of], labels: { procedure: one.procedure } }));
}

/** A histogram for each procedure over all places: one for each place too would be too many series. */
function histogram(of: 'wait' | 'duration', calls: readonly CallTotals[]): Value[] {
  // Empty: no call ended, or the procedure has no times of its own.
  const all = calls.flatMap(({ procedure, [of]: times }) =>
    countOf(times) === 0 ? [] : { procedure, times },
  );
  return addByKey(all, ({ procedure }) => procedure).flatMap(({ procedure, times }) =>
    histogramValues(callMetrics[of].name, times, bucketBounds, { procedure }),
  );
}

function batchSizes(calls: readonly CallTotals[]): Value[] {
  const { name } = callMetrics.batches;
  return calls.flatMap(({ procedure, place, batches }) =>
    batches === undefined ? [] : histogramValues(name, batches, batchBounds, { procedure, place }),
  );
}

function affinityCounts(calls: readonly CallTotals[], of: keyof AffinityTotals): Value[] {
  return calls.flatMap(({ procedure, affinity }) =>
    Object.entries(affinity?.[of] ?? {}).map(([outcome, value]) => ({
      value,
      labels: { procedure, outcome },
    })),
  );
}

function histogramValues(
  name: string,
  totals: HistogramTotals,
  bounds: readonly number[],
  labels: Labels,
): Value[] {
  const values: Value[] = [];
  const add = (suffix: string, value: number, more?: Labels): void => {
    values.push({ metricName: `${name}_${suffix}`, value, labels: { ...labels, ...more } });
  };
  let below = 0;
  for (const [i, bound] of bounds.entries()) {
    below += totals.buckets[i] ?? 0;
    add('bucket', below, { le: bound });
  }
  add('bucket', countOf(totals), { le: '+Inf' });
  add('sum', totals.sum);
  add('count', countOf(totals));
  return values;
}

/** By the number of the process: 10 follows 9. */
function inOrder(snapshots: readonly MetricsSnapshot[]): MetricsSnapshot[] {
  return snapshots.toSorted((a, b) => a.process.localeCompare(b.process, 'en', { numeric: true }));
}

function gaugesOf(snapshots: readonly MetricsSnapshot[]): [MetricRow, Value[]][] {
  const ordered = inOrder(snapshots);
  return (Object.keys(gaugeTable) as GaugeName[]).map((name) => {
    const row: MetricRow = gaugeTable[name];
    const values = ordered.flatMap(({ process, gauges, groups }) => [
      ...gaugeValues(row, gauges?.[name], { process }),
      ...groups.flatMap((one) =>
        gaugeValues(row, one.gauges?.[name], { group: one.group, process }),
      ),
    ]);
    return [row, values];
  });
}

/** The series of a gauge: one, or if it has a value for each value of a label, one for each. */
function gaugeValues(
  row: MetricRow,
  value: number | Readonly<Record<string, number>> | undefined,
  labels: Labels,
): Value[] {
  if (value === undefined) return [];
  if (typeof value === 'number') return [{ value, labels: { ...row.labels, ...labels } }];
  const { by } = row;
  if (by === undefined) return [];
  return Object.entries(value).map(([key, one]) => ({
    value: one,
    labels: { [by]: key, ...labels },
  }));
}

/** Groups rows of one name: they are the series of one metric. */
function grouped(rows: readonly (readonly [MetricRow, Value[]])[], type: MetricType): Metric[] {
  const metrics = new Map<string, Metric>();
  for (const [row, values] of rows) {
    const before = metrics.get(row.name);
    if (before === undefined) metrics.set(row.name, metric(row, row.type ?? type, [...values]));
    else before.values.push(...values);
  }
  return [...metrics.values()].filter(({ values }) => values.length > 0);
}

function metric({ name, help }: MetricRow, type: MetricType, values: Value[]): Metric {
  return { name, help, type, values };
}

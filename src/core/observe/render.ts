import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  blockedMetrics,
  type CounterName,
  callMetrics,
  counterTable,
  type GaugeName,
  gaugeTable,
  type MetricRow,
  placeMetric,
} from './metric-table.ts';
import {
  addHistograms,
  addTotals,
  type BlockedTotals,
  bucketBounds,
  type CallTotals,
  countOf,
  type HistogramTotals,
  type MetricsSnapshot,
} from './snapshot.ts';

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
  const totals = (Object.keys(counterTable) as CounterName[]).map((name): [MetricRow, Value[]] => {
    const row: MetricRow = counterTable[name];
    const values: Value[] = [{ value: counters[name], labels: { ...row.labels } }];
    for (const { group, counters: own } of groups) {
      const value = own[name];
      if (value !== undefined) values.push({ value, labels: { ...row.labels, group } });
    }
    return [row, values];
  });
  return [
    callCounts(calls),
    histogram('wait', calls),
    histogram('run', calls),
    histogram('duration', calls),
    ...blockedCounts(blocked, 'times'),
    ...blockedCounts(blocked, 'seconds'),
    ...places(snapshots),
    ...grouped(totals, 'counter'),
    ...grouped(gaugesOf(snapshots), 'gauge'),
  ];
}

function places(snapshots: readonly MetricsSnapshot[]): Metric[] {
  const values = inOrder(snapshots).flatMap(({ process, places: own }) =>
    own.map(({ procedure, place, cause: reason }) => {
      return { value: 1, labels: { procedure, place, reason, process } };
    }),
  );
  return values.length === 0 ? [] : [metric(placeMetric, 'gauge', values)];
}

function callCounts(calls: readonly CallTotals[]): Metric {
  const values = calls.flatMap(({ procedure, place, codes }) =>
    Object.entries(codes).map(([code, value]) => ({ value, labels: { procedure, code, place } })),
  );
  return metric(callMetrics.calls, 'counter', values);
}

function blockedCounts(blocked: readonly BlockedTotals[], of: 'times' | 'seconds'): Metric[] {
  const values = blocked.map((one) => ({ value: one[of], labels: { procedure: one.procedure } }));
  return values.length === 0 ? [] : [metric(blockedMetrics[of], 'counter', values)];
}

/** A histogram for each procedure over all places: one for each place too would be too many series. */
function histogram(of: 'wait' | 'run' | 'duration', calls: readonly CallTotals[]): Metric {
  const row = callMetrics[of];
  const byProcedure = new Map<string, HistogramTotals>();
  for (const one of calls) {
    const before = byProcedure.get(one.procedure);
    const times = one[of];
    // Empty: no call ended, or the procedure has no times of its own.
    if (countOf(times) === 0) continue;
    byProcedure.set(one.procedure, before === undefined ? times : addHistograms(before, times));
  }
  const values: Value[] = [];
  for (const [procedure, times] of byProcedure) {
    const add = (suffix: string, value: number, labels: Labels): void => {
      values.push({ metricName: `${row.name}_${suffix}`, value, labels });
    };
    let below = 0;
    for (const [i, bound] of bucketBounds.entries()) {
      below += times.buckets[i] ?? 0;
      add('bucket', below, { procedure, le: bound });
    }
    add('bucket', countOf(times), { procedure, le: '+Inf' });
    add('sum', times.sum, { procedure });
    add('count', countOf(times), { procedure });
  }
  return metric(row, 'histogram', values);
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

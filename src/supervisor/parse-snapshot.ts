import type { HistogramTotals } from '../observe/histogram.ts';
import type { CallTotals, Counters, Gauges, MetricsSnapshot } from '../observe/snapshot.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Not negative, and no NaN: what is counted and what is measured. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}

/**
 * The figures of a process as they were sent. What is no amount is left out of them: a successor of another version
 * of this package may count what this one does not know of. One bad call entry makes all of it worthless.
 */
export function parseSnapshot(value: unknown): MetricsSnapshot | undefined {
  if (!isFields(value)) return undefined;
  const { process, calls, counters, gauges } = value;
  if (typeof process !== 'string' || !isFields(counters)) return undefined;
  if (!Array.isArray(calls) || !calls.every(isCallTotals)) return undefined;
  if (gauges !== undefined && !isFields(gauges)) return undefined;
  return {
    process,
    calls,
    // Each process counts all of them, or is of another version.
    counters: amountsOf(counters) as Counters,
    gauges: gauges && (amountsOf(gauges) as Gauges),
  };
}

export function parseSnapshots(value: unknown): readonly MetricsSnapshot[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const snapshots = value.map(parseSnapshot);
  return snapshots.every((snapshot) => snapshot !== undefined) ? snapshots : undefined;
}

function amountsOf(fields: Fields): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, number] => isAmount(entry[1])),
  );
}

function isCallTotals(value: unknown): value is CallTotals {
  if (!isFields(value)) return false;
  const { procedure, place, codes, wait, run, duration } = value;
  return (
    typeof procedure === 'string' &&
    typeof place === 'string' &&
    isFields(codes) &&
    Object.values(codes).every(isAmount) &&
    [wait, run, duration].every(isHistogram)
  );
}

function isHistogram(value: unknown): value is HistogramTotals {
  if (!isFields(value)) return false;
  const { buckets, sum } = value;
  return Array.isArray(buckets) && buckets.every(isAmount) && isAmount(sum);
}

import type { HistogramTotals } from '../observe/histogram.ts';
import type { RecentEvent } from '../observe/recent-events.ts';
import type {
  BlockedTotals,
  CallTotals,
  Counters,
  Gauges,
  GroupFigures,
  MemberFigures,
  MetricsSnapshot,
  PlacedProcedure,
  WorkerFigures,
} from '../observe/snapshot.ts';
import { type ThrottledCaller, throttleCauses } from '../observe/throttled-callers.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value can be a count or a measurement: a finite number, not negative. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}

/**
 * Reads the figures that a process sent. Counters and gauges that are not amounts are left out: a successor with another
 * version of this package may send others. One bad entry of `calls` makes the whole snapshot unusable: undefined.
 */
export function parseSnapshot(value: unknown): MetricsSnapshot | undefined {
  if (!isFields(value)) return undefined;
  const { process, calls, counters, blocked, gauges, places } = value;
  const { groups, workers, events, callers, members } = value;
  if (typeof process !== 'string' || !isFields(counters)) return undefined;
  if (!Array.isArray(calls) || !calls.every(isCallTotals)) return undefined;
  if (gauges !== undefined && !isFields(gauges)) return undefined;
  return {
    process,
    calls,
    // Complete, unless the process has another version of this package.
    counters: amountsOf(counters) as Counters,
    // A process with an older version of this package has none.
    blocked: Array.isArray(blocked) ? blocked.filter(isBlockedTotals) : [],
    gauges: gauges && gaugesOf(gauges),
    places: Array.isArray(places) ? places.filter(isPlacedProcedure) : [],
    groups: Array.isArray(groups) ? groups.filter(isFields).flatMap(groupOf) : [],
    workers: Array.isArray(workers) ? workers.filter(isWorker) : [],
    events: Array.isArray(events) ? events.filter(isEvent) : [],
    callers: Array.isArray(callers) ? callers.filter(isThrottled) : [],
    members: Array.isArray(members) ? members.filter(isMember) : [],
  };
}

function groupOf({ group, counters, gauges }: Fields): GroupFigures[] {
  if (typeof group !== 'string' || !isFields(counters)) return [];
  const now = isFields(gauges) ? gaugesOf(gauges) : undefined;
  return [{ group, counters: amountsOf(counters), gauges: now }];
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

/** A gauge has one amount, or one for each place. */
function gaugesOf(fields: Fields): Gauges {
  const byLabel = Object.entries(fields)
    .filter((entry): entry is [string, Fields] => isFields(entry[1]))
    .map(([name, values]) => [name, amountsOf(values)]);
  return { ...amountsOf(fields), ...Object.fromEntries(byLabel) } as Gauges;
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

function isBlockedTotals(value: unknown): value is BlockedTotals {
  if (!isFields(value)) return false;
  const { procedure, times, seconds } = value;
  return typeof procedure === 'string' && isAmount(times) && isAmount(seconds);
}

function isPlacedProcedure(value: unknown): value is PlacedProcedure {
  if (!isFields(value)) return false;
  return [value.procedure, value.place, value.cause].every((text) => typeof text === 'string');
}

function isWorker(value: unknown): value is WorkerFigures {
  if (!isFields(value)) return false;
  const { group, isLane, threadId, inFlight, completed, streams, running } = value;
  return (
    (group === null || typeof group === 'string') &&
    typeof isLane === 'boolean' &&
    [threadId, inFlight, completed, streams].every(isAmount) &&
    (running === null ||
      (isFields(running) && typeof running.procedure === 'string' && isAmount(running.ms)))
  );
}

function isEvent(value: unknown): value is RecentEvent {
  if (!isFields(value)) return false;
  const { at, event, text } = value;
  return isAmount(at) && typeof event === 'string' && typeof text === 'string';
}

function isThrottled(value: unknown): value is ThrottledCaller {
  if (!isFields(value) || !isFields(value.refused)) return false;
  const { key, refused, since, last } = value;
  const counts = throttleCauses.map((cause) => refused[cause]);
  return typeof key === 'string' && [since, last, ...counts].every(isAmount);
}

function isMember(value: unknown): value is MemberFigures {
  if (!isFields(value)) return false;
  const { service, id, version, state, procedures, inFlight, streams, othersLoad, lost, started } =
    value;
  return (
    [service, id, version, state].every((text) => typeof text === 'string') &&
    [procedures, inFlight, streams, othersLoad, lost, started].every(isAmount)
  );
}

function isHistogram(value: unknown): value is HistogramTotals {
  if (!isFields(value)) return false;
  const { buckets, sum } = value;
  return Array.isArray(buckets) && buckets.every(isAmount) && isAmount(sum);
}

import type { RecentEvent } from '../../src/core/observe/recent-events.ts';
import {
  bucketBounds,
  type CallTotals,
  type MemberFigures,
  type MetricsSnapshot,
  type WorkerFigures,
} from '../../src/core/observe/snapshot.ts';
import type { ThrottledCaller } from '../../src/core/observe/throttled-callers.ts';

/** What the server answers each second. */
export interface Figures {
  readonly at: number;
  readonly state: string;
  readonly snapshots: readonly Snapshot[];
  readonly placement: Readonly<Record<string, { readonly place: string; readonly reason: string }>>;
  readonly workers: readonly (WorkerFigures & { readonly process: string })[];
  readonly members: readonly (MemberFigures & { readonly process: string })[];
  readonly callers: readonly ThrottledCaller[];
  readonly events: readonly (RecentEvent & { readonly process: string })[];
}

export type Snapshot = Omit<
  MetricsSnapshot,
  'workers' | 'events' | 'places' | 'callers' | 'members'
>;

export type Buckets = readonly number[];

/** The time in milliseconds below which a share of the calls lies, within its bucket by proportion; NaN: no calls. */
export function quantile(buckets: Buckets, share: number): number {
  const all = sum(buckets);
  if (all === 0) return Number.NaN;
  let below = 0;
  for (const [at, count] of buckets.entries()) {
    if (below + count < all * share || count === 0) {
      below += count;
      continue;
    }
    const from = bucketBounds[at - 1] ?? 0;
    const to = bucketBounds[at] ?? bucketBounds.at(-1) ?? 0;
    return (from + ((all * share - below) / count) * (to - from)) * 1000;
  }
  return (bucketBounds.at(-1) ?? 0) * 1000;
}

/** The calls of one procedure over all processes and places, since the start. */
export interface ProcedureTotals {
  readonly calls: number;
  readonly errors: number;
  readonly duration: Buckets;
  /** For how long they held their threads, seconds. */
  readonly busy: number;
  /** Runs of a handler that takes many calls at once, and the calls of these runs. */
  readonly runs: number;
  readonly callsInRuns: number;
}

export const none: ProcedureTotals = {
  calls: 0,
  errors: 0,
  duration: [],
  busy: 0,
  runs: 0,
  callsInRuns: 0,
};

function add(a: Buckets, b: Buckets): Buckets {
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  return long.map((count, at) => count + (short[at] ?? 0));
}

/** Counts never fall, but a process that ended may be counted late. */
export function since(now: Buckets, before: Buckets): Buckets {
  return now.map((count, at) => Math.max(0, count - (before[at] ?? 0)));
}

function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}

function totalsOf({ codes, duration, busy, batches }: CallTotals): ProcedureTotals {
  const calls = sum(Object.values(codes));
  return {
    calls,
    errors: calls - (codes['0'] ?? 0),
    duration: duration.buckets,
    busy,
    runs: sum(batches?.buckets ?? []),
    callsInRuns: batches?.sum ?? 0,
  };
}

function plus(a: ProcedureTotals, b: ProcedureTotals): ProcedureTotals {
  return {
    calls: a.calls + b.calls,
    errors: a.errors + b.errors,
    duration: add(a.duration, b.duration),
    busy: a.busy + b.busy,
    runs: a.runs + b.runs,
    callsInRuns: a.callsInRuns + b.callsInRuns,
  };
}

/** The totals by procedure, `(rest)` for those that are not sent among them. */
export function totalsByProcedure({ snapshots }: Figures): ReadonlyMap<string, ProcedureTotals> {
  const totals = new Map<string, ProcedureTotals>();
  for (const row of snapshots.flatMap(({ calls }) => calls)) {
    totals.set(row.procedure, plus(totals.get(row.procedure) ?? none, totalsOf(row)));
  }
  return totals;
}

export function sumTotals(all: Iterable<ProcedureTotals>): ProcedureTotals {
  return [...all].reduce(plus, none);
}

/** Names a worker's thread among those of all processes, as long as it lives. */
export function threadKey({ process, threadId }: Figures['workers'][number]): string {
  return `${process} ${threadId}`;
}

type Gauges = NonNullable<Snapshot['gauges']>;

/** The sum of a gauge over processes and groups of workers. */
export function sumGauge({ snapshots }: Figures, name: keyof Gauges): number {
  const all = snapshots.flatMap(({ gauges, groups }) => [
    gauges,
    ...groups.map((one) => one.gauges),
  ]);
  const values = all.map((gauges) => gauges?.[name] ?? 0);
  return sum(
    values.map((value) => (typeof value === 'number' ? value : sum(Object.values(value)))),
  );
}

/** The highest of a gauge over processes. */
export function maxGauge({ snapshots }: Figures, name: keyof Gauges): number {
  return Math.max(0, ...snapshots.map(({ gauges }) => Number(gauges?.[name] ?? 0)));
}

export function sumCounter({ snapshots }: Figures, name: keyof Snapshot['counters']): number {
  const all = snapshots.flatMap((one) => [one, ...one.groups]);
  return sum(all.map(({ counters }) => counters[name] ?? 0));
}

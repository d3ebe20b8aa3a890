import { addHistograms, type HistogramTotals } from './histogram.ts';
import type { CounterName, GaugeName } from './metric-table.ts';
import type { RecentEvent } from './recent-events.ts';
import type { ThrottledCaller } from './throttled-callers.ts';

/** The calls of one procedure in one place, since the process started. */
export interface CallTotals {
  readonly procedure: string;
  readonly place: string;
  /** How many ended with each code; 0: a result. */
  readonly codes: Readonly<Record<string, number>>;
  readonly wait: HistogramTotals;
  /** Times of the calls that ran. */
  readonly run: HistogramTotals;
  readonly duration: HistogramTotals;
}

/** How often, and for how long, one procedure has held the front end for too long. */
export interface BlockedTotals {
  readonly procedure: string;
  readonly times: number;
  readonly seconds: number;
}

/** Where the calls of a procedure run now, and why, in few words. */
export interface PlacedProcedure {
  readonly procedure: string;
  readonly place: string;
  readonly cause: string;
}

export type Counters = Readonly<Record<CounterName, number>>;

/** One value, or one for each value of the label that the gauge's row names in `by`. */
type GaugeValue = number | Readonly<Record<string, number>>;

/** Values are undefined, and not shown, for what a process does not have (a port, workers). */
export type Gauges = Readonly<Partial<Record<GaugeName, GaugeValue | undefined>>>;

/** What the workers of one group have counted: the counters that each group of workers has for itself. */
export interface GroupTotals {
  readonly group: string;
  readonly counters: Partial<Counters>;
}

/** And what is now; left out: the process has ended. */
export interface GroupFigures extends GroupTotals {
  readonly gauges?: Gauges | undefined;
}

/** One worker thread as it is now. */
export interface WorkerFigures {
  /** null: the worker has no group. */
  readonly group: string | null;
  /** Whether it is the spare that takes short calls. */
  readonly isLane: boolean;
  readonly threadId: number;
  /** Calls that it holds, and calls that it has ended. */
  readonly inFlight: number;
  readonly completed: number;
  /** Streams that are open there. */
  readonly streams: number;
  /** Whose synchronous code the thread is in, and for how many milliseconds; null: in nobody's. */
  readonly running: { readonly procedure: string; readonly ms: number } | null;
}

/** One member of a service on another machine, as a gateway sees it now. */
export interface MemberFigures {
  readonly service: string;
  readonly id: string;
  readonly version: string;
  /** `ready`, `draining`, `silent`, `hung`, or `new`: what it serves is not known yet. */
  readonly state: string;
  /** Procedures that it serves. */
  readonly procedures: number;
  /** Calls and streams of this gateway that are with it, and calls of other gateways as it has told last. */
  readonly inFlight: number;
  readonly streams: number;
  readonly othersLoad: number;
  /** Calls that were with it of which nobody knows whether they ran. */
  readonly lost: number;
  /** When it started, Unix milliseconds. */
  readonly started: number;
}

/** The figures of one process at one moment. A JSON value: it is sent to the process that renders it. */
export interface MetricsSnapshot {
  /** The name of the process within its service: the label `process` of its gauges. */
  readonly process: string;
  readonly calls: readonly CallTotals[];
  readonly counters: Counters;
  readonly blocked: readonly BlockedTotals[];
  /** undefined: the process has ended, and only its counters are left. */
  readonly gauges: Gauges | undefined;
  /** Of each procedure that was called; of none where the process has ended. */
  readonly places: readonly PlacedProcedure[];
  /** What `counters` and `gauges` say of workers is of those that have no group. */
  readonly groups: readonly GroupFigures[];
  /** None where the process has ended. */
  readonly workers: readonly WorkerFigures[];
  /** The last events of its log, the oldest first; kept where the option `console` is on. */
  readonly events: readonly RecentEvent[];
  /** Who was refused of late because of too much; kept where the option `console` is on. */
  readonly callers: readonly ThrottledCaller[];
  /** Of a gateway. None where the process has ended. */
  readonly members: readonly MemberFigures[];
}

/** The counters and call totals of several processes, summed. */
export interface Totals {
  readonly calls: readonly CallTotals[];
  readonly counters: Counters;
  readonly blocked: readonly BlockedTotals[];
  readonly groups: readonly GroupTotals[];
}

/**
 * Sums the counters and call totals of several processes. When a process ends, add its last snapshot to the sum of
 * those that ended before it, and render that sum too, without gauges: so no counter ever falls.
 */
export function addTotals(all: readonly Totals[]): Totals {
  const calls = new Map<string, CallTotals>();
  const counters: Record<string, number> = {};
  const blocked = new Map<string, BlockedTotals>();
  const groups = new Map<string, Record<string, number>>();
  for (const totals of all) {
    for (const one of totals.calls) {
      const key = `${one.place} ${one.procedure}`;
      const before = calls.get(key);
      calls.set(key, before === undefined ? one : addCalls(before, one));
    }
    addCounters(counters, totals.counters);
    for (const { group, counters: own } of totals.groups) {
      const sums = groups.get(group) ?? {};
      addCounters(sums, own);
      groups.set(group, sums);
    }
    for (const one of totals.blocked) {
      const { times, seconds } = blocked.get(one.procedure) ?? { times: 0, seconds: 0 };
      blocked.set(one.procedure, {
        procedure: one.procedure,
        times: times + one.times,
        seconds: seconds + one.seconds,
      });
    }
  }
  // Complete: each process has all counters.
  return {
    calls: [...calls.values()],
    counters: counters as Counters,
    blocked: [...blocked.values()],
    groups: Array.from(groups, ([group, sums]) => ({ group, counters: sums })),
  };
}

function addCounters(sums: Record<string, number>, counters: Partial<Counters>): void {
  for (const [name, count] of Object.entries(counters)) sums[name] = (sums[name] ?? 0) + count;
}

function addCalls(a: CallTotals, b: CallTotals): CallTotals {
  const codes: Record<string, number> = { ...a.codes };
  for (const [code, count] of Object.entries(b.codes)) codes[code] = (codes[code] ?? 0) + count;
  return {
    procedure: a.procedure,
    place: a.place,
    codes,
    wait: addHistograms(a.wait, b.wait),
    run: addHistograms(a.run, b.run),
    duration: addHistograms(a.duration, b.duration),
  };
}

import type { Counts, GaugeName } from './metric-table.ts';
import type { RecentEvent } from './recent-events.ts';
import { add, addByKey } from './sums.ts';
import type { ThrottledCaller } from './throttled-callers.ts';

/** Upper bounds of the buckets in seconds: from a small inline call to the longest request. */
export const bucketBounds: readonly number[] = [
  0.000_01, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1,
  0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

const boundsUs = Float64Array.from(bucketBounds, (bound) => Math.round(bound * 1e6));

/**
 * The counts of a histogram as plain data:
 *
 *     bucketBounds    10 us    50 us    100 us   ...    30 s     60 s
 *     buckets         [0]      [1]      [2]      ...    [18]     [19]     [20]
 *                     <= 10 us <= 50 us <= 100 us       <= 30 s  <= 60 s  above 60 s
 */
export interface HistogramTotals {
  /** How many times fell into each bucket and not into one below it. */
  readonly buckets: readonly number[];
  /** The sum of all times, seconds. */
  readonly sum: number;
}

/** Upper bounds of the buckets of runs of batch handlers by their calls: up to the most calls of one run. */
export const batchBounds: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** Counts values in buckets, times if nothing else is said. Recording one costs a few comparisons and no memory. */
export class Histogram {
  readonly #bounds: Float64Array;
  /** How many of the recorded unit are one of the totals. */
  readonly #scale: number;
  /** The buckets, then the sum as recorded. In a typed array a changed number needs no new heap object. */
  readonly #counts: Float64Array;

  /** @param bounds of the buckets in the recorded unit; the default records microseconds and totals seconds */
  constructor(bounds: Float64Array = boundsUs, scale = 1e6) {
    this.#bounds = bounds;
    this.#scale = scale;
    this.#counts = new Float64Array(bounds.length + 2);
  }

  /**
   * @param value not negative
   * @param times how often it occurred
   */
  record(value: number, times = 1): void {
    const counts = this.#counts;
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    (counts[bucket] as number) += times;
    (counts[bounds.length + 1] as number) += value * times;
  }

  totals(): HistogramTotals {
    const sum = this.#counts[this.#bounds.length + 1] as number;
    return { buckets: [...this.#counts.subarray(0, -1)], sum: sum / this.#scale };
  }
}

export function countOf({ buckets }: HistogramTotals): number {
  return buckets.reduce((sum, count) => sum + count, 0);
}

/** The calls of one procedure in one place, since the process started. */
export interface CallTotals {
  readonly procedure: string;
  readonly place: string;
  /** How many ended with each code; 0: a result. */
  readonly codes: Readonly<Record<string, number>>;
  readonly wait: HistogramTotals;
  readonly duration: HistogramTotals;
  /** Runs of its handler by how many calls they took at once; undefined: it takes single calls. */
  readonly batches?: HistogramTotals | undefined;
  /** Where its calls with affinity went, by outcome; undefined: it has none. */
  readonly affinity?: AffinityTotals | undefined;
  /** For how long they held their threads before they ended or first waited, seconds. */
  readonly busy: number;
}

/** Calls, and seconds that they waited before they went to a worker, by outcome. */
export interface AffinityTotals {
  readonly calls: Readonly<Record<string, number>>;
  readonly waitSeconds: Readonly<Record<string, number>>;
}

/** How often, and for how long, one procedure has held the main thread for too long. */
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

export type Counters = Readonly<Counts>;

/** One value, or one for each value of the label that the gauge's row names in `by`. */
type GaugeValue = number | Readonly<Record<string, number>>;

/** Values are undefined, and not shown, for what a process does not have (a port, workers). */
export type Gauges = Readonly<Partial<Record<GaugeName, GaugeValue | undefined>>>;

/** What the workers of one group have counted: the counters that each group of workers has for itself. */
interface GroupTotals {
  readonly group: string;
  readonly counters: Partial<Counters>;
}

/** And what is now; left out: the process has ended. */
export interface GroupFigures extends GroupTotals {
  readonly gauges?: Gauges | undefined;
}

export interface WorkerFigures {
  /** null: the worker has no group. */
  readonly group: string | null;
  /** Whether it is the spare that takes short calls. */
  readonly isExpress: boolean;
  readonly threadId: number;
  /** The number of its seat within its group: a replacement has that of the thread that it replaces. */
  readonly worker: number;
  /** CPU time of the thread, seconds; null: the system does not tell. */
  readonly cpuSeconds: number | null;
  /** Bytes that the thread holds, by its own last reading; null: it has read none. */
  readonly heapBytes: number | null;
  /** Calls that it holds, and calls that it has ended. */
  readonly inFlight: number;
  readonly completed: number;
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
  /** Of each procedure that was called; of none if the process has ended. */
  readonly places: readonly PlacedProcedure[];
  /** What `counters` and `gauges` say of workers is of those that have no group. */
  readonly groups: readonly GroupFigures[];
  /** None if the process has ended. */
  readonly workers: readonly WorkerFigures[];
  /** The last events of its log, the oldest first; kept if the option `console` is on. */
  readonly events: readonly RecentEvent[];
  /** Who was refused of late because of too much; kept if the option `console` is on. */
  readonly callers: readonly ThrottledCaller[];
  /** Of a gateway. None if the process has ended. */
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
  return {
    calls: addByKey(
      all.flatMap(({ calls }) => calls),
      ({ place, procedure }) => `${place} ${procedure}`,
    ),
    // Complete: each process has all counters.
    counters: all.map(({ counters }) => counters).reduce(add, {} as Counters),
    blocked: addByKey(
      all.flatMap(({ blocked }) => blocked),
      ({ procedure }) => procedure,
    ),
    groups: addByKey(
      all.flatMap(({ groups }) => groups.map(({ group, counters }) => ({ group, counters }))),
      ({ group }) => group,
    ),
  };
}

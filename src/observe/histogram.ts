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

/** Counts times in buckets. Recording one costs a few comparisons and no memory. */
export class LatencyHistogram {
  /** The buckets, then the sum in microseconds. In a typed array a changed number needs no new heap object. */
  readonly #counts = new Float64Array(boundsUs.length + 2);

  /**
   * @param us microseconds, not negative
   * @param times how many calls took that long
   */
  record(us: number, times = 1): void {
    const counts = this.#counts;
    let bucket = 0;
    while (bucket < boundsUs.length && us > (boundsUs[bucket] as number)) bucket++;
    (counts[bucket] as number) += times;
    (counts[boundsUs.length + 1] as number) += us * times;
  }

  totals(): HistogramTotals {
    const sumUs = this.#counts[boundsUs.length + 1] as number;
    return { buckets: [...this.#counts.subarray(0, -1)], sum: sumUs / 1e6 };
  }
}

/** The sum of two histograms, which have the same buckets. */
export function addHistograms(a: HistogramTotals, b: HistogramTotals): HistogramTotals {
  return { buckets: a.buckets.map((count, i) => count + (b.buckets[i] ?? 0)), sum: a.sum + b.sum };
}

/** The histogram of `count` calls that took no time. */
export function atZero(count: number): HistogramTotals {
  return { buckets: [count, ...bucketBounds.map(() => 0)], sum: 0 };
}

export function countOf({ buckets }: HistogramTotals): number {
  return buckets.reduce((sum, count) => sum + count, 0);
}

/** The value below which `share` of the values lie, interpolated between the two neighbours. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = Math.floor(at);
  const below = sorted[low]!;
  const above = sorted[Math.ceil(at)]!;
  return below + (above - below) * (at - low);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * Half of the range, as a share of the median. The range instead of a deviation: with five rounds, one disturbed round
 * says more about the machine than an estimate from five numbers.
 */
export function noise(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const middle = Math.abs(median(values));
  const half = (Math.max(...values) - Math.min(...values)) / 2;
  return middle === 0 ? 0 : half / middle;
}

/** `a` divided by `b`, round by round: whatever slowed both in one round cancels out. */
export function ratios(a: readonly number[], b: readonly number[]): number[] {
  return pairs(a, b, (x, y) => x / y);
}

export function differences(a: readonly number[], b: readonly number[]): number[] {
  return pairs(a, b, (x, y) => x - y);
}

function pairs(
  a: readonly number[],
  b: readonly number[],
  of: (x: number, y: number) => number,
): number[] {
  if (a.length !== b.length) {
    throw new Error(`${a.length} rounds beside ${b.length}: ratios are taken within rounds`);
  }
  return a.map((x, round) => of(x, b[round]!));
}

/** The slope of y over x, by least squares. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  return fit(points).slope;
}

/** The line y = intercept + slope * x by least squares. */
export function fit(points: readonly (readonly [x: number, y: number])[]): {
  readonly slope: number;
  readonly intercept: number;
  /** Sum of the squared distances of x from its mean. */
  readonly spread: number;
} {
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  let above = 0;
  let spread = 0;
  for (const [x, y] of points) {
    above += (x - meanX) * (y - meanY);
    spread += (x - meanX) ** 2;
  }
  const slope = above / spread;
  return { slope, intercept: meanY - slope * meanX, spread };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

import { fit } from '../../bench/statistics.ts';
import type { Usage } from '../fixtures/faults/soak-server.ts';

/** MB per minute, and half the width of its 95% confidence interval. */
export interface Trend {
  readonly slope: number;
  readonly error: number;
}

const everyMs = 500;
/** In the first quarter heaps find their size. */
const settledShare = 0.25;
const blocks = 8;
/** Student's t for 95% with `blocks - 2` degrees of freedom. */
const t95 = 2.447;

/** Reads memory at regular times, and says whether it grows. */
export class MemoryTrend {
  readonly #usages: { readonly minutes: number; readonly usage: Usage }[] = [];
  readonly #done: Promise<void>;
  #running = true;

  constructor(read: () => Promise<Usage>) {
    this.#done = this.#watch(read);
  }

  /** undefined: too few readings. */
  async end(): Promise<{ rss: Trend; heap: Trend } | undefined> {
    this.#running = false;
    await this.#done;
    const settled = this.#usages.slice(Math.floor(this.#usages.length * settledShare));
    if (settled.length < blocks * 4) return undefined;
    const of = (value: (usage: Usage) => number): Trend =>
      trendOf(troughs(settled.map(({ minutes, usage }) => [minutes, value(usage)])));
    return { rss: of(({ rssMb }) => rssMb), heap: of(({ heapMb }) => heapMb) };
  }

  async #watch(read: () => Promise<Usage>): Promise<void> {
    const began = performance.now();
    while (this.#running) {
      const usage = await read();
      this.#usages.push({ minutes: (performance.now() - began) / 60_000, usage });
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}

/** The lowest of each block: what is held, without the garbage on top. They also depend less on one another. */
function troughs(points: readonly [number, number][]): [number, number][] {
  const size = points.length / blocks;
  return Array.from({ length: blocks }, (_, i) => {
    const block = points.slice(Math.floor(i * size), Math.floor((i + 1) * size));
    return block.reduce((lowest, point) => (point[1] < lowest[1] ? point : lowest));
  });
}

function trendOf(points: readonly (readonly [x: number, y: number])[]): Trend {
  const { slope, intercept, spread } = fit(points);
  const residual = points.reduce((sum, [x, y]) => sum + (y - intercept - slope * x) ** 2, 0);
  return { slope, error: t95 * Math.sqrt(residual / (points.length - 2) / spread) };
}

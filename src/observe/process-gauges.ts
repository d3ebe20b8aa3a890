import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { residentMemory } from './resident-memory.ts';
import type { Gauges } from './snapshot.ts';

/** How often the delay of the event loop is sampled: often enough to see a stall, rarely enough to cost nothing. */
const resolutionMs = 20;

/** Scrapes within this time share one reading: the reading of one scraper must not reset the delays for another. */
const windowMs = 5000;

/** The gauges of this process as a whole: memory, CPU time, event loop. */
export class ProcessGauges {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  /** Computed once: when somebody sets the wall clock, it must not look like a restart. */
  readonly #startTime = Date.now() / 1000 - process.uptime();
  #since = performance.now();
  #last: Gauges | undefined;

  constructor() {
    this.#delay.enable();
  }

  read(): Gauges {
    const { user, system } = process.cpuUsage();
    return {
      residentMemory: residentMemory(),
      heapUsed: getHeapStatistics().used_heap_size,
      cpu: (user + system) / 1e6,
      startTime: this.#startTime,
      ...this.#delays(),
    };
  }

  close(): void {
    this.#delay.disable();
  }

  #delays(): Gauges {
    if (this.#last !== undefined && performance.now() - this.#since < windowMs) return this.#last;
    this.#last = {
      eventLoopDelayP50: secondsLate(this.#delay.percentile(50)),
      eventLoopDelayP99: secondsLate(this.#delay.percentile(99)),
      eventLoopDelayMax: secondsLate(this.#delay.max),
    };
    this.#delay.reset();
    this.#since = performance.now();
    return this.#last;
  }
}

/** Node measures the time between two samples, which includes the interval itself. */
function secondsLate(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000);
}

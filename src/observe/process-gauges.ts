import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { residentMemory } from './resident-memory.ts';
import type { Gauges } from './snapshot.ts';

/** How often the delay of the event loop is sampled: often enough for a stall, too rarely to be one. */
const resolutionMs = 20;

/** The shortest time that a scrape tells of: several scrapers must not empty each other's figures. */
const windowMs = 5000;

/** Figures of this process that nobody else keeps. */
export class ProcessGauges {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  /** Read once: a step of the wall clock must not look like a restart. */
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

/** Node's figure is the time between two samples, the interval they should have included. */
function secondsLate(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000);
}

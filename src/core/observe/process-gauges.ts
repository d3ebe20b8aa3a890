import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { clockMs } from '../base/clock.ts';
import type { Gauges } from './snapshot.ts';

/** How often the delay of the event loop is sampled: often enough to see a stall, rarely enough to cost nothing. */
const resolutionMs = 20;

/** Scrapes within this time share one reading: the reading of one scraper must not reset the delays for another. */
const windowMs = 5000;

/** The gauges of this process as a whole: memory, CPU time, event loop. */
export class ProcessGauges {
  /** undefined if nothing is sampled. */
  #delay: IntervalHistogram | undefined;
  /** Computed once: when somebody sets the wall clock, it must not look like a restart. */
  readonly #startTime = Date.now() / 1000 - process.uptime();
  #since = clockMs();
  #last: Gauges | undefined;

  /** Samples the delay of the event loop from now on. Idempotent. */
  start(): void {
    if (this.#delay !== undefined) return;
    this.#delay = monitorEventLoopDelay({ resolution: resolutionMs });
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
    this.#delay?.disable();
  }

  #delays(): Gauges {
    if (this.#last !== undefined && clockMs() - this.#since < windowMs) return this.#last;
    const delay = this.#delay;
    if (delay === undefined) return unknownDelays;
    this.#last = {
      eventLoopDelayP50: secondsLate(delay.percentile(50)),
      eventLoopDelayP99: secondsLate(delay.percentile(99)),
      eventLoopDelayMax: secondsLate(delay.max),
    };
    delay.reset();
    this.#since = clockMs();
    return this.#last;
  }
}

const unknownDelays = { eventLoopDelayP50: 0, eventLoopDelayP99: 0, eventLoopDelayMax: 0 };

/** Node measures the time between two samples, which includes the interval itself. */
function secondsLate(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000);
}

let last = 0;

/**
 * Resident memory of this process, bytes. Node reads it from a file, which can't be opened while the process has
 * reached its limit of open files. Then the last reading is returned, or, without one, the peak that the system reports.
 */
export function residentMemory(): number {
  try {
    last = process.memoryUsage.rss();
  } catch {
    if (last === 0) last = process.resourceUsage().maxRSS * 1024;
  }
  return last;
}

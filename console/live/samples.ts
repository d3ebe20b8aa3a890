import {
  type Figures,
  maxGauge,
  none,
  type ProcedureTotals,
  quantile,
  since,
  sumCounter,
  sumGauge,
  sumTotals,
  threadKey,
  totalsByProcedure,
} from './figures.ts';

/** The service at one moment, and what it did since the moment before. */
export interface Sample {
  /** Unix milliseconds. */
  readonly at: number;
  readonly callsPerSecond: number;
  readonly errorsPerSecond: number;
  /** Milliseconds; NaN: nobody called. */
  readonly p50: number;
  readonly p99: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly memory: number;
  /** Milliseconds. */
  readonly loopDelay: number;
  readonly refusedPerSecond: number;
}

export interface ProcedureRow {
  readonly name: string;
  readonly callsPerSecond: number;
  readonly calls: number;
  readonly errors: number;
  /** How much of one core its synchronous code took. */
  readonly busy: number;
  readonly p50: number;
  readonly p99: number;
  /** Calls that its handler takes at once, on average; NaN: it takes single calls. */
  readonly callsPerRun: number;
}

/** Five minutes. */
const keptSamples = 300;

/** What the polls of a page have told. */
export class Samples {
  list: readonly Sample[] = [];
  rows: readonly ProcedureRow[] = [];
  /** How much of one core each worker's thread took, by its key, if the system tells. */
  cpu: ReadonlyMap<string, number> = new Map();
  #last: Figures | undefined;
  /** The last totals that came of each procedure: those that did not change are not sent again. */
  readonly #known = new Map<string, ProcedureTotals & { readonly at: number }>();

  take(figures: Figures): void {
    const last = this.#last;
    if (last !== undefined && figures.at === last.at) return;
    const totals = totalsByProcedure(figures);
    if (last !== undefined) {
      const next = sampleOf(figures, last, sumTotals(totals.values()));
      this.list = [...this.list, next].slice(-keptSamples);
      this.cpu = cpuOf(figures, last);
    }
    this.rows = this.#rowsOf(figures, totals);
    this.#last = figures;
  }

  #rowsOf(figures: Figures, totals: ReadonlyMap<string, ProcedureTotals>): ProcedureRow[] {
    const names = new Set([...Object.keys(figures.placement), ...totals.keys()]);
    const rows = Array.from(names, (name): ProcedureRow => {
      const { calls, errors, duration, busy, runs, callsInRuns } = totals.get(name) ?? none;
      const before = this.#known.get(name);
      const seconds = before === undefined ? 0 : (figures.at - before.at) / 1000;
      const rate = (now: number, then = 0): number =>
        seconds <= 0 ? 0 : Math.max(0, (now - then) / seconds);
      return {
        name,
        calls,
        errors,
        callsPerSecond: rate(calls, before?.calls),
        busy: rate(busy, before?.busy),
        p50: quantile(duration, 0.5),
        p99: quantile(duration, 0.99),
        callsPerRun: runs === 0 ? Number.NaN : callsInRuns / runs,
      };
    });
    for (const [name, now] of totals) this.#known.set(name, { ...now, at: figures.at });
    return rows.sort((a, b) => b.callsPerSecond - a.callsPerSecond || b.calls - a.calls);
  }
}

function cpuOf(figures: Figures, last: Figures): ReadonlyMap<string, number> {
  const before = new Map(last.workers.map((worker) => [threadKey(worker), worker.cpuSeconds]));
  const seconds = (figures.at - last.at) / 1000;
  const cpu = new Map<string, number>();
  for (const worker of figures.workers) {
    const [now, then] = [worker.cpuSeconds, before.get(threadKey(worker)) ?? null];
    if (now !== null && then !== null) cpu.set(threadKey(worker), (now - then) / seconds);
  }
  return cpu;
}

function sampleOf(figures: Figures, last: Figures, totals: ProcedureTotals): Sample {
  const before = sumTotals(totalsByProcedure(last).values());
  const seconds = (figures.at - last.at) / 1000;
  const rate = (now: number, then: number): number => Math.max(0, (now - then) / seconds);
  const duration = since(totals.duration, before.duration);
  return {
    at: figures.at,
    callsPerSecond: rate(totals.calls, before.calls),
    errorsPerSecond: rate(totals.errors, before.errors),
    p50: quantile(duration, 0.5),
    p99: quantile(duration, 0.99),
    inFlight: sumGauge(figures, 'requestsInFlight'),
    queued: sumGauge(figures, 'queued'),
    memory: sumGauge(figures, 'residentMemory'),
    loopDelay: maxGauge(figures, 'eventLoopDelayP99') * 1000,
    refusedPerSecond: rate(sumCounter(figures, 'shed'), sumCounter(last, 'shed')),
  };
}

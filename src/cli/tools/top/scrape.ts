/** A histogram of a scrape: for each bound in seconds, how many values were at most that. */
export interface Buckets {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

export interface ProcedureFigures {
  /** Where its calls ran. */
  readonly places: ReadonlySet<string>;
  /** Why they run where they run now. */
  readonly reasons: ReadonlySet<string>;
  readonly calls: number;
  readonly errors: number;
  readonly duration: Buckets;
  readonly wait: Buckets;
  /** How often it has held the front end for too long, and for how many seconds. */
  readonly blocked: number;
  readonly blockedSeconds: number;
}

/** The figures of one scrape, summed over the processes of the service. */
export interface Scrape {
  /** Milliseconds of performance.now(). */
  readonly at: number;
  readonly procedures: ReadonlyMap<string, ProcedureFigures>;
  /** Sums of all other samples, by their name and the label that tells them apart. */
  readonly sums: ReadonlyMap<string, number>;
  /** The same of the samples that tell of one group of workers, by group; they are not in `sums`. */
  readonly groups: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Calls that have not ended, by place. */
  readonly inFlight: ReadonlyMap<string, number>;
  /** The largest delay among the processes. */
  readonly delays: ReadonlyMap<string, number>;
  readonly processes: number;
}

const callCounter = 'tandem_calls_total';
const placeGauge = 'tandem_procedure_place';
const inFlightGauge = 'tandem_calls_in_flight';
const delayGauge = /^tandem_event_loop_delay_(\w+)_seconds$/;
const blockedCounter = 'tandem_front_end_blocked_total';
const blockedSecondsCounter = 'tandem_front_end_blocked_seconds_total';
const histograms = {
  duration: 'tandem_call_duration_seconds_bucket',
  wait: 'tandem_call_wait_seconds_bucket',
};

/** @returns undefined where `text` is not the metrics of such a service */
export function readScrape(text: string, at: number): Scrape | undefined {
  const samples = readSamples(text);
  if (!samples.some(({ name }) => name.startsWith('tandem_'))) return undefined;
  const sums = new Map<string, number>();
  const groups = new Map<string, Map<string, number>>();
  const inFlight = new Map<string, number>();
  const delays = new Map<string, number>();
  const processes = new Set<string>();
  for (const { name, labels, value } of samples) {
    if (labels.process !== undefined) processes.add(labels.process);
    const key = delayGauge.exec(name)?.[1];
    if (key !== undefined) {
      delays.set(key, Math.max(delays.get(key) ?? 0, value));
    } else if (name === inFlightGauge) {
      const place = labels.place ?? '';
      inFlight.set(place, (inFlight.get(place) ?? 0) + value);
    } else if (labels.procedure === undefined) {
      const { group, state } = labels;
      const own = group === undefined ? sums : (groups.get(group) ?? new Map<string, number>());
      if (group !== undefined) groups.set(group, own);
      const sumKey = keyOf(name, state);
      own.set(sumKey, (own.get(sumKey) ?? 0) + value);
    }
  }
  return {
    at,
    procedures: proceduresOf(samples),
    sums,
    groups,
    inFlight,
    delays,
    processes: processes.size,
  };
}

export function keyOf(name: string, label?: string): string {
  return label === undefined ? name : `${name} ${label}`;
}

function proceduresOf(samples: readonly Sample[]): Map<string, ProcedureFigures> {
  const byName = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { procedure } = sample.labels;
    if (procedure === undefined) continue;
    const own = byName.get(procedure);
    if (own === undefined) byName.set(procedure, [sample]);
    else own.push(sample);
  }
  return new Map(Array.from(byName, ([name, own]) => [name, figuresOf(own)]));
}

function figuresOf(samples: readonly Sample[]): ProcedureFigures {
  const counts = samples.filter(({ name }) => name === callCounter);
  const sum = (list: readonly Sample[]): number =>
    list.reduce((total, { value }) => total + value, 0);
  return {
    places: new Set(counts.map(({ labels }) => labels.place ?? '')),
    reasons: new Set(
      samples.filter(({ name }) => name === placeGauge).map(({ labels }) => labels.reason ?? ''),
    ),
    calls: sum(counts),
    errors: sum(counts.filter(({ labels }) => labels.code !== '0')),
    duration: bucketsOf(samples, histograms.duration),
    wait: bucketsOf(samples, histograms.wait),
    blocked: sum(samples.filter(({ name }) => name === blockedCounter)),
    blockedSeconds: sum(samples.filter(({ name }) => name === blockedSecondsCounter)),
  };
}

function bucketsOf(samples: readonly Sample[], metric: string): Buckets {
  const found = samples
    .filter(({ name }) => name === metric)
    .map(({ labels, value }) => ({ bound: toBound(labels.le), value }))
    .sort((a, b) => a.bound - b.bound);
  return { bounds: found.map(({ bound }) => bound), counts: found.map(({ value }) => value) };
}

function toBound(le: string | undefined): number {
  return le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
}

/**
 * What a histogram gained since an earlier scrape; all of it where there is no earlier one, or the server began anew.
 */
export function since(now: Buckets, before: Buckets | undefined): Buckets {
  const counts = now.counts.map((count, i) => count - (before?.counts[i] ?? 0));
  return counts.some((count) => count < 0) ? now : { bounds: now.bounds, counts };
}

/**
 * The time in seconds that `share` of the calls did not exceed, estimated within the bucket that the time lies in.
 *
 * @returns undefined where there were no calls; Infinity above the last bound
 */
export function quantile({ bounds, counts }: Buckets, share: number): number | undefined {
  const total = counts.at(-1) ?? 0;
  if (total <= 0) return undefined;
  const rank = share * total;
  const index = counts.findIndex((count) => count >= rank);
  const upper = bounds[index] ?? Number.POSITIVE_INFINITY;
  if (upper === Number.POSITIVE_INFINITY) return upper;
  const lower = bounds[index - 1] ?? 0;
  const below = counts[index - 1] ?? 0;
  const within = (counts[index] ?? 0) - below;
  return within === 0 ? upper : lower + ((upper - lower) * (rank - below)) / within;
}

/** One line of a scrape. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g;

/** The samples of a text in Prometheus's format. All other lines are skipped. */
function readSamples(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const row of text.split('\n')) {
    const match = row.startsWith('#') ? null : line.exec(row.trim());
    if (match === null) continue;
    const [, name = '', list = '', number = ''] = match;
    const labels: Record<string, string> = Object.create(null);
    for (const [, key = '', value = ''] of list.matchAll(label)) labels[key] = unescaped(value);
    samples.push({ name, labels, value: toNumber(number) });
  }
  return samples;
}

function unescaped(value: string): string {
  return value.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function toNumber(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}

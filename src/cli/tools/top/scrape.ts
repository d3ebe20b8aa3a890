/** One line of a scrape. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples of a scrape, of all processes of the service. */
export class Samples {
  readonly #byName = new Map<string, Sample[]>();

  add(sample: Sample): void {
    const list = this.#byName.get(sample.name);
    if (list === undefined) this.#byName.set(sample.name, [sample]);
    else list.push(sample);
  }

  of(name: string): readonly Sample[] {
    return this.#byName.get(name) ?? [];
  }

  /** The sum of the samples of a name: of all, or of those whose labels pass. */
  sum(name: string, passes: (labels: Sample['labels']) => boolean = () => true): number {
    return this.of(name).reduce(
      (total, { labels, value }) => (passes(labels) ? total + value : total),
      0,
    );
  }

  /** The largest among the processes; undefined: there is none. */
  max(name: string): number | undefined {
    const values = this.of(name).map(({ value }) => value);
    return values.length === 0 ? undefined : Math.max(...values);
  }

  /** The values of a label. */
  labels(name: string, label: string): string[] {
    return [...new Set(this.of(name).map(({ labels }) => labels[label] ?? ''))];
  }

  histogram(name: string): Buckets {
    const found = this.of(name)
      .map(({ labels: { le = '' }, value }) => ({ bound: toNumber(le), value }))
      .sort((a, b) => a.bound - b.bound);
    return { bounds: found.map(({ bound }) => bound), counts: found.map(({ value }) => value) };
  }
}

/** A histogram of a scrape: for each bound in seconds, how many values were at most that. */
interface Buckets {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

export interface Scrape {
  /** Milliseconds of performance.now(). */
  readonly at: number;
  /** What is of no procedure, and of no group of workers. */
  readonly own: Samples;
  readonly procedures: ReadonlyMap<string, Samples>;
  readonly groups: ReadonlyMap<string, Samples>;
  readonly processes: number;
}

/** @returns undefined if `text` is not the metrics of such a service */
export function readScrape(text: string, at: number): Scrape | undefined {
  const own = new Samples();
  const procedures = new Map<string, Samples>();
  const groups = new Map<string, Samples>();
  const processes = new Set<string>();
  let isTandem = false;
  for (const sample of readSamples(text)) {
    isTandem ||= sample.name.startsWith('tandem_');
    const { procedure, group, process } = sample.labels;
    if (process !== undefined) processes.add(process);
    if (procedure !== undefined) samplesOf(procedures, procedure).add(sample);
    else if (group !== undefined) samplesOf(groups, group).add(sample);
    else own.add(sample);
  }
  return isTandem ? { at, own, procedures, groups, processes: processes.size } : undefined;
}

function samplesOf(all: Map<string, Samples>, name: string): Samples {
  let samples = all.get(name);
  if (samples === undefined) {
    samples = new Samples();
    all.set(name, samples);
  }
  return samples;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g;

/** The samples of a text in Prometheus's format. All other lines are skipped. */
function* readSamples(text: string): Generator<Sample> {
  for (const row of text.split('\n')) {
    const match = row.startsWith('#') ? null : line.exec(row.trim());
    if (match === null) continue;
    const [, name = '', list = '', number = ''] = match;
    const labels: Record<string, string> = Object.create(null);
    for (const [, key = '', value = ''] of list.matchAll(label)) {
      labels[key] = value.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped));
    }
    yield { name, labels, value: toNumber(number) };
  }
}

function toNumber(text: string): number {
  return Number(text.replace('Inf', 'Infinity'));
}

/**
 * What a histogram gained since an earlier scrape; all of it if there is no earlier one, or the server began anew.
 */
export function since(now: Buckets, before: Buckets | undefined): Buckets {
  const counts = now.counts.map((count, i) => count - (before?.counts[i] ?? 0));
  return counts.some((count) => count < 0) ? now : { bounds: now.bounds, counts };
}

/**
 * The time in seconds that `share` of the calls did not exceed, estimated within the bucket that the time lies in.
 *
 * @returns undefined if there were no calls; Infinity above the last bound
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

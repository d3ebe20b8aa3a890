import { escapeControls } from '../../../core/base/escape.ts';
import { threadNameOf, workerPlace } from '../../../core/base/place.ts';
import { StartupError } from '../../../core/base/startup-error.ts';
import { table } from '../../output.ts';
import { limitedFetch, type RemoteOptions, reasonOf } from '../remote.ts';
import {
  fill,
  perSecond,
  type Room,
  type ShowOptions,
  show,
  showBytes,
  showSeconds,
  showSpan,
  whole,
} from './screen.ts';

const scrapeTimeoutMs = 10_000;

/** `tandem top`: the figures of a server, printed once, or shown again and again on a terminal. */
export async function topOfServer(
  server: string,
  remote: RemoteOptions,
  options: ShowOptions,
): Promise<never> {
  const url = metricsUrl(server);
  let before: Scrape | undefined;
  let now = await scrape(url, remote);
  return show(
    {
      title: `tandem top ${escapeControls(url)}`,
      draw: (title, room) => view(title, now, before, room),
      look: async () => {
        const next = await scrape(url, remote);
        before = now;
        now = next;
      },
      note: (trouble) => trouble,
    },
    options,
  );
}

/** The URL of the metrics, whichever URL of the server was given. */
function metricsUrl(server: string): string {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(server) ? server : `http://${server}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new StartupError(
      `${escapeControls(server)} is no URL of a server, such as http://127.0.0.1:8000`,
    );
  }
  if (!url.pathname.endsWith('/metrics')) url.pathname = '/metrics';
  return url.href;
}

/** @throws StartupError with one line */
async function scrape(url: string, { headers, timeoutMs }: RemoteOptions): Promise<Scrape> {
  let text: string;
  try {
    const signal = AbortSignal.timeout(timeoutMs ?? scrapeTimeoutMs);
    const head = new Headers(headers);
    const response = await limitedFetch(url, { method: 'GET', headers: head, signal });
    if (response.status !== 200) throw new Error(`the status ${response.status}`);
    text = await response.text();
  } catch (error) {
    throw new StartupError(`GET ${url}: ${reasonOf(error)}`, { cause: error });
  }
  const read = readScrape(text, performance.now());
  if (read === undefined) throw new StartupError(`GET ${url}: these are no metrics of tandem`);
  return read;
}

/**
 * The figures as lines of text. With an earlier scrape, rates and quantiles are of the time between the two scrapes;
 * without one, they are totals since the start.
 */
export function view(title: string, now: Scrape, before: Scrape | undefined, room: Room): string[] {
  const gain: Gain = (count) => {
    const total = count(now);
    if (before === undefined) return total;
    const grown = total - count(before);
    // A count below the earlier one means that the server began anew.
    return (grown < 0 ? total : grown) / ((now.at - before.at) / 1000);
  };
  const rate: Rate = (count) => (before === undefined ? whole : perSecond)(gain(count));
  const load: Rate = (seconds) => (before === undefined ? showSeconds : showShare)(gain(seconds));
  const lines = [
    title,
    ...summary(now, rate),
    ...busiestThreads(now, gain, load),
    ...worstBlocker(now),
    '',
  ];
  return fill(lines, table(procedureRows(now, before, rate, load)), room);
}

/** What a count has gained a second since the earlier scrape; without one, the total. */
type Gain = (count: (scrape: Scrape) => number) => number;

/** The same as text. */
type Rate = (count: (scrape: Scrape) => number) => string;

/** A part of one core. */
function showShare(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}%`;
}

const callCounter = 'tandem_calls_total';
const isError: Parameters<Samples['sum']>[1] = ({ code }) => code !== '0';

function summary(now: Scrape, rate: Rate): string[] {
  const { own, groups, processes } = now;
  const rateOf = (name: string): string => rate((scrape) => scrape.own.sum(name));
  const total = (count: (samples: Samples) => number, all: Iterable<Samples>): number =>
    Array.from(all, count).reduce((sum, value) => sum + value, 0);
  const calls = rate((scrape) => total((one) => one.sum(callCounter), scrape.procedures.values()));
  const errors = rate((scrape) =>
    total((one) => one.sum(callCounter, isError), scrape.procedures.values()),
  );
  const queued = (samples: Samples): number => samples.sum('tandem_queue_calls');
  const waiting = whole(total(queued, [own, ...groups.values()]));
  const inFlight = own.labels('tandem_calls_in_flight', 'place').map((place) => {
    const running = own.sum('tandem_calls_in_flight', (labels) => labels.place === place);
    return `${whole(running)} ${place === workerPlace ? 'in workers' : place}`;
  });
  const [p50, p99, worst] = ['p50', 'p99', 'max'].map((key) =>
    showSeconds(own.max(`tandem_event_loop_delay_${key}_seconds`)),
  );
  const started = own.sum('tandem_process_start_time_seconds') / Math.max(1, processes);
  const frames = own.sum('tandem_frames_total');
  const perFrame = frames === 0 ? 0 : own.sum('tandem_frame_calls_total') / frames;
  const count = (name: string): string => whole(own.sum(name));
  return [
    `calls ${calls}  errors ${errors}  shed ${rateOf('tandem_calls_shed_total')}  queue ${waiting}  in flight ${inFlight.join(', ')}`,
    `workers ${crew(now, rate, (scrape) => scrape.own)}`,
    ...Array.from(groups, ([group, samples]) => {
      const figures = crew(now, rate, (scrape) => scrape.groups.get(group) ?? none);
      return `group ${escapeControls(group)}  ${figures}  queue ${whole(queued(samples))}`;
    }),
    `frames ${rateOf('tandem_frames_total')} of ${perFrame.toFixed(1)} calls  connections ${count('tandem_connections')}, ${count('tandem_sockets')} of them sockets  reloads ${count('tandem_reloads_total')}`,
    `event loop late by ${p50} p50, ${p99} p99, ${worst} at most`,
    `memory ${showBytes(own.sum('tandem_process_resident_memory_bytes'))}, heap ${showBytes(own.sum('tandem_process_heap_used_bytes'))}  processes ${processes}  up ${showSpan(Date.now() / 1000 - started)}`,
  ];
}

/** The workers of a group, or those that have none. */
function crew(now: Scrape, rate: Rate, samplesOf: (scrape: Scrape) => Samples): string {
  const samples = samplesOf(now);
  const lane = rate((scrape) => samplesOf(scrape).sum('tandem_lane_calls_total'));
  const inState = (state: string): string =>
    whole(samples.sum('tandem_workers', (labels) => labels.state === state));
  const count = (name: string): string => whole(samples.sum(name));
  return `${inState('active')} active, ${inState('spare')} spare, ${inState('starting')} starting  lane ${lane}  deaths ${count('tandem_worker_deaths_total')}  kills ${count('tandem_worker_kills_total')}  zombies ${inState('zombie')}  restarts ${count('tandem_worker_restarts_total')}`;
}

/** Most threads of workers that are named. */
const mostThreads = 4;

const cpuOfWorkers = 'tandem_worker_cpu_seconds_total';

/** The threads of workers that compute most: CPU time and memory of each. */
function busiestThreads({ own, groups, processes }: Scrape, gain: Gain, load: Rate): string[] {
  const threads = [own, ...groups.values()].flatMap((samples) =>
    samples.of('tandem_worker_heap_bytes').map(({ labels, value }) => {
      const { group, worker = '', process = '' } = labels;
      const cpu = (scrape: Scrape): number =>
        (group === undefined ? scrape.own : (scrape.groups.get(group) ?? none)).sum(
          cpuOfWorkers,
          (other) => other.worker === worker && other.process === process,
        );
      const name = threadNameOf(group, worker) + (processes > 1 ? ` of process ${process}` : '');
      return { name, cpu, heap: showBytes(value), isKnown: samples.of(cpuOfWorkers).length > 0 };
    }),
  );
  if (threads.length === 0) return [];
  threads.sort((a, b) => gain(b.cpu) - gain(a.cpu));
  const shown = threads
    .slice(0, mostThreads)
    .map(({ name, cpu, heap, isKnown }) => [name, ...(isKnown ? [load(cpu)] : []), heap].join(' '));
  const others = threads.length - shown.length;
  return [`busiest ${[...shown, ...(others > 0 ? [`${others} more`] : [])].join(', ')}`].map(
    escapeControls,
  );
}

/** What has held the main thread longest since the start; nothing if nothing has. */
function worstBlocker({ procedures }: Scrape): string[] {
  const [worst] = Array.from(procedures, ([name, samples]) => ({
    name,
    times: samples.sum('tandem_front_end_blocked_total'),
    seconds: samples.sum('tandem_front_end_blocked_seconds_total'),
  })).sort((a, b) => b.seconds - a.seconds);
  if (worst === undefined || worst.times === 0) return [];
  const { name, times, seconds } = worst;
  return [
    `front end held by ${escapeControls(name)}, ${whole(times)} ${times === 1 ? 'time' : 'times'}, ${showSeconds(seconds)} in all`,
  ];
}

const headings = ['PROCEDURE', 'PLACE', 'WHY', 'CALLS', 'ERRORS', 'BUSY', 'P50', 'P99', 'WAIT P99'];

const busySeconds = 'tandem_call_busy_seconds_total';

function procedureRows(
  now: Scrape,
  before: Scrape | undefined,
  rate: Rate,
  load: Rate,
): string[][] {
  const rows = Array.from(now.procedures).flatMap(([name, samples]) => {
    const places = samples.labels(callCounter, 'place');
    // A hook that has held the main thread has no calls.
    if (places.length === 0) return [];
    const samplesIn = (scrape: Scrape | undefined) => scrape?.procedures.get(name) ?? none;
    const gained = (metric: string) =>
      since(samples.histogram(metric), before && samplesIn(before).histogram(metric));
    const duration = gained('tandem_call_duration_seconds_bucket');
    const total = samples.sum(callCounter);
    const cells = [
      name,
      places.join('+'),
      samples.labels('tandem_procedure_place', 'reason').join(', ') || '-',
      rate((scrape) => samplesIn(scrape).sum(callCounter)),
      rate((scrape) => samplesIn(scrape).sum(callCounter, isError)),
      samples.of(busySeconds).length === 0
        ? '-'
        : load((scrape) => samplesIn(scrape).sum(busySeconds)),
      showSeconds(quantile(duration, 0.5)),
      showSeconds(quantile(duration, 0.99)),
      showSeconds(quantile(gained('tandem_call_wait_seconds_bucket'), 0.99)),
    ];
    const together = callsPerRun(samples, samplesIn(before));
    return [{ cells, together, total, calls: total - samplesIn(before).sum(callCounter) }];
  });
  rows.sort((a, b) => b.calls - a.calls || b.total - a.total);
  // A column that only a service with handler batches has.
  const hasBatches = rows.some(({ together }) => together !== undefined);
  const shown = [
    { cells: headings, together: 'CALLS/RUN' },
    ...rows.map(({ cells, together = '-' }) => ({ cells, together })),
  ];
  return shown.map(({ cells, together }) => (hasBatches ? [...cells, together] : cells));
}

/** Calls that a batch handler took at once, on average since the earlier scrape; undefined: it takes single calls. */
function callsPerRun(now: Samples, before: Samples): string | undefined {
  const name = 'tandem_handler_batch_calls';
  const runs = now.sum(`${name}_count`);
  if (runs === 0) return undefined;
  const newRuns = runs - before.sum(`${name}_count`);
  const newCalls = now.sum(`${name}_sum`) - before.sum(`${name}_sum`);
  return newRuns > 0 ? (newCalls / newRuns).toFixed(1) : '-';
}

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

const none = new Samples();

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

import { escapeControls } from '../../../core/base/escape.ts';
import { workerPlace } from '../../../core/base/place.ts';
import { StartupError } from '../../../core/base/startup-error.ts';
import { table } from '../../output.ts';
import { limitedFetch, type RemoteOptions, reasonOf } from '../remote.ts';
import {
  keyOf,
  type ProcedureFigures,
  quantile,
  readScrape,
  type Scrape,
  since,
} from './scrape.ts';
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
  const lines = [title, ...summary(now, before), ...worstBlocker(now), ''];
  return fill(lines, table(procedureRows(now, before)), room);
}

function summary(now: Scrape, before: Scrape | undefined): string[] {
  const sum = (name: string): number => sumIn(now.sums, name);
  const rate = (name: string): string => rateOf(sum(name), before?.sums.get(name), now, before);
  const total = totalOf(now);
  const earlier = before && totalOf(before);
  const [p50, p99, worst] = ['p50', 'p99', 'max'].map((key) => showSeconds(now.delays.get(key)));
  const started = sum('tandem_process_start_time_seconds') / Math.max(1, now.processes);
  const frames = sum('tandem_frames_total');
  const perFrame = frames === 0 ? 0 : sum('tandem_frame_calls_total') / frames;
  return [
    `calls ${rateOf(total.calls, earlier?.calls, now, before)}  errors ${rateOf(total.errors, earlier?.errors, now, before)}  shed ${rate('tandem_calls_shed_total')}  queue ${whole(queued(now))}  in flight ${inFlight(now)}`,
    `workers ${crew(now.sums, before?.sums, now, before)}`,
    ...Array.from(now.groups, ([group, sums]) => {
      const waiting = whole(sumIn(sums, 'tandem_queue_calls'));
      const figures = crew(sums, before && (before.groups.get(group) ?? none), now, before);
      return `group ${escapeControls(group)}  ${figures}  queue ${waiting}`;
    }),
    `frames ${rate('tandem_frames_total')} of ${perFrame.toFixed(1)} calls  connections ${whole(sum('tandem_connections'))}, ${whole(sum('tandem_sockets'))} of them sockets  reloads ${whole(sum('tandem_reloads_total'))}`,
    `event loop late by ${p50} p50, ${p99} p99, ${worst} at most`,
    `memory ${showBytes(sum('tandem_process_resident_memory_bytes'))}, heap ${showBytes(sum('tandem_process_heap_used_bytes'))}  processes ${now.processes}  up ${showSpan(Date.now() / 1000 - started)}`,
  ];
}

type Sums = ReadonlyMap<string, number>;

const none: Sums = new Map();

function sumIn(sums: Sums, name: string, label?: string): number {
  return sums.get(keyOf(name, label)) ?? 0;
}

/** The workers of a group, or those that have none. */
function crew(
  sums: Sums,
  earlier: Sums | undefined,
  now: Scrape,
  before: Scrape | undefined,
): string {
  const laneCalls = 'tandem_lane_calls_total';
  const lane = rateOf(sumIn(sums, laneCalls), earlier?.get(laneCalls), now, before);
  const inState = (state: string): string => whole(sumIn(sums, 'tandem_workers', state));
  const count = (name: string): string => whole(sumIn(sums, name));
  return `${inState('active')} active, ${inState('spare')} spare, ${inState('starting')} starting  lane ${lane}  deaths ${count('tandem_worker_deaths_total')}  kills ${count('tandem_worker_kills_total')}  zombies ${inState('zombie')}  restarts ${count('tandem_worker_restarts_total')}`;
}

/** Calls that wait for a worker of whatever group. */
function queued({ sums, groups }: Scrape): number {
  const all = [sums, ...groups.values()];
  return all.reduce((total, own) => total + sumIn(own, 'tandem_queue_calls'), 0);
}

/** What has held the front end longest since the start; nothing where nothing has. */
function worstBlocker({ procedures }: Scrape): string[] {
  const [worst] = Array.from(procedures).sort(
    ([, a], [, b]) => b.blockedSeconds - a.blockedSeconds,
  );
  if (worst === undefined || worst[1].blocked === 0) return [];
  const [name, { blocked, blockedSeconds }] = worst;
  return [
    `front end held by ${escapeControls(name)}, ${whole(blocked)} ${blocked === 1 ? 'time' : 'times'}, ${showSeconds(blockedSeconds)} in all`,
  ];
}

/** Calls in flight, for each place that the server names. */
function inFlight({ inFlight: byPlace }: Scrape): string {
  return Array.from(byPlace, ([place, calls]) => {
    return `${whole(calls)} ${place === workerPlace ? 'in workers' : place}`;
  }).join(', ');
}

function totalOf({ procedures }: Scrape): { readonly calls: number; readonly errors: number } {
  const all = [...procedures.values()];
  return {
    calls: all.reduce((sum, { calls }) => sum + calls, 0),
    errors: all.reduce((sum, { errors }) => sum + errors, 0),
  };
}

const headings = ['PROCEDURE', 'PLACE', 'WHY', 'CALLS', 'ERRORS', 'P50', 'P99', 'WAIT P99'];

function procedureRows(now: Scrape, before: Scrape | undefined): string[][] {
  // A hook that has held the front end has no calls.
  const called = Array.from(now.procedures).filter(([, { places }]) => places.size > 0);
  const rows = called.map(([name, figures]) => {
    const earlier = before?.procedures.get(name);
    const calls = figures.calls - (earlier?.calls ?? 0);
    return { calls, total: figures.calls, cells: rowOf(name, figures, earlier, now, before) };
  });
  rows.sort((a, b) => b.calls - a.calls || b.total - a.total);
  return [headings, ...rows.map(({ cells }) => cells)];
}

function rowOf(
  name: string,
  figures: ProcedureFigures,
  earlier: ProcedureFigures | undefined,
  now: Scrape,
  before: Scrape | undefined,
): string[] {
  // A procedure that is new in this scrape had no calls before.
  const from = before === undefined ? undefined : (earlier ?? { calls: 0, errors: 0 });
  const duration = since(figures.duration, earlier?.duration);
  return [
    name,
    [...figures.places].join('+'),
    [...figures.reasons].join(', ') || '-',
    rateOf(figures.calls, from?.calls, now, before),
    rateOf(figures.errors, from?.errors, now, before),
    showSeconds(quantile(duration, 0.5)),
    showSeconds(quantile(duration, 0.99)),
    showSeconds(quantile(since(figures.wait, earlier?.wait), 0.99)),
  ];
}

/** The rate per second since the earlier scrape; without one, the total. */
function rateOf(
  now: number,
  earlier: number | undefined,
  { at }: Scrape,
  before: Scrape | undefined,
): string {
  if (before === undefined) return whole(now);
  const grown = now - (earlier ?? 0);
  // A count below the earlier one means that the server began anew.
  return perSecond((grown < 0 ? now : grown) / ((at - before.at) / 1000));
}

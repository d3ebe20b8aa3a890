import { escapeControls } from '../../../core/base/escape.ts';
import { StartupError } from '../../../core/base/startup-error.ts';
import { printAndExit } from '../../ending.ts';
import { limitedFetch } from '../limited-fetch.ts';
import { type RemoteOptions, reasonOf } from '../remote.ts';
import { readScrape, type Scrape } from './scrape.ts';
import { view } from './view.ts';
import { type Watched, watch } from './watch.ts';

export interface TopOptions extends RemoteOptions {
  readonly once: boolean;
  readonly intervalMs: number;
}

const scrapeTimeoutMs = 10_000;

/** `tandem top`: the figures of a server, printed once, or shown again and again on a terminal. */
export async function top(server: string, options: TopOptions): Promise<void> {
  const url = metricsUrl(server);
  const first = await scrape(url, options);
  if (options.once || !process.stdout.isTTY) {
    const lines = view(titleOf(url), first, undefined, { rows: undefined, columns: undefined });
    await printAndExit(lines.map((line) => `${line}\n`).join(''));
  }
  let before: Scrape | undefined;
  let now = first;
  const watched: Watched = {
    draw: (trouble, room) => {
      const note = trouble === '' ? '' : `  (${escapeControls(trouble)})`;
      return view(`${titleOf(url)}  q ends${note}`, now, before, room);
    },
    look: async () => {
      const next = await scrape(url, options);
      before = now;
      now = next;
    },
  };
  await watch(watched, options.intervalMs);
  process.exit(0);
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

function titleOf(url: string): string {
  return `tandem top ${escapeControls(url)}`;
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

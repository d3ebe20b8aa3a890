import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { isLocalName } from '../../core/base/loopback.ts';
import { ownVersion, packageFolder } from '../../core/base/package-files.ts';
import { inTurns } from '../../core/base/timer.ts';
import type { RequestScope } from '../../core/dispatch/scope.ts';
import type { Service } from '../../core/dispatch/service.ts';
import { maxEvents } from '../../core/observe/recent-events.ts';
import { addTotals, type CallTotals, type MetricsSnapshot } from '../../core/observe/snapshot.ts';
import { joinThrottled } from '../../core/observe/throttled-callers.ts';
import {
  type Answer,
  bodyless,
  jsonAnswer,
  matchesEtag,
  rejection,
} from '../../server/http/edge/answer.ts';
import { authorityOf } from '../../server/http/edge/request-checks.ts';
import type { RequestHead } from '../../server/http/edge/request-head.ts';
import type { ReadFacts, Reads, RequestLine, Route, Serves } from '../../server/http/edge/route.ts';
import { getOnly, insteadOf } from '../../server/http/routes.ts';
import { exampleParams } from './example.ts';

export interface ConsoleOptions {
  /** The path of the calls. */
  readonly path: string;
  /** What the paths of procedures as plain HTTP begin with; empty: they have none. */
  readonly httpPath: string;
  readonly introspection: boolean;
  /** The procedures: the examples of their params are made of their schemas. */
  readonly served: Service['served'];
  /** undefined: no figures are kept. */
  readonly figures: FiguresSource | undefined;
  /** Whether requests must name this machine by a name that no page can take, such as localhost. */
  readonly localOnly: boolean;
  /** Takes CPU profiles; undefined: the page may not have them taken. */
  readonly takeProfile: TakeProfile | undefined;
}

/** See `takeProfile` in extras/insight. @returns the answer as JSON text; `refusal`: why there is none */
export type TakeProfile = (
  order: { readonly seconds: number; readonly intervalMs: number },
  left: AbortSignal,
) => Promise<string | { readonly status: 400 | 409 | 503; readonly refusal: string }>;

const noActions = rejection(
  403,
  'the console takes profiles on a loopback address outside production; elsewhere tandem profile does',
);
const otherOrigin = rejection(403, 'only the page of this console may ask for a profile');
const notLocal = rejection(
  403,
  'the console answers names of this machine, such as localhost; list others in allowedHosts',
);

/** A relative target: a proxy in front, or a mount, may have put the service below a path of its own. */
const toPage = (status: 307 | 308): Answer => bodyless(status, ['location', 'console/']);

/** The console of a service: its page, and the figures that the page shows. Reads no file of the page until somebody asks. */
export function consoleRoutes(options: ConsoleOptions): (serves: Serves) => readonly Route[] {
  const { path, httpPath, introspection, localOnly, takeProfile } = options;
  const pages = new Pages();
  const figures = options.figures && new Figures(options.figures);
  const version = ownVersion();
  const own = {
    readers: 'own pages',
    refuse: (_: RequestLine, { host }: RequestHead) =>
      localOnly && !isLocalName(host) ? notLocal : undefined,
    others: getOnly,
  } as const;
  return (serves) => {
    const pageFacts = (): PageFacts => {
      return {
        // The page lies one folder below what the paths of this server begin at.
        calls: serves === 'operations' ? null : `..${path}`,
        urls: serves === 'operations' || httpPath === '' ? null : httpPath,
        live: serves !== 'calls' && figures !== undefined,
        introspection,
        profiles: serves === 'all' && figures !== undefined && takeProfile !== undefined,
        version,
      };
    };
    const page: Reads = {
      answer: ({ routed }, facts) =>
        pages.answer({ ...facts, name: routed.slice('/console/'.length) }, pageFacts()),
    };
    const reason = `only pages are here, ${insteadOf(serves, path)}`;
    const routes: (Route | false)[] = [
      // A client whose URL lacks the path of the calls comes here.
      {
        path: '/',
        GET: toPage(307),
        others: rejection(405, reason, { headers: ['allow', 'GET, HEAD'] }),
      },
      { ...own, path: '/console', GET: toPage(308) },
      serves !== 'calls' &&
        figures !== undefined && {
          ...own,
          path: '/console/figures',
          GET: { hasAuth: true, answer: async () => privateJson(await figures.bytes()) },
        },
      serves !== 'operations' &&
        introspection && {
          ...own,
          path: '/console/example',
          GET: { hasAuth: true, answer: ({ query }) => exampleAnswer(options, query) },
        },
      // Never on a port for metrics alone: who may read metrics may not order profiles.
      serves === 'all' && {
        ...own,
        path: '/console/profile',
        refuse(line, head) {
          const refused = own.refuse(line, head);
          if (refused !== undefined || line.method !== 'POST') return refused;
          if (takeProfile === undefined) return noActions;
          return isSameOrigin(head) ? undefined : otherOrigin;
        },
        POST: {
          hasAuth: true,
          answer: ({ query }, { scope }) => profileAnswer(options, query, scope),
        },
        others: takeProfile === undefined ? noActions : postOnly,
      },
      { ...own, path: '/console/*', GET: page },
    ];
    return routes.filter((route) => route !== false);
  };
}

const postOnly = rejection(405, 'use POST', { headers: ['allow', 'POST'] });

/**
 * Whether no page of another origin sends the request. Browsers that know it say so in Sec-Fetch-Site, behind a proxy too; all
 * others send Origin with each POST. A client without either is no browser.
 */
function isSameOrigin({ fetchSite, origin, host }: RequestHead): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  return origin === undefined || authorityOf(origin) === host?.toLowerCase();
}

function privateJson(body: string | Uint8Array): Answer {
  return jsonAnswer(200, body, ['cache-control', 'no-store', ...privately]);
}

/** Params for a procedure, which the page's editor begins with. */
async function exampleAnswer({ served }: ConsoleOptions, query: string): Promise<Answer> {
  const name = new URLSearchParams(query).get('procedure') ?? '';
  const procedure = (await served())?.table.get(name);
  if (procedure === undefined) return rejection(404, 'no procedure of this name is served');
  const example = procedure.params === undefined ? {} : exampleParams(procedure.params);
  return privateJson(JSON.stringify(example));
}

/** Takes a CPU profile of this process, until the client goes. */
async function profileAnswer(
  { takeProfile }: ConsoleOptions,
  query: string,
  scope: RequestScope,
): Promise<Answer> {
  const left = new AbortController();
  scope.addListener({ onCancelled: () => left.abort() });
  const given = new URLSearchParams(query);
  const order = {
    seconds: Number(given.get('seconds') ?? 10),
    intervalMs: Number(given.get('intervalMs') ?? 10),
  };
  const taken = await takeProfile?.(order, left.signal);
  if (taken === undefined) return rejection(404, 'no profiles are taken here');
  if (typeof taken !== 'string') return rejection(taken.status, taken.refusal);
  return privateJson(Buffer.from(taken));
}

/** What a page is told when it is served, and can't ask. */
export interface PageFacts {
  /** The path of the calls, relative to the page; null: the page's server takes none. */
  readonly calls: string | null;
  /** What the paths of procedures as plain HTTP begin with; null: the page's server has none. */
  readonly urls: string | null;
  /** Whether the page's server gives figures. */
  readonly live: boolean;
  /** Whether the service describes its procedures. */
  readonly introspection: boolean;
  /** Whether the page may have CPU profiles taken. */
  readonly profiles: boolean;
  readonly version: string;
}

/** The page loads from its own origin only, runs no text as code, and is shown in no other page. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const privately = [
  'x-content-type-options',
  'nosniff',
  'cross-origin-resource-policy',
  'same-origin',
];
const common = ['content-security-policy', policy, ...privately, 'referrer-policy', 'no-referrer'];

const index = 'index.html';
/** The place of the server's facts in the page. */
const placeholder = '__FACTS__';

/** A request for a file of the page; without a name, for the page itself. */
interface PageRequest extends Omit<ReadFacts, 'scope'> {
  readonly name: string;
}

/**
 * What a map has of a name, or what is made of it now. What fails is made again at the next request: too many files may be
 * open now.
 */
function once<Made>(
  known: Map<string, Promise<Made>>,
  name: string,
  make: () => Promise<Made>,
): Promise<Made> {
  let made = known.get(name);
  if (made === undefined) {
    made = make();
    known.set(name, made);
    made.catch(() => known.delete(name));
  }
  return made;
}

class Pages {
  /** The type of each file, by its name; undefined: nobody has asked, or the page is not built. */
  #types: Readonly<Record<string, string>> | undefined;
  readonly #assets = new Map<string, Promise<Asset>>();
  readonly #indexes = new Map<string, Promise<{ readonly bytes: Buffer; readonly etag: string }>>();

  async answer(request: PageRequest, facts: PageFacts): Promise<Answer> {
    this.#types ??= await readTypes();
    if (this.#types === undefined) return rejection(503, notBuilt);
    if (request.name === '') return this.#index(request, facts);
    const asset = request.name === index ? undefined : await this.#asset(request.name);
    if (asset === undefined) return rejection(404, 'the console has no such file');
    const isPacked = takesBrotli(request.acceptEncoding);
    return {
      status: 200,
      headers: [
        'content-type',
        asset.type,
        ...(isPacked ? ['content-encoding', 'br'] : []),
        // Its name has a hash of its contents.
        'cache-control',
        'public, max-age=31536000, immutable',
        'vary',
        'accept-encoding',
        ...common,
      ],
      body: isPacked ? asset.packed : await asset.unpacked(),
      close: false,
    };
  }

  async #index({ ifNoneMatch }: PageRequest, facts: PageFacts): Promise<Answer> {
    const text = JSON.stringify(facts);
    const { bytes, etag } = await once(this.#indexes, text, () => this.#indexOf(text));
    const headers = ['etag', etag, 'cache-control', 'no-cache', 'vary', 'accept-encoding'];
    if (matchesEtag(ifNoneMatch, etag)) return bodyless(304, [...headers, ...common]);
    const type = ['content-type', 'text/html; charset=utf-8'];
    return { status: 200, headers: [...type, ...headers, ...common], body: bytes, close: false };
  }

  async #indexOf(facts: string) {
    const asset = await this.#asset(index);
    const template = Buffer.from((await asset?.unpacked()) ?? []).toString();
    const bytes = Buffer.from(template.replace(placeholder, () => escapeAttribute(facts)));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    return { bytes, etag };
  }

  /** Reads a file when it is first asked for. @returns undefined for a name that is no file of the page */
  async #asset(name: string): Promise<Asset | undefined> {
    const type = this.#types?.[name];
    return type === undefined ? undefined : once(this.#assets, name, () => read(name, type));
  }
}

function escapeAttribute(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Whether Brotli is named, and not by `q=0`. */
function takesBrotli(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? '').split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';');
    if (name.trim().toLowerCase() !== 'br') return false;
    return !parameters.some((parameter) => /^\s*q\s*=\s*0(\.0*)?\s*$/i.test(parameter));
  });
}

/** One file of the page, as the build has compressed it. */
interface Asset {
  readonly type: string;
  /** By Brotli. */
  readonly packed: Uint8Array;
  /** For browsers that can't read Brotli: they read it over https only. Unpacked once. */
  unpacked(): Promise<Uint8Array>;
}

/** Where the build puts the page (scripts/console.ts). */
const folder = new URL('dist/console/', packageFolder);
const manifestFile = new URL('manifest.json', folder);

/** What to do if the page is not there: only a checkout can lack it. */
export const notBuilt =
  'this checkout has no console yet: npm run build -- console makes it, in some seconds; then start again';

export function isBuilt(): boolean {
  return existsSync(manifestFile);
}

/** @returns undefined if the page is not built */
async function readTypes(): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const types: unknown = JSON.parse(await readFile(manifestFile, 'utf8'));
    return Object.assign(Object.create(null), types) as Record<string, string>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function read(name: string, type: string): Promise<Asset> {
  const packed = await readFile(new URL(`${name}.br`, folder));
  let unpacked: Promise<Uint8Array> | undefined;
  const unpack = async (): Promise<Uint8Array> => {
    // Few browsers ask for it: what can unpack is loaded then.
    const { brotliDecompress } = await import('node:zlib');
    return promisify(brotliDecompress)(packed);
  };
  return {
    type,
    packed,
    unpacked() {
      unpacked ??= unpack();
      return unpacked;
    },
  };
}

export interface FiguresSource {
  readonly state: string;
  /** The figures of all processes of the service, read without holding the thread. */
  snapshots(): Promise<readonly MetricsSnapshot[]>;
  /** The names of the procedures that are served. */
  names(): Iterable<string>;
  /** Where a procedure runs, and why; undefined: it is not served any more. */
  placementOf(name: string): { readonly place: string; readonly reason: string } | undefined;
}

/** How long one text serves all viewers. */
const keptMs = 1000;

/** Rows that are looked at or written in one turn of the event loop: less than a millisecond. */
const perTurn = 50;

/** Most procedures whose figures are sent. */
const maxProcedures = 200;

/** Most members that are listed: their number is among the gauges. */
const maxMembers = 200;

/** The name of the row that sums up the procedures which are not shown. No procedure's name has parentheses. */
const restProcedures = '(rest)';

/** The figures that the live page asks for each second, as one JSON text for all viewers. */
export class Figures {
  readonly #source: FiguresSource;
  readonly #shown = new ShownProcedures();
  #text: Promise<Uint8Array> | undefined;

  constructor(source: FiguresSource) {
    this.#source = source;
  }

  /** Nothing is computed until somebody asks, and nothing again for one second. */
  bytes(): Promise<Uint8Array> {
    this.#text ??= this.#write();
    return this.#text;
  }

  async #write(): Promise<Uint8Array> {
    try {
      return Buffer.from(await this.#textOf(await this.#source.snapshots()));
    } finally {
      // The time is counted from the end, so that a second text can't begin while this one is written.
      setTimeout(() => {
        this.#text = undefined;
      }, keptMs).unref();
    }
  }

  async #textOf(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    const shown = await this.#shown.choose(snapshots, this.#source.names());
    const placement: string[] = [];
    await inTurns(shown, perTurn, (name) => {
      const found = this.#source.placementOf(name);
      if (found === undefined) return;
      const { place, reason } = found;
      placement.push(`${JSON.stringify(name)}:${JSON.stringify({ place, reason })}`);
    });
    const texts: string[] = [];
    for (const snapshot of snapshots) texts.push(await snapshotText(snapshot, shown));
    const workers = snapshots.flatMap(({ process, workers: own }) =>
      own.map((worker) => ({ process, ...worker })),
    );
    const events = snapshots
      .flatMap(({ process, events: own }) => own.map((event) => ({ process, ...event })))
      .sort((a, b) => a.at - b.at)
      .slice(-maxEvents);
    const callers = joinThrottled(snapshots.map(({ callers: own }) => own));
    const members = snapshots
      .flatMap(({ process, members: own }) => own.map((member) => ({ process, ...member })))
      .slice(0, maxMembers);
    const rest = JSON.stringify({ workers, members, callers, events }).slice(1);
    const head = JSON.stringify({ at: Date.now(), state: this.#source.state }).slice(0, -1);
    return `${head},"snapshots":[${texts.join()}],"placement":{${placement.join()}},${rest}`;
  }
}

/** One snapshot with the rows of `shown` and one row for all others, so that its sums stay what they are. */
async function snapshotText(
  snapshot: MetricsSnapshot,
  shown: ReadonlySet<string>,
): Promise<string> {
  const {
    calls,
    workers: _w,
    events: _e,
    places: _p,
    callers: _c,
    members: _m,
    ...others
  } = snapshot;
  const rows: string[] = [];
  let rest: CallTotals | undefined;
  await inTurns(calls, perTurn, (row) => {
    if (shown.has(row.procedure)) {
      rows.push(JSON.stringify(row));
      return;
    }
    const unnamed = { ...row, procedure: restProcedures, place: '' };
    rest = rest === undefined ? unnamed : sum(rest, unnamed);
  });
  if (rest !== undefined) rows.push(JSON.stringify(rest));
  const head = JSON.stringify(others).slice(0, -1);
  return `${head},"calls":[${rows.join()}]}`;
}

function sum(rest: CallTotals, row: CallTotals): CallTotals {
  const totals = [rest, row].map((one) => ({
    calls: [one],
    counters: {} as MetricsSnapshot['counters'],
    blocked: [],
    groups: [],
  }));
  return addTotals(totals).calls[0] as CallTotals;
}

/**
 * Chooses whose figures are sent: the procedures whose calls changed last. What had changed stays among them while
 * fewer others change, so a viewer who misses a text sees each change in a later one.
 */
class ShownProcedures {
  /** How many calls of each procedure had ended at the last look; those that changed last stand last. */
  readonly #calls = new Map<string, number>();

  /** @param names all procedures: if there is room, those that nobody called are shown too */
  async choose(
    snapshots: readonly MetricsSnapshot[],
    names: Iterable<string>,
  ): Promise<ReadonlySet<string>> {
    const sums = new Map<string, number>();
    const rows = snapshots.flatMap(({ calls }) => calls);
    await inTurns(rows, perTurn, ({ procedure, codes }) => {
      let calls = sums.get(procedure) ?? 0;
      for (const code in codes) calls += codes[code] ?? 0;
      sums.set(procedure, calls);
    });
    await inTurns(sums, perTurn, ([procedure, calls]) => {
      if (this.#calls.get(procedure) === calls) return;
      this.#calls.delete(procedure);
      this.#calls.set(procedure, calls);
    });
    const shown = new Set([...this.#calls.keys()].slice(-maxProcedures));
    for (const name of names) {
      if (shown.size >= maxProcedures) break;
      shown.add(name);
    }
    return shown;
  }
}

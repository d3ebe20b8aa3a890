import type { DocumentFormat, Service } from '../../../core/dispatch/service.ts';
import {
  type Answer,
  bodyless,
  jsonAnswer,
  preflightHeaders,
  rejection,
  textAnswer,
} from './answer.ts';
import { matchesEtag } from './header-values.ts';
import type { HttpOptions } from './http-options.ts';

export type Target =
  | 'rpc'
  | 'mcp'
  | 'healthz'
  | 'readyz'
  | 'metrics'
  | 'root'
  | 'console'
  | 'figures'
  | 'none';

/** What a request that is no call asks for. */
export interface Question {
  /** In capitals. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Without its question mark. */
  readonly query: string;
  readonly ifNoneMatch: string | undefined;
  /** Read for pages of the console only. */
  readonly acceptEncoding: string | undefined;
}

/** The content type of Prometheus's text format. */
const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** Whether a load balancer asks for the state of the service, by an address that it chose itself. */
export function isHealth(target: Target): boolean {
  return target === 'healthz' || target === 'readyz';
}

/** Whether the console is asked for, whose answers no page of another origin may read. */
export function isConsole(target: Target): boolean {
  return target === 'console' || target === 'figures';
}

const consoleFolder = '/console/';

/** The format that the query of a GET asks for. Other parameters are ignored, since they are not this service's. */
function formatOf(query: string): DocumentFormat | undefined {
  const [format, second] = new URLSearchParams(query).getAll('format');
  if (format === undefined) return 'tandem';
  return format === 'openrpc' && second === undefined ? format : undefined;
}

const noStore = ['cache-control', 'no-store'];
const readOnly = { headers: ['allow', 'GET, HEAD'] };
const getOnly = rejection(405, 'use GET', readOnly);
const notReady = rejection(503, 'the service is starting or stopping, try again');
const unknownFormat = rejection(
  400,
  'format must be openrpc; leave it out for the introspection document',
);
const notLocal = rejection(
  403,
  'the console answers names of this machine, such as localhost; list others in allowedHosts',
);

/** Answers every request that is not a call: plain data in, an answer out. */
export class Routes {
  readonly #service: Service;
  readonly #options: HttpOptions;
  readonly #preflight: Answer;
  readonly #notFound: Answer;
  readonly #notAllowed: Answer;
  /** A client whose URL lacks the path comes here, where the root leads to the console. */
  readonly #onlyPages: Answer;

  constructor(service: Service, options: HttpOptions) {
    const { path, introspection, serves } = options;
    this.#service = service;
    this.#options = options;
    this.#preflight = bodyless(204, preflightHeaders(options.corsHeaders));
    const instead = serves === 'operations' ? 'calls have another port' : `call ${path}`;
    this.#notFound = rejection(404, `nothing is served here, ${instead}`);
    const allow = introspection ? 'POST, GET, HEAD, OPTIONS' : 'POST, OPTIONS';
    this.#notAllowed = rejection(405, `use POST on ${path}`, { headers: ['allow', allow] });
    this.#onlyPages = rejection(405, `only pages are here, ${instead}`, readOnly);
  }

  /** @param url the path, without the query */
  targetOf(url: string): Target {
    const { path, mcp, serves, console: site, health } = this.#options;
    if (url === path && serves !== 'operations') return 'rpc';
    if (url === mcp?.path && serves !== 'operations') return 'mcp';
    if (site !== undefined) {
      if (url === '/') return 'root';
      if (url === '/console' || url.startsWith(consoleFolder)) {
        const isFigures = url === `${consoleFolder}figures` && serves !== 'calls';
        return isFigures && site.figures !== undefined ? 'figures' : 'console';
      }
    }
    if (serves === 'calls') return 'none';
    if (this.#service.metrics !== undefined && url === '/metrics') return 'metrics';
    if (health && url === '/healthz') return 'healthz';
    if (health && url === '/readyz') return 'readyz';
    return 'none';
  }

  /**
   * Whether `authenticate` is asked first: where the answer says something about the procedures. A preflight is not
   * asked about, since it has no credentials.
   */
  asksWho(target: Target, method: string): boolean {
    const asks = target === 'figures' || (this.#options.introspection && target === 'rpc');
    return asks && (method === 'GET' || method === 'HEAD');
  }

  /** Why a request with this Host header is refused, beyond the checks that every request passes. */
  hostRefusal(target: Target, host: string | undefined): Answer | undefined {
    const site = this.#options.console;
    const isOpen = site === undefined || !isConsole(target) || site.isServed(host);
    return isOpen ? undefined : notLocal;
  }

  /** Answers a request that is not of MCP. Figures of other processes, and files, may have to be waited for. */
  answer(target: Target, question: Question): Answer | Promise<Answer> {
    const { method } = question;
    const { introspection, console: site } = this.#options;
    const reads = method === 'GET' || method === 'HEAD';
    switch (target) {
      case 'rpc':
        if (method === 'OPTIONS') return this.#preflight;
        return reads && introspection ? this.#introspect(question) : this.#notAllowed;
      case 'root':
        return reads ? bodyless(307, ['location', 'console/']) : this.#onlyPages;
      case 'none':
      case 'mcp':
        return this.#notFound;
    }
    if (!reads) return getOnly;
    switch (target) {
      case 'metrics':
        return this.#metrics();
      case 'figures':
        return site?.figures?.() ?? this.#notFound;
      case 'console':
        return this.#page(question);
      default:
        return this.#status(target);
    }
  }

  #introspect({ query, ifNoneMatch }: Question): Answer {
    const format = formatOf(query);
    if (format === undefined) return unknownFormat;
    const document = this.#service.introspect(format);
    if (document === undefined) return notReady;
    const { bytes, version } = document;
    const etag = `"${version}"`;
    // no-cache: caches keep the document but ask for it each time, since a reload changes it.
    const headers = ['etag', etag, 'cache-control', 'no-cache'];
    return matchesEtag(ifNoneMatch, etag)
      ? bodyless(304, headers)
      : jsonAnswer(200, bytes, headers);
  }

  async #metrics(): Promise<Answer> {
    const bytes = await this.#service.metrics?.bytes();
    return bytes === undefined ? this.#notFound : textAnswer(bytes, metricsType, noStore);
  }

  #page(question: Question): Answer | Promise<Answer> {
    const at = question.path.lastIndexOf(consoleFolder);
    // A relative target: a proxy in front, or a mount, may have put the service below a path of its own.
    if (at === -1) return bodyless(308, ['location', 'console/']);
    const name = question.path.slice(at + consoleFolder.length);
    const { console: site, serves } = this.#options;
    return site?.page({ ...question, name }, serves) ?? this.#notFound;
  }

  #status(target: 'healthz' | 'readyz'): Answer {
    if (target === 'healthz') return jsonAnswer(200, '{"status":"ok"}', noStore);
    const { state } = this.#service;
    return jsonAnswer(state === 'ready' ? 200 : 503, `{"status":"${state}"}`, noStore);
  }
}

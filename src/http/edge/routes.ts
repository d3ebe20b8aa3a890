import type { DocumentFormat, Service } from '../../dispatch/service.ts';
import { createMcpRoutes } from '../mcp/routes.ts';
import { type Answer, bodyless, jsonAnswer, rejection, textAnswer } from './answer.ts';
import { preflightHeaders } from './cors.ts';
import { matchesEtag } from './etag.ts';
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

/** Answers every request that is not a call: plain data in, an answer out. */
export interface Routes {
  /** @param path without the query */
  targetOf(path: string): Target;
  /** Figures of other processes, and files, may have to be waited for. */
  answer(target: Target, question: Question): Answer | Promise<Answer>;
  /** Why a request with this Host header is refused, beyond the checks that every request passes. */
  hostRefusal(target: Target, host: string | undefined): Answer | undefined;
  /**
   * Whether `authenticate` is asked first: where the answer says something about the procedures. A preflight is not
   * asked about, since it has no credentials.
   */
  asksWho(target: Target, method: string): boolean;
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

export function createRoutes(service: Service, options: HttpOptions): Routes {
  const { path, introspection, health, serves, console: site } = options;
  const preflight = bodyless(204, preflightHeaders(options.corsHeaders));
  const instead = serves === 'operations' ? 'calls have another port' : `call ${path}`;
  const notFound = rejection(404, `nothing is served here, ${instead}`);
  const allow = introspection ? 'POST, GET, HEAD, OPTIONS' : 'POST, OPTIONS';
  const notAllowed = rejection(405, `use POST on ${path}`, { headers: ['allow', allow] });
  const getOnly = rejection(405, 'use GET', { headers: ['allow', 'GET, HEAD'] });
  // A client whose URL lacks the path comes here, where the root leads to the console.
  const onlyPages = rejection(405, `only pages are here, ${instead}`, {
    headers: ['allow', 'GET, HEAD'],
  });
  const notReady = rejection(503, 'the service is starting or stopping, try again');
  const unknownFormat = rejection(
    400,
    'format must be openrpc; leave it out for the introspection document',
  );
  const noStore = ['cache-control', 'no-store'];
  const notLocal = rejection(
    403,
    'the console answers names of this machine, such as localhost; list others in allowedHosts',
  );
  const mcp = options.mcp && createMcpRoutes(options.mcp.path);

  function introspect(query: string, ifNoneMatch: string | undefined): Answer {
    const format = formatOf(query);
    if (format === undefined) return unknownFormat;
    const document = service.introspect(format);
    if (document === undefined) return notReady;
    const { bytes, version } = document;
    const etag = `"${version}"`;
    // no-cache: caches keep the document but ask for it each time, since a reload changes it.
    const headers = ['etag', etag, 'cache-control', 'no-cache'];
    return matchesEtag(ifNoneMatch, etag)
      ? bodyless(304, headers)
      : jsonAnswer(200, bytes, headers);
  }
  async function metrics(): Promise<Answer> {
    const bytes = await service.metrics?.bytes();
    return bytes === undefined ? notFound : textAnswer(bytes, metricsType, noStore);
  }
  function page(question: Question): Answer | Promise<Answer> {
    const at = question.path.lastIndexOf(consoleFolder);
    // A relative target: a proxy in front, or a mount, may have put the service below a path of its own.
    if (at === -1) return bodyless(308, ['location', 'console/']);
    const name = question.path.slice(at + consoleFolder.length);
    return site?.page({ ...question, name }, serves) ?? notFound;
  }
  function status(target: 'healthz' | 'readyz'): Answer {
    if (target === 'healthz') return jsonAnswer(200, '{"status":"ok"}', noStore);
    const { state } = service;
    return jsonAnswer(state === 'ready' ? 200 : 503, `{"status":"${state}"}`, noStore);
  }
  return {
    targetOf(url) {
      if (url === path && serves !== 'operations') return 'rpc';
      if (url === options.mcp?.path && serves !== 'operations') return 'mcp';
      if (site !== undefined) {
        if (url === '/') return 'root';
        if (url === '/console' || url.startsWith(consoleFolder)) {
          const isFigures = url === `${consoleFolder}figures` && serves !== 'calls';
          return isFigures && site.figures !== undefined ? 'figures' : 'console';
        }
      }
      if (serves === 'calls') return 'none';
      if (service.metrics !== undefined && url === '/metrics') return 'metrics';
      if (health && url === '/healthz') return 'healthz';
      if (health && url === '/readyz') return 'readyz';
      return 'none';
    },
    asksWho(target, method) {
      const asks = target === 'figures' || (introspection && target === 'rpc');
      return asks && (method === 'GET' || method === 'HEAD');
    },
    hostRefusal(target, host) {
      const isOpen = site === undefined || !isConsole(target) || site.isServed(host);
      return isOpen ? undefined : notLocal;
    },
    answer(target, question) {
      const { method, query, ifNoneMatch } = question;
      if (target === 'mcp') return mcp?.(method) ?? notFound;
      if (target === 'none') return notFound;
      const reads = method === 'GET' || method === 'HEAD';
      if (target === 'rpc') {
        if (method === 'OPTIONS') return preflight;
        return reads && introspection ? introspect(query, ifNoneMatch) : notAllowed;
      }
      if (!reads) return target === 'root' ? onlyPages : getOnly;
      if (target === 'healthz' || target === 'readyz') return status(target);
      if (target === 'metrics') return metrics();
      if (target === 'figures') return site?.figures?.() ?? notFound;
      return target === 'root' ? bodyless(307, ['location', 'console/']) : page(question);
    },
  };
}

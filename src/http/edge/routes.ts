import type { DocumentFormat, Service } from '../../dispatch/service.ts';
import { type Answer, bodyless, jsonAnswer, rejection, textAnswer } from './answer.ts';
import { preflightHeaders } from './cors.ts';
import type { HttpOptions } from './http-options.ts';

export type Target = 'rpc' | 'healthz' | 'readyz' | 'metrics' | 'none';

/** Answers every request that is not a call: plain data in, an answer out. */
export interface Routes {
  /** @param path without the query */
  targetOf(path: string): Target;
  /**
   * @param method in capitals
   * @param query without its question mark
   */
  answer(target: Target, method: string, query: string, ifNoneMatch: string | undefined): Answer;
  /**
   * Answers a request for the metrics. This answer alone may have to be waited for, since it holds the figures of
   * other processes.
   */
  metrics(method: string): Answer | Promise<Answer>;
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

/** The format that the query of a GET asks for. Other parameters are ignored, since they are not this service's. */
function formatOf(query: string): DocumentFormat | undefined {
  const [format, second] = new URLSearchParams(query).getAll('format');
  if (format === undefined) return 'tandem';
  return format === 'openrpc' && second === undefined ? format : undefined;
}

/** Weak comparison with a list of ETags (RFC 9110, 13.1.2). */
function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const opaque = etag.replace(/^W\//, '');
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === opaque);
}

export function createRoutes(service: Service, options: HttpOptions): Routes {
  const { path, introspection, health, serves } = options;
  const preflight = bodyless(204, preflightHeaders(options.corsHeaders));
  const instead = serves === 'operations' ? 'calls have another port' : `call ${path}`;
  const notFound = rejection(404, `nothing is served here, ${instead}`);
  const allow = introspection ? 'POST, GET, HEAD, OPTIONS' : 'POST, OPTIONS';
  const notAllowed = rejection(405, `use POST on ${path}`, { headers: ['allow', allow] });
  const getOnly = rejection(405, 'use GET', { headers: ['allow', 'GET, HEAD'] });
  const notReady = rejection(503, 'the service is starting or stopping, try again');
  const unknownFormat = rejection(
    400,
    'format must be openrpc; leave it out for the introspection document',
  );
  const noStore = ['cache-control', 'no-store'];

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
  function status(target: 'healthz' | 'readyz'): Answer {
    if (target === 'healthz') return jsonAnswer(200, '{"status":"ok"}', noStore);
    const { state } = service;
    return jsonAnswer(state === 'ready' ? 200 : 503, `{"status":"${state}"}`, noStore);
  }
  return {
    targetOf(url) {
      if (url === path && serves !== 'operations') return 'rpc';
      if (serves === 'calls') return 'none';
      if (service.metrics !== undefined && url === '/metrics') return 'metrics';
      if (health && url === '/healthz') return 'healthz';
      if (health && url === '/readyz') return 'readyz';
      return 'none';
    },
    asksWho(target, method) {
      return introspection && target === 'rpc' && (method === 'GET' || method === 'HEAD');
    },
    async metrics(method) {
      if (method !== 'GET' && method !== 'HEAD') return getOnly;
      const bytes = await service.metrics?.bytes();
      return bytes === undefined ? notFound : textAnswer(bytes, metricsType, noStore);
    },
    answer(target, method, query, ifNoneMatch) {
      if (target === 'none' || target === 'metrics') return notFound;
      const reads = method === 'GET' || method === 'HEAD';
      if (target === 'healthz' || target === 'readyz') return reads ? status(target) : getOnly;
      if (method === 'OPTIONS') return preflight;
      return reads && introspection ? introspect(query, ifNoneMatch) : notAllowed;
    },
  };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Routes, Target } from '../edge/routes.ts';

/** Fastify's request and reply, as far as they matter here. */
export interface HookedRequest {
  readonly raw: IncomingMessage;
  readonly body?: unknown;
}
export interface HookedReply {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/** What Express and body parsers put on a request. */
interface Dressed {
  readonly url?: string | undefined;
  readonly originalUrl?: unknown;
  readonly baseUrl?: unknown;
  readonly route?: unknown;
  readonly body?: unknown;
}

/** A request wherever it came in: the plain pair, and what was made of it before. */
export interface Mount {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The body a parser left, undefined: none. */
  readonly body: unknown;
  /** A framework's router chose this handler for the path. */
  readonly routed: boolean;
}

export function toMount(
  request: IncomingMessage | HookedRequest,
  response: ServerResponse | HookedReply,
): Mount {
  if ('raw' in request && 'raw' in response) {
    response.hijack();
    return { req: request.raw, res: response.raw, body: request.body, routed: true };
  }
  if ('raw' in request || 'raw' in response) {
    throw new TypeError('a request and a response of the same framework are needed');
  }
  const dressed: Dressed = request;
  const { baseUrl, route } = dressed;
  // app.use(path, handler) takes the path off the url; app.all(path, handler) names its route.
  const used = typeof baseUrl === 'string' && baseUrl !== '' && pathOf(request.url) === '/';
  return { req: request, res: response, body: dressed.body, routed: used || route !== undefined };
}

/** The path alone. */
export function pathOf(url: unknown): string {
  if (typeof url !== 'string') return '';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The path that the client asked for, wherever the handler was mounted. */
export function fullPathOf(req: IncomingMessage): string {
  const { originalUrl }: Dressed = req;
  return pathOf(originalUrl ?? req.url);
}

/** What follows the question mark. */
export function queryOf(url: string | undefined): string {
  const query = url?.indexOf('?') ?? -1;
  return query === -1 ? '' : (url?.slice(query + 1) ?? '');
}

/** What a mounted request asks for: this service's own paths first, then whatever it was mounted at. */
export function mountedTarget({ req, routed }: Mount, routes: Routes): Target {
  const dressed: Dressed = req;
  const own = routes.targetOf(pathOf(req.url));
  if (own !== 'none') return own;
  if (routed) return 'rpc';
  return routes.targetOf(pathOf(dressed.originalUrl));
}

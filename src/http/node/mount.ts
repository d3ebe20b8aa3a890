import type { IncomingMessage, ServerResponse } from 'node:http';
import { isConsole, type Routes, type Target } from '../edge/routes.ts';

/** The parts of Fastify's request and reply that are used here. */
export interface HookedRequest {
  readonly raw: IncomingMessage;
  readonly body?: unknown;
}
/** What a mounted handler is called with: Node's request, as it is or dressed by Express, or Fastify's request. */
export type MountedRequest = IncomingMessage | HookedRequest;
export interface HookedReply {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/** What Express and body parsers add to a request. */
interface Dressed {
  readonly url?: string | undefined;
  readonly originalUrl?: unknown;
  readonly baseUrl?: unknown;
  readonly route?: unknown;
  readonly body?: unknown;
}

/**
 * A request, wherever it was mounted: Node's request and response, and what a framework made of the request before.
 */
export interface Mount {
  /** What the handler was called with: the framework's own request, with all that the framework put there. */
  readonly request: MountedRequest;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The body that a parser left; undefined: there was no parser. */
  readonly body: unknown;
  /** true: a framework's router chose this handler for the path. */
  readonly routed: boolean;
}

export function toMount(request: MountedRequest, response: ServerResponse | HookedReply): Mount {
  if ('raw' in request && 'raw' in response) {
    response.hijack();
    return { request, req: request.raw, res: response.raw, body: request.body, routed: true };
  }
  if ('raw' in request || 'raw' in response) {
    throw new TypeError('a request and a response of the same framework are needed');
  }
  const dressed: Dressed = request;
  const { baseUrl, route } = dressed;
  // `app.use(path, handler)` takes the path off the url; `app.all(path, handler)` keeps the url and names its route.
  const used = typeof baseUrl === 'string' && baseUrl !== '' && pathOf(request.url) === '/';
  const routed = used || route !== undefined;
  return { request, req: request, res: response, body: dressed.body, routed };
}

/** The path of a URL, without its query. */
export function pathOf(url: unknown): string {
  if (typeof url !== 'string') return '';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The full path that the client asked for, wherever the handler was mounted. */
export function fullPathOf(req: IncomingMessage): string {
  const { originalUrl }: Dressed = req;
  return pathOf(originalUrl ?? req.url);
}

/** The query of a URL, without the question mark. */
export function queryOf(url: string | undefined): string {
  const query = url?.indexOf('?') ?? -1;
  return query === -1 ? '' : (url?.slice(query + 1) ?? '');
}

/**
 * What a mounted request asks for. This service's own paths are compared first; any other path stands for what the
 * handler was mounted at.
 */
export function mountedTarget({ req, routed }: Mount, routes: Routes): Target {
  const dressed: Dressed = req;
  const own = toMountTarget(routes.targetOf(pathOf(req.url)));
  if (own !== 'none') return own;
  const asked = toMountTarget(routes.targetOf(pathOf(dressed.originalUrl)));
  // `app.use('/console', handler)` has taken that off the url, and `app.use('/mcp', handler)` this.
  if (routed && asked !== 'mcp' && !isConsole(asked)) return 'rpc';
  return asked;
}

/** `/` is the page of whoever mounts the handler. */
function toMountTarget(target: Target): Target {
  return target === 'root' ? 'none' : target;
}

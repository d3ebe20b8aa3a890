import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isPlain } from '../../../core/base/value-kinds.ts';
import { failure } from '../edge/answer.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import type { RequestHead } from '../edge/request-head.ts';
import type { RequestLine, Scheme } from '../edge/route.ts';
import type { Routes } from '../routes.ts';

export function readHead(head: RequestHead, { rawHeaders, httpVersion }: IncomingMessage): void {
  head.isOld = httpVersion === '1.0';
  for (let i = 0; i < rawHeaders.length; i += 2) {
    head.add((rawHeaders[i] ?? '').toLowerCase(), rawHeaders[i + 1] ?? '');
  }
}

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
  readonly isRead: boolean;
  /** A framework's router chose this handler for the path. */
  readonly routed: boolean;
}

export function toMount(request: MountedRequest, response: ServerResponse | HookedReply): Mount {
  if ('raw' in request && 'raw' in response) {
    response.hijack();
    const { raw: req, body } = request;
    return { request, req, res: response.raw, body, isRead: isRead(req), routed: true };
  }
  if ('raw' in request || 'raw' in response) {
    throw new TypeError('a request and a response of the same framework are needed');
  }
  const { baseUrl, route, body }: Dressed = request;
  // `app.use(path, handler)` takes the path off the url; `app.all(path, handler)` keeps the url and names its route.
  const used = typeof baseUrl === 'string' && baseUrl !== '' && pathOf(request.url) === '/';
  const routed = used || route !== undefined;
  return { request, req: request, res: response, body, isRead: isRead(request), routed };
}

/** The path of a URL, without its query. */
export function pathOf(url: unknown): string {
  if (typeof url !== 'string') return '';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

function schemeOf(socket: Socket): Scheme {
  return 'encrypted' in socket ? 'https' : 'http';
}

function queryOf(url: string | undefined): string {
  const query = url?.indexOf('?') ?? -1;
  return query === -1 ? '' : (url?.slice(query + 1) ?? '');
}

export function ownLine(req: IncomingMessage, routes: Routes, isLocal: boolean): RequestLine {
  const path = pathOf(req.url);
  return {
    route: routes.find(path),
    method: req.method ?? '',
    path,
    routed: path,
    query: queryOf(req.url),
    scheme: schemeOf(req.socket),
    isLocal,
  };
}

/**
 * The options of a handler that is mounted in a server, which listens elsewhere.
 *
 * @param asksOther whether code of a framework says who calls, so that `options.authenticate` is not asked
 */
export function mountedOptions(options: HttpOptions, asksOther: boolean): HttpOptions {
  const { authenticate } = options;
  return { ...options, socket: '', authenticate: asksOther ? undefined : authenticate };
}

/**
 * A mounted request. Its full path is compared first: of `app.use('/api', handler)` the url is a name alone, and a procedure may be
 * called healthz. A path that is none of this service's own stands for what the handler was mounted at.
 */
export function mountedLine(mount: Mount, routes: Routes, isLocal: boolean): RequestLine {
  const { req } = mount;
  const { originalUrl }: Dressed = req;
  const below = pathOf(req.url);
  const path = originalUrl === undefined ? below : pathOf(originalUrl);
  const full = routes.findMounted(path);
  const route = full ?? routes.findMounted(below) ?? (mount.routed ? routes.rpc : routes.nothing);
  const own = ownLine(req, routes, isLocal);
  return { ...own, route, path, routed: full === undefined ? below : path };
}

/** Answers a call whose body was read before this handler got it, and was not kept. */
export const unusableBody = failure(
  'the body was read before this handler, and what the parser left is no JSON: ' +
    'mount the handler before that parser, or have it leave the JSON value, its text or its bytes',
);

function isRead(req: IncomingMessage): boolean {
  return req.readableDidRead || req.readableEnded;
}

/**
 * The body of a request that a parser of the framework has read: `request.body` of Express and of Fastify.
 *
 * The value of a JSON text is written as text again, so that it passes the same readers and the same limits as any
 * other body. A text is taken as the body itself.
 *
 * @returns null where the parser left nothing, or what no JSON text can have become
 */
export function parsedBody(left: unknown): string | Uint8Array | null {
  if (typeof left === 'string' || left instanceof Uint8Array) return left;
  if (typeof left === 'object' && left !== null && !Array.isArray(left) && !isPlain(left))
    return null;
  try {
    // undefined for a function, a symbol, undefined itself.
    return (JSON.stringify(left) as string | undefined) ?? null;
  } catch (error) {
    // JSON.stringify fails on some thousand levels, where JSON.parse does not. A body that is too deep is answered as one
    // that is not JSON, and so is an empty one.
    if (error instanceof RangeError) return '';
    return null; // a BigInt, a cycle, a getter or toJSON that throws
  }
}

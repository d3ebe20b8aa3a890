import type { ServerResponse } from 'node:http';
import { isLoopback } from '../../../core/base/loopback.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { ReplyTurns } from '../edge/reply-turns.ts';
import { type Asked, RequestHandler, type Target } from '../edge/request-handler.ts';
import { addressText } from '../edge/request-head.ts';
import {
  fullPathOf,
  type HookedReply,
  type Mount,
  type MountedRequest,
  mountedOptions,
  mountedTarget,
  queryOf,
  readHead,
  schemeOf,
  toMount,
} from './mount.ts';
import { connectionOf, type NodeConnection, NodeResponse } from './response.ts';

/**
 * A request handler for an http server that exists already. In node:http it takes the request and the response; in
 * Express it is a handler (`app.use(path, handler)`, `app.all(path, handler)`); in Fastify it is a route handler
 * (`app.all(path, handler)`).
 *
 * The handler reads the body itself. Where a parser of the framework has read the body already, the handler takes what
 * the parser left: text, bytes, or the value of the JSON.
 *
 * @typeParam Request the framework's request
 */
export type NodeHandler<Request extends MountedRequest = MountedRequest> = (
  request: Request,
  response: ServerResponse | HookedReply,
) => void;

/**
 * The handler for a mount. It answers at `options.path` and wherever a framework's router put it.
 *
 * @param auth says who calls, by the framework's request; undefined: `options.authenticate` is asked, if it is there
 */
export function createNodeHandler(
  service: Service,
  options: HttpOptions,
  auth?: Authenticator<MountedRequest>,
): NodeHandler {
  const own = mountedOptions(options, auth !== undefined);
  const requests = createRequests(service, own);
  // Somebody else listens: the connection tells whether others than this machine can reach it.
  const isLocal = ({ req }: Mount): boolean =>
    isLoopback(addressText(req.socket.localAddress) ?? '');
  return createHandler(requests, (mount) => mountedTarget(mount, requests), isLocal, auth);
}

/** node:http keeps the order of pipelined requests. More than 16 replies at a time would save nothing more, and wait longer. */
export function createRequests(service: Service, options: HttpOptions): RequestHandler {
  return new RequestHandler(service, options, new ReplyTurns(16));
}

/** @param isLocal whether only this machine can reach the server that a request came to */
export function createHandler(
  requests: RequestHandler,
  targetOf: (mount: Mount) => Target,
  isLocal: (mount: Mount) => boolean,
  auth?: Authenticator<MountedRequest>,
): NodeHandler {
  const { head, context } = requests;
  const key = Symbol('the connection of a socket');

  const handle = (mount: Mount, connection: NodeConnection): void => {
    const { req } = mount;
    if (connection.refused) return;
    readHead(head.reset(), req);
    const target = targetOf(mount);
    const method = req.method ?? '';
    const asked: Asked = {
      target,
      method,
      path: fullPathOf(req),
      query: queryOf(req.url),
      scheme: schemeOf(req.socket),
      isLocal: isLocal(mount),
      acceptEncoding: target === 'console' ? String(req.headers['accept-encoding']) : undefined,
    };
    const response = new NodeResponse(context, connection, mount);
    const exchange = requests.begin(response, asked);
    const askWho = auth && (() => auth(mount.request, exchange.facts.showsFaults));
    if (method !== 'POST' || (target !== 'rpc' && target !== 'mcp')) {
      requests.answer(exchange, asked, askWho);
      return;
    }
    if (mount.isRead) response.takeRead(head);
    requests.call(exchange, asked, askWho);
  };

  return (request, response) => {
    const mount = toMount(request, response);
    connectionOf(mount.req.socket, key).take(handle, mount);
  };
}

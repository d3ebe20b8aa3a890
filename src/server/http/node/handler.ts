import type { ServerResponse } from 'node:http';
import { isLoopback } from '../../../core/base/loopback.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { addressText, InFlight } from '../edge/http-server.ts';
import { ReplyTurns } from '../edge/reply-turns.ts';
import { RequestHandler } from '../edge/request-handler.ts';
import type { Routes, Target } from '../edge/routes.ts';
import {
  fullPathOf,
  type HookedReply,
  type Mount,
  type MountedRequest,
  mountedTarget,
  pathOf,
  queryOf,
  readHead,
  schemeOf,
  toMount,
} from './mount.ts';
import { connectionOf, type NodeConnection, type NodeReplies, NodeResponse } from './response.ts';

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
  // Where somebody else listens, the connection tells whether others than this machine can reach it.
  const isLocal = ({ req }: Mount): boolean =>
    isLoopback(addressText(req.socket.localAddress) ?? '');
  // The server that it is mounted in listens elsewhere.
  const own = { ...options, socket: '' };
  return createHandler(service, own, new InFlight(), mountedTarget, isLocal, auth);
}

/** The handler for a server of its own. It answers at `options.path` only. */
export function createOwnHandler(
  service: Service,
  options: HttpOptions,
  inFlight: InFlight,
): NodeHandler {
  const isLocal = options.socket === '' && isLoopback(options.host);
  return createHandler(
    service,
    options,
    inFlight,
    (mount, routes) => routes.targetOf(pathOf(mount.req.url)),
    () => isLocal,
  );
}

function createHandler(
  service: Service,
  options: HttpOptions,
  inFlight: InFlight,
  targetOf: (mount: Mount, routes: Routes) => Target,
  isLocal: (mount: Mount) => boolean,
  auth?: Authenticator<MountedRequest>,
): NodeHandler {
  // node:http keeps the order of pipelined requests. More than 16 replies at a time would save nothing more, and wait longer.
  const turns = new ReplyTurns(16);
  const own = auth === undefined ? options : { ...options, authenticate: undefined };
  const requests = new RequestHandler(service, own, inFlight, turns);
  const { head, routes } = requests;
  const { writeTimeoutMs } = options;
  const replies: NodeReplies = { inFlight, memory: service.replyMemory, writeTimeoutMs };
  const key = Symbol('the connection of a socket');

  const handle = (mount: Mount, connection: NodeConnection): void => {
    const { req } = mount;
    if (connection.refused) return;
    readHead(head.reset(), req);
    const target = targetOf(mount, routes);
    const method = req.method ?? '';
    const path = fullPathOf(req);
    const response = new NodeResponse(replies, connection, mount);
    const exchange = requests.begin(response, target, method, path, schemeOf(req.socket));
    const askWho = auth && (() => auth(mount.request, exchange.facts.showsFaults));
    if (method === 'POST' && (target === 'rpc' || target === 'mcp')) {
      if (mount.isRead) response.takeRead(head);
      requests.call(exchange, target, path, isLocal(mount), askWho);
      return;
    }
    const { ifNoneMatch } = head;
    const acceptEncoding =
      target === 'console' ? String(req.headers['accept-encoding']) : undefined;
    const question = { method, path, query: queryOf(req.url), ifNoneMatch, acceptEncoding };
    requests.answer(exchange, target, question, isLocal(mount), askWho);
  };

  return (request, response) => {
    const mount = toMount(request, response);
    connectionOf(mount.req.socket, key).take(handle, mount);
  };
}

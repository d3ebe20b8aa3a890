import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyMemory } from '../../dispatch/body-memory.ts';
import { RequestBody } from '../../dispatch/request-body.ts';
import { RequestScope } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import { admitted } from '../edge/admission.ts';
import { failure, outOfMemory } from '../edge/answer.ts';
import { authRequest } from '../edge/auth-request.ts';
import { BodyDeadlines } from '../edge/body-deadlines.ts';
import { createCors } from '../edge/cors.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { addressText } from '../edge/http-server.ts';
import { InFlight } from '../edge/in-flight.ts';
import { createPeers } from '../edge/peer.ts';
import { type Checks, createChecks } from '../edge/request-checks.ts';
import { RequestHead } from '../edge/request-head.ts';
import { createRoutes, isHealth, type Routes, type Target } from '../edge/routes.ts';
import { HttpSpan } from '../edge/span.ts';
import { type NodeConnection, NodeConnections } from './connection.ts';
import { type NodeContext, NodeExchange } from './exchange.ts';
import {
  fullPathOf,
  type HookedReply,
  type HookedRequest,
  type Mount,
  mountedTarget,
  pathOf,
  queryOf,
  toMount,
} from './mount.ts';

/**
 * A request handler for an http server that exists already. In node:http it takes the request and the response; in
 * Express it is a handler (`app.use(path, handler)`, `app.all(path, handler)`); in Fastify it is a route handler
 * (`app.all(path, handler)`).
 *
 * The handler reads the body itself. Behind a body parser it needs the raw body (a Buffer or a string). A parsed body
 * no longer holds what was sent: such a request is answered with 500 and the reason.
 */
export type NodeHandler = (
  request: IncomingMessage | HookedRequest,
  response: ServerResponse | HookedReply,
) => void;

/** The handler for a mount. It answers at `options.path` and wherever a framework's router put it. */
export function createNodeHandler(service: Service, options: HttpOptions): NodeHandler {
  return createHandler(service, options, new InFlight(), mountedTarget);
}

/** The handler for a server of its own. It answers at `options.path` only. */
export function createOwnHandler(
  service: Service,
  options: HttpOptions,
  inFlight: InFlight,
): NodeHandler {
  return createHandler(service, options, inFlight, (mount, routes) =>
    routes.targetOf(pathOf(mount.req.url)),
  );
}

function createHandler(
  service: Service,
  options: HttpOptions,
  inFlight: InFlight,
  targetOf: (mount: Mount, routes: Routes) => Target,
): NodeHandler {
  const { warn, writeTimeoutMs, bodyTimeoutMs, authenticate } = options;
  const bodyDeadlines = new BodyDeadlines();
  const context: NodeContext = {
    service,
    inFlight,
    warn,
    writeTimeoutMs,
    bodyDeadlines,
    bodyTimeoutMs,
  };
  const cors = createCors(options.corsOrigin);
  const checks = createChecks(options);
  const routes = createRoutes(service, options);
  const connections = new NodeConnections();
  // One head for all requests: each request fills and reads it before its handler returns.
  const head = new RequestHead(options);
  const peers = createPeers(options.trustedProxies);

  const handle = (mount: Mount, connection: NodeConnection): void => {
    const { req, res } = mount;
    if (connection.refused) return;
    readHead(head.reset(), req);
    const exchange = new NodeExchange(context, connection, req, res, cors(head.origin));
    const target = targetOf(mount, routes);
    const method = req.method ?? '';
    const connectedFrom = addressText(req.socket.remoteAddress);
    const { proxyHeaders } = head;
    const remoteAddress =
      peers === undefined || proxyHeaders === undefined
        ? connectedFrom
        : peers.addressOf(connectedFrom, proxyHeaders);
    const { tracing } = service;
    if (tracing !== undefined && target === 'rpc') {
      const path = fullPathOf(req);
      // The path is the span's route only where it is `options.path`: a framework's router may have chosen this
      // handler by a pattern.
      const route = path === options.path ? path : undefined;
      const scheme = 'encrypted' in req.socket ? 'https' : 'http';
      const { traceparent, tracestate } = head;
      const request = {
        method,
        path,
        route,
        scheme,
        remoteAddress,
        traceparent,
        tracestate,
      } as const;
      exchange.span = new HttpSpan(tracing, request);
    }
    const isCall = target === 'rpc' && method === 'POST';
    const refused = isCall
      ? checks.call(head)
      : (checks.framing(head) ?? (isHealth(target) ? undefined : checks.host(head)));
    if (refused !== undefined) {
      exchange.answer(refused);
      return;
    }
    const whoAsks = () => authRequest(head.all, remoteAddress, method, fullPathOf(req));
    if (isCall) {
      const { forwarded: headers, timeoutMs, traceparent, tracestate } = head;
      const callerHeader = proxyHeaders && peers?.callerHeader(connectedFrom, proxyHeaders);
      const facts = { headers, remoteAddress, callerHeader, timeoutMs, traceparent, tracestate };
      const scope = new RequestScope(facts);
      if (exchange.span !== undefined) scope.trace = exchange.span.calls;
      const take = bodyTaker(exchange, mount, checks, service.bodyMemory, head.contentLength);
      if (take === undefined) return;
      if (authenticate !== undefined) scope.verdict = authenticate(whoAsks());
      take(scope);
      return;
    }
    const { ifNoneMatch } = head;
    const answer = () => routes.answer(target, method, queryOf(req.url), ifNoneMatch);
    if (target === 'metrics') {
      exchange.answerOnce(() => routes.metrics(method));
    } else if (authenticate !== undefined && routes.asksWho(target, method)) {
      const request = whoAsks();
      exchange.answerOnce((scope) => admitted(service, scope, authenticate, request, answer));
    } else {
      exchange.answer(answer());
    }
  };

  return (request, response) => {
    const mount = toMount(request, response);
    const connection = connections.of(mount.req.socket);
    connection.take(() => handle(mount, connection));
  };
}

function readHead(head: RequestHead, { rawHeaders }: IncomingMessage): void {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    head.add((rawHeaders[i] ?? '').toLowerCase(), rawHeaders[i + 1] ?? '');
  }
}

const parsedBody = failure(
  'the body was read by a parser before this handler: mount it before the parser, ' +
    'or have the parser leave a Buffer or a string',
);

/**
 * Reserves memory for the body of a call and returns how to read and answer it; undefined: the request is answered,
 * with a refusal.
 */
function bodyTaker(
  exchange: NodeExchange,
  { req, body: read }: Mount,
  checks: Checks,
  memory: BodyMemory,
  contentLength: number,
): ((scope: RequestScope) => void) | undefined {
  const isRead = req.readableDidRead || req.readableEnded;
  if (isRead && typeof read !== 'string' && !(read instanceof Uint8Array)) {
    exchange.answer(parsedBody);
    return undefined;
  }
  const bytes = isRead ? (read as string | Uint8Array) : undefined;
  const length = bytes === undefined ? contentLength : Buffer.byteLength(bytes);
  // A parser that decompresses yields more bytes than the head announced.
  const tooLarge = bytes === undefined ? undefined : checks.bodyLength(length);
  const body = tooLarge === undefined ? RequestBody.reserve(memory, length) : undefined;
  if (body === undefined) {
    exchange.answer(tooLarge ?? outOfMemory);
    return undefined;
  }
  return (scope) => {
    scope.body = body.lease;
    if (bytes === undefined) exchange.call(body, length, scope);
    // The parser's buffer stays the application's, so a worker reads a copy.
    else if (typeof bytes === 'string') exchange.callRead(bytes, body, scope);
    else exchange.callRead(body.add(bytes) ?? bytes, body, scope);
  };
}

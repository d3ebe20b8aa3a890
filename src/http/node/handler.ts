import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLoopback } from '../../base/loopback.ts';
import type { Authenticator, Verdict } from '../../dispatch/authenticate.ts';
import type { BodyMemory } from '../../dispatch/body-memory.ts';
import { RequestBody } from '../../dispatch/request-body.ts';
import { RequestScope } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import { admitted } from '../edge/admission.ts';
import { outOfMemory } from '../edge/answer.ts';
import { authRequest } from '../edge/auth-request.ts';
import { BodyDeadlines } from '../edge/body-deadlines.ts';
import { ChunkedBody } from '../edge/chunked-body.ts';
import { createCors, noCors } from '../edge/cors.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { addressText } from '../edge/http-server.ts';
import { InFlight } from '../edge/in-flight.ts';
import { createPeers } from '../edge/peer.ts';
import { ReplyTurns } from '../edge/reply-turns.ts';
import { type Checks, createChecks } from '../edge/request-checks.ts';
import { RequestHead } from '../edge/request-head.ts';
import { createRoutes, isConsole, isHealth, type Routes, type Target } from '../edge/routes.ts';
import { HttpSpan } from '../edge/span.ts';
import { acceptsEventStream } from '../event-stream/accepts.ts';
import { createCallerCheck } from '../mcp/callers.ts';
import { McpExchange } from '../mcp/endpoint.ts';
import { connectionOf, type NodeConnection } from './connection.ts';
import { type NodeContext, NodeExchange } from './exchange.ts';
import { readHead } from './head.ts';
import {
  fullPathOf,
  type HookedReply,
  type Mount,
  type MountedRequest,
  mountedTarget,
  pathOf,
  queryOf,
  toMount,
} from './mount.ts';
import { isRead, parsedBody, unusableBody } from './parsed-body.ts';

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
  const { warn, writeTimeoutMs, bodyTimeoutMs, streamPingMs } = options;
  const authenticate = auth === undefined ? options.authenticate : undefined;
  const bodyDeadlines = new BodyDeadlines();
  const context: NodeContext = {
    service,
    inFlight,
    warn,
    writeTimeoutMs,
    bodyDeadlines,
    bodyTimeoutMs,
    eventStreams: { streamPingMs, writeTimeoutMs, replyMemory: service.replyMemory },
    // node:http keeps the order of pipelined requests. More than 16 replies at a time would save nothing more, and wait longer.
    turns: new ReplyTurns(() => Number.POSITIVE_INFINITY, 16),
  };
  const cors = createCors(options);
  const checks = createChecks(options);
  const routes = createRoutes(service, options);
  const checkCaller = createCallerCheck(options);
  const { mcp } = options;
  const key = Symbol('the connection of a socket');
  // One head for all requests: each request fills and reads it before its handler returns.
  const head = new RequestHead({ ...options, authenticate });
  const peers = createPeers(options);

  const handle = (mount: Mount, connection: NodeConnection): void => {
    const { req, res } = mount;
    if (connection.refused) return;
    readHead(head.reset(), req);
    const target = targetOf(mount, routes);
    const lines = isConsole(target) ? noCors : cors(head.origin);
    const exchange = new NodeExchange(context, connection, req, res, lines);
    const method = req.method ?? '';
    const connectedFrom = addressText(req.socket.remoteAddress);
    const { proxyHeaders } = head;
    const remoteAddress =
      peers === undefined || proxyHeaders === undefined
        ? connectedFrom
        : peers.addressOf(connectedFrom, proxyHeaders);
    const isMcp = target === 'mcp' && mcp !== undefined;
    if (target === 'rpc' || isMcp) {
      exchange.span = beginSpan(service, options, req, head, remoteAddress);
    }
    const isCall = (target === 'rpc' || isMcp) && method === 'POST';
    if (isCall && isMcp) exchange.handler = new McpExchange(mcp.server, head);
    const refused =
      (isCall
        ? checks.call(head)
        : (checks.framing(head) ??
          (isHealth(target) ? undefined : checks.host(head)) ??
          routes.hostRefusal(target, head.host))) ??
      (isMcp ? checkCaller(head, isLocal(mount)) : undefined);
    if (refused !== undefined) {
      exchange.answer(refused);
      return;
    }
    const askWho = (): Verdict | Promise<Verdict> | undefined =>
      auth === undefined
        ? authenticate?.(authRequest(head.all, remoteAddress, method, fullPathOf(req)))
        : auth(mount.request);
    if (isCall) {
      const { forwarded: headers, timeoutMs, traceparent, tracestate } = head;
      const callerHeader = proxyHeaders && peers?.callerHeader(connectedFrom, proxyHeaders);
      const facts = { headers, remoteAddress, callerHeader, timeoutMs, traceparent, tracestate };
      const scope = new RequestScope(facts);
      if (exchange.span !== undefined) scope.trace = exchange.span.calls;
      if (acceptsEventStream(head.accept)) exchange.takeEvents(scope);
      const take = head.isChunked
        ? chunksTaker(exchange, mount, checks, service.bodyMemory, options)
        : bodyTaker(exchange, mount, checks, service.bodyMemory, head.contentLength);
      if (take === undefined) return;
      scope.verdict = askWho();
      take(scope);
      return;
    }
    const { ifNoneMatch } = head;
    const question = {
      method,
      path: fullPathOf(req),
      query: queryOf(req.url),
      ifNoneMatch,
      acceptEncoding: target === 'console' ? String(req.headers['accept-encoding']) : undefined,
    };
    const answer = () => routes.answer(target, question);
    const verdict = routes.asksWho(target, method) ? askWho() : undefined;
    if (verdict === undefined) exchange.answerOnce(answer);
    else exchange.answerOnce((scope) => admitted(service, scope, verdict, answer));
  };

  return (request, response) => {
    const mount = toMount(request, response);
    connectionOf(mount.req.socket, key).take(handle, mount);
  };
}

/** Begins the span of a request for one of the paths that are served; undefined: requests are not traced. */
function beginSpan(
  { tracing }: Service,
  options: HttpOptions,
  req: IncomingMessage,
  { traceparent, tracestate }: RequestHead,
  remoteAddress: string | undefined,
): HttpSpan | undefined {
  if (tracing === undefined) return undefined;
  const path = fullPathOf(req);
  return new HttpSpan(tracing, {
    method: req.method ?? '',
    path,
    // Undefined for any other path: a framework's router may have chosen this handler by a pattern.
    route: path === options.path || path === options.mcp?.path ? path : undefined,
    scheme: 'encrypted' in req.socket ? 'https' : 'http',
    remoteAddress,
    traceparent,
    tracestate,
  });
}

/** As `bodyTaker`, for a body that comes in chunks: it takes its memory as it grows. */
function chunksTaker(
  exchange: NodeExchange,
  mount: Mount,
  checks: Checks,
  memory: BodyMemory,
  { maxBodyBytes }: HttpOptions,
): ((scope: RequestScope) => void) | undefined {
  if (isRead(mount.req)) return bodyTaker(exchange, mount, checks, memory, 0);
  const body = new ChunkedBody(memory, maxBodyBytes, checks);
  return (scope) => exchange.callChunked(body, scope);
}

/**
 * Reserves memory for the body of a call and returns how to read and answer it; undefined: the request is answered,
 * with a refusal.
 */
function bodyTaker(
  exchange: NodeExchange,
  { req, body: left }: Mount,
  checks: Checks,
  memory: BodyMemory,
  contentLength: number,
): ((scope: RequestScope) => void) | undefined {
  const read = isRead(req) ? parsedBody(left) : undefined;
  if (read === null) {
    exchange.answer(unusableBody);
    return undefined;
  }
  const length = read === undefined ? contentLength : Buffer.byteLength(read);
  // What a parser leaves may be longer than the body that the head announced.
  const tooLarge = read === undefined ? undefined : checks.bodyLength(length);
  const body = tooLarge === undefined ? RequestBody.reserve(memory, length) : undefined;
  if (body === undefined) {
    exchange.answer(tooLarge ?? outOfMemory);
    return undefined;
  }
  return (scope) => {
    scope.body = body.lease;
    if (read === undefined) exchange.call(body, length, scope);
    else if (typeof read === 'string') exchange.callRead(body.addText(read), body, scope);
    // The parser's buffer stays the application's, so a worker reads a copy.
    else exchange.callRead(body.add(read) ?? read, body, scope);
  };
}

import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
} from 'uWebSockets.js';
import { isLoopback } from '../../base/loopback.ts';
import type { Service } from '../../dispatch/service.ts';
import type { McpServer } from '../../mcp/server.ts';
import { admitted } from '../edge/admission.ts';
import { authRequest } from '../edge/auth-request.ts';
import { BodyDeadlines } from '../edge/body-deadlines.ts';
import { ChunkedBody } from '../edge/chunked-body.ts';
import { type Cors, createCors, noCors } from '../edge/cors.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { type HttpServer, portAddress, type Scheme, socketAddress } from '../edge/http-server.ts';
import { InFlight } from '../edge/in-flight.ts';
import { createPeers, type Peers } from '../edge/peer.ts';
import { ReplyTurns } from '../edge/reply-turns.ts';
import { type Checks, createChecks } from '../edge/request-checks.ts';
import { RequestHead } from '../edge/request-head.ts';
import { createRoutes, isConsole, isHealth, type Routes } from '../edge/routes.ts';
import { HttpSpan } from '../edge/span.ts';
import type { TlsFiles } from '../edge/tls.ts';
import { SocketFile } from '../edge/unix-socket.ts';
import type { EventStreamOptions } from '../event-stream/event-stream.ts';
import { type CheckCaller, createCallerCheck } from '../mcp/callers.ts';
import { McpExchange } from '../mcp/endpoint.ts';
import { UwsExchange } from './exchange.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { createApp, listenOnFile, listenOnPort } from './listening.ts';
import type { Uws } from './load.ts';
import { BodilessReplies, UwsReplies } from './reply.ts';
import { takeSockets } from './socket.ts';
import { UwsUpgrades } from './upgrade.ts';

/** The server on uWebSockets.js. Meant once per process, on the main thread. */
class UwsServer implements HttpServer, ExchangeContext {
  readonly transport = 'uws';
  readonly service: Service;
  readonly inFlight = new InFlight();
  readonly warn: (message: string) => void;
  readonly replies: UwsReplies;
  readonly bodiless = new BodilessReplies();
  // Without a limit of replies: a reply cannot be corked in the handler of another request.
  readonly turns = new ReplyTurns(() => this.connections, Number.POSITIVE_INFINITY);
  readonly peers: Peers | undefined;
  readonly bodyDeadlines = new BodyDeadlines();
  readonly bodyTimeoutMs: number;
  readonly eventStreams: EventStreamOptions;
  readonly #scheme: Scheme;
  readonly #uws: Uws;
  readonly #app: TemplatedApp;
  readonly #options: HttpOptions;
  readonly #cors: Cors;
  readonly #checks: Checks;
  readonly #routes: Routes;
  readonly #checkCaller: CheckCaller;
  /** Whether only this machine can reach the server. */
  readonly #isLocal: boolean;
  readonly #upgrades: UwsUpgrades;
  /** One head for all requests: each request fills and reads it before its handler returns. */
  readonly #head: RequestHead;
  /** Has just passed its request on to the handler of all routes. */
  #wantsCloser: UwsExchange | undefined;
  #socket: us_listen_socket | undefined;
  #socketFile: SocketFile | undefined;
  connections = 0;
  #closing: Promise<void> | undefined;
  address: HttpServer['address'];

  constructor(uws: Uws, service: Service, options: HttpOptions, tls: TlsFiles | undefined) {
    this.service = service;
    this.warn = options.warn;
    this.bodyTimeoutMs = options.bodyTimeoutMs;
    const { streamPingMs, writeTimeoutMs } = options;
    this.eventStreams = { streamPingMs, writeTimeoutMs, replyMemory: service.replyMemory };
    this.peers = createPeers(options);
    this.#uws = uws;
    this.#options = options;
    this.#cors = createCors(options);
    this.#checks = createChecks(options);
    this.#routes = createRoutes(service, options);
    this.#checkCaller = createCallerCheck(options);
    this.#isLocal = options.socket === '' && isLoopback(options.host);
    // The filter below does not hear of sockets that close.
    this.#upgrades = new UwsUpgrades(service, options, this.#checks, this.inFlight, () => {
      this.connections--;
    });
    this.#head = new RequestHead(options);
    this.replies = new UwsReplies(service.replyMemory, options.writeTimeoutMs);
    this.#scheme = tls === undefined ? 'http' : 'https';
    this.address = portAddress(this.#scheme, options.host, options.port, options.path);
    this.#app = createApp(uws, tls).filter((res, change) => this.#connection(res, Number(change)));
    if (options.serves !== 'operations') {
      this.#app.post(options.path, (res, req) => this.#post(res, req, options.path));
      const { mcp } = options;
      if (mcp !== undefined) {
        this.#app.post(mcp.path, (res, req) => this.#post(res, req, mcp.path, mcp.server));
      }
      if (options.webSocket) {
        takeSockets(this.#app, options, (res, req, socket) => this.#other(res, req, socket));
      }
    }
    this.#app.any('/*', (res, req) => this.#other(res, req));
  }

  async listen(at: string | SocketFile): Promise<this> {
    const { port, path, sharedPort } = this.#options;
    if (at instanceof SocketFile) {
      this.#socket = await listenOnFile(this.#app, at);
      this.#socketFile = at;
      this.address = socketAddress(this.#scheme, at.path, path);
      return this;
    }
    this.#socket = await listenOnPort(this.#app, at, port, sharedPort);
    const real = this.#uws.us_socket_local_port(this.#socket);
    this.address = portAddress(this.#scheme, at, real, path);
    return this;
  }

  get sockets(): number {
    return this.#upgrades.size;
  }

  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  async #drain(): Promise<void> {
    if (this.#socketFile !== undefined) await this.#socketFile.remove();
    if (this.#socket !== undefined) this.#uws.us_listen_socket_close(this.#socket);
    const answered = this.inFlight.drain(this.#options.shutdownGraceMs);
    this.#upgrades.drain();
    await answered;
    this.#app.close();
  }

  #connection(res: HttpResponse, change: number): void {
    this.connections += change;
    if (change < 0 || this.connections <= this.#options.maxConnections) return;
    this.#options.onConnectionRefused();
    res.close();
  }

  /** @param mcp answers the request in place of the service */
  #post(res: HttpResponse, req: HttpRequest, path: string, mcp?: McpServer): void {
    const exchange = new UwsExchange(this, res);
    const head = this.#head.reset();
    req.forEach(head.add);
    if (mcp !== undefined) exchange.handler = new McpExchange(mcp, head);
    if (this.peers !== undefined) exchange.facts.proxyHeaders = head.proxyHeaders;
    if (this.service.tracing !== undefined) this.#trace(exchange, head, 'POST', path);
    const cors = this.#cors(head.origin);
    const refused =
      this.#checks.call(head) ??
      (mcp === undefined ? undefined : this.#checkCaller(head, this.#isLocal));
    const { isChunked } = head;
    if (refused !== undefined) {
      // Behind chunks nothing is certain.
      exchange.answer(isChunked ? { ...refused, close: true } : refused, cors, false);
      return;
    }
    const { authenticate, maxBodyBytes } = this.#options;
    if (isChunked) {
      const body = new ChunkedBody(this.service.bodyMemory, maxBodyBytes, this.#checks);
      exchange.callChunked(body, head, cors);
      // The next handler, which is that of all routes, is called at once, with another object for the same response.
      this.#wantsCloser = exchange;
      req.setYield(true);
    } else if (!exchange.call(head, cors)) return;
    // After the line above: a body that arrives before `call` has set its listener would be lost.
    if (authenticate !== undefined) {
      exchange.askFor(
        authenticate,
        authRequest(head.all, exchange.facts.remoteAddress, 'POST', path),
      );
    }
  }

  /** Begins the span of a request for one of the paths that are served, where requests are traced. */
  #trace(
    exchange: UwsExchange,
    { traceparent, tracestate }: RequestHead,
    method: string,
    path: string,
  ): void {
    const { tracing } = this.service;
    if (tracing === undefined) return;
    exchange.span = new HttpSpan(tracing, {
      method,
      path,
      route: path,
      scheme: this.#scheme,
      remoteAddress: exchange.facts.remoteAddress,
      traceparent,
      tracestate,
    });
  }

  /**
   * Every request that is no POST on a path that takes calls.
   *
   * @param socket given where the request has the key of a WebSocket
   */
  #other(res: HttpResponse, req: HttpRequest, socket?: us_socket_context_t): void {
    if (this.#wantsCloser !== undefined) {
      this.#wantsCloser.closer = res;
      this.#wantsCloser = undefined;
      return;
    }
    const exchange = new UwsExchange(this, res);
    const head = this.#head.reset();
    req.forEach(head.add);
    if (this.peers !== undefined) exchange.facts.proxyHeaders = head.proxyHeaders;
    const method = req.getCaseSensitiveMethod();
    const path = req.getUrl();
    const target = this.#routes.targetOf(path);
    const cors = isConsole(target) ? noCors : this.#cors(head.origin);
    if (target === 'rpc' || target === 'mcp') this.#trace(exchange, head, method, path);
    const isUpgrade = this.#options.webSocket && target === 'rpc' && method === 'GET';
    if (isUpgrade && this.#upgrades.asks(head)) {
      this.#upgrades.upgrade(exchange, res, head, cors, socket);
      return;
    }
    const refused =
      this.#checks.framing(head) ??
      (isHealth(target) ? undefined : this.#checks.host(head)) ??
      this.#routes.hostRefusal(target, head.host) ??
      (target === 'mcp' ? this.#checkCaller(head, this.#isLocal) : undefined);
    if (refused !== undefined) {
      exchange.answer(refused, cors, method === 'HEAD');
      return;
    }
    const query = req.getQuery() ?? '';
    const { ifNoneMatch } = head;
    const acceptEncoding = target === 'console' ? req.getHeader('accept-encoding') : undefined;
    const question = { method, path, query, ifNoneMatch, acceptEncoding };
    const answer = () => this.#routes.answer(target, question);
    const { authenticate } = this.#options;
    if (authenticate === undefined || !this.#routes.asksWho(target, method)) {
      exchange.answerOnce(answer, cors, method === 'HEAD');
      return;
    }
    const request = authRequest(head.all, exchange.facts.remoteAddress, method, path);
    exchange.answerOnce(
      (scope) => admitted(this.service, scope, authenticate(request), answer),
      cors,
      method === 'HEAD',
    );
  }
}

/**
 * Starts a server on uWebSockets.js.
 *
 * @param at an address, or a name that resolves; or the file of a Unix socket
 * @throws Error with the `code` of the operating system (EADDRINUSE, ...) and a one-line message
 */
export function listenOnUws(
  uws: Uws,
  service: Service,
  options: HttpOptions,
  at: string | SocketFile,
  tls: TlsFiles | undefined,
): Promise<HttpServer> {
  return new UwsServer(uws, service, options, tls).listen(at);
}

import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from 'uWebSockets.js';
import type { Service } from '../../../core/dispatch/service.ts';
import { CountedConnections } from '../edge/connection-share.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import {
  givePort,
  holdPort,
  ListeningServer,
  listenError,
  SocketFile,
  socketError,
} from '../edge/http-server.ts';
import { addressText } from '../edge/request-head.ts';
import type { RequestLine, Route } from '../edge/route.ts';
import type { TlsFiles } from '../edge/tls.ts';
import { Routes } from '../routes.ts';
import { SocketConnection } from '../socket/connection.ts';
import type { SocketContext, SocketFacts, SocketWire } from '../socket/sockets.ts';
import { subprotocolOf } from '../socket/upgrades.ts';
import { nativeText, type Uws } from './load.ts';
import { UwsReplies, UwsResponse } from './response.ts';

type Listened = (socket: us_listen_socket | false) => void;

/** The native function takes options behind host and port. Its type file leaves that overload out. */
type ListenOnHost = (host: string, port: number, options: number, callback: Listened) => void;

/** The type file leaves out that a failure gives `false`. */
type ListenOnFile = (callback: Listened, path: string) => void;

/**
 * Modes of a listening socket. The default is the shared one (SO_REUSEPORT), with which a second server would join
 * the port in silence.
 */
const portModes = { shared: 0, exclusive: 1 } as const;

/** The server on uWebSockets.js. Meant once per process, on the main thread. */
export class UwsServer extends ListeningServer {
  readonly transport = 'uws';
  readonly #uws: Uws;
  readonly #app: TemplatedApp;
  readonly #options: HttpOptions;
  readonly #replies: UwsReplies;
  readonly #routes: Routes;
  /** Has just passed its request on to the handler of all routes. */
  #wantsCloser: UwsResponse | undefined;
  #socket: us_listen_socket | undefined;
  readonly #shares: CountedConnections;

  constructor(uws: Uws, service: Service, options: HttpOptions, tls: TlsFiles | undefined) {
    super(tls === undefined ? 'http' : 'https', options);
    const { serves, maxConnections } = options;
    this.#uws = uws;
    this.#options = options;
    this.#routes = new Routes(service, options, true, () => this.connections);
    this.#replies = new UwsReplies(this.#routes.context);
    this.#shares = new CountedConnections(maxConnections, this);
    const app =
      tls === undefined
        ? uws.App()
        : uws.SSLApp({ key_file_name: tls.keyPath, cert_file_name: tls.certPath });
    this.#app = app.filter((res, change) => this.#connection(res, Number(change)));
    for (const route of this.#routes.calls) this.#takeCalls(route);
    if (serves !== 'operations') {
      takeSockets(app, options, (res, req, socket) => this.#other(res, req, socket));
    }
    app.any('/*', (res, req) => this.#other(res, req));
  }

  get sockets(): number {
    return this.#routes.upgrades.size;
  }

  /** The app is closed if this throws. */
  protected override async listenAt(at: string | SocketFile): Promise<number> {
    const app = this.#app;
    const { port, sharedPort } = this.#options;
    const isFile = at instanceof SocketFile;
    const socket = await new Promise<us_listen_socket | false>((resolve) => {
      if (isFile) {
        (app.listen_unix as unknown as ListenOnFile).call(app, resolve, at.private);
      } else {
        const mode = sharedPort ? portModes.shared : portModes.exclusive;
        (app.listen as unknown as ListenOnHost).call(app, at, port, mode, resolve);
      }
    });
    if (socket !== false) {
      this.#socket = socket;
      return isFile ? 0 : this.#uws.us_socket_local_port(socket);
    }
    app.close();
    // Where and how long the path is was checked. The library does not say what else is wrong.
    if (isFile) throw socketError(at.path, 'ERR_UWS_LISTEN');
    await givePort(await holdPort(at, port));
    // Listening works now: whoever held the port has just released it.
    throw listenError('EADDRINUSE', at, port);
  }

  protected override async drain(quietMs: number): Promise<void> {
    if (quietMs === 0) this.#stopListening();
    await this.#routes.upgrades.drain(quietMs);
    if (quietMs > 0) this.#stopListening();
    this.#shares.close();
    this.#app.close();
  }

  #stopListening(): void {
    if (this.#socket !== undefined) this.#uws.us_listen_socket_close(this.#socket);
  }

  #connection(res: HttpResponse, change: number): void {
    this.connections += change;
    if (change < 0) return;
    const text = () => Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
    const denial = this.#shares.denial(() => addressText(text()));
    if (denial === undefined) return;
    this.#options.onConnectionRefused(denial);
    res.close();
  }

  #takeCalls(route: Route): void {
    const { path } = route;
    // Each question to `req` costs a crossing into C++: of one path, all is known.
    const known = path.endsWith('/*') ? undefined : this.#line(route, 'POST', path, '');
    this.#app.post(path, (res, req) => this.#call(res, req, route, known));
  }

  #line(route: Route, method: string, path: string, query: string): RequestLine {
    const { scheme, isLocal } = this;
    return { route, method, path, routed: path, query, scheme, isLocal };
  }

  /** @param known undefined: the path is below the route's own */
  #call(res: HttpResponse, req: HttpRequest, route: Route, known: RequestLine | undefined): void {
    const response = new UwsResponse(this.#replies, res);
    const { head } = this.#routes;
    req.forEach(head.reset().add);
    const { isChunked } = head;
    // Behind chunks nothing is certain.
    response.isLast = isChunked;
    const line = known ?? this.#line(route, 'POST', req.getUrl(), req.getQuery() ?? '');
    const exchange = this.#routes.begin(response, line);
    if (!this.#routes.serve(exchange, line) || !isChunked) return;
    // The next handler, which is that of all routes, is called at once, with another object for the same response.
    this.#wantsCloser = response;
    req.setYield(true);
  }

  /**
   * Every request that is no POST on a path that takes calls.
   *
   * @param socket given if the request has the key of a WebSocket
   */
  #other(res: HttpResponse, req: HttpRequest, socket?: us_socket_context_t): void {
    if (this.#wantsCloser !== undefined) {
      this.#wantsCloser.closer = res;
      this.#wantsCloser = undefined;
      return;
    }
    const response = new UwsResponse(this.#replies, res);
    const routes = this.#routes;
    req.forEach(routes.head.reset().add);
    const path = req.getUrl();
    const route = routes.find(path);
    const line = this.#line(route, req.getCaseSensitiveMethod(), path, req.getQuery() ?? '');
    const isUpgrade =
      route === routes.rpc && line.method === 'GET' && routes.upgrades.asks(routes.head);
    const open = isUpgrade ? this.#opener(response, socket) : undefined;
    routes.serve(routes.begin(response, line), line, undefined, open);
  }

  /** @param socket undefined: the request has no key, and is refused for that */
  #opener(
    response: UwsResponse,
    socket: us_socket_context_t | undefined,
  ): (facts: SocketFacts) => void {
    const { res } = response;
    const { head, upgrades } = this.#routes;
    const key = head.upgrade?.key ?? '';
    const protocol = subprotocolOf(head.upgrade?.protocol);
    return (facts) => {
      if (socket === undefined) {
        res.close();
        return;
      }
      response.finish();
      // The filter of connections does not hear of sockets that close.
      const onClosed = () => void this.connections--;
      const userData: UserData = { socket: new UwsSocket(upgrades.context, facts, onClosed) };
      res.upgrade(userData, key, protocol, '', socket);
    };
  }
}

/** The least seconds of silence that uWebSockets.js can wait for; with fewer it ends the process. */
const minIdleSeconds = 8;

/** uWebSockets.js copies the own members of this object to its socket, and nothing of its prototype. */
interface UserData {
  readonly socket: UwsSocket;
}

/** One WebSocket on uWebSockets.js. After its end or its close, touching `ws` throws. */
class UwsSocket implements SocketWire {
  /** uWebSockets.js watches for silence itself. */
  readonly received = undefined;
  readonly isWithinMessage = undefined;
  readonly #context: SocketContext;
  readonly #facts: SocketFacts;
  readonly #onClosed: () => void;
  #ws: WebSocket<UserData> | undefined;
  connection: SocketConnection | undefined;

  constructor(context: SocketContext, facts: SocketFacts, onClosed: () => void) {
    this.#context = context;
    this.#facts = facts;
    this.#onClosed = onClosed;
  }

  onOpen(ws: WebSocket<UserData>): void {
    this.#ws = ws;
    this.connection = new SocketConnection(this.#context, this, this.#facts);
  }

  onClose(): void {
    this.#ws = undefined;
    this.connection?.onGone();
    this.#onClosed();
  }

  send(message: string | Uint8Array): boolean {
    return this.#ws?.send(nativeText(message)) === sent;
  }

  cork(write: () => void): void {
    this.#ws?.cork(write);
  }

  get unsent(): number {
    return this.#ws?.getBufferedAmount() ?? 0;
  }

  ping(): void {
    this.#ws?.ping();
  }

  end(code: number): void {
    this.#ws?.end(code);
  }

  cut(): void {
    this.#ws?.close();
  }
}

/** What `send` of uWebSockets.js says if nothing is left unsent. */
const sent = 1;

type Behavior = WebSocketBehavior<UserData>;

/**
 * Takes WebSockets on `path`.
 *
 * @param upgrade takes the requests that have a key, whether they ask for an upgrade or not
 */
function takeSockets(
  app: TemplatedApp,
  { path, maxBodyBytes, socketIdleMs }: HttpOptions,
  upgrade: NonNullable<Behavior['upgrade']>,
): void {
  const idleTimeout = Math.max(Math.ceil(socketIdleMs / 1000), minIdleSeconds);
  const connectionOf = (ws: WebSocket<UserData>) => ws.getUserData().socket.connection;
  app.ws<UserData>(path, {
    maxPayloadLength: maxBodyBytes,
    idleTimeout,
    sendPingsAutomatically: false,
    // Beyond a limit, answers would be dropped in silence. See SocketConnection.onDrain for the limit there is.
    maxBackpressure: 0,
    compression: 0,
    upgrade,
    open: (ws) => ws.getUserData().socket.onOpen(ws),
    message: (ws, message) => connectionOf(ws)?.onMessage(new Uint8Array(message), true),
    ping(ws) {
      connectionOf(ws)?.onHeard();
      // The answer is sent before this is called, and a client may read none of them.
      connectionOf(ws)?.onDrain();
    },
    pong: (ws) => connectionOf(ws)?.onHeard(),
    drain: (ws) => connectionOf(ws)?.onDrain(),
    close: (ws) => ws.getUserData().socket.onClose(),
  });
}

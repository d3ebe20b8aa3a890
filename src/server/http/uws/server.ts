import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from 'uWebSockets.js';
import { isLoopback } from '../../../core/base/loopback.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { CountedConnections } from '../edge/connection-share.ts';
import type { Exchange } from '../edge/exchange.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import {
  addressText,
  type HttpServer,
  InFlight,
  listenError,
  portAddress,
  probe,
  type Scheme,
  socketAddress,
} from '../edge/http-server.ts';
import { ReplyTurns } from '../edge/reply-turns.ts';
import { RequestHandler } from '../edge/request-handler.ts';
import type { TlsFiles } from '../edge/tls.ts';
import { SocketFile, socketError } from '../edge/unix-socket.ts';
import { SocketConnection } from '../socket/connection.ts';
import type { CloseCode, SocketContext, SocketFacts, SocketWire } from '../socket/sockets.ts';
import { subprotocolOf, Upgrades } from '../socket/upgrades.ts';
import { nativeText, type Uws } from './load.ts';
import { UwsReplies, UwsResponse } from './response.ts';

function createApp(uws: Uws, tls: TlsFiles | undefined): TemplatedApp {
  if (tls === undefined) return uws.App();
  return uws.SSLApp({ key_file_name: tls.keyPath, cert_file_name: tls.certPath });
}

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

/** @throws Error with the `code` of the operating system; the app is closed then */
async function listenOnPort(
  app: TemplatedApp,
  host: string,
  port: number,
  isShared: boolean,
): Promise<us_listen_socket> {
  const mode = isShared ? portModes.shared : portModes.exclusive;
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    (app.listen as unknown as ListenOnHost).call(app, host, port, mode, resolve);
  });
  if (socket !== false) return socket;
  app.close();
  throw listenError(await probe(host, port), host, port);
}

/** @throws Error with one line; the app is closed then */
async function listenOnFile(app: TemplatedApp, file: SocketFile): Promise<us_listen_socket> {
  const socket = await new Promise<us_listen_socket | false>((resolve) => {
    (app.listen_unix as unknown as ListenOnFile).call(app, resolve, file.private);
  });
  if (socket !== false) return socket;
  app.close();
  // Where and how long the path is was checked. The library does not say what else is wrong.
  throw socketError(file.path, 'ERR_UWS_LISTEN');
}

/** The server on uWebSockets.js. Meant once per process, on the main thread. */
class UwsServer implements HttpServer {
  readonly transport = 'uws';
  readonly #scheme: Scheme;
  readonly #uws: Uws;
  readonly #app: TemplatedApp;
  readonly #options: HttpOptions;
  readonly #inFlight = new InFlight();
  readonly #replies: UwsReplies;
  readonly #requests: RequestHandler;
  readonly #upgrades: Upgrades;
  readonly #outgoing = new Outgoing();
  /** Whether only this machine can reach the server. */
  readonly #isLocal: boolean;
  /** Has just passed its request on to the handler of all routes. */
  #wantsCloser: UwsResponse | undefined;
  #socket: us_listen_socket | undefined;
  #socketFile: SocketFile | undefined;
  connections = 0;
  readonly #shares: CountedConnections;
  #closing: Promise<void> | undefined;
  address: HttpServer['address'];

  constructor(uws: Uws, service: Service, options: HttpOptions, tls: TlsFiles | undefined) {
    this.#uws = uws;
    this.#options = options;
    this.#replies = new UwsReplies(this.#inFlight, service.replyMemory, options.writeTimeoutMs);
    // Without a limit of replies: a reply cannot be corked in the handler of another request.
    const turns = new ReplyTurns(Number.POSITIVE_INFINITY, () => this.connections);
    this.#requests = new RequestHandler(service, options, this.#inFlight, turns);
    const { checks } = this.#requests.context;
    this.#upgrades = new Upgrades(service, options, checks, this.#inFlight, true);
    this.#shares = new CountedConnections(options.maxConnections, () => this.address.port);
    this.#isLocal = options.socket === '' && isLoopback(options.host);
    this.#scheme = tls === undefined ? 'http' : 'https';
    this.address = portAddress(this.#scheme, options.host, options.port, options.path);
    this.#app = createApp(uws, tls).filter((res, change) => this.#connection(res, Number(change)));
    if (options.serves !== 'operations') {
      const { path, mcp } = options;
      this.#app.post(path, (res, req) => this.#post(res, req, 'rpc', path));
      if (mcp !== undefined) {
        this.#app.post(mcp.path, (res, req) => this.#post(res, req, 'mcp', mcp.path));
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
    const answered = this.#inFlight.drain(this.#options.shutdownGraceMs);
    this.#upgrades.context.sockets.drain();
    await answered;
    this.#app.close();
  }

  #connection(res: HttpResponse, change: number): void {
    this.connections += change;
    if (change < 0) return;
    const open = this.connections - 1;
    const text = () => Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
    const denial = this.#shares.denial(() => addressText(text()), open);
    if (denial === undefined) return;
    this.#options.onConnectionRefused(denial);
    res.close();
  }

  #post(res: HttpResponse, req: HttpRequest, target: 'rpc' | 'mcp', path: string): void {
    const response = new UwsResponse(this.#replies, res);
    const { head } = this.#requests;
    req.forEach(head.reset().add);
    const { isChunked } = head;
    // Behind chunks nothing is certain.
    response.isLast = isChunked;
    const exchange = this.#requests.begin(response, target, 'POST', path, this.#scheme);
    if (!this.#requests.call(exchange, target, path, this.#isLocal) || !isChunked) return;
    // The next handler, which is that of all routes, is called at once, with another object for the same response.
    this.#wantsCloser = response;
    req.setYield(true);
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
    const response = new UwsResponse(this.#replies, res);
    const { head, routes } = this.#requests;
    req.forEach(head.reset().add);
    const method = req.getCaseSensitiveMethod();
    const path = req.getUrl();
    const target = routes.targetOf(path);
    const exchange = this.#requests.begin(response, target, method, path, this.#scheme);
    const isUpgrade = this.#options.webSocket && target === 'rpc' && method === 'GET';
    if (isUpgrade && this.#upgrades.asks(head)) {
      this.#upgrade(exchange, response, res, socket);
      return;
    }
    const query = req.getQuery() ?? '';
    const { ifNoneMatch } = head;
    const acceptEncoding = target === 'console' ? req.getHeader('accept-encoding') : undefined;
    const question = { method, path, query, ifNoneMatch, acceptEncoding };
    this.#requests.answer(exchange, target, question, this.#isLocal);
  }

  /** @param socket undefined: the request has no key, and is refused for that */
  #upgrade(
    exchange: Exchange,
    response: UwsResponse,
    res: HttpResponse,
    socket: us_socket_context_t | undefined,
  ): void {
    const { head } = this.#requests;
    const key = head.upgrade?.key ?? '';
    const protocol = subprotocolOf(head.upgrade?.protocol);
    this.#upgrades.upgrade(exchange, head, undefined, (facts) => {
      if (socket === undefined) {
        res.close();
        return;
      }
      response.finish();
      const { context } = this.#upgrades;
      const userData: UserData = {
        socket: new UwsSocket(context, this.#outgoing, facts, () => {
          // The filter of connections does not hear of sockets that close.
          this.connections--;
        }),
      };
      res.upgrade(userData, key, protocol, '', socket);
    });
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

/** Seconds of silence that uWebSockets.js can wait for; with any other number it ends the process. */
const idleSeconds = { least: 8, most: 960 } as const;

/** uWebSockets.js copies the own members of this object to its socket, and nothing of its prototype. */
interface UserData {
  readonly socket: UwsSocket;
}

/**
 * Sockets that have answers to send. They are sent together, once this turn has made all its answers: behind the microtasks, in
 * which `async` handlers and generators go on.
 */
class Outgoing {
  #sockets: UwsSocket[] = [];

  add(socket: UwsSocket): void {
    if (this.#sockets.push(socket) === 1) process.nextTick(() => this.#flush());
  }

  #flush(): void {
    const sockets = this.#sockets;
    this.#sockets = [];
    for (const socket of sockets) socket.flush();
  }
}

/** One WebSocket on uWebSockets.js. After its end or its close, touching `ws` throws. */
class UwsSocket implements SocketWire {
  /** uWebSockets.js watches for silence itself. */
  readonly received = undefined;
  readonly isWithinMessage = undefined;
  readonly #context: SocketContext;
  readonly #outgoing: Outgoing;
  readonly #facts: SocketFacts;
  readonly #onClosed: () => void;
  #ws: WebSocket<UserData> | undefined;
  #connection: SocketConnection | undefined;
  /** A message is being handled: uWebSockets.js gathers what is sent meanwhile, and writes it in one go. */
  #isInTurn = false;
  #queue: (string | Uint8Array)[] | undefined;
  /** Characters or bytes in the queue. */
  #queued = 0;

  /** @param onClosed called when the socket has closed */
  constructor(
    context: SocketContext,
    outgoing: Outgoing,
    facts: SocketFacts,
    onClosed: () => void,
  ) {
    this.#context = context;
    this.#outgoing = outgoing;
    this.#facts = facts;
    this.#onClosed = onClosed;
  }

  onOpen(ws: WebSocket<UserData>): void {
    this.#ws = ws;
    this.#connection = new SocketConnection(this.#context, this, this.#facts);
  }

  onMessage(message: ArrayBuffer): void {
    this.#isInTurn = true;
    try {
      this.#connection?.onMessage(new Uint8Array(message));
    } finally {
      this.#isInTurn = false;
    }
  }

  /** The answer to a client's ping is sent before this is called, and a client may read none of them. */
  onPing(): void {
    this.onPong();
    this.onDrain();
  }

  onPong(): void {
    this.#connection?.onHeard();
  }

  onDrain(): void {
    if (this.#ws !== undefined) this.#connection?.onUnsent(this.#ws.getBufferedAmount());
  }

  onClose(): void {
    this.#ws = undefined;
    this.#queue = undefined;
    this.#connection?.onGone();
    this.#onClosed();
  }

  send(reply: string | Uint8Array): void {
    if (this.#ws === undefined) return;
    if (this.#isInTurn && this.#queue === undefined) {
      if (this.#ws.send(nativeText(reply)) !== sent) this.onDrain();
      return;
    }
    this.#queued += reply.length;
    if (this.#queue === undefined) {
      this.#queue = [reply];
      this.#outgoing.add(this);
    } else {
      this.#queue.push(reply);
    }
    // Whether the client reads is known only of what was sent.
    if (this.#queued >= mostQueued) this.flush();
  }

  flush(): void {
    if (this.#ws === undefined || this.#queue === undefined) return;
    const ws = this.#ws;
    const queue = this.#queue;
    this.#queue = undefined;
    this.#queued = 0;
    if (queue.length === 1) {
      if (ws.send(nativeText(queue[0] ?? '')) !== sent) this.onDrain();
      return;
    }
    ws.cork(() => {
      for (const reply of queue) ws.send(nativeText(reply));
    });
    this.onDrain();
  }

  ping(): void {
    this.#ws?.ping();
  }

  end(code: CloseCode): void {
    this.#ws?.end(code);
  }

  cut(): void {
    this.#ws?.close();
  }
}

/** Characters or bytes that are gathered before they are sent. */
const mostQueued = 16 * 1024;

/** What `send` says where nothing is left unsent. */
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
  const seconds = Math.ceil(socketIdleMs / 1000);
  const idleTimeout =
    seconds === 0 ? 0 : Math.min(Math.max(seconds, idleSeconds.least), idleSeconds.most);
  app.ws<UserData>(path, {
    maxPayloadLength: maxBodyBytes,
    idleTimeout,
    sendPingsAutomatically: false,
    // Beyond a limit, answers would be dropped in silence. See SocketConnection.onUnsent for the limit there is.
    maxBackpressure: 0,
    compression: 0,
    upgrade,
    open: (ws) => ws.getUserData().socket.onOpen(ws),
    message: (ws, message) => ws.getUserData().socket.onMessage(message),
    ping: (ws) => ws.getUserData().socket.onPing(),
    pong: (ws) => ws.getUserData().socket.onPong(),
    drain: (ws) => ws.getUserData().socket.onDrain(),
    close: (ws) => ws.getUserData().socket.onClose(),
  });
}

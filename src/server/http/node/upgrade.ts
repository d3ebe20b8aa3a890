import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import type { RequestScope } from '../../../core/dispatch/scope.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { type Answer, type CorsLines, rejection, serviceFailed } from '../edge/answer.ts';
import type { Responder, ResponseListener } from '../edge/exchange.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { InFlight } from '../edge/http-server.ts';
import { ReplyTurns } from '../edge/reply-turns.ts';
import { RequestHandler } from '../edge/request-handler.ts';
import { SocketConnection } from '../socket/connection.ts';
import type { CloseCode, SocketContext, SocketFacts, SocketWire } from '../socket/sockets.ts';
import { subprotocolOf, Upgrades } from '../socket/upgrades.ts';
import { type MountedRequest, pathOf, readHead, schemeOf } from './mount.ts';

/** A listener for the event `upgrade` of an http or https server. */
export type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Whether Node reads the body of a request that asks for an upgrade. Otherwise it lies behind the head, as it came. */
const readsBodies = Number.parseInt(process.versions.node, 10) >= 26;

/** How long clients may take to answer the close frame at the end. */
const farewellMs = 1000;

/** Takes the upgrades of a server that exists already. */
export interface MountedUpgrades {
  readonly handle: UpgradeHandler;
  /** How many sockets are open. */
  readonly size: number;
  /** Takes nobody new, answers what was accepted, and ends the sockets. */
  close(): Promise<void>;
}

/** @param auth says who calls, by the server's request; undefined: `options.authenticate` is asked, if it is there */
export function createUpgradeHandler(
  service: Service,
  options: HttpOptions,
  auth?: Authenticator<MountedRequest>,
): MountedUpgrades {
  const inFlight = new InFlight();
  // The server that it is mounted in listens elsewhere.
  const upgrades = new NodeUpgrades(service, { ...options, socket: '' }, inFlight, auth);
  return {
    handle: upgrades.handle,
    get size() {
      return upgrades.size;
    },
    close: () => upgrades.close(inFlight.drain(options.shutdownGraceMs)),
  };
}

/** Takes the upgrades of one server to WebSockets at `options.path`. */
export class NodeUpgrades {
  readonly #options: HttpOptions;
  readonly #auth: Authenticator<MountedRequest> | undefined;
  readonly #requests: RequestHandler;
  readonly #upgrades: Upgrades;
  readonly #inFlight: InFlight;
  /** Sockets that have a listener for errors. A connection comes again with each request whose upgrade is ignored. */
  readonly #known = new WeakSet<Socket>();
  #ws: Promise<WebSocketServer> | undefined;

  /** @param auth says who calls, by the server's request; undefined: `options.authenticate` is asked, if it is there */
  constructor(
    service: Service,
    options: HttpOptions,
    inFlight: InFlight,
    auth?: Authenticator<MountedRequest>,
  ) {
    const own = auth === undefined ? options : { ...options, authenticate: undefined };
    this.#options = own;
    this.#auth = auth;
    this.#requests = new RequestHandler(service, own, inFlight, new ReplyTurns(1));
    const { checks } = this.#requests.context;
    this.#upgrades = new Upgrades(service, own, checks, inFlight, auth === undefined);
    this.#inFlight = inFlight;
  }

  readonly handle: UpgradeHandler = (req, stream, first) => {
    const { socket } = req;
    const isHere = pathOf(req.url) === this.#options.path;
    // An upgrade at another path, to whatever protocol, may be meant for another listener.
    if (!isHere && hasOtherListeners(socket, this.handle)) return;
    if (!this.#known.has(socket)) {
      this.#known.add(socket);
      socket.on('error', () => {});
    }
    if (!this.asks(req)) {
      // Since Node 26 another stream stands for the socket while the body of the request is on its way.
      if (stream !== socket) serveOnce(req);
      else serveWithoutUpgrade(req, first);
    } else {
      this.#upgrade(req, socket, first, isHere);
    }
  };

  /** Whether a request asks for a WebSocket, at whatever path. Others that ask for an upgrade are ordinary requests. */
  readonly asks = (req: IncomingMessage): boolean => {
    const { head } = this.#requests;
    readHead(head.reset(), req);
    const isSocket = req.method === 'GET' && req.httpVersion === '1.1';
    return isSocket && this.#upgrades.asks(head) && this.#options.webSocket;
  };

  /** How many sockets are open. */
  get size(): number {
    return this.#upgrades.size;
  }

  /** Ends each socket when its messages are answered; resolves when all have ended. */
  async close(answered: Promise<void>): Promise<void> {
    const { sockets } = this.#upgrades.context;
    sockets.drain();
    await answered;
    await sockets.ended(farewellMs);
    sockets.cut();
  }

  #upgrade(req: IncomingMessage, socket: Socket, first: Buffer, isHere: boolean): void {
    const response = new UpgradeResponse(this.#inFlight, socket);
    const { head } = this.#requests;
    const { path } = this.#options;
    const target = isHere ? 'rpc' : 'none';
    const exchange = this.#requests.begin(response, target, 'GET', path, schemeOf(socket));
    if (!isHere) {
      exchange.answer(rejection(404, `WebSockets are taken at ${path}`));
      return;
    }
    const auth = this.#auth;
    const askWho = auth && (() => auth(req, exchange.facts.showsFaults));
    const open = async (facts: SocketFacts): Promise<void> => {
      this.#ws ??= createSocketServer(this.#options.maxBodyBytes);
      const server = await this.#ws;
      if (response.isDone) return;
      response.finish();
      server.handleUpgrade(req, socket, first, (ws) => {
        new NodeSocket(this.#upgrades.context, ws, socket, facts);
      });
    };
    this.#upgrades.upgrade(exchange, head, askWho, (facts) => {
      open(facts).catch((error: unknown) => {
        this.#options.warn(`service failed under a request: ${String(error)}`);
        exchange.answer(serviceFailed);
      });
    });
  }
}

/** The response to a request for a WebSocket, whose socket was taken off its parser. It is an answer, or there is none. */
class UpgradeResponse implements Responder {
  listener: ResponseListener | undefined;
  scope: RequestScope | undefined;
  isDone = false;
  readonly #inFlight: InFlight;
  readonly #socket: Socket;

  constructor(inFlight: InFlight, socket: Socket) {
    this.#inFlight = inFlight;
    this.#socket = socket;
    inFlight.enter();
    socket.once('close', this.#onClose);
  }

  get connectedFrom(): string | undefined {
    return this.#socket.remoteAddress;
  }

  cork(write: () => void): void {
    if (!this.isDone) write();
  }

  answer({ status, headers, body = '' }: Answer, cors: CorsLines): void {
    const bytes = Buffer.from(body);
    const length = ['content-length', String(bytes.length)];
    const lines = [...headers, ...cors.lines, ...length, 'connection', 'close'];
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (let i = 0; i < lines.length; i += 2) text += `${lines[i]}: ${lines[i + 1]}\r\n`;
    this.finish();
    this.#socket.once('finish', () => this.#socket.destroy());
    this.#socket.end(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), bytes]));
  }

  /** It is answered, or becomes a WebSocket. */
  finish(): void {
    this.isDone = true;
    this.#inFlight.leave();
    this.#socket.off('close', this.#onClose);
  }

  // Such a request has no body, and makes no call.
  readBody(): void {}
  reply(): void {}
  events(): void {}

  readonly #onClose = (): void => {
    this.finish();
    this.listener?.onGone();
  };
}

/** Loaded with the first upgrade: most services behind uWebSockets.js never need it. */
async function createSocketServer(maxPayload: number): Promise<WebSocketServer> {
  const { WebSocketServer } = await import('ws');
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload,
    handleProtocols: (offered) => subprotocolOf([...offered].join(',')) || false,
  });
}

/** Whether the server of the socket has other code that takes upgrades: it may serve other paths. */
function hasOtherListeners(socket: Socket, own: UpgradeHandler): boolean {
  const listeners = serverOf(socket)?.listeners('upgrade') ?? [];
  return listeners.some((listener) => listener !== own);
}

/** The http server that a socket belongs to. */
function serverOf(socket: Socket): Server | undefined {
  return (socket as { server?: Server }).server;
}

/**
 * Answers a request whose upgrade is ignored, as RFC 9110, 7.8 allows: the HTTP client of Java asks for `h2c` with each
 * first request. A server that listens for upgrades gets all of them, each taken off its parser. So the request is put
 * back, without its header `Upgrade`, and its connection is given to the server once more.
 */
function serveWithoutUpgrade(req: IncomingMessage, first: Buffer): void {
  const { socket } = req;
  const server = serverOf(socket);
  if (server === undefined) {
    socket.destroy();
    return;
  }
  let text = `${req.method} ${req.url} HTTP/${req.httpVersion}\r\n`;
  for (let i = 0; i < req.rawHeaders.length; i += 2) {
    const name = req.rawHeaders[i] ?? '';
    if (name.toLowerCase() !== 'upgrade') text += `${name}: ${req.rawHeaders[i + 1]}\r\n`;
  }
  const parts = [Buffer.from(`${text}\r\n`, 'latin1'), first];
  if (readsBodies) parts.splice(1, 0, bodyOf(req));
  socket.unshift(Buffer.concat(parts));
  server.emit('encrypted' in socket ? 'secureConnection' : 'connection', socket);
}

/** The body of a request that has come whole, framed as its headers say. Trailers are left out. */
function bodyOf(req: IncomingMessage): Buffer {
  const body: Buffer = req.read() ?? Buffer.alloc(0);
  if (req.headers['transfer-encoding'] === undefined) return body;
  const end = Buffer.from('0\r\n\r\n');
  if (body.length === 0) return end;
  const size = Buffer.from(`${body.length.toString(16)}\r\n`);
  return Buffer.concat([size, body, Buffer.from('\r\n'), end]);
}

/**
 * Answers such a request whose body its parser still reads (Node 26), and closes the connection: it cannot be put back
 * before the body has ended, and a body may be large.
 */
function serveOnce(req: IncomingMessage): void {
  const { socket } = req;
  const response = new ServerResponse(req);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => socket.destroySoon());
  serverOf(socket)?.emit('request', req, response);
}

/** Bytes of a control frame of a client beside its payload. */
const controlHead = 6;

/** Characters or bytes that are gathered before they are written. */
const mostCorked = 16 * 1024;

const asText = { binary: false } as const;

/** One WebSocket by the package `ws`, on a connection of node:http. */
class NodeSocket implements SocketWire {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #connection: SocketConnection;
  /** What is sent in one turn of the event loop is written together. */
  #isCorked = false;
  /** Characters or bytes of it. */
  #corked = 0;
  #hasUnsent = false;
  /** Bytes that have come as whole messages and as control frames; what came together with the end of a message is counted too, though it belongs to the next one. */
  #whole: number;

  constructor(context: SocketContext, ws: WebSocket, socket: Socket, facts: SocketFacts) {
    this.#ws = ws;
    this.#socket = socket;
    this.#whole = socket.bytesRead;
    this.#connection = new SocketConnection(context, this, facts);
    // By its default, `ws` gives a message as one Buffer.
    ws.on('message', (data) => {
      this.#whole = socket.bytesRead;
      this.#connection.onMessage(data as Buffer);
    });
    ws.on('ping', (data) => this.#onControl(data));
    ws.on('pong', (data) => this.#onControl(data));
    // A frame that follows no grammar, or a reset: 'close' comes behind it.
    ws.on('error', () => {});
    ws.on('close', () => this.#connection.onGone());
  }

  get received(): number {
    return this.#socket.bytesRead;
  }

  /** Between the fragments of a message, control frames may come. */
  get isWithinMessage(): boolean {
    return this.#socket.bytesRead > this.#whole;
  }

  send(reply: string | Uint8Array): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      process.nextTick(() => this.flush());
    }
    this.#ws.send(reply, asText, this.#onTaken);
    this.#corked += reply.length;
    // Whether the client reads is known only of what was written.
    if (this.#corked >= mostCorked) this.flush();
  }

  flush(): void {
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#corked = 0;
    this.#socket.uncork();
    this.#tellUnsent();
  }

  ping(): void {
    this.#ws.ping();
  }

  end(code: CloseCode): void {
    this.#ws.close(code);
  }

  cut(): void {
    this.#ws.terminate();
  }

  #onControl(data: Buffer): void {
    this.#whole += controlHead + data.length;
    this.#connection.onHeard();
  }

  /** Called when the system has taken a message. */
  readonly #onTaken = (): void => {
    if (this.#hasUnsent) this.#tellUnsent();
  };

  #tellUnsent(): void {
    const bytes = this.#ws.bufferedAmount;
    if (bytes === 0 && !this.#hasUnsent) return;
    this.#hasUnsent = bytes > 0;
    this.#connection.onUnsent(bytes);
  }
}

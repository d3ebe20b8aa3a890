import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { rejection } from '../edge/answer.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { Routes } from '../routes.ts';
import { SocketConnection } from '../socket/connection.ts';
import type { SocketContext, SocketFacts, SocketWire } from '../socket/sockets.ts';
import { subprotocolOf } from '../socket/upgrades.ts';
import { NodeConnection, NodeResponse } from './handler.ts';
import {
  type MountedRequest,
  mountedOptions,
  ownLine,
  pathOf,
  readHead,
  toMount,
} from './mount.ts';

/** A listener for the event `upgrade` of an http or https server. */
export type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Whether Node reads the body of a request that asks for an upgrade. Otherwise it lies behind the head, as it came. */
const readsBodies = Number.parseInt(process.versions.node, 10) >= 26;

/** How long clients may take to answer the close frame at the end. */
const farewellMs = 1000;

/**
 * Takes the upgrades of a server that exists already.
 *
 * @param auth says who calls, by the server's request; undefined: `options.authenticate` is asked, if it is there
 */
export function createUpgrades(
  service: Service,
  options: HttpOptions,
  auth?: Authenticator<MountedRequest>,
): NodeUpgrades {
  const own = mountedOptions(options, auth !== undefined);
  return new NodeUpgrades(new Routes(service, own, auth === undefined), auth);
}

/** Takes the upgrades of one server to WebSockets at `options.path`. */
export class NodeUpgrades {
  readonly #routes: Routes;
  readonly #auth: Authenticator<MountedRequest> | undefined;
  readonly #onTaken: (socket: Socket) => void;
  /** Sockets that have a listener for errors. A connection comes again with each request whose upgrade is ignored. */
  readonly #known = new WeakSet<Socket>();
  #ws: Promise<WebSocketServer> | undefined;

  /** @param onTaken called with each socket that carries no further requests */
  constructor(
    routes: Routes,
    auth?: Authenticator<MountedRequest>,
    onTaken: (socket: Socket) => void = () => {},
  ) {
    this.#routes = routes;
    this.#auth = auth;
    this.#onTaken = onTaken;
  }

  readonly handle: UpgradeHandler = (req, stream, first) => {
    const { socket } = req;
    const isHere = pathOf(req.url) === this.#routes.context.options.path;
    // An upgrade at another path, to whatever protocol, may be meant for another listener.
    if (!isHere && hasOtherListeners(socket, this.handle)) return;
    if (!this.#known.has(socket)) {
      this.#known.add(socket);
      socket.on('error', () => {});
    }
    if (!this.asks(req)) {
      // Since Node 26 another stream stands for the socket while the body of the request is on its way. The request cannot be put
      // back before that has ended, and a body may be large.
      if (stream !== socket) serverOf(socket)?.emit('request', req, lastResponse(req));
      else serveWithoutUpgrade(req, first);
    } else {
      this.#upgrade(req, socket, first, isHere);
    }
  };

  /** Whether a request asks for a WebSocket, at whatever path. Others that ask for an upgrade are ordinary requests. */
  readonly asks = (req: IncomingMessage): boolean => {
    const { head } = this.#routes;
    readHead(head.reset(), req);
    const isSocket = req.method === 'GET' && req.httpVersion === '1.1';
    return isSocket && this.#routes.upgrades.asks(head);
  };

  get size(): number {
    return this.#routes.upgrades.size;
  }

  /**
   * Takes nobody new, answers what was accepted, and ends each socket. Resolves when all have ended.
   *
   * @param quietMs see {@link Upgrades.drain}
   */
  async close(quietMs = 0): Promise<void> {
    const { upgrades } = this.#routes;
    const { sockets } = upgrades.context;
    await upgrades.drain(quietMs);
    await sockets.ended(farewellMs);
    sockets.cut();
  }

  #upgrade(req: IncomingMessage, socket: Socket, first: Buffer, isHere: boolean): void {
    this.#onTaken(socket);
    const { context } = this.#routes.upgrades;
    const { path, maxBodyBytes } = context.options;
    const routes = this.#routes;
    const res = lastResponse(req);
    const connection = new NodeConnection(socket, undefined);
    const response = new NodeResponse(routes.context, connection, toMount(req, res));
    const line = { ...ownLine(req, routes, false), route: isHere ? routes.rpc : routes.nothing };
    const exchange = routes.begin(response, line);
    if (!isHere) {
      exchange.answer(rejection(404, `WebSockets are taken at ${path}`));
      return;
    }
    const auth = this.#auth;
    const askCaller = auth && (() => auth(req, exchange.facts.showsFaults));
    const open = async (facts: SocketFacts): Promise<void> => {
      this.#ws ??= createSocketServer(maxBodyBytes);
      const server = await this.#ws;
      if (response.isDone) return;
      response.finish();
      res.detachSocket(socket);
      server.handleUpgrade(req, socket, first, (ws) => {
        new NodeSocket(context, ws, socket, facts);
      });
    };
    routes.serve(exchange, line, askCaller, (facts) => {
      open(facts).catch((error: unknown) => exchange.fail(error));
    });
  }
}

/** The response to a request whose socket was taken off its parser: the connection closes behind it. */
function lastResponse(req: IncomingMessage): ServerResponse {
  const response = new ServerResponse(req);
  response.shouldKeepAlive = false;
  response.assignSocket(req.socket);
  response.once('finish', () => req.socket.destroySoon());
  return response;
}

/** Loaded with the first upgrade: most services behind uWebSockets.js never need it. */
async function createSocketServer(maxPayload: number): Promise<WebSocketServer> {
  const { WebSocket, WebSocketServer } = await import('ws');
  /** `ws` answers a client's close frame by `close`, after which nothing is sent: what waits must be sent before. */
  class ClosingSocket extends WebSocket {
    override close(code?: number, reason?: string | Buffer): void {
      this.emit('closing');
      super.close(code, reason);
    }
  }
  return new WebSocketServer({
    noServer: true,
    WebSocket: ClosingSocket,
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
  const body = readsBodies ? bodyOf(req) : Buffer.alloc(0);
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), body, first]));
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

/** Bytes of a control frame of a client beside its payload. */
const controlHead = 6;

const asText = { binary: false } as const;

/** One WebSocket by the package `ws`, on a connection of node:http. */
class NodeSocket implements SocketWire {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #connection: SocketConnection;
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
      this.#connection.onMessage(data as Buffer, false);
    });
    ws.on('ping', (data) => this.#onControl(data));
    ws.on('pong', (data) => this.#onControl(data));
    // A frame that follows no grammar, or a reset: 'close' comes behind it.
    ws.on('error', () => {});
    ws.on('closing', () => this.#connection.flush());
    ws.on('close', () => this.#connection.onGone());
  }

  get received(): number {
    return this.#socket.bytesRead;
  }

  /** Between the fragments of a message, control frames may come. */
  get isWithinMessage(): boolean {
    return this.#socket.bytesRead > this.#whole;
  }

  send(message: string | Uint8Array): boolean {
    if (this.#ws.readyState !== this.#ws.OPEN) return true;
    this.#ws.send(message, asText, this.#onTaken);
    return this.unsent === 0;
  }

  cork(write: () => void): void {
    this.#socket.cork();
    write();
    this.#socket.uncork();
  }

  get unsent(): number {
    return this.#ws.bufferedAmount;
  }

  ping(): void {
    this.#ws.ping();
  }

  end(code: number): void {
    this.#ws.close(code);
  }

  cut(): void {
    this.#ws.terminate();
  }

  #onControl(data: Buffer): void {
    this.#whole += controlHead + data.length;
    this.#connection.onHeard();
  }

  readonly #onTaken = (): void => this.#connection.onTaken();
}

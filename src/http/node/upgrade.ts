import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocketServer } from 'ws';
import type { Authenticator } from '../../dispatch/authenticate.ts';
import { RequestScope } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import { admitted } from '../edge/admission.ts';
import { type Answer, rejection, serviceFailed } from '../edge/answer.ts';
import { authRequest } from '../edge/auth-request.ts';
import { type Cors, createCors } from '../edge/cors.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { addressText } from '../edge/http-server.ts';
import { InFlight } from '../edge/in-flight.ts';
import { createPeers, type Peers } from '../edge/peer.ts';
import { createChecks } from '../edge/request-checks.ts';
import { RequestHead } from '../edge/request-head.ts';
import { HttpSpan } from '../edge/span.ts';
import { type SocketFacts, socketFacts } from '../socket/facts.ts';
import { createHandshake, type Handshake, subprotocolOf } from '../socket/handshake.ts';
import { createSocketContext, type SocketContext } from '../socket/sockets.ts';
import { readHead } from './head.ts';
import { type MountedRequest, pathOf } from './mount.ts';
import { NodeSocket } from './socket.ts';

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
  const upgrades = new Upgrades(service, { ...options, socket: '' }, inFlight, auth);
  return {
    handle: upgrades.handle,
    get size() {
      return upgrades.size;
    },
    close: () => upgrades.close(inFlight.drain(options.shutdownGraceMs)),
  };
}

/** Takes the upgrades of one server to WebSockets at `options.path`. */
export class Upgrades {
  readonly #service: Service;
  readonly #options: HttpOptions;
  readonly #inFlight: InFlight;
  readonly #auth: Authenticator<MountedRequest> | undefined;
  readonly #cors: Cors;
  readonly #handshake: Handshake;
  readonly #peers: Peers | undefined;
  readonly #context: SocketContext;
  /** One head for all requests: each request fills and reads it before its handler returns. */
  readonly #head: RequestHead;
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
    this.#service = service;
    this.#options = auth === undefined ? options : { ...options, authenticate: undefined };
    this.#inFlight = inFlight;
    this.#auth = auth;
    this.#cors = createCors(options);
    this.#handshake = createHandshake(options, createChecks(options), auth === undefined);
    this.#peers = createPeers(options);
    this.#context = createSocketContext(service, options, inFlight);
    this.#head = new RequestHead(this.#options);
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
    const head = this.#head.reset();
    if (!this.#asks(req, head)) {
      // Since Node 26 another stream stands for the socket while the body of the request is on its way.
      if (stream !== socket) serveOnce(req);
      else serveWithoutUpgrade(req, first);
    } else if (isHere) {
      this.#upgrade(req, socket, first, head);
    } else {
      const elsewhere = rejection(404, `WebSockets are taken at ${this.#options.path}`);
      writeAnswer(socket, elsewhere, this.#cors(head.origin).lines);
    }
  };

  /** Whether a request asks for a WebSocket, at whatever path. Others that ask for an upgrade are ordinary requests. */
  readonly asks = (req: IncomingMessage): boolean => this.#asks(req, this.#head.reset());

  #asks(req: IncomingMessage, head: RequestHead): boolean {
    readHead(head, req);
    const isSocket = req.method === 'GET' && req.httpVersion === '1.1';
    return isSocket && this.#handshake.asks(head) && this.#options.webSocket;
  }

  /** How many sockets are open. */
  get size(): number {
    return this.#context.sockets.size;
  }

  /** Ends each socket when its messages are answered; resolves when all have ended. */
  async close(answered: Promise<void>): Promise<void> {
    const { sockets } = this.#context;
    sockets.drain();
    await answered;
    await sockets.ended(farewellMs);
    sockets.cut();
  }

  #upgrade(req: IncomingMessage, socket: Socket, first: Buffer, head: RequestHead): void {
    const { lines } = this.#cors(head.origin);
    const connectedFrom = addressText(socket.remoteAddress);
    const { proxyHeaders } = head;
    const known = proxyHeaders !== undefined && this.#peers !== undefined;
    const remoteAddress = known
      ? this.#peers.addressOf(connectedFrom, proxyHeaders)
      : connectedFrom;
    const callerHeader = known ? this.#peers.callerHeader(connectedFrom, proxyHeaders) : undefined;
    const { path } = this.#options;
    const facts = socketFacts(head, { remoteAddress, callerHeader, path, route: path });
    const span = this.#span(facts, socket);
    const answer = (made: Answer): void => {
      span?.answered(made.status);
      writeAnswer(socket, made, lines);
    };
    const refused = this.#handshake.refusal(head, this.#inFlight.draining);
    if (refused !== undefined) {
      answer(refused);
      return;
    }
    this.#handshake.withhold(head);
    const { authenticate } = this.#options;
    const verdict =
      this.#auth === undefined
        ? authenticate?.(authRequest(head.all, remoteAddress, 'GET', path))
        : this.#auth(req);
    const scope = new RequestScope(facts);
    const onGone = (): void => {
      span?.left();
      scope.cancel();
    };
    socket.once('close', onGone);
    this.#inFlight.enter();
    void this.#admit(scope, verdict)
      .then(async (refusal) => {
        socket.off('close', onGone);
        if (socket.destroyed) return;
        if (refusal !== undefined) {
          answer(refusal);
          return;
        }
        span?.answered(101);
        await this.#open(req, socket, first, { ...facts, authText: scope.authText });
      })
      .catch((error: unknown) => {
        this.#options.warn(`service failed under a request: ${String(error)}`);
        answer(serviceFailed);
      })
      .finally(() => this.#inFlight.leave());
  }

  async #admit(
    scope: RequestScope,
    verdict: ReturnType<Authenticator<MountedRequest>> | undefined,
  ): Promise<Answer | undefined> {
    const late = () => (this.#inFlight.draining ? this.#handshake.draining : undefined);
    return verdict && admitted(this.#service, scope, verdict, late);
  }

  async #open(
    req: IncomingMessage,
    socket: Socket,
    first: Buffer,
    facts: SocketFacts,
  ): Promise<void> {
    this.#ws ??= createSocketServer(this.#options.maxBodyBytes);
    const server = await this.#ws;
    server.handleUpgrade(req, socket, first, (ws) => {
      new NodeSocket(this.#context, ws, socket, facts);
    });
  }

  #span(
    { path, remoteAddress, traceparent, tracestate }: Omit<SocketFacts, 'authText'>,
    socket: Socket,
  ): HttpSpan | undefined {
    const { tracing } = this.#service;
    if (tracing === undefined) return undefined;
    const scheme = 'encrypted' in socket ? 'https' : 'http';
    const request = { method: 'GET', path, route: path, scheme, remoteAddress } as const;
    return new HttpSpan(tracing, { ...request, traceparent, tracestate });
  }
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

function writeAnswer(socket: Socket, answer: Answer, cors: readonly string[]): void {
  const { status, headers, body } = answer;
  const bytes = Buffer.from(body ?? '');
  const lines = [
    ...headers,
    ...cors,
    'content-length',
    String(bytes.length),
    'connection',
    'close',
  ];
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
  for (let i = 0; i < lines.length; i += 2) text += `${lines[i]}: ${lines[i + 1]}\r\n`;
  socket.once('finish', () => socket.destroy());
  socket.end(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), bytes]));
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

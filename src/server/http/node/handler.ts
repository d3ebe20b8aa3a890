import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isLoopback } from '../../../core/base/loopback.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import { addressKey } from '../../../core/dispatch/caller-key.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { largeBody } from '../../../core/protocol/body.ts';
import type { Answer, ReplyLines } from '../edge/answer.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { addressText, type RequestHead } from '../edge/request-head.ts';
import type { RequestLine } from '../edge/route.ts';
import type { EventOutlet, EventStream } from '../event-stream/event-stream.ts';
import type { Exchange, ExchangeContext, Responder } from '../exchange.ts';
import { Outflow } from '../outflow.ts';
import { Routes, readsBody } from '../routes.ts';
import {
  type HookedReply,
  type Mount,
  type MountedRequest,
  mountedLine,
  mountedOptions,
  parsedBody,
  readHead,
  toMount,
  unusableBody,
} from './mount.ts';

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
  const routes = new Routes(service, own);
  return createHandler(
    routes,
    (mount) => {
      // Somebody else listens: the connection tells whether others than this machine can reach it.
      const address = addressText(mount.req.socket.localAddress) ?? '';
      return mountedLine(mount, routes, isLoopback(address));
    },
    auth,
  );
}

/**
 * @param findLine finds the route of a request
 * @param idle kept up to date with the idle connections of that server
 */
export function createHandler(
  routes: Routes,
  findLine: (mount: Mount) => RequestLine,
  auth?: Authenticator<MountedRequest>,
  idle?: IdleConnections,
): NodeHandler {
  const { head, context } = routes;
  const key = Symbol('the connection of a socket');

  const handle = (mount: Mount, connection: NodeConnection): void => {
    if (connection.refused) return;
    readHead(head.reset(), mount.req);
    const line = findLine(mount);
    const response = new NodeResponse(context, connection, mount);
    const exchange = routes.begin(response, line);
    const askCaller = auth && (() => auth(mount.request, exchange.facts.showsFaults));
    if (mount.isRead && readsBody(line)) response.takeRead(head);
    routes.serve(exchange, line, askCaller);
  };

  return (request, response) => {
    const mount = toMount(request, response);
    connectionOf(mount.req.socket, key, idle).take(handle, mount);
  };
}

/** A connection with more unread bytes than this gets no further answers until its client has read. */
const unreadBytes = 256 * 1024;

/** Most requests of one connection that are handled at a time. Requests pipelined behind them wait. */
const openRequests = 16;

/**
 * Most requests of one connection that may wait behind those: about as many of the shortest requests as one packet
 * brings. With more of them the connection is cut, since each waiting request takes some kilobytes.
 */
const heldRequests = 2000;

/**
 * One client connection. It does three things that node:http does not do:
 *
 * - tells every request that its client has gone: node:http tells only the request whose reply is being written, not
 *   those queued behind it;
 * - serves nothing behind a reply that closes, where node:http goes on parsing;
 * - holds requests back while replies are unread, where node:http takes all requests of a packet, however many bytes
 *   the replies to the first ones hold already.
 */
export class NodeConnection {
  /** true: it is not certain where the next request begins, and nothing more is served on this connection. */
  refused = false;
  readonly #open = new Set<NodeResponse>();
  #newest: NodeResponse | undefined;
  readonly socket: Socket;
  readonly #idle: IdleConnections | undefined;
  /** Whose it is, once somebody has asked. */
  caller: string | undefined;
  /** Bytes of replies that the system has not taken yet. */
  #unread = 0;
  #held: (() => void)[] = [];

  constructor(socket: Socket, idle: IdleConnections | undefined) {
    this.socket = socket;
    this.#idle = idle;
    socket.once('close', () => {
      this.#held = [];
      for (const response of this.#open) response.onClose();
      idle?.delete(this);
    });
  }

  add(response: NodeResponse): void {
    if (this.#open.size === 0) this.#idle?.delete(this);
    this.#open.add(response);
    this.#newest = response;
  }

  /**
   * Whether no request was pipelined behind this one. node:http drops the replies queued behind a reply that closes.
   */
  isLast(response: NodeResponse): boolean {
    return this.#newest === response;
  }

  delete(response: NodeResponse, unread: number): void {
    this.#open.delete(response);
    this.#unread -= unread;
    while (this.#hasRoom()) {
      const handle = this.#held.shift();
      if (handle === undefined) break;
      handle();
    }
    if (this.#open.size === 0) this.#idle?.add(this);
  }

  addUnread(bytes: number): void {
    this.#unread += bytes;
  }

  /** Handles a request: now, or when the client has read enough of earlier replies. */
  take<R>(handle: (request: R, connection: NodeConnection) => void, request: R): void {
    if (this.#hasRoom() && this.#held.length === 0) handle(request, this);
    else if (this.#held.push(() => handle(request, this)) > heldRequests) this.cut();
  }

  #hasRoom(): boolean {
    return this.#unread <= unreadBytes && this.#open.size < openRequests;
  }

  cut(): void {
    this.socket.destroy();
  }
}

/**
 * Returns the connection of a socket, for one handler.
 *
 * @param key the handler's own, under which the socket keeps it: a WeakMap of all sockets makes garbage collection dearer
 */
function connectionOf(
  socket: Socket,
  key: symbol,
  idle: IdleConnections | undefined,
): NodeConnection {
  // The type of a socket has no members under symbols.
  const holder = socket as unknown as { [key: symbol]: NodeConnection };
  holder[key] ??= new NodeConnection(socket, idle);
  return holder[key];
}

/** The connections of one server that have had a reply and wait for their next request, longest idle first. */
export class IdleConnections {
  readonly #all = new Set<NodeConnection>();

  add(connection: NodeConnection): void {
    this.#all.add(connection);
  }

  delete(connection: NodeConnection): void {
    this.#all.delete(connection);
  }

  /** Takes a socket out that becomes a WebSocket. */
  deleteSocket(socket: Socket): void {
    for (const one of this.#all) if (one.socket === socket) this.delete(one);
  }

  /**
   * Closes the connection that is idle for the longest time.
   *
   * @param caller only one of this caller; undefined: of anybody
   * @returns whether there was one
   */
  closeOne(caller: string | undefined): boolean {
    for (const one of this.#all) {
      if (caller !== undefined) {
        one.caller ??= addressKey(addressText(one.socket.remoteAddress));
        if (one.caller !== caller) continue;
      }
      this.delete(one);
      one.cut();
      return true;
    }
    return false;
  }
}

const headBytes = 256;

export class NodeResponse implements Responder, EventOutlet {
  readonly #context: ExchangeContext;
  readonly #connection: NodeConnection;
  readonly #mount: Mount;
  readonly #res: ServerResponse;
  exchange: Exchange | undefined;
  /** The body, where it was read before; null: the parser left nothing that can be used. */
  #read: string | Uint8Array | null | undefined;
  #isAnswered = false;
  #isOver = false;
  /** The answer, if the system has not taken it at once. */
  #outflow: Outflow | undefined;
  /** Bytes of the answer and its head that count as unread. */
  #unread = 0;
  #onWritten: (() => void) | undefined;

  constructor(context: ExchangeContext, connection: NodeConnection, mount: Mount) {
    this.#context = context;
    this.#connection = connection;
    this.#mount = mount;
    this.#res = mount.res;
    context.inFlight.enter();
    connection.add(this);
    // 'close' comes after the last byte was handed to the system, or when the client has gone.
    mount.res.on('close', () => this.onClose());
  }

  get isDone(): boolean {
    return this.#isAnswered || this.#isOver;
  }

  get connectedFrom(): string | undefined {
    return this.#mount.req.socket.remoteAddress;
  }

  cut(): void {
    this.#connection.cut();
  }

  /** The body was read by a parser of the framework: its length is that of what the parser left. */
  takeRead(head: RequestHead): void {
    this.#read = parsedBody(this.#mount.body);
    if (head.isChunked) head.transferEncoding = undefined;
    else if (!(head.contentLength >= 0)) return;
    head.contentLength = this.#read === null ? 0 : Buffer.byteLength(this.#read);
  }

  readBody(): void {
    const { exchange } = this;
    const { req } = this.#mount;
    const read = this.#read;
    if (read !== undefined) {
      process.nextTick(() => {
        if (this.isDone) return;
        if (read === null) exchange?.refuse(unusableBody);
        else exchange?.onWholeBody(read);
      });
      return;
    }
    req.on('data', (chunk: Buffer) => {
      if (!this.isDone) exchange?.onChunk(chunk);
    });
    req.on('end', () => {
      if (!this.isDone) exchange?.onBodyEnd();
    });
  }

  cork(write: () => void): void {
    if (!this.isDone) write();
  }

  answer({ status, headers, body, close, isOwn = false }: Answer, cors: ReplyLines): void {
    const isShared = typeof body !== 'string' && !isOwn;
    this.#write(status, [...headers, ...cors.lines], body, close, isShared);
  }

  reply(reply: string | Uint8Array, cors: ReplyLines, limit: readonly string[]): void {
    const lines = ['content-type', 'application/json', ...limit, ...cors.lines];
    this.#write(200, lines, reply, false, false);
  }

  events(events: EventStream): EventOutlet {
    this.#isAnswered = true;
    this.#onWritten = () => {
      if (this.#res.writableLength === 0) events.drained();
    };
    return this;
  }

  /** See {@link EventOutlet}. Whether the system has taken a write is told by its callback. */
  write(texts: readonly string[], isLast: boolean, head: readonly string[] | undefined): boolean {
    const res = this.#res;
    if (head !== undefined) res.writeHead(200, [...head]);
    // Bytes of an earlier write are still here: no client has room for them.
    let isTaken = res.writableLength === 0;
    for (const text of texts) {
      if (text !== '') isTaken = res.write(text, this.#onWritten) && isTaken;
    }
    if (isTaken && isLast) this.end();
    return isTaken;
  }

  end(): void {
    this.#res.end();
  }

  onClose(): void {
    if (this.#isOver) return;
    this.finish();
    if (!this.#res.writableFinished) this.exchange?.onGone();
  }

  /** The answer is complete, or the connection becomes a WebSocket. */
  finish(): void {
    this.#isOver = true;
    this.#outflow?.set(0);
    this.#connection.delete(this, this.#unread);
    this.#context.inFlight.leave();
  }

  /** Writes the answer, but for events. */
  #write(
    status: number,
    lines: string[],
    body: string | Uint8Array | undefined,
    close: boolean,
    isShared: boolean,
  ): void {
    this.#isAnswered = true;
    this.#connection.refused ||= close;
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    if (body !== undefined) lines.push('content-length', String(bytes));
    const draining = this.#context.inFlight.draining && this.#connection.isLast(this);
    if (close || draining) lines.push('connection', 'close');
    this.#unread = bytes + headBytes;
    this.#connection.addUnread(this.#unread);
    this.#res.writeHead(status, lines);
    if (body === undefined || this.#mount.req.method === 'HEAD') this.#res.end();
    else this.#res.end(body);
    // Mostly the system has taken all of it. Nobody knows how much of the rest the client takes.
    if (bytes > 0 && this.#res.writableLength > 0) {
      const scope = this.exchange?.scope;
      const cut = () => this.cut();
      const mayWait = bytes <= largeBody;
      this.#outflow = new Outflow(this.#context.outflow, { scope, cut, isShared, mayWait });
      this.#outflow.set(bytes);
    }
  }
}

import type { Socket } from 'node:net';
import { heldRequests, openRequests, unreadBytes } from '../edge/limits.ts';

/** What a connection tells the requests on it. */
export interface OnConnection {
  /** The connection has gone. */
  disconnected(): void;
}

/**
 * One client connection. node:http tells only the reply that is being written that its client has gone,
 * not those queued behind it; it goes on parsing behind a reply that closes; and it takes all requests of a packet,
 * however much the replies to the first of them hold already.
 */
export class NodeConnection {
  /** Where the next request begins is not certain: nothing more is served on it. */
  refused = false;
  readonly #open = new Set<OnConnection>();
  #newest: OnConnection | undefined;
  readonly #socket: Socket;
  /** Bytes of replies that the system has not taken. */
  #unread = 0;
  /** Requests that wait until their client has read. */
  #held: (() => void)[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once('close', () => {
      this.#held = [];
      for (const exchange of this.#open) exchange.disconnected();
    });
  }

  add(exchange: OnConnection): void {
    this.#open.add(exchange);
    this.#newest = exchange;
  }

  /** Whether nothing was pipelined behind it: node:http gives up what is queued behind a reply that closes. */
  isLast(exchange: OnConnection): boolean {
    return this.#newest === exchange;
  }

  /** @param unread bytes of its reply */
  delete(exchange: OnConnection, unread: number): void {
    this.#open.delete(exchange);
    this.#unread -= unread;
    while (this.#hasRoom()) {
      const handle = this.#held.shift();
      if (handle === undefined) return;
      handle();
    }
  }

  /** So many bytes of a reply wait for the client, until its exchange is deleted. */
  addUnread(bytes: number): void {
    this.#unread += bytes;
  }

  /** Handles a request: now, or when the client has read enough of what it was answered before. */
  take(handle: () => void): void {
    if (this.#hasRoom() && this.#held.length === 0) handle();
    else if (this.#held.push(handle) > heldRequests) this.cut();
  }

  #hasRoom(): boolean {
    return this.#unread <= unreadBytes && this.#open.size < openRequests;
  }

  /** Closes it, whatever is on its way. */
  cut(): void {
    this.#socket.destroy();
  }
}

/** The connections of one handler, by socket. */
export class NodeConnections {
  readonly #bySocket = new WeakMap<Socket, NodeConnection>();

  of(socket: Socket): NodeConnection {
    let connection = this.#bySocket.get(socket);
    if (connection === undefined) {
      connection = new NodeConnection(socket);
      this.#bySocket.set(socket, connection);
    }
    return connection;
  }
}

import type { Socket } from 'node:net';
import { heldRequests, openRequests, unreadBytes } from '../edge/limits.ts';

/** A request on a connection, as the connection calls it. */
export interface OnConnection {
  /** Called when the connection has gone. */
  disconnected(): void;
}

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
  readonly #open = new Set<OnConnection>();
  #newest: OnConnection | undefined;
  readonly #socket: Socket;
  /** Bytes of replies that the system has not taken yet. */
  #unread = 0;
  /** Requests that wait until their client has read earlier replies. */
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

  /**
   * Whether no request was pipelined behind this one. node:http drops the replies queued behind a reply that closes.
   */
  isLast(exchange: OnConnection): boolean {
    return this.#newest === exchange;
  }

  /** @param unread the bytes that the exchange has added with `addUnread` */
  delete(exchange: OnConnection, unread: number): void {
    this.#open.delete(exchange);
    this.#unread -= unread;
    while (this.#hasRoom()) {
      const handle = this.#held.shift();
      if (handle === undefined) return;
      handle();
    }
  }

  /** Counts bytes of a reply as unread until `delete` is called for its exchange. */
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

  /** Closes the connection at once, whatever is being written. */
  cut(): void {
    this.#socket.destroy();
  }
}

/**
 * Returns the connection of a socket, for one handler.
 *
 * @param key the handler's own, under which the socket keeps it: a WeakMap of all sockets makes garbage collection dearer
 */
export function connectionOf(socket: Socket, key: symbol): NodeConnection {
  // The type of a socket has no members under symbols.
  const holder = socket as unknown as { [key: symbol]: NodeConnection };
  holder[key] ??= new NodeConnection(socket);
  return holder[key];
}

import type { Socket } from 'node:net';

/** What a connection tells the requests on it. */
export interface OnConnection {
  /** The connection has gone. */
  disconnected(): void;
}

/**
 * One client connection. node:http tells only the reply that is being written that its client has gone,
 * not those queued behind it; and it goes on parsing behind a reply that closes.
 */
export class NodeConnection {
  /** Where the next request begins is not certain: nothing more is served on it. */
  refused = false;
  readonly #open = new Set<OnConnection>();
  #newest: OnConnection | undefined;

  constructor(socket: Socket) {
    socket.once('close', () => {
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

  delete(exchange: OnConnection): void {
    this.#open.delete(exchange);
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

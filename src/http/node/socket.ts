import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { SocketConnection } from '../socket/connection.ts';
import type { SocketFacts } from '../socket/facts.ts';
import type { SocketContext } from '../socket/sockets.ts';
import type { CloseCode, SocketWire } from '../socket/wire.ts';

const asText = { binary: false } as const;

/** One WebSocket by the package `ws`, on a connection of node:http. */
export class NodeSocket implements SocketWire {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #connection: SocketConnection;
  /** What is sent in one turn of the event loop is written together. */
  #isCorked = false;
  #hasUnsent = false;

  constructor(context: SocketContext, ws: WebSocket, socket: Socket, facts: SocketFacts) {
    this.#ws = ws;
    this.#socket = socket;
    this.#connection = new SocketConnection(context, this, facts);
    // By its default, `ws` gives a message as one Buffer.
    ws.on('message', (data) => this.#connection.onMessage(data as Buffer));
    ws.on('ping', () => this.#connection.onHeard());
    ws.on('pong', () => this.#connection.onHeard());
    // A frame that follows no grammar, or a reset: 'close' comes behind it.
    ws.on('error', () => {});
    ws.on('close', () => this.#connection.onGone());
  }

  get received(): number {
    return this.#socket.bytesRead;
  }

  send(reply: string | Uint8Array): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      queueMicrotask(() => this.flush());
    }
    this.#ws.send(reply, asText, this.#onTaken);
  }

  flush(): void {
    if (!this.#isCorked) return;
    this.#isCorked = false;
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

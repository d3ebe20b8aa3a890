import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { SocketConnection } from '../socket/connection.ts';
import type { SocketFacts } from '../socket/facts.ts';
import type { SocketContext } from '../socket/sockets.ts';
import type { CloseCode, SocketWire } from '../socket/wire.ts';

/** Bytes of a control frame of a client beside its payload. */
const controlHead = 6;

/** Characters or bytes that are gathered before they are written. */
const mostCorked = 16 * 1024;

const asText = { binary: false } as const;

/** One WebSocket by the package `ws`, on a connection of node:http. */
export class NodeSocket implements SocketWire {
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

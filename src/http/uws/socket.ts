import type { TemplatedApp, WebSocket, WebSocketBehavior } from 'uWebSockets.js';
import type { HttpOptions } from '../edge/http-options.ts';
import { SocketConnection } from '../socket/connection.ts';
import type { SocketFacts } from '../socket/facts.ts';
import type { SocketContext } from '../socket/sockets.ts';
import type { CloseCode, SocketWire } from '../socket/wire.ts';
import { nativeText } from './native-text.ts';

/** Seconds of silence that uWebSockets.js can wait for; with any other number it ends the process. */
const idleSeconds = { least: 8, most: 960 } as const;

/** What all sockets of one server share. */
export interface UwsSocketContext extends SocketContext {
  readonly outgoing: Outgoing;
  /** Told when a socket has closed: the counter of connections hears only of those that never became sockets. */
  readonly onClosed: () => void;
}

/** uWebSockets.js copies the own members of this object to its socket, and nothing of its prototype. */
export interface UserData {
  readonly socket: UwsSocket;
}

/**
 * Sockets that have answers to send. They are sent together, once this turn has made all its answers: behind the microtasks, in
 * which `async` handlers and generators go on.
 */
export class Outgoing {
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
export class UwsSocket implements SocketWire {
  /** uWebSockets.js watches for silence itself. */
  readonly received = undefined;
  readonly isWithinMessage = undefined;
  readonly #context: UwsSocketContext;
  readonly #facts: SocketFacts;
  #ws: WebSocket<UserData> | undefined;
  #connection: SocketConnection | undefined;
  /** A message is being handled: uWebSockets.js gathers what is sent meanwhile, and writes it in one go. */
  #isInTurn = false;
  #queue: (string | Uint8Array)[] | undefined;
  /** Characters or bytes in the queue. */
  #queued = 0;

  constructor(context: UwsSocketContext, facts: SocketFacts) {
    this.#context = context;
    this.#facts = facts;
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
    this.#context.onClosed();
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
      this.#context.outgoing.add(this);
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
export function takeSockets(
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

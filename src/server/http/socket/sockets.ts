import { clockMs } from '../../../core/base/clock.ts';
import { Vacancy } from '../../../core/base/timer.ts';
import { Sweep } from '../../../core/dispatch/deadline.ts';
import type { ScopeFacts } from '../../../core/dispatch/scope.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { transferTimeoutMs } from '../edge/answer.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import type { SocketTrace } from '../edge/span.ts';
import type { ExchangeContext } from '../exchange.ts';

/** One WebSocket, as the server underneath speaks it. Shared logic sees no more of it than this. */
export interface SocketWire {
  /** Sends one message, as text. @returns false: perhaps the system has not taken all of it */
  send(message: string | Uint8Array): boolean;
  /** Writes in one go what `write` sends. */
  cork(write: () => void): void;
  /** Bytes that were sent and that the system has not taken yet. `SocketConnection.onDrain` is called when it takes them. */
  readonly unsent: number;
  ping(): void;
  /** Sends a close frame and ends. */
  end(code: number): void;
  /** Ends at once: what the client has not read is lost. */
  cut(): void;
  /**
   * Bytes that have come so far; undefined: the server underneath watches for silence itself. A message counts from
   * its first byte.
   */
  readonly received: number | undefined;
  /**
   * Whether a message has come in part; undefined: the server underneath does not tell. A client that answers no ping is
   * within a message then.
   */
  readonly isWithinMessage: boolean | undefined;
}

/** The client may connect again at once (registry of RFC 6455, 11.7). */
export const serviceRestart = 1012;

/** What is known of a client since its upgrade. It holds for each message. */
export type SocketFacts = ScopeFacts &
  SocketTrace & {
    /** What `authenticate` said of the client, as JSON text; undefined: nothing. */
    readonly authText: string | undefined;
  };

export interface SocketContext
  extends Pick<ExchangeContext, 'service' | 'options' | 'inFlight' | 'outflow'> {
  readonly sockets: Sockets;
}

/** A connection, as far as all of them are told the same. */
interface OpenSocket {
  flush(): void;
  drain(): void;
  cut(): void;
  /**
   * Looks at its clocks.
   *
   * @param now by `clockMs`
   * @param stalledMs for how long before it this thread was held up: it could not hear the client
   * @param longestMs how long a message may be on its way, silence of its client included
   * @returns since when it seems to be within a message; undefined: it is not
   */
  look(now: number, stalledMs: number, longestMs: number): number | undefined;
}

/** How often the clocks of all connections are looked at, milliseconds, at the least. */
const maxLookMs = 1000;

/** The open WebSockets of one server. */
export class Sockets {
  readonly #all = new Set<OpenSocket>();
  readonly #service: Service;
  readonly #maxBodyBytes: number;
  readonly #sweep: Sweep;
  /** How long a message may be on its way, silence of its client included. */
  readonly #windowMs: number;
  /** The resident memory of the process in that time. */
  readonly #memory: { readonly at: number; readonly bytes: number }[] = [];
  #isDraining = false;
  readonly #vacancy = new Vacancy();
  #sending: OpenSocket[] = [];

  constructor(service: Service, options: HttpOptions) {
    const { maxBodyBytes, bodyTimeoutMs, streamPingMs, socketIdleMs } = options;
    this.#service = service;
    this.#maxBodyBytes = maxBodyBytes;
    const clocks = [bodyTimeoutMs, streamPingMs, socketIdleMs].filter((ms) => ms > 0);
    const lookMs = Math.min(maxLookMs, ...clocks.map((ms) => ms / 4));
    this.#sweep = new Sweep(lookMs, (now, stalledMs) => this.#look(now, stalledMs));
    this.#windowMs = socketIdleMs + transferTimeoutMs(maxBodyBytes, bodyTimeoutMs);
  }

  get size(): number {
    return this.#all.size;
  }

  add(connection: OpenSocket): void {
    this.#all.add(connection);
    this.#sweep.wake();
    if (this.#isDraining) connection.drain();
  }

  delete(connection: OpenSocket): void {
    this.#all.delete(connection);
    if (this.#all.size === 0) this.#vacancy.tell();
  }

  /**
   * Has a connection send what waits, together with others, once this turn has made all its answers: after the microtasks,
   * in which `async` handlers and generators go on.
   */
  flushSoon(connection: OpenSocket): void {
    if (this.#sending.push(connection) > 1) return;
    process.nextTick(() => {
      const sending = this.#sending;
      this.#sending = [];
      for (const one of sending) one.flush();
    });
  }

  /** Ends each connection when its messages are answered: those without any at once. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#all) connection.drain();
  }

  /** Resolves when no connection is left, or after `ms`: a client answers a close frame with its own. */
  async ended(ms: number): Promise<void> {
    if (this.#all.size > 0) await this.#vacancy.within(ms);
  }

  cut(): void {
    for (const connection of this.#all) connection.cut();
  }

  /** @returns whether there is a connection */
  #look(now: number, stalledMs: number): boolean {
    const partial: { readonly connection: OpenSocket; readonly since: number }[] = [];
    for (const connection of this.#all) {
      const since = connection.look(now, stalledMs, this.#windowMs);
      if (since !== undefined) partial.push({ connection, since });
    }
    const excess = partial.length - this.#roomForPartial(now);
    if (excess > 0) {
      partial.sort((one, other) => one.since - other.since);
      for (const { connection } of partial.slice(0, excess)) connection.cut();
    }
    return this.#all.size > 0;
  }

  /**
   * How many messages may be incomplete. The servers underneath gather a message themselves and do not tell how much of it
   * they hold. Without this bound, every connection could hold a message without its last byte, each as long as
   * `maxBodyBytes`: a few hundred clients would end the process, beside the limit `maxBodyMemory`.
   *
   * Clients are cut only where there are more of them within a message than that memory has room for, and the process
   * has grown by as much meanwhile. Neither sign is enough alone: many clients owe an answer to a ping when a network stands
   * still, and much else makes a process grow.
   */
  #roomForPartial(now: number): number {
    const room = this.#service.bodyMemory.limit;
    const bytes = process.memoryUsage.rss();
    const memory = this.#memory;
    memory.push({ at: now, bytes });
    while ((memory[0]?.at ?? now) < now - this.#windowMs) memory.shift();
    const least = Math.min(...memory.map((sample) => sample.bytes));
    if (bytes - least < room) return Number.POSITIVE_INFINITY;
    return Math.max(1, Math.floor(room / this.#maxBodyBytes));
  }
}

/** How long the answer to a ping may take at least, milliseconds: the client, the way, and this thread may be busy. */
const minAnswerMs = 1000;

/** What was last heard of one client, and when: whether it is still there, and whether a message of it trickles. */
export class ConnectionClocks {
  readonly #options: HttpOptions;
  readonly #wire: SocketWire;
  /** When a message, a ping or the answer to one was last heard, by `clockMs`. */
  heardAt: number = clockMs();
  #pingedAt = 0;
  #withinSince: number | undefined;
  #received = 0;
  #receivedAt = this.heardAt;

  constructor(options: HttpOptions, wire: SocketWire) {
    this.#options = options;
    this.#wire = wire;
  }

  restart(now: number): void {
    this.#receivedAt = now;
    this.heardAt = now;
  }

  /**
   * Cuts the connection if it is silent or a message takes too long; pings it if nothing was heard for a while.
   *
   * @param stalledMs for how long this thread was held up. It could not hear the client then, who was not silent for that
   * @param longestMs how long a message may be on its way
   * @returns since when it seems to be within a message; undefined: it is not
   */
  look(now: number, stalledMs: number, longestMs: number): number | undefined {
    if (stalledMs > 0) {
      const later = (at: number): number => Math.min(now, at + stalledMs);
      this.heardAt = later(this.heardAt);
      this.#pingedAt = later(this.#pingedAt);
      this.#receivedAt = later(this.#receivedAt);
      if (this.#withinSince !== undefined) this.#withinSince = later(this.#withinSince);
    }
    const { streamPingMs, socketIdleMs } = this.#options;
    const { received } = this.#wire;
    if (received !== this.#received) {
      this.#received = received ?? 0;
      this.#receivedAt = now;
    }
    const isSilent = received !== undefined && now - this.#receivedAt >= socketIdleMs;
    const since = this.#withinMessageSince(now);
    const isLate = since !== undefined && now - since >= longestMs;
    if (isSilent || isLate) {
      this.#wire.cut();
      return undefined;
    }
    if (streamPingMs > 0 && now - Math.max(this.heardAt, this.#pingedAt) >= streamPingMs) {
      this.#pingedAt = now;
      this.#wire.ping();
    }
    return since;
  }

  /**
   * Since when a message has been coming, as far as can be told. Nothing can stand within a frame: a client that does not
   * answer a ping is within one, or is gone.
   */
  #withinMessageSince(now: number): number | undefined {
    const { isWithinMessage } = this.#wire;
    const { streamPingMs } = this.#options;
    const mostMs = streamPingMs + Math.max(minAnswerMs, streamPingMs / 2);
    const owesAnswer = this.#pingedAt > this.heardAt && now - this.heardAt >= mostMs;
    if (!(isWithinMessage ?? owesAnswer)) this.#withinSince = undefined;
    else this.#withinSince ??= isWithinMessage === true ? now : this.heardAt;
    return this.#withinSince;
  }
}

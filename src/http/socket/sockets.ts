import { clockMs } from '../../base/clock.ts';
import { Vacancy } from '../../base/vacancy.ts';
import type { Service } from '../../dispatch/service.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import type { InFlight } from '../edge/in-flight.ts';
import { bodyDeadlineMs } from '../edge/limits.ts';
import { type HalfMessageLimits, HalfMessages, type HalfSocket } from './half-messages.ts';
import { SubscriptionIds } from './subscription-ids.ts';

/** What all connections of one server share. */
export interface SocketContext {
  readonly service: Service;
  readonly inFlight: InFlight;
  readonly sockets: Sockets;
  readonly warn: (message: string) => void;
  readonly maxReplyBytes: number;
  readonly maxCallsPerConnection: number;
  readonly maxStreamsPerConnection: number;
  readonly subscriptionIds: SubscriptionIds;
  readonly writeTimeoutMs: number;
  readonly streamPingMs: number;
  readonly socketIdleMs: number;
  /** How long the largest message may take to arrive. */
  readonly longestMessageMs: number;
}

export function createSocketContext(
  service: Service,
  options: HttpOptions,
  inFlight: InFlight,
): SocketContext {
  const { maxBodyBytes, bodyTimeoutMs, streamPingMs, socketIdleMs } = options;
  const longestMessageMs = bodyDeadlineMs(maxBodyBytes, bodyTimeoutMs);
  const clocks = [options.writeTimeoutMs, streamPingMs, socketIdleMs].filter((ms) => ms > 0);
  const sockets = new Sockets({
    lookMs: Math.min(mostLookMs, ...clocks.map((ms) => ms / 4)),
    windowMs: socketIdleMs + longestMessageMs,
    limits: () => ({ bytes: service.bodyMemory.limit, longest: maxBodyBytes }),
  });
  return { ...options, service, inFlight, sockets, subscriptionIds, longestMessageMs };
}

/** A connection, as far as all of them are told the same. */
interface OpenSocket {
  /** Ends when its messages are answered. */
  drain(): void;
  /** Ends at once. */
  cut(): void;
  /**
   * Looks at its clocks.
   *
   * @param now by `clockMs`
   * @param stalledMs for how long before it this thread was held up: it could not hear the client
   * @returns since when it seems to be within a message; undefined: it is not
   */
  look(now: number, stalledMs: number): number | undefined;
}

const subscriptionIds = new SubscriptionIds();

interface SocketClocks {
  /** How often the clocks of all connections are looked at. */
  readonly lookMs: number;
  /** How long a message may be on its way, silence of its client included: see {@link HalfMessages}. */
  readonly windowMs: number;
  readonly limits: () => HalfMessageLimits;
}

/** How often the clocks of all connections are looked at, milliseconds, at the least. */
const mostLookMs = 1000;

/** Beyond so many intervals between two looks this thread was held up. */
const stalledTimes = 3;

/** The open WebSockets of one server. One timer serves all of them, and stops where there is none. */
export class Sockets {
  readonly #all = new Set<OpenSocket>();
  readonly #lookMs: number;
  readonly #limits: () => HalfMessageLimits;
  readonly #halfMessages: HalfMessages;
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  #isDraining = false;
  readonly #vacancy = new Vacancy();

  constructor({ lookMs, windowMs, limits }: SocketClocks) {
    this.#lookMs = lookMs;
    this.#limits = limits;
    this.#halfMessages = new HalfMessages(windowMs);
  }

  get size(): number {
    return this.#all.size;
  }

  add(connection: OpenSocket): void {
    this.#all.add(connection);
    if (this.#timer === undefined) {
      this.#lookedAt = clockMs();
      // `unref`: this timer alone must not keep the process alive.
      this.#timer = setInterval(() => this.#look(), this.#lookMs).unref();
    }
    if (this.#isDraining) connection.drain();
  }

  delete(connection: OpenSocket): void {
    this.#all.delete(connection);
    if (this.#all.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#vacancy.tell();
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

  /** Ends all connections that are left. */
  cut(): void {
    for (const connection of this.#all) connection.cut();
  }

  #look(): void {
    const now = clockMs();
    const stalledMs = Math.max(0, now - this.#lookedAt - this.#lookMs * stalledTimes);
    this.#lookedAt = now;
    const half: HalfSocket[] = [];
    for (const connection of this.#all) {
      const since = connection.look(now, stalledMs);
      if (since !== undefined) half.push({ since, cut: () => connection.cut() });
    }
    this.#halfMessages.look(now, half, this.#limits());
  }
}

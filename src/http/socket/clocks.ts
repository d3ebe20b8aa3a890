import { clockMs } from '../../base/clock.ts';
import type { SocketWire } from './wire.ts';

/** How long the answer to a ping may take at least, milliseconds: the client, the way, and this thread may be busy. */
const leastAnswerMs = 1000;

/** See SocketContext. */
interface ClockLimits {
  readonly streamPingMs: number;
  readonly socketIdleMs: number;
  readonly longestMessageMs: number;
}

/** What was last heard of one client, and when: whether it is still there, and whether a message of it trickles. */
export class ConnectionClocks {
  readonly #limits: ClockLimits;
  readonly #wire: SocketWire;
  /** When a message, a ping or the answer to one was last heard, by `clockMs`. */
  heardAt: number = clockMs();
  #pingedAt = 0;
  #withinSince: number | undefined;
  #received = 0;
  #receivedAt = this.heardAt;

  constructor(limits: ClockLimits, wire: SocketWire) {
    this.#limits = limits;
    this.#wire = wire;
  }

  /** Counts as if the client had just been heard. */
  restart(now: number): void {
    this.#receivedAt = now;
    this.heardAt = now;
  }

  /**
   * Cuts the connection where it is silent or a message takes too long; pings it where nothing was heard for a while.
   *
   * @param stalledMs for how long this thread was held up. It could not hear the client then, who was not silent for that
   * @returns since when it seems to be within a message; undefined: it is not
   */
  look(now: number, stalledMs: number): number | undefined {
    if (stalledMs > 0) this.#skip(now, stalledMs);
    const { streamPingMs, socketIdleMs, longestMessageMs } = this.#limits;
    const { received } = this.#wire;
    if (received !== this.#received) {
      this.#received = received ?? 0;
      this.#receivedAt = now;
    }
    const isSilent = received !== undefined && now - this.#receivedAt >= socketIdleMs;
    const since = this.#withinMessageSince(now);
    const isLate = since !== undefined && now - since >= socketIdleMs + longestMessageMs;
    if (socketIdleMs > 0 && (isSilent || isLate)) {
      this.#wire.cut();
      return undefined;
    }
    if (streamPingMs > 0 && now - Math.max(this.heardAt, this.#pingedAt) >= streamPingMs) {
      this.#pingedAt = now;
      this.#wire.ping();
    }
    return since;
  }

  #skip(now: number, ms: number): void {
    const later = (at: number): number => Math.min(now, at + ms);
    this.heardAt = later(this.heardAt);
    this.#pingedAt = later(this.#pingedAt);
    this.#receivedAt = later(this.#receivedAt);
    if (this.#withinSince !== undefined) this.#withinSince = later(this.#withinSince);
  }

  /**
   * Since when a message has been coming, as far as can be told. Nothing can stand within a frame: a client that does not
   * answer a ping is within one, or is gone.
   */
  #withinMessageSince(now: number): number | undefined {
    const isWithin = this.#wire.isWithinMessage ?? this.#owesAnswer(now);
    if (!isWithin) this.#withinSince = undefined;
    else this.#withinSince ??= this.#wire.isWithinMessage === true ? now : this.heardAt;
    return this.#withinSince;
  }

  /** Whether a ping is not answered, and has not been for longer than an answer may take. */
  #owesAnswer(now: number): boolean {
    const { streamPingMs } = this.#limits;
    const mostMs = streamPingMs + Math.max(leastAnswerMs, streamPingMs / 2);
    return this.#pingedAt > this.heardAt && now - this.heardAt >= mostMs;
  }
}

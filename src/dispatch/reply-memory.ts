/** A reply that its client has not taken whole. */
export interface WaitingReply {
  readonly bytes: number;
  /** Bytes that the client has taken for each millisecond of waiting, as far as the transport knows. */
  readonly pace: number;
  /** Closes the connection. */
  cut(): void;
}

/** The figures of the budget. */
export interface ReplyMemoryStats {
  /** Bytes of replies that their clients have not taken yet. */
  readonly waiting: number;
  readonly limit: number;
  /** Connections that were closed to keep the limit. */
  readonly cut: number;
}

/**
 * The budget for all replies that wait for their clients. Beyond it, the connection whose client has taken the fewest
 * bytes for its time is closed: clients that do not read must not hold the memory of all.
 */
export class ReplyMemory {
  readonly limit: number;
  /** Connections that were closed to keep the limit. */
  cut = 0;
  #bytes = 0;
  readonly #waiting = new Set<WaitingReply>();

  /** @param limit bytes, at least the size of the largest reply */
  constructor(limit: number) {
    this.limit = limit;
  }

  stats(): ReplyMemoryStats {
    return { waiting: this.#bytes, limit: this.limit, cut: this.cut };
  }

  /** Counts a reply until `delete`. */
  add(reply: WaitingReply): void {
    this.#bytes += reply.bytes;
    while (this.#bytes > this.limit && this.#cutSlowest());
    this.#waiting.add(reply);
  }

  /** Stops counting a reply: its client has taken it, or has gone. */
  delete(reply: WaitingReply): void {
    if (this.#waiting.delete(reply)) this.#bytes -= reply.bytes;
  }

  /** @returns false where no reply waits */
  #cutSlowest(): boolean {
    let slowest: WaitingReply | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const reply of this.#waiting) {
      const { pace } = reply;
      if (pace >= least) continue;
      slowest = reply;
      least = pace;
    }
    if (slowest === undefined) return false;
    this.delete(slowest);
    this.cut++;
    slowest.cut();
    return true;
  }
}

/** A reply that its client has not taken whole. */
export interface WaitingReply {
  readonly bytes: number;
  /** Bytes that the client has taken for each millisecond of waiting, as far as it is known. */
  readonly pace: number;
  /** Closes the connection. */
  cut(): void;
}

/** What the budget shows of itself. */
export interface ReplyMemoryStats {
  /** Bytes of replies that their clients have still to take. */
  readonly waiting: number;
  readonly limit: number;
  /** Connections that were closed to keep the limit. */
  readonly cut: number;
}

/**
 * The one budget for replies that wait for their clients. Beyond it the connection that takes the least for the
 * time it has had is closed: the memory of all must not be held by those who do not read.
 */
export class ReplyMemory {
  readonly limit: number;
  /** Connections closed. */
  cut = 0;
  #bytes = 0;
  readonly #waiting = new Set<WaitingReply>();

  /** @param limit bytes, at least those of the largest reply */
  constructor(limit: number) {
    this.limit = limit;
  }

  stats(): ReplyMemoryStats {
    return { waiting: this.#bytes, limit: this.limit, cut: this.cut };
  }

  /** Counts a reply, until `delete`. */
  add(reply: WaitingReply): void {
    this.#bytes += reply.bytes;
    while (this.#bytes > this.limit && this.#cutSlowest());
    this.#waiting.add(reply);
  }

  /** Its client has it, or has gone. */
  delete(reply: WaitingReply): void {
    if (this.#waiting.delete(reply)) this.#bytes -= reply.bytes;
  }

  /** False: there is none. */
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

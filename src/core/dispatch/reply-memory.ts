import { type Counts, counterTable, zeroCounts } from '../observe/metric-table.ts';
import type { RequestScope } from './scope.ts';
import { type Callers, oneCaller } from './share.ts';

/** A reply that its client has not taken whole. */
export interface WaitingReply {
  /** Says whose reply it is; undefined: it was made before anybody asked. */
  readonly scope: RequestScope | undefined;
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
 * The budget for all replies that wait for their clients. Beyond it a connection is closed: clients that do not read must not
 * hold the memory of all. It is a connection of a caller that holds its share of the budget or more, and of these connections
 * the one whose client has taken the fewest bytes for its time.
 */
export class ReplyMemory {
  readonly limit: number;
  #bytes = 0;
  readonly #waiting = new Set<WaitingReply>();
  readonly #callers: Callers<RequestScope>;
  readonly #counts: Counts;
  /** Of the replies whose callers were asked for: a key may cost a hash, or a function of the operator's. */
  readonly #keys = new WeakMap<WaitingReply, string>();

  /** @param limit bytes, at least the size of the largest reply */
  constructor(
    limit: number,
    callers: Callers<RequestScope> = oneCaller,
    counts: Counts = zeroCounts(counterTable),
  ) {
    this.limit = limit;
    this.#callers = callers;
    this.#counts = counts;
  }

  stats(): ReplyMemoryStats {
    return { waiting: this.#bytes, limit: this.limit, cut: this.#counts.cutReplies };
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
    const holders = this.#holdersAbove();
    let slowest: WaitingReply | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const reply of this.#waiting) {
      const { pace } = reply;
      if (pace >= least || !holders.has(this.#keyOf(reply))) continue;
      slowest = reply;
      least = pace;
    }
    if (slowest === undefined) return false;
    this.delete(slowest);
    this.#counts.cutReplies++;
    slowest.cut();
    return true;
  }

  /** The keys of the callers whose replies take their part of what waits, by their weights, or more. */
  #holdersAbove(): ReadonlySet<string> {
    const held = new Map<string, { bytes: number; weight: number }>();
    let bytes = 0;
    let weights = 0;
    for (const reply of this.#waiting) {
      const key = this.#keyOf(reply);
      let caller = held.get(key);
      if (caller === undefined) {
        const weight = reply.scope === undefined ? 1 : this.#callers.weightOf(reply.scope);
        caller = { bytes: 0, weight };
        held.set(key, caller);
        weights += caller.weight;
      }
      caller.bytes += reply.bytes;
      bytes += reply.bytes;
    }
    // A tenth below the exact part: equal callers never hold exactly the same.
    const perWeight = (0.9 * bytes) / weights;
    const above = [...held].filter(([, caller]) => caller.bytes >= perWeight * caller.weight);
    return new Set(above.map(([key]) => key));
  }

  #keyOf(reply: WaitingReply): string {
    const known = this.#keys.get(reply);
    if (known !== undefined) return known;
    const key = reply.scope === undefined ? '' : this.#callers.keyOf(reply.scope);
    this.#keys.set(reply, key);
    return key;
  }
}

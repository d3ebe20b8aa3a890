/** A connection whose client seems to be within a message. */
export interface HalfSocket {
  /** Since when, by `clockMs`. */
  readonly since: number;
  cut(): void;
}

/** Where messages of a server are gathered before anybody can count them. */
export interface HalfMessageLimits {
  /** What all messages that are not whole may take together, bytes. */
  readonly bytes: number;
  /** Length of the longest message. */
  readonly longest: number;
}

/**
 * Bounds the memory of messages that have not come whole. The servers underneath gather a message themselves, up to its
 * limit, and do not tell how much has come. So two signs are put together: which clients are within a message, or have not answered
 * a ping; and how the memory of the process grows. Where there are more such clients than messages have room, and the
 * process has grown by that room meanwhile, those that have been so longest are cut.
 *
 * Neither sign is enough alone: many clients owe an answer when a network stands still, and much else makes a process grow.
 */
export class HalfMessages {
  readonly #windowMs: number;
  readonly #memory: () => number;
  readonly #samples: { readonly at: number; readonly bytes: number }[] = [];

  /**
   * @param windowMs how long a message may take to come whole
   * @param memory the resident memory of the process, bytes
   */
  constructor(windowMs: number, memory: () => number = () => process.memoryUsage.rss()) {
    this.#windowMs = windowMs;
    this.#memory = memory;
  }

  /** @param now by `clockMs` */
  look(
    now: number,
    half: readonly HalfSocket[],
    { bytes: room, longest }: HalfMessageLimits,
  ): void {
    const bytes = this.#memory();
    this.#samples.push({ at: now, bytes });
    while ((this.#samples[0]?.at ?? now) < now - this.#windowMs) this.#samples.shift();
    const excess = half.length - Math.max(1, Math.floor(room / longest));
    if (excess <= 0) return;
    const least = Math.min(...this.#samples.map((sample) => sample.bytes));
    if (bytes - least < room) return;
    const slowest = [...half].sort((one, other) => one.since - other.since);
    for (const socket of slowest.slice(0, excess)) socket.cut();
  }
}

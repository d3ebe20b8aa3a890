import { clockMs } from '../../base/clock.ts';
import type { WaitingReply } from '../../dispatch/reply-memory.ts';
import { writeDeadlineMs } from '../edge/limits.ts';

/** The bytes that one client has not read. As long as there are any, they count in the memory for replies. */
export class Backlog implements WaitingReply {
  readonly bytes: number;
  readonly #since: number;
  /** Bytes that the backlog has held since it began, those included that the client has read by now. */
  readonly #total: number;
  /** When the client has read last. */
  readonly #movedAt: number;
  readonly #cut: () => void;

  private constructor(
    bytes: number,
    since: number,
    total: number,
    movedAt: number,
    cut: () => void,
  ) {
    this.bytes = bytes;
    this.#since = since;
    this.#total = total;
    this.#movedAt = movedAt;
    this.#cut = cut;
  }

  /** @param now by `clockMs` */
  static begin(bytes: number, now: number, cut: () => void): Backlog {
    return new Backlog(bytes, now, bytes, now, cut);
  }

  /** The same backlog when it is `bytes` long. An entry of the memory for replies never changes its size. */
  next(bytes: number, now: number): Backlog {
    const added = Math.max(0, bytes - this.bytes);
    const movedAt = bytes < this.bytes ? now : this.#movedAt;
    return new Backlog(bytes, this.#since, this.#total + added, movedAt, this.#cut);
  }

  /**
   * When the client is too slow, by `clockMs`: as with a large reply over HTTP. Streams pause where their client is slow,
   * so it may be as slow as it likes, as long as it reads at all.
   */
  dueAt(writeTimeoutMs: number, isStreaming: boolean): number {
    return isStreaming
      ? this.#movedAt + writeTimeoutMs
      : this.#since + writeDeadlineMs(this.#total, writeTimeoutMs);
  }

  /** The clock is read here, where it is seldom asked for: to read it for each answer would cost more. */
  get pace(): number {
    return (this.#total - this.bytes) / (clockMs() - this.#since + 1);
  }

  cut(): void {
    this.#cut();
  }
}

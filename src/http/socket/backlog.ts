import type { WaitingReply } from '../../dispatch/reply-memory.ts';
import { writeDeadlineMs } from '../edge/limits.ts';

/** The bytes that one client has not read. As long as there are any, they count in the memory for replies. */
export class Backlog implements WaitingReply {
  readonly bytes: number;
  readonly #since: number;
  /** Bytes that the backlog has held since it began, those included that the client has read by now. */
  readonly #total: number;
  readonly #cut: () => void;

  private constructor(bytes: number, since: number, total: number, cut: () => void) {
    this.bytes = bytes;
    this.#since = since;
    this.#total = total;
    this.#cut = cut;
  }

  /** @param now by `clockMs` */
  static begin(bytes: number, now: number, cut: () => void): Backlog {
    return new Backlog(bytes, now, bytes, cut);
  }

  /** The same backlog when it is `bytes` long. An entry of the memory for replies never changes its size. */
  next(bytes: number): Backlog {
    const added = Math.max(0, bytes - this.bytes);
    return new Backlog(bytes, this.#since, this.#total + added, this.#cut);
  }

  /** When the client is too slow, by `clockMs`: as with a large reply over HTTP. */
  dueAt(writeTimeoutMs: number): number {
    return this.#since + writeDeadlineMs(this.#total, writeTimeoutMs);
  }

  /** Nobody asks often, and a clock that is read for each answer would cost more. */
  get pace(): number {
    return (this.#total - this.bytes) / (performance.now() - this.#since + 1);
  }

  cut(): void {
    this.#cut();
  }
}

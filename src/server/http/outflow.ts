import { clockMs } from '../../core/base/clock.ts';
import type { ReplyMemory, WaitingReply } from '../../core/dispatch/reply-memory.ts';
import type { RequestScope } from '../../core/dispatch/scope.ts';
import { streamWindow } from '../../core/dispatch/streams/contract.ts';
import { transferTimeoutMs } from './edge/answer.ts';

export interface OutflowLimits {
  readonly replyMemory: ReplyMemory;
  /** How long a client may read nothing, beyond the time that the waiting bytes allow. */
  readonly bodyTimeoutMs: number;
}

/** Whose bytes they are, and how the connection of a client that is too slow is closed. */
interface OutflowOptions extends Pick<WaitingReply, 'scope' | 'cut'> {
  /** Whether the bytes exist once, however many clients wait for them: then they count for none. */
  readonly isShared?: boolean;
  /** Whether the bytes are so few that the client may take them when it likes. */
  readonly mayWait?: boolean;
  /** Whether the sender pauses meanwhile. The client may then be as slow as it likes, as long as it reads at all. */
  readonly isPaused?: () => boolean;
}

/**
 * The bytes that one client has not taken yet, of a large reply, of events, or of a WebSocket. They count in the memory for replies. A
 * client that does not read is cut: at a deadline, or earlier if the memory is short and it is the slowest.
 */
export class Outflow implements WaitingReply {
  readonly #limits: OutflowLimits;
  readonly #options: OutflowOptions;
  readonly scope: RequestScope | undefined;
  readonly cut: () => void;
  bytes = 0;
  /** Bytes that have waited since the client was last up to date. */
  #total = 0;
  /** How many of them the client has taken. Set from outside if all stay in memory until it has taken the last one. */
  taken = 0;
  #since = 0;
  #deadline: NodeJS.Timeout | undefined;
  /** The time that the deadline was set for. */
  #allowedMs = 0;

  constructor(limits: OutflowLimits, options: OutflowOptions) {
    this.#limits = limits;
    this.#options = options;
    this.scope = options.scope;
    this.cut = options.cut;
  }

  /** Counts a window as taken from the start: a client that has just begun must not be the slowest one. */
  get pace(): number {
    return (streamWindow.characters + this.taken) / (clockMs() - this.#since + 1);
  }

  /** Sets how many bytes wait; 0: the client has taken all, or has gone. */
  set(bytes: number): void {
    const { replyMemory } = this.#limits;
    const before = this.bytes;
    if (before > 0) replyMemory.delete(this);
    this.bytes = bytes;
    if (bytes === 0) {
      clearTimeout(this.#deadline);
      return;
    }
    if (before === 0) {
      this.#since = clockMs();
      this.#total = bytes;
      this.taken = 0;
      if (this.#options.mayWait !== true) this.#setDeadline(this.#mostMs);
    } else if (bytes > before) {
      this.#total += bytes - before;
    } else if (bytes < before) {
      this.taken += before - bytes;
      if (this.#options.isPaused?.() === true) this.#setDeadline(this.#limits.bodyTimeoutMs);
    }
    if (this.#options.isShared !== true) replyMemory.add(this);
  }

  get #mostMs(): number {
    const { bodyTimeoutMs } = this.#limits;
    const isPaused = this.#options.isPaused?.() === true;
    return isPaused ? bodyTimeoutMs : transferTimeoutMs(this.#total, bodyTimeoutMs);
  }

  #setDeadline(ms: number): void {
    clearTimeout(this.#deadline);
    this.#allowedMs = ms;
    this.#deadline = setTimeout(() => this.#onLate(), ms);
  }

  /** More bytes may wait by now than the deadline was set for. */
  #onLate(): void {
    const mostMs = this.#mostMs;
    const moreMs = mostMs - this.#allowedMs;
    if (moreMs > 0) this.#setDeadline(moreMs);
    else this.cut();
    this.#allowedMs = mostMs;
  }
}

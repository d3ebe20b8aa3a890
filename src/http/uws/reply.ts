import type { HttpResponse } from 'uWebSockets.js';
import type { ReplyMemory, WaitingReply } from '../../dispatch/reply-memory.ts';
import { bodilessPerTurn, writeDeadlineMs } from '../edge/limits.ts';

/**
 * How often a reply that waits is offered to the system anew. uWebSockets.js closes a connection that was not
 * writable for 10 s, and Linux calls it writable only when a third of its send buffer is free: megabytes, for
 * which a slow reader takes longer. A write takes what room there is, and starts the 10 s again.
 */
const offerMs = 2500;

/** The replies of one server that their clients have not taken whole. */
export class UwsReplies {
  readonly memory: ReplyMemory;
  readonly writeTimeoutMs: number;
  readonly #waiting = new Set<UwsReply>();
  #offering: NodeJS.Timeout | undefined;

  constructor(memory: ReplyMemory, writeTimeoutMs: number) {
    this.memory = memory;
    this.writeTimeoutMs = writeTimeoutMs;
  }

  add(reply: UwsReply): void {
    this.#waiting.add(reply);
    this.#offering ??= setInterval(() => {
      for (const waiting of this.#waiting) waiting.offer();
    }, offerMs);
  }

  delete(reply: UwsReply): void {
    this.#waiting.delete(reply);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#offering);
    this.#offering = undefined;
  }
}

/**
 * Replies without a body: uWebSockets.js does not say whether their client reads. Past a number of them in one turn
 * of the event loop the rest ends in the next turn, before which it closes a connection that has sent more.
 */
export class BodilessReplies {
  #count = 0;

  /** Whether one more may end in this turn. */
  mayEnd(): boolean {
    if (this.#count === 0) {
      setImmediate(() => {
        this.#count = 0;
      });
    }
    return ++this.#count <= bodilessPerTurn;
  }
}

/**
 * The rest of a reply that the system did not take at once. It is kept here, where a drain waits for it, and
 * written as its client reads; a client that does not is cut at its deadline.
 */
export class UwsReply implements WaitingReply {
  readonly bytes: number;
  readonly #res: HttpResponse;
  readonly #rest: Uint8Array;
  readonly #replies: UwsReplies;
  readonly #onEnd: () => void;
  readonly #since = performance.now();
  readonly #deadline: NodeJS.Timeout;
  #taken: number;
  #isOver = false;

  /**
   * @param body whole; `taken` of its bytes were written
   * @param isShared the bytes are there once, however many wait for them
   * @param onEnd called when the last byte is written; not when the connection goes, which `leave` is for
   */
  constructor(
    replies: UwsReplies,
    res: HttpResponse,
    body: Uint8Array,
    taken: number,
    isShared: boolean,
    onEnd: () => void,
  ) {
    const { byteLength } = body;
    this.bytes = byteLength;
    this.#replies = replies;
    this.#res = res;
    this.#rest = body;
    this.#taken = taken;
    this.#onEnd = onEnd;
    const deadlineMs = writeDeadlineMs(byteLength, replies.writeTimeoutMs);
    this.#deadline = setTimeout(() => this.cut(), deadlineMs);
    res.onWritable((offset) => this.#write(offset));
    replies.add(this);
    if (!isShared) replies.memory.add(this);
  }

  get pace(): number {
    return this.#taken / (performance.now() - this.#since + 1);
  }

  /** Writes what there is room for, whether the system has told of it or not. */
  offer(): void {
    if (!this.#isOver) this.#res.cork(() => this.#write(this.#res.getWriteOffset()));
  }

  cut(): void {
    if (!this.#isOver) this.#res.close();
  }

  /** The connection has gone. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    this.#replies.delete(this);
    this.#replies.memory.delete(this);
  }

  #write(offset: number): boolean {
    if (this.#isOver) return true;
    this.#taken = offset;
    const [written, isWhole] = this.#res.tryEnd(this.#rest.subarray(offset), this.#rest.byteLength);
    if (isWhole) {
      this.leave();
      this.#onEnd();
    }
    return written;
  }
}

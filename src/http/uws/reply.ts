import type { HttpResponse } from 'uWebSockets.js';
import { clockMs } from '../../base/clock.ts';
import type { ReplyMemory, WaitingReply } from '../../dispatch/reply-memory.ts';
import { bodilessPerTurn, writeDeadlineMs } from '../edge/limits.ts';

/**
 * How often the rest of a waiting reply is offered to the system again. uWebSockets.js closes a connection that was
 * not writable for 10 s, and Linux calls a connection writable only when a third of its send buffer is free. That is
 * megabytes, for which a slow reader takes longer than 10 s. A write takes what room there is and restarts the 10 s.
 */
const offerMs = 2500;

/**
 * Closes a connection behind its last reply. It is a second object for the same response: the first one can't be touched
 * once it has written all.
 */
export type Closer = Pick<HttpResponse, 'close'>;

/** What may have bytes that the system had no room for. */
interface Offering {
  /** Offers them to the system again. */
  offer(): void;
}

/** The replies of one server that their clients have not taken whole, and its event streams. */
export class UwsReplies {
  readonly memory: ReplyMemory;
  readonly writeTimeoutMs: number;
  readonly #waiting = new Set<Offering>();
  #offering: NodeJS.Timeout | undefined;

  constructor(memory: ReplyMemory, writeTimeoutMs: number) {
    this.memory = memory;
    this.writeTimeoutMs = writeTimeoutMs;
  }

  add(reply: Offering): void {
    this.#waiting.add(reply);
    this.#offering ??= setInterval(() => {
      for (const waiting of this.#waiting) waiting.offer();
    }, offerMs);
  }

  delete(reply: Offering): void {
    this.#waiting.delete(reply);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#offering);
    this.#offering = undefined;
  }
}

/**
 * Limits replies without a body, for which uWebSockets.js does not say whether the client reads. After a number of
 * them in one turn of the event loop, the others end in the next turn. Before that turn uWebSockets.js closes a
 * connection that has sent further requests.
 */
export class BodilessReplies {
  #count = 0;

  /** Whether one more reply may end in this turn. */
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
 * The rest of a reply that the system did not take at once. The bytes stay here, where a drain waits for them, and
 * are written as the client reads. A client that does not read is cut at the deadline.
 */
export class UwsReply implements WaitingReply {
  readonly bytes: number;
  readonly #res: HttpResponse;
  readonly #rest: Uint8Array;
  readonly #replies: UwsReplies;
  readonly #onEnd: () => void;
  readonly #since = clockMs();
  readonly #deadline: NodeJS.Timeout;
  readonly #closer: Closer | undefined;
  #taken: number;
  #isOver = false;

  /**
   * @param body whole; `taken` of its bytes were written
   * @param isShared whether the bytes exist once, however many clients wait for them
   * @param onEnd called when the last byte is written; where the connection goes, call `leave` instead
   * @param closer closes the connection behind the last byte; undefined: the connection goes on
   */
  constructor(
    replies: UwsReplies,
    res: HttpResponse,
    body: Uint8Array,
    taken: number,
    isShared: boolean,
    onEnd: () => void,
    closer?: Closer,
  ) {
    const { byteLength } = body;
    this.bytes = byteLength;
    this.#replies = replies;
    this.#res = res;
    this.#rest = body;
    this.#taken = taken;
    this.#onEnd = onEnd;
    this.#closer = closer;
    const deadlineMs = writeDeadlineMs(byteLength, replies.writeTimeoutMs);
    this.#deadline = setTimeout(() => this.cut(), deadlineMs);
    res.onWritable((offset) => {
      const written = this.#write(offset);
      if (this.#isOver) this.#closer?.close();
      return written;
    });
    replies.add(this);
    if (!isShared) replies.memory.add(this);
  }

  get pace(): number {
    return this.#taken / (clockMs() - this.#since + 1);
  }

  /** Writes as much as there is room for, whether the system has reported room or not. */
  offer(): void {
    if (this.#isOver) return;
    this.#res.cork(() => this.#write(this.#res.getWriteOffset()));
    // Behind the cork: what it still holds would be lost.
    if (this.#isOver) this.#closer?.close();
  }

  cut(): void {
    if (!this.#isOver) this.#res.close();
  }

  /** Gives the reply up: the connection has gone. */
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

import { clockMs } from '../../core/base/clock.ts';
import { maxUnitBytes } from '../../core/protocol/reply.ts';

/** Bytes that may be on their way to the server: small messages of others must not wait behind more. */
export const unflushedBytes = 512 * 1024;

/** Most bytes of a message beside texts, bodies and facts: its mark, its subject, its headers. */
const headBytes = 1024;

/** A server that takes less is refused at the start, bytes: heads, and what is known of requests, must fit. */
export const minPayload = 8 * 1024;

/** How large messages between gateways and members are, by what their server takes. */
export type MessageSizes = ReturnType<typeof madeFor>;

let known: MessageSizes | undefined;

/** The sizes for what a server takes: nearly always those that were asked for last. */
export function sizesFor(maxPayload: number): MessageSizes {
  if (known?.maxPayload !== maxPayload) known = madeFor(maxPayload);
  return known;
}

function madeFor(maxPayload: number) {
  const room = maxPayload - headBytes;
  const units = Math.floor(room / maxUnitBytes);
  const half = Math.floor(room / 2);
  return {
    maxPayload,
    /** Texts that share a message, UTF-16 units: a longer one goes as bytes, in messages of its own. */
    sharedLength: Math.min(128 * 1024, units),
    /** A frame whose group of calls would be cut at `sharedLength`, UTF-16 units. */
    frameLength: Math.min(256 * 1024, units),
    /** Bytes of one part of a large body, or reply. */
    partBytes: Math.min(128 * 1024, half),
    /** A reply of more bytes is cut into parts. */
    wholeBytes: Math.min(256 * 1024, room),
    /** Bytes of the facts of one call, which stand beside a part. */
    factsBytes: half,
    /** Bytes of one part of a document. */
    documentBytes: Math.min(512 * 1024, room),
    /** Numbers of each list of an acknowledgement: three lists of threes, of 17 digits with their commas. */
    listed: 3 * Math.floor(room / (3 * 3 * 18)),
  };
}

/**
 * Calls `act` when all sockets have been looked at once more, without waiting for any. A message costs its sender, the server and
 * its receiver more than the calls in it, so what that look brings shares one.
 */
export function afterNextLook(act: () => void): void {
  setImmediate(setImmediate, act);
}

/** Calls `act` soon after it was asked for, and at most once in `everyMs`, however often it is asked for. */
export class Paced {
  readonly #everyMs: number;
  readonly #act: () => void;
  #timer: NodeJS.Timeout | undefined;
  #actedAt = Number.NEGATIVE_INFINITY;

  constructor(everyMs: number, act: () => void) {
    this.#everyMs = everyMs;
    this.#act = act;
  }

  ask(): void {
    const waitMs = this.#actedAt + this.#everyMs - clockMs();
    this.#timer ??= setTimeout(() => this.actNow(), Math.max(0, waitMs));
  }

  actNow(): void {
    this.stop();
    this.#actedAt = clockMs();
    this.#act();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** How often what may be answered is counted anew, milliseconds. */
const answersMs = 50;

/** Bytes that the shortest answer counts for: making and sending it has its price. */
const minAnswerBytes = 16 * 1024;

/** Bounds the answers to questions that anybody may ask. Who gets none asks again. */
export class AnswerLimit {
  readonly #mostBytes: number;
  #since = Number.NEGATIVE_INFINITY;
  #bytes = 0;

  /** @param mostBytes of answers in 50 ms; the answer that passes it is still given */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get isReached(): boolean {
    const now = clockMs();
    if (now - this.#since >= answersMs) [this.#since, this.#bytes] = [now, 0];
    return this.#bytes >= this.#mostBytes;
  }

  note(bytes: number): void {
    this.#bytes += Math.max(bytes, minAnswerBytes);
  }
}

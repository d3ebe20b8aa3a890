import type { MessagePort } from 'node:worker_threads';
import { largeBody } from '../../protocol/body.ts';
import { mostUnitBytes, type ReplyBytes } from '../../protocol/reply.ts';
import { type Notice, type ResultMessage, wake } from './messages.ts';

/**
 * Results, and items of streams (see `ItemKind`), on their way from a replica to the main thread: a ring of 8 byte cells
 * in memory that both threads share. The replica writes, the main thread reads. The replica publishes each result as its
 * call ends, so that a kill loses no result of a call that had ended. One message wakes the main thread for all results
 * that it then finds, which costs a fifth of a message for each.
 *
 *     header   written | read | reader sleeps | unused                   int32 each
 *     entry    ticket | micros | elapsedUs | code, length | reply ...    one cell each; the reply takes whole cells
 *
 *       code, length   two int32 in one cell; length < 0: the reply is ASCII, -length bytes long
 *       ticket -1      the rest of the ring is unused: the next entry is at the ring's start
 */

const cells = 32 * 1024;
const mask = cells - 1;
const cellBytes = 8;

/** A longer reply crosses in a message. */
const longestReply = 8 * 1024;

/** Words of the header. Positions count cells since the outbox was made, and overflow as int32. */
const Word = { written: 0, read: 1, readerSleeps: 2 } as const;
const headerBytes = 16;

/** Cells of an entry before its reply: ticket, micros and elapsedUs as float64, code and length as int32. */
const entryCells = 4;
const codeWord = 6;
const lengthWord = 7;

/** Instead of a ticket: the rest of the ring is unused. */
const skip = -1;

/**
 * @param ticket names the call; negative: an item of a stream, whose numbers `ItemKind` explains
 * @param code 0: a result; else the error's code
 * @param micros how long the call held the thread
 * @param elapsedUs from the call's start to its end
 */
export type ResultReader<Reply = string> = (
  ticket: number,
  code: number,
  micros: number,
  elapsedUs: number,
  reply: Reply,
) => void;

export class Outbox {
  readonly buffer: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #floats: Float64Array;
  readonly #words: Int32Array;
  readonly #bytes: Buffer;
  /** The next cell that this side writes or reads. */
  #position = 0;
  /** Main thread: the outbox holds something that `put` does not write. Nothing more is read from it. */
  isUnreadable = false;

  /** @param shared the buffer that the main thread has made; undefined: this is the main thread, which makes it */
  constructor(shared?: SharedArrayBuffer) {
    const buffer = shared ?? new SharedArrayBuffer(headerBytes + cells * cellBytes);
    this.buffer = buffer;
    this.#header = new Int32Array(buffer, 0, headerBytes / Int32Array.BYTES_PER_ELEMENT);
    this.#floats = new Float64Array(buffer, headerBytes);
    this.#words = new Int32Array(buffer, headerBytes);
    this.#bytes = Buffer.from(buffer, headerBytes);
    // The main thread does not read before it gets a message, so the first result must send one.
    if (shared === undefined) Atomics.store(this.#header, Word.readerSleeps, 1);
  }

  /**
   * Replica: publishes a result.
   *
   * @returns false if the result does not fit, now or ever: it must be sent as a message
   */
  put(ticket: number, code: number, micros: number, elapsedUs: number, reply: string): boolean {
    // A procedure may throw any integer; the cell holds 32 bits.
    if (code !== (code | 0)) return false;
    // UTF-8 can't hold a lone surrogate, which may be in an id that came in a string.
    if (reply.length > longestReply || !reply.isWellFormed()) return false;
    const start = this.#reserve(entryCells + Math.ceil((reply.length * mostUnitBytes) / cellBytes));
    if (start === -1) return false;
    const text = (start + entryCells) * cellBytes;
    const length = this.#bytes.write(reply, text, 'utf8');
    this.#floats[start] = ticket;
    this.#floats[start + 1] = micros;
    this.#floats[start + 2] = elapsedUs;
    this.#words[start * 2 + codeWord] = code;
    // A negative length says that the reply is ASCII, as nearly all replies are: ASCII is read in half the time.
    this.#words[start * 2 + lengthWord] = length === reply.length ? -length : length;
    this.#position = (this.#position + entryCells + Math.ceil(length / cellBytes)) | 0;
    Atomics.store(this.#header, Word.written, this.#position);
    return true;
  }

  /** Replica, after a `put`: whether the main thread must be woken. */
  takeWake(): boolean {
    return Atomics.exchange(this.#header, Word.readerSleeps, 0) === 1;
  }

  /**
   * Main thread: reads the results that are there, `limit` at most. A result that is put after this has read all wakes
   * the main thread.
   *
   * @returns whether results are left, of which no message will tell
   */
  drain(read: ResultReader, limit = Number.POSITIVE_INFINITY): boolean {
    if (this.isUnreadable) return false;
    let taken = 0;
    do {
      Atomics.store(this.#header, Word.readerSleeps, 0);
      const written = Atomics.load(this.#header, Word.written);
      for (; this.#position !== written; taken++) {
        if (taken === limit) return true;
        if (!this.#take(read, (written - this.#position) | 0)) {
          this.isUnreadable = true;
          return false;
        }
      }
      Atomics.store(this.#header, Word.readerSleeps, 1);
    } while (Atomics.load(this.#header, Word.written) !== this.#position);
    return false;
  }

  /**
   * Reads one entry, or skips the rest of the ring.
   *
   * @param available cells that the header says are written
   * @returns false if no replica can have written this
   */
  #take(read: ResultReader, available: number): boolean {
    if (available < 1 || available > cells) return false;
    const start = this.#position & mask;
    const ticket = this.#floats[start] as number;
    if (ticket === skip) {
      this.#advance(cells - start);
      return cells - start <= available;
    }
    const micros = this.#floats[start + 1] as number;
    const elapsedUs = this.#floats[start + 2] as number;
    const code = this.#words[start * 2 + codeWord] as number;
    const signed = this.#words[start * 2 + lengthWord] as number;
    const length = Math.abs(signed);
    const size = entryCells + Math.ceil(length / cellBytes);
    if (size > available || start + size > cells) return false;
    const text = (start + entryCells) * cellBytes;
    const encoding = signed <= 0 ? 'latin1' : 'utf8';
    const reply = this.#bytes.toString(encoding, text, text + length);
    this.#advance(size);
    read(ticket, code, micros, elapsedUs, reply);
    return true;
  }

  #advance(count: number): void {
    this.#position = (this.#position + count) | 0;
    Atomics.store(this.#header, Word.read, this.#position);
  }

  /** Returns the first of `count` free cells in a row; -1: there are none. */
  #reserve(count: number): number {
    const used = (this.#position - Atomics.load(this.#header, Word.read)) | 0;
    const start = this.#position & mask;
    const toEnd = cells - start;
    if (count <= toEnd) return used + count <= cells ? start : -1;
    if (used + toEnd + count > cells) return -1;
    this.#floats[start] = skip;
    this.#position = (this.#position + toEnd) | 0;
    return 0;
  }
}

/**
 * How long a result may wait for others before the main thread is woken, milliseconds. If the two threads share a core,
 * waking it for each result costs two context switches a call.
 */
const gatherMs = 0.015;

/** Replica: sends results to the main thread, through the outbox if they fit, and everything else in messages. */
export class ReplicaSender {
  /** When the oldest result was published that the main thread was not woken for; undefined: there is none. */
  #unreadSince: number | undefined;
  readonly #port: MessagePort;
  readonly #outbox: Outbox;

  constructor(port: MessagePort, outbox: Outbox) {
    this.#port = port;
    this.#outbox = outbox;
  }

  notify(notice: Notice): void {
    this.#port.postMessage(notice);
  }

  /** Publishes a result, `now` by `clockMs`. `flush` or `flushBefore` must follow. For the numbers see `ResultReader`. */
  result(
    now: number,
    ticket: number,
    code: number,
    micros: number,
    elapsedUs: number,
    reply: string | ReplyBytes,
  ): void {
    if (typeof reply === 'string' && this.#outbox.put(ticket, code, micros, elapsedUs, reply)) {
      this.#unreadSince ??= now;
      return;
    }
    const isLong = typeof reply === 'string' && reply.length > largeBody;
    const sent = isLong ? new TextEncoder().encode(reply) : reply;
    const message: ResultMessage = [ticket, code, micros, elapsedUs, sent];
    this.#port.postMessage(message, typeof sent === 'string' ? [] : [sent.buffer]);
  }

  /** Publishes an item of a stream; see `ItemKind`. `flush` must follow. */
  item(ticket: number, kind: number, code: number, number: number, text: string): void {
    if (this.#outbox.put(-ticket, code, number, kind, text)) this.#unreadSince ??= 0;
    else this.#port.postMessage([-ticket, code, number, kind, text] satisfies ResultMessage);
  }

  /** Wakes the main thread for the results that were published. */
  flush(): void {
    if (this.#unreadSince === undefined) return;
    this.#unreadSince = undefined;
    if (this.#outbox.takeWake()) this.#port.postMessage(wake);
  }

  /** As `flush`, but if the thread goes on with a short call, more results may gather first. */
  flushBefore(isShort: boolean, now: number): void {
    if (this.#unreadSince === undefined) return;
    if (!isShort || now - this.#unreadSince >= gatherMs) this.flush();
  }
}

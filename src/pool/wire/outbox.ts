/**
 * Results on their way from a replica to the front end, in memory that both share: a ring of 8 byte cells
 * with one writer and one reader. Each is published as its call ends, so that a kill loses none that had
 * ended; the reader is woken once for as many as it then finds, which costs a fifth of a message for each.
 */

const cells = 32 * 1024;
const mask = cells - 1;
const cellBytes = 8;

/** A longer reply crosses as a message. */
const longestReply = 8 * 1024;

/** Words of the header, before the cells. Positions count cells, never wrap to the ring, and overflow as int32. */
const Word = { written: 0, read: 1, readerSleeps: 2 } as const;
const headerBytes = 16;

/** An entry: ticket, micros and elapsedUs as float64, code and length as int32, then the reply's bytes. */
const entryCells = 4;
const codeWord = 6;
const lengthWord = 7;

/** In place of a ticket: the rest of the ring is left out. */
const skip = -1;

/**
 * @param ticket names the call
 * @param code 0: a result
 * @param micros it held the thread
 * @param elapsedUs from its start to its end
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
  /** Of this side: the next cell to write, or to read. */
  #position = 0;
  /** Front end: what stands here is not what `put` writes. Nothing more is read. */
  isUnreadable = false;

  /** @param shared of the other side; none: the front end's, made first */
  constructor(shared?: SharedArrayBuffer) {
    const buffer = shared ?? new SharedArrayBuffer(headerBytes + cells * cellBytes);
    this.buffer = buffer;
    this.#header = new Int32Array(buffer, 0, headerBytes / Int32Array.BYTES_PER_ELEMENT);
    this.#floats = new Float64Array(buffer, headerBytes);
    this.#words = new Int32Array(buffer, headerBytes);
    this.#bytes = Buffer.from(buffer, headerBytes);
    // Nobody reads before the first message: the first result must bring one.
    if (shared === undefined) Atomics.store(this.#header, Word.readerSleeps, 1);
  }

  /** Replica: publishes a result. False: it does not fit, now or ever, and is to be sent as a message. */
  put(ticket: number, code: number, micros: number, elapsedUs: number, reply: string): boolean {
    // A procedure may throw any integer.
    if (code !== (code | 0)) return false;
    // A lone surrogate (in an id that came in a string) can't be held by UTF-8.
    if (reply.length > longestReply || !reply.isWellFormed()) return false;
    const start = this.#reserve(entryCells + Math.ceil((reply.length * 3) / cellBytes));
    if (start === -1) return false;
    const text = (start + entryCells) * cellBytes;
    const length = this.#bytes.write(reply, text, 'utf8');
    this.#floats[start] = ticket;
    this.#floats[start + 1] = micros;
    this.#floats[start + 2] = elapsedUs;
    this.#words[start * 2 + codeWord] = code;
    // Negative where it is ASCII, as nearly all are: that is read for half the price.
    this.#words[start * 2 + lengthWord] = length === reply.length ? -length : length;
    this.#position = (this.#position + entryCells + Math.ceil(length / cellBytes)) | 0;
    Atomics.store(this.#header, Word.written, this.#position);
    return true;
  }

  /** Replica, after a `put`: whether the reader has to be woken. */
  takeWake(): boolean {
    return Atomics.exchange(this.#header, Word.readerSleeps, 0) === 1;
  }

  /**
   * Front end: takes what there is, up to a limit. What comes after that wakes it.
   *
   * @returns whether there is more, of which no wake tells
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
   * Takes one entry, or leaves the rest of the ring out.
   *
   * @param available cells that are said to be written
   * @returns false: nobody can have written this
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

  /** The first of `count` free cells in a row; -1: there are none. */
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

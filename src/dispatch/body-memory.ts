import { clockMs } from '../base/clock.ts';
import { largeBody } from '../jsonrpc/body.ts';
import { LeftBuffers } from './left-buffers.ts';

/**
 * Sizes of buffers in one doubling. With four, a buffer is at most a quarter larger than the body it was made for.
 */
const stepsPerDoubling = 4;

/** A kept buffer that no body has used for this long is left to the garbage collector. */
const keptMs = 10_000;

/** The share of the budget that only small bodies may use, however many large ones are announced: one eighth. */
const smallShare = 1 / 8;

/** The figures of the budget. */
export interface BodyMemoryStats {
  /** Bytes of bodies that arrive, wait, or are with workers. */
  readonly inUse: number;
  /** Bytes of buffers that wait for the next large body. */
  readonly kept: number;
  readonly limit: number;
  /** Bodies that were refused. */
  readonly refused: number;
}

/**
 * The budget for the bytes of all requests in this process, and the slab: the buffers that large bodies lie in.
 *
 * A small body counts its length from its head to its answer. A large body lies in shared memory, which puts no
 * pressure on the garbage collector: with a new buffer for each body, memory would grow without bound. So a buffer is
 * used again once nobody can read the body in it any more, and counts while it is kept. A buffer that is no longer
 * kept does not count, but may stay in memory for long. Until the collector has taken it, it can be found and used
 * again.
 */
export class BodyMemory {
  readonly limit: number;
  refused = 0;
  readonly #largest: number;
  readonly #largeLimit: number;
  readonly #now: () => number;
  #small = 0;
  /** Bytes of buffers that hold a body. */
  #lent = 0;
  #keptBytes = 0;
  /** Smallest first. Among buffers of one size, the buffer that was kept last comes last. */
  readonly #kept: KeptBuffer[] = [];
  readonly #left = new LeftBuffers();
  #trimming: NodeJS.Timeout | undefined;

  /**
   * @param limit bytes, at least `maxBodyBytes`
   * @param maxBodyBytes length of the longest body
   * @param now milliseconds of any clock, the same at each call
   */
  constructor(limit: number, maxBodyBytes: number, now: () => number = clockMs) {
    this.limit = limit;
    this.#now = now;
    this.#largest = maxBodyBytes;
    this.#largeLimit = Math.max(limit * (1 - smallShare), maxBodyBytes);
  }

  stats(): BodyMemoryStats {
    const { limit, refused } = this;
    return { inUse: this.#small + this.#lent, kept: this.#keptBytes, limit, refused };
  }

  /**
   * Counts a small body until `give`.
   *
   * @returns false where the body does not fit
   */
  take(bytes: number): boolean {
    const small = this.#small + bytes;
    if (small + this.#lent + this.#keptBytes > this.limit && !this.#makeRoom(small)) return false;
    this.#small = small;
    return true;
  }

  /** Stops counting a small body. */
  give(bytes: number): void {
    this.#small -= bytes;
  }

  /** Memory for a large body, until its last holder lets go; undefined: the body does not fit. */
  lend(bytes: number): BodyLease | undefined {
    const buffer = this.#keptFor(bytes) ?? this.#fresh(this.#sizeFor(bytes));
    return buffer && this.#leaseOf(buffer, bytes);
  }

  /** Memory for a copy of something that is in memory already. The copy counts, but is never refused. */
  copy(data: string | Uint8Array): BodyLease {
    const length = Buffer.byteLength(data);
    const buffer = this.#keptFor(length) ?? this.#make(this.#sizeFor(length));
    const lease = this.#leaseOf(buffer, length);
    if (typeof data === 'string') lease.bytes.write(data);
    else lease.bytes.set(data);
    return lease;
  }

  /** Drops all kept buffers. */
  close(): void {
    clearInterval(this.#trimming);
    this.#trimming = undefined;
    this.#drop(this.#kept.length);
  }

  #leaseOf(buffer: SharedArrayBuffer, length: number): BodyLease {
    this.#lent += buffer.byteLength;
    return new BodyLease(buffer, length, (returned) => {
      this.#lent -= returned.byteLength;
      this.#keep(returned);
    });
  }

  /**
   * The length rounded up to the next step, but not above the largest body, which must fit into the smallest budget.
   */
  #sizeFor(length: number): number {
    const step = 2 ** Math.floor(Math.log2(Math.max(length, largeBody))) / stepsPerDoubling;
    return Math.max(length, Math.min(Math.ceil(length / step) * step, this.#largest));
  }

  /**
   * A kept buffer that is at most twice as large as needed; or any that is large enough, where there is no room for a
   * fresh one.
   */
  #keptFor(length: number): SharedArrayBuffer | undefined {
    const first = this.#kept.findIndex(({ buffer }) => buffer.byteLength >= length);
    if (first === -1) return undefined;
    const size = (this.#kept[first] as KeptBuffer).buffer.byteLength;
    if (size > 2 * length && this.#hasRoom(this.#sizeFor(length))) return undefined;
    // Among buffers of that size, the one used last: its pages are the warmest, and the others can grow old.
    let at = first;
    while (this.#kept[at + 1]?.buffer.byteLength === size) at++;
    const [found] = this.#kept.splice(at, 1);
    this.#keptBytes -= size;
    return found?.buffer;
  }

  #hasRoom(size: number): boolean {
    const lent = this.#lent + size;
    return lent + this.#keptBytes + this.#small <= this.limit;
  }

  #fresh(size: number): SharedArrayBuffer | undefined {
    if (this.#lent + size > this.#largeLimit) return undefined;
    if (!this.#hasRoom(size) && !this.#makeRoom(this.#small + size)) return undefined;
    return this.#make(size);
  }

  #make(size: number): SharedArrayBuffer {
    const large = this.#largeLimit - this.#lent;
    const all = this.limit - this.#lent - this.#keptBytes - this.#small;
    const most = Math.max(size, Math.min(2 * size, large, all));
    return this.#left.take(size, most) ?? new SharedArrayBuffer(size);
  }

  /** Drops kept buffers until `bytes` fit beside the buffers that are lent. */
  #makeRoom(bytes: number): boolean {
    if (this.#lent + bytes > this.limit) return false;
    while (this.#kept.length > 0 && this.#lent + bytes + this.#keptBytes > this.limit)
      this.#drop(1);
    return true;
  }

  #keep(buffer: SharedArrayBuffer): void {
    const size = buffer.byteLength;
    if (this.#small + this.#lent + this.#keptBytes + size > this.limit) {
      this.#left.add(buffer);
      return;
    }
    const next = this.#kept.findIndex((kept) => kept.buffer.byteLength > size);
    const entry = { buffer, since: this.#now() };
    this.#kept.splice(next === -1 ? this.#kept.length : next, 0, entry);
    this.#keptBytes += size;
    this.#trimming ??= setInterval(() => this.#trim(), keptMs / 2).unref();
  }

  #trim(): void {
    const before = this.#now() - keptMs;
    const old = this.#kept.filter(({ since }) => since <= before);
    for (const entry of old) {
      this.#kept.splice(this.#kept.indexOf(entry), 1);
      this.#keptBytes -= entry.buffer.byteLength;
      this.#left.add(entry.buffer);
    }
    if (this.#kept.length > 0) return;
    clearInterval(this.#trimming);
    this.#trimming = undefined;
  }

  /** Drops the smallest first: a larger buffer can serve for a smaller body, but not the other way round. */
  #drop(count: number): void {
    for (const { buffer } of this.#kept.splice(0, count)) {
      this.#keptBytes -= buffer.byteLength;
      this.#left.add(buffer);
    }
  }
}

interface KeptBuffer {
  readonly buffer: SharedArrayBuffer;
  /** When the buffer was kept, milliseconds of the memory's clock. */
  readonly since: number;
}

/**
 * A large body and its holders, who may read it: the request, until it is answered, and each worker that the body was
 * sent to, until that worker has settled the call or its thread has ended. The memory goes back when the last holder
 * lets go.
 */
export class BodyLease {
  #bytes: Buffer;
  #holders = 1;
  readonly #giveBack: (buffer: SharedArrayBuffer) => void;

  constructor(
    buffer: SharedArrayBuffer,
    length: number,
    giveBack: (buffer: SharedArrayBuffer) => void,
  ) {
    this.#bytes = Buffer.from(buffer, 0, length);
    this.#giveBack = giveBack;
  }

  /** Exactly the body. The buffer behind it may be longer, and then holds bytes of earlier bodies. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** The body turned out to be shorter than was thought. All of the buffer goes on counting. */
  shorten(length: number): void {
    this.#bytes = this.#bytes.subarray(0, length);
  }

  /** Adds a holder. */
  hold(): this {
    this.#holders++;
    return this;
  }

  /** Removes a holder. The last one gives the memory back. */
  release(): void {
    if (--this.#holders === 0) this.#giveBack(this.bytes.buffer as unknown as SharedArrayBuffer);
    else if (this.#holders < 0) throw new Error('a body was given back twice');
  }
}

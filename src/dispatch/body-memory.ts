import { largeBody } from '../jsonrpc/body.ts';
import { LeftBuffers } from './left-buffers.ts';

/** Sizes of buffers in one doubling: a buffer is at most a quarter larger than the body it was made for. */
const stepsPerDoubling = 4;

/** A kept buffer that nobody wanted for so long is left to the garbage collector. */
const keptMs = 10_000;

/** The share of the budget that is left to small bodies, however many large ones are announced: one eighth. */
const smallShare = 1 / 8;

/** What the budget shows of itself. */
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
 * The one budget for the bytes of requests in this process, and the slab that large ones lie in.
 *
 * A small body counts its length from its head to its answer. A large one lies in shared memory, which puts no
 * pressure on the garbage collector: made anew for each body it grows without bound. So its buffer is used
 * again, once nobody can read the body in it any more, and counts while it is kept. A buffer that is kept no longer does
 * not count, yet it may stay in memory for long: until the collector has taken it, it is found and used again.
 */
export class BodyMemory {
  readonly limit: number;
  refused = 0;
  readonly #largest: number;
  readonly #largeLimit: number;
  #small = 0;
  /** Bytes of buffers that hold a body. */
  #lent = 0;
  #keptBytes = 0;
  /** Smallest first; of one size the one that came last comes last. */
  readonly #kept: KeptBuffer[] = [];
  readonly #left = new LeftBuffers();
  #trimming: NodeJS.Timeout | undefined;

  /**
   * @param limit bytes, at least `maxBodyBytes`
   * @param maxBodyBytes the largest body there is
   */
  constructor(limit: number, maxBodyBytes: number) {
    this.limit = limit;
    this.#largest = maxBodyBytes;
    this.#largeLimit = Math.max(limit * (1 - smallShare), maxBodyBytes);
  }

  stats(): BodyMemoryStats {
    const { limit, refused } = this;
    return { inUse: this.#small + this.#lent, kept: this.#keptBytes, limit, refused };
  }

  /** Counts a small body, until `give`. False: it does not fit. */
  take(bytes: number): boolean {
    const small = this.#small + bytes;
    if (small + this.#lent + this.#keptBytes > this.limit && !this.#makeRoom(small)) return false;
    this.#small = small;
    return true;
  }

  /** A small body is gone. */
  give(bytes: number): void {
    this.#small -= bytes;
  }

  /** Memory for a large body, until its last holder lets go; undefined: it does not fit. */
  lend(bytes: number): BodyLease | undefined {
    const buffer = this.#keptFor(bytes) ?? this.#fresh(this.#sizeFor(bytes));
    return buffer && this.#leaseOf(buffer, bytes);
  }

  /** The same for a copy of what is in memory already: it counts, but nobody is refused for it. */
  copy(data: string | Uint8Array): BodyLease {
    const length = Buffer.byteLength(data);
    const buffer = this.#keptFor(length) ?? this.#make(this.#sizeFor(length));
    const lease = this.#leaseOf(buffer, length);
    if (typeof data === 'string') lease.bytes.write(data);
    else lease.bytes.set(data);
    return lease;
  }

  /** Keeps no buffers any more. */
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

  /** One step up from the length, but not above the largest body: that one has to fit the smallest budget. */
  #sizeFor(length: number): number {
    const step = 2 ** Math.floor(Math.log2(Math.max(length, largeBody))) / stepsPerDoubling;
    return Math.max(length, Math.min(Math.ceil(length / step) * step, this.#largest));
  }

  /** A buffer that is at most twice too large, or any that is large enough where no other can be had. */
  #keptFor(length: number): SharedArrayBuffer | undefined {
    const first = this.#kept.findIndex(({ buffer }) => buffer.byteLength >= length);
    if (first === -1) return undefined;
    const size = (this.#kept[first] as KeptBuffer).buffer.byteLength;
    if (size > 2 * length && this.#hasRoom(this.#sizeFor(length))) return undefined;
    // Of that size the one that was used last: its pages are the warmest, and the others grow old.
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

  /** Drops kept buffers until so much fits beside what is lent. */
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
    const entry = { buffer, since: performance.now() };
    this.#kept.splice(next === -1 ? this.#kept.length : next, 0, entry);
    this.#keptBytes += size;
    this.#trimming ??= setInterval(() => this.#trim(), keptMs / 2).unref();
  }

  #trim(): void {
    const before = performance.now() - keptMs;
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

  /** The smallest first: a larger one serves for a smaller, not the other way round. */
  #drop(count: number): void {
    for (const { buffer } of this.#kept.splice(0, count)) {
      this.#keptBytes -= buffer.byteLength;
      this.#left.add(buffer);
    }
  }
}

interface KeptBuffer {
  readonly buffer: SharedArrayBuffer;
  /** Since when, on the clock of performance.now(). */
  readonly since: number;
}

/**
 * A large body and those who may read it: the request, until it is answered, and each worker it was sent to,
 * until that has settled the call or its thread has ended. Its memory goes back when the last one lets go.
 */
export class BodyLease {
  /** Exactly the body: the buffer behind it may be longer, and holds what was there before. */
  readonly bytes: Buffer;
  #holders = 1;
  readonly #giveBack: (buffer: SharedArrayBuffer) => void;

  constructor(
    buffer: SharedArrayBuffer,
    length: number,
    giveBack: (buffer: SharedArrayBuffer) => void,
  ) {
    this.bytes = Buffer.from(buffer, 0, length);
    this.#giveBack = giveBack;
  }

  /** One more may read it. */
  hold(): this {
    this.#holders++;
    return this;
  }

  /** One of them will not read it any more. */
  release(): void {
    if (--this.#holders === 0) this.#giveBack(this.bytes.buffer as unknown as SharedArrayBuffer);
    else if (this.#holders < 0) throw new Error('a body was given back twice');
  }
}

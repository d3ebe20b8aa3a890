import { clockMs } from '../base/clock.ts';
import type { Overload } from '../base/overloads.ts';
import { type Counts, counterTable, zeroCounts } from '../observe/metric-table.ts';
import { largeBody } from '../protocol/body.ts';
import { BodyLease } from './body-lease.ts';
import type { RequestScope } from './scope.ts';
import { type Account, type Callers, type Denial, type Holder, oneCaller, Share } from './share.ts';

export type BodyOverload = Extract<Overload, 'bodyMemory' | 'bodyShare'>;

/** Sizes of buffers in one doubling. With four, a buffer is at most a quarter larger than the body it was made for. */
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
  readonly #share: Share<RequestScope>;
  readonly #largest: number;
  readonly #largeLimit: number;
  readonly #now: () => number;
  readonly #counts: Counts;
  #small = 0;
  /** Bytes of buffers that hold a body. */
  #lent = 0;
  #keptBytes = 0;
  /** Smallest first. Among buffers of one size, the buffer that was kept last comes last. */
  readonly #kept: KeptBuffer[] = [];
  /**
   * Dropped buffers that the garbage collector has not taken yet. Shared memory puts no pressure on the collector, so that
   * may take hours in a process whose heap is quiet. A service that gets a large body every minute would meanwhile hold
   * each of their buffers, far above `maxBodyMemory`. So a buffer that is still there is used before a new one is made.
   */
  #left: WeakRef<SharedArrayBuffer>[] = [];
  #trimming: NodeJS.Timeout | undefined;

  /**
   * @param limit bytes, at least `maxBodyBytes`
   * @param maxBodyBytes length of the longest body
   * @param now milliseconds of any clock, the same at each call
   * @param callers to whom a body belongs, as far as that is known when its head arrives
   */
  constructor(
    limit: number,
    maxBodyBytes: number,
    now: () => number = clockMs,
    callers: Callers<RequestScope> = oneCaller,
    counts: Counts = zeroCounts(counterTable),
  ) {
    this.limit = limit;
    this.#now = now;
    this.#counts = counts;
    this.#largest = maxBodyBytes;
    this.#largeLimit = Math.max(limit * (1 - smallShare), maxBodyBytes);
    // What large bodies may take: what is kept for small ones is divided among nobody.
    this.#share = new Share(this.#largeLimit, callers);
  }

  stats(): BodyMemoryStats {
    const { limit } = this;
    const refused = this.#counts.refusedBodies;
    return { inUse: this.#small + this.#lent, kept: this.#keptBytes, limit, refused };
  }

  /** Why the caller of a request gets no room for a body of any size; undefined: it may, if the body finds room. */
  denial(scope: RequestScope): Denial | undefined {
    const share = this.#share;
    return share.isScarce && share.used < share.limit ? share.denial(scope) : undefined;
  }

  /** A body has room, which counts for its caller until `leave`. */
  enter(body: Holder<RequestScope>): void {
    this.#share.take(body);
  }

  leave(body: Holder<RequestScope>): void {
    this.#share.give(body);
  }

  refuse(denial: Denial): BodyOverload {
    const overload = denial === 'full' ? 'bodyMemory' : 'bodyShare';
    this.#counts.refusedBodies++;
    this.#counts[overload]++;
    return overload;
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

  give(bytes: number): void {
    this.#small -= bytes;
  }

  /**
   * Memory for a large body, until its last holder lets go; undefined: the body does not fit.
   *
   * @param scope its request: a caller that holds little may have what is kept for small bodies, too
   */
  lend(bytes: number, scope?: RequestScope): BodyLease | undefined {
    const usesAll = scope !== undefined && this.#share.isScarce && this.#share.isSmall(scope);
    const limit = usesAll ? this.limit : this.#largeLimit;
    const buffer = this.#keptFor(bytes) ?? this.#fresh(this.#sizeFor(bytes), limit);
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

  /** The length rounded up to the next step, but not above the largest body, which must fit into every budget. */
  #sizeFor(length: number): number {
    const step = 2 ** Math.floor(Math.log2(Math.max(length, largeBody))) / stepsPerDoubling;
    return Math.max(length, Math.min(Math.ceil(length / step) * step, this.#largest));
  }

  /** A kept buffer of at most twice the length; if there is no room for a fresh one, any that is large enough. */
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

  #fresh(size: number, limit: number): SharedArrayBuffer | undefined {
    if (this.#lent + size > limit) return undefined;
    if (!this.#hasRoom(size) && !this.#makeRoom(this.#small + size)) return undefined;
    return this.#make(size);
  }

  #make(size: number): SharedArrayBuffer {
    const large = this.#largeLimit - this.#lent;
    const all = this.limit - this.#lent - this.#keptBytes - this.#small;
    const most = Math.max(size, Math.min(2 * size, large, all));
    return this.#takeLeft(size, most) ?? new SharedArrayBuffer(size);
  }

  /** The smallest dropped buffer of at least `least` and at most `most` bytes. */
  #takeLeft(least: number, most: number): SharedArrayBuffer | undefined {
    const sizeOf = (left: WeakRef<SharedArrayBuffer>): number => left.deref()?.byteLength ?? 0;
    this.#left = this.#left
      .filter((left) => left.deref() !== undefined)
      .sort((a, b) => sizeOf(a) - sizeOf(b));
    const at = this.#left.findIndex((left) => sizeOf(left) >= least);
    const found = this.#left[at];
    if (found === undefined || sizeOf(found) > most) return undefined;
    this.#left.splice(at, 1);
    return found.deref();
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
      this.#left.push(new WeakRef(buffer));
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
      this.#left.push(new WeakRef(entry.buffer));
    }
    if (this.#kept.length > 0) return;
    clearInterval(this.#trimming);
    this.#trimming = undefined;
  }

  /** Drops the smallest first: a larger buffer can serve for a smaller body, but not the other way round. */
  #drop(count: number): void {
    for (const { buffer } of this.#kept.splice(0, count)) {
      this.#keptBytes -= buffer.byteLength;
      this.#left.push(new WeakRef(buffer));
    }
  }
}

interface KeptBuffer {
  readonly buffer: SharedArrayBuffer;
  /** When the buffer was kept, milliseconds of the memory's clock. */
  readonly since: number;
}

/**
 * The body of one request: its place in the memory for bodies, from the head that announces it until nobody can
 * read it any more. One that comes in a single small chunk is not copied; a large one is gathered in shared
 * memory, in which it goes to a worker as it is, and to another when that worker is lost.
 */
export class RequestBody implements Holder<RequestScope> {
  readonly lease: BodyLease | undefined;
  readonly scope: RequestScope;
  readonly amount: number;
  readonly #length: number;
  slot: number | undefined = undefined;
  account: Account | undefined = undefined;
  readonly #memory: BodyMemory;
  #bytes: Buffer | undefined;
  #filled = 0;
  #isGone = false;

  private constructor(
    memory: BodyMemory,
    length: number,
    scope: RequestScope,
    lease: BodyLease | undefined,
  ) {
    this.#memory = memory;
    this.#length = length;
    // A buffer may be larger than its body.
    this.amount = lease?.bytes.buffer.byteLength ?? length;
    this.scope = scope;
    this.lease = lease;
    this.#bytes = lease?.bytes;
    memory.enter(this);
  }

  /**
   * @param scope of its request: says whose body it is, as far as that is known
   * @returns why there is no memory for it now, where there is none
   */
  static reserve(
    memory: BodyMemory,
    length: number,
    scope: RequestScope,
  ): RequestBody | BodyOverload {
    const denial = memory.denial(scope);
    if (denial !== undefined) return memory.refuse(denial);
    if (length <= largeBody) {
      if (!memory.take(length)) return memory.refuse('full');
      return new RequestBody(memory, length, scope, undefined);
    }
    const lease = memory.lend(length, scope);
    if (lease === undefined) return memory.refuse('full');
    return new RequestBody(memory, length, scope, lease);
  }

  /** Bytes that have not come. */
  get missing(): number {
    return this.#length - this.#filled;
  }

  /**
   * Takes a chunk in.
   *
   * @param chunk at most what is `missing`
   * @returns the body once it is complete; a small one in one chunk is a view of that chunk
   */
  add(chunk: Uint8Array): Uint8Array | undefined {
    if (this.#bytes === undefined) {
      if (chunk.byteLength === this.#length) return chunk;
      this.#bytes = Buffer.allocUnsafeSlow(this.#length);
    }
    this.#bytes.set(chunk, this.#filled);
    this.#filled += chunk.byteLength;
    return this.#filled === this.#length ? this.#bytes : undefined;
  }

  /**
   * Takes a whole body in that came as a text of `length` bytes.
   *
   * @returns the body: a large one as bytes, in which it goes to a worker
   */
  addText(text: string): string | Uint8Array {
    if (this.#bytes === undefined) return text;
    this.#filled = this.#bytes.write(text);
    return this.#bytes;
  }

  /** The request is answered, or its client went before it was handed over. Idempotent. */
  release(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#memory.leave(this);
    if (this.lease === undefined) this.#memory.give(this.amount);
    else this.lease.release();
  }
}

/** Why a chunk was not taken: the body is longer than any may be, or there is no memory for it now. */
export type ChunkRefusal = 'too-large' | BodyOverload;

/** Room that a body begins with. */
const firstBytes = 4 * 1024;

const nothing = new Uint8Array(0);

/**
 * The body of a request that does not say how long it is, such as a chunked one. It takes its place in the memory for
 * bodies as it grows: twice as much each time, so that each byte is copied twice at most. While a body moves, both
 * places count. A small body lies on the heap; a large one in shared memory, in which it goes to a worker.
 */
export class GrowingBody implements Holder<RequestScope> {
  readonly scope: RequestScope;
  amount = 0;
  slot: number | undefined = undefined;
  account: Account | undefined = undefined;
  readonly #memory: BodyMemory;
  readonly #most: number;
  length = 0;
  /** Bytes of `#bytes` that count as a small body. */
  #small = 0;
  #lease: BodyLease | undefined;
  #bytes: Uint8Array = nothing;
  #isGone = false;

  /** @param most length of the longest body */
  constructor(memory: BodyMemory, most: number, scope: RequestScope) {
    this.#memory = memory;
    this.scope = scope;
    this.#most = most;
  }

  /** The place of a large body; undefined: it is small. */
  get lease(): BodyLease | undefined {
    return this.#lease;
  }

  /** Takes a copy of a chunk in. After a refusal no more may come. */
  add(chunk: Uint8Array): ChunkRefusal | undefined {
    const length = this.length + chunk.byteLength;
    if (length > this.#most) return 'too-large';
    if (length > this.#bytes.byteLength) {
      const denial = this.#memory.denial(this.scope) ?? (this.#grow(length) ? undefined : 'full');
      if (denial !== undefined) return this.#memory.refuse(denial);
      this.#memory.leave(this);
      this.amount = this.#bytes.byteLength;
      this.#memory.enter(this);
    }
    this.#bytes.set(chunk, this.length);
    this.length = length;
    return undefined;
  }

  /** The whole body. No more may come. */
  end(): Uint8Array {
    this.#lease?.shorten(this.length);
    return this.#lease?.bytes ?? this.#bytes.subarray(0, this.length);
  }

  /** The request is answered, or its client went before the body was handed over. Idempotent. */
  release(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#memory.leave(this);
    this.#giveBack();
  }

  #grow(length: number): boolean {
    const most = length > largeBody ? this.#most : Math.min(largeBody, this.#most);
    const roomy = Math.max(length, 2 * this.#bytes.byteLength, firstBytes);
    return this.#moveTo(Math.min(roomy, most)) || this.#moveTo(length);
  }

  #moveTo(room: number): boolean {
    const isLarge = room > largeBody;
    const lease = isLarge ? this.#memory.lend(room, this.scope) : undefined;
    if (isLarge ? lease === undefined : !this.#memory.take(room)) return false;
    const bytes = lease?.bytes ?? Buffer.allocUnsafeSlow(room);
    bytes.set(this.#bytes.subarray(0, this.length));
    this.#giveBack();
    this.#bytes = bytes;
    this.#lease = lease;
    this.#small = isLarge ? 0 : room;
    return true;
  }

  #giveBack(): void {
    this.#memory.give(this.#small);
    this.#small = 0;
    this.#lease?.release();
    this.#lease = undefined;
  }
}

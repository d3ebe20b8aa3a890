import { clockMs } from '../base/clock.ts';
import type { Overload } from '../base/overloads.ts';
import { type Counts, counterTable, zeroCounts } from '../observe/metric-table.ts';
import { largeBody } from '../protocol/body.ts';
import { BodyLease } from './body-lease.ts';
import type { RequestScope } from './scope.ts';
import { type Account, type Callers, type Denial, type Holder, oneCaller, Share } from './share.ts';

export type BodyOverload = Extract<Overload, 'bodyMemory' | 'bodyShare'>;

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
  /** The buffers that hold no body, by their size. */
  readonly #free = new Map<number, FreeBuffers>();
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
    const size = this.#sizeFor(bytes);
    if (this.#lent + size > limit) return undefined;
    const buffer =
      this.#takeKept(size) ?? (this.#makeRoom(this.#small + size) ? this.#make(size) : undefined);
    return buffer && this.#leaseOf(buffer, bytes);
  }

  /** Memory for a copy of something that is in memory already. The copy counts, but is never refused. */
  copy(data: string | Uint8Array): BodyLease {
    const length = Buffer.byteLength(data);
    const size = this.#sizeFor(length);
    const buffer = this.#takeKept(size) ?? this.#make(size);
    const lease = this.#leaseOf(buffer, length);
    if (typeof data === 'string') lease.bytes.write(data);
    else lease.bytes.set(data);
    return lease;
  }

  close(): void {
    clearInterval(this.#trimming);
    this.#trimming = undefined;
    for (const free of this.#free.values()) this.#drop(free, free.kept.length);
  }

  #leaseOf(buffer: SharedArrayBuffer, length: number): BodyLease {
    this.#lent += buffer.byteLength;
    return new BodyLease(buffer, length, (returned) => {
      this.#lent -= returned.byteLength;
      this.#keep(returned);
    });
  }

  /** A power of two, but for a body not above the largest body, which must fit into every budget. A copy may be larger. */
  #sizeFor(length: number): number {
    const size = powerOfTwo(length);
    return length <= this.#largest ? Math.min(size, this.#largest) : size;
  }

  /** The buffer used last: its pages are the warmest, and the others can grow old. */
  #takeKept(size: number): SharedArrayBuffer | undefined {
    const kept = this.#free.get(size)?.kept.pop();
    if (kept !== undefined) this.#keptBytes -= size;
    return kept?.buffer;
  }

  #make(size: number): SharedArrayBuffer {
    const dropped = this.#free.get(size)?.dropped ?? [];
    for (let last = dropped.pop(); last !== undefined; last = dropped.pop()) {
      const buffer = last.deref();
      if (buffer !== undefined) return buffer;
    }
    return new SharedArrayBuffer(size);
  }

  /** Drops kept buffers until `bytes` fit beside the buffers that are lent. */
  #makeRoom(bytes: number): boolean {
    if (this.#lent + bytes > this.limit) return false;
    for (const free of this.#free.values()) {
      while (free.kept.length > 0 && this.#lent + bytes + this.#keptBytes > this.limit)
        this.#drop(free, 1);
    }
    return true;
  }

  #keep(buffer: SharedArrayBuffer): void {
    const size = buffer.byteLength;
    let free = this.#free.get(size);
    if (free === undefined) {
      free = { kept: [], dropped: [] };
      this.#free.set(size, free);
    }
    free.kept.push({ buffer, since: this.#now() });
    this.#keptBytes += size;
    if (this.#small + this.#lent + this.#keptBytes > this.limit) this.#drop(free, 1);
    this.#trimming ??= setInterval(() => this.#trim(), keptMs / 2).unref();
  }

  #trim(): void {
    const before = this.#now() - keptMs;
    for (const free of this.#free.values()) {
      const firstYoung = free.kept.findIndex(({ since }) => since > before);
      this.#drop(free, firstYoung === -1 ? free.kept.length : firstYoung);
    }
    if (this.#keptBytes > 0) return;
    clearInterval(this.#trimming);
    this.#trimming = undefined;
  }

  /** Drops those that were kept first. */
  #drop(free: FreeBuffers, count: number): void {
    for (const { buffer } of free.kept.splice(0, count)) {
      this.#keptBytes -= buffer.byteLength;
      free.dropped.push(new WeakRef(buffer));
    }
  }
}

/** The least that holds `length`. */
function powerOfTwo(length: number): number {
  return 2 ** Math.ceil(Math.log2(length));
}

/** The buffers of one size that hold no body. */
interface FreeBuffers {
  /** The buffer that was kept last comes last. `since`: milliseconds of the memory's clock. */
  readonly kept: { readonly buffer: SharedArrayBuffer; readonly since: number }[];
  /**
   * Buffers that are kept no longer, and that the garbage collector may not have taken yet. Shared memory puts no pressure on the
   * collector, so that may take hours in a process whose heap is quiet. A service that gets a large body every minute would
   * meanwhile hold each of their buffers, far above `maxBodyMemory`. So such a buffer is used before a new one is made.
   */
  readonly dropped: WeakRef<SharedArrayBuffer>[];
}

/** Why a chunk was not taken: the body is longer than any may be, or there is no memory for it now. */
export type ChunkRefusal = 'too-large' | BodyOverload;

/** Room that a body of unknown length begins with. */
const firstBytes = 4 * 1024;

const nothing = new Uint8Array(0);

/**
 * The body of one request: its place in the memory for bodies, from the head that announces it until nobody can read it any
 * more. A small body lies on the heap, and one that comes in a single chunk is not copied. A large body is gathered in shared
 * memory, in which it goes to a worker as it is, and to another when that worker is lost.
 *
 * A body of unknown length, such as a chunked one, takes its place as it grows: twice as much each time, so that each byte is
 * copied twice at most. While a body moves, both places count.
 */
export class RequestBody implements Holder<RequestScope> {
  readonly scope: RequestScope;
  amount = 0;
  slot: number | undefined = undefined;
  account: Account | undefined = undefined;
  /** Bytes that have come. */
  length = 0;
  readonly #memory: BodyMemory;
  readonly #most: number;
  /** Bytes that there is a place for. */
  #room = 0;
  #lease: BodyLease | undefined;
  /** undefined: no byte of a small body has come. */
  #bytes: Uint8Array | undefined;
  #isGone = false;

  /**
   * A body of unknown length.
   *
   * @param most length of the longest body
   * @param scope of its request: says whose body it is, as far as that is known
   */
  constructor(memory: BodyMemory, most: number, scope: RequestScope) {
    this.#memory = memory;
    this.#most = most;
    this.scope = scope;
  }

  /**
   * A body of known length.
   *
   * @returns why there is no memory for it now, where there is none
   */
  static reserve(
    memory: BodyMemory,
    length: number,
    scope: RequestScope,
  ): RequestBody | BodyOverload {
    const body = new RequestBody(memory, length, scope);
    const denial = body.#denial(length);
    return denial === undefined ? body : memory.refuse(denial);
  }

  /** The place of a large body; undefined: it is small. */
  get lease(): BodyLease | undefined {
    return this.#lease;
  }

  /** Bytes of a body of known length that have not come. */
  get missing(): number {
    return this.#most - this.length;
  }

  /** Takes a chunk in. After a refusal no more may come. */
  add(chunk: Uint8Array): ChunkRefusal | undefined {
    // Not kept as the whole body: the chunk is lent, and a view of it can't be read later, even if it is empty.
    if (chunk.byteLength === 0) return undefined;
    const length = this.length + chunk.byteLength;
    if (length > this.#most) return 'too-large';
    if (this.#bytes === undefined && chunk.byteLength === this.#room) {
      this.#bytes = chunk;
    } else {
      const denial = length > this.#room ? this.#denial(length) : undefined;
      if (denial !== undefined) return this.#memory.refuse(denial);
      this.#bytes ??= Buffer.allocUnsafeSlow(this.#room);
      this.#bytes.set(chunk, this.length);
    }
    this.length = length;
    return undefined;
  }

  /** The whole body; a small one that came in one chunk is that chunk. No more may come. */
  end(): Uint8Array {
    this.#lease?.shorten(this.length);
    const bytes = this.#lease?.bytes ?? this.#bytes ?? nothing;
    // Nearly always the room is the body's: a view of it would be one more object for each request.
    return bytes.byteLength === this.length ? bytes : bytes.subarray(0, this.length);
  }

  /**
   * The whole body, which came as a text of the known length.
   *
   * @returns a large one as bytes, in which it goes to a worker
   */
  endText(text: string): string | Uint8Array {
    if (this.#lease === undefined) return text;
    this.length = this.#lease.bytes.write(text);
    return this.#lease.bytes;
  }

  /** The request is answered, or its client went before the body was handed over. Idempotent. */
  release(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#memory.leave(this);
    this.#giveBack();
  }

  /** Has it grow to hold `length` bytes. @returns why it can't */
  #denial(length: number): Denial | undefined {
    const denial = this.#memory.denial(this.scope);
    if (denial !== undefined) return denial;
    const most = length > largeBody ? this.#most : Math.min(largeBody, this.#most);
    const roomy = Math.min(powerOfTwo(Math.max(length, firstBytes)), most);
    return this.#moveTo(roomy) || this.#moveTo(length) ? undefined : 'full';
  }

  #moveTo(room: number): boolean {
    const isLarge = room > largeBody;
    const lease = isLarge ? this.#memory.lend(room, this.scope) : undefined;
    if (isLarge ? lease === undefined : !this.#memory.take(room)) return false;
    const bytes = lease?.bytes ?? (this.#bytes && Buffer.allocUnsafeSlow(room));
    if (this.#bytes !== undefined) bytes?.set(this.#bytes.subarray(0, this.length));
    this.#memory.leave(this);
    this.#giveBack();
    this.#bytes = bytes;
    this.#lease = lease;
    this.#room = room;
    // A buffer may be larger than its body.
    this.amount = lease?.bytes.buffer.byteLength ?? room;
    this.#memory.enter(this);
    return true;
  }

  #giveBack(): void {
    if (this.#lease === undefined) this.#memory.give(this.#room);
    else this.#lease.release();
    this.#lease = undefined;
  }
}

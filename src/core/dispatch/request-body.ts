import { largeBody } from '../protocol/body.ts';
import type { BodyLease } from './body-lease.ts';
import type { BodyMemory, BodyOverload } from './body-memory.ts';
import type { RequestScope } from './scope.ts';
import type { Account, Holder } from './share.ts';

/**
 * The body of one request: its place in the memory for bodies, from the head that announces it until nobody can
 * read it any more. One that comes in a single small chunk is not copied; a large one is gathered in shared
 * memory, in which it goes to a worker as it is, and to another when that worker is lost.
 */
export class RequestBody implements Holder<RequestScope> {
  readonly lease: BodyLease | undefined;
  /** See {@link Holder}. */
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

  /**
   * Takes a chunk in.
   *
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
  /** See {@link Holder}. */
  readonly scope: RequestScope;
  amount = 0;
  slot: number | undefined = undefined;
  account: Account | undefined = undefined;
  readonly #memory: BodyMemory;
  readonly #most: number;
  /** Bytes that have come. */
  length = 0;
  /** Bytes of `#bytes` that count as a small body. */
  #small = 0;
  #lease: BodyLease | undefined;
  #bytes: Uint8Array = nothing;
  #isGone = false;

  /**
   * @param most length of the longest body
   * @param scope of its request
   */
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
    const roomy = Math.max(length, 2 * this.#bytes.byteLength, firstBytes);
    if (length > largeBody) return this.#lend(Math.min(roomy, this.#most)) || this.#lend(length);
    return this.#take(Math.min(roomy, largeBody, this.#most)) || this.#take(length);
  }

  #take(room: number): boolean {
    if (!this.#memory.take(room)) return false;
    const bytes = Buffer.allocUnsafeSlow(room);
    bytes.set(this.#bytes.subarray(0, this.length));
    this.#giveBack();
    this.#bytes = bytes;
    this.#small = room;
    return true;
  }

  #lend(room: number): boolean {
    const lease = this.#memory.lend(room, this.scope);
    if (lease === undefined) return false;
    lease.bytes.set(this.#bytes.subarray(0, this.length));
    this.#giveBack();
    this.#bytes = lease.bytes;
    this.#lease = lease;
    return true;
  }

  #giveBack(): void {
    this.#memory.give(this.#small);
    this.#small = 0;
    this.#lease?.release();
    this.#lease = undefined;
  }
}

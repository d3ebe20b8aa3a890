import { largeBody } from '../jsonrpc/body.ts';
import type { BodyLease, BodyMemory } from './body-memory.ts';

/** Why a chunk was not taken: the body is longer than any may be, or there is no memory for it now. */
export type ChunkRefusal = 'too-large' | 'no-memory';

/** Room that a body begins with. */
const firstBytes = 4 * 1024;

const nothing = new Uint8Array(0);

/**
 * The body of a request that does not say how long it is, such as a chunked one. It takes its place in the memory for
 * bodies as it grows: twice as much each time, so that each byte is copied twice at most. While a body moves, both
 * places count. A small body lies on the heap; a large one in shared memory, in which it goes to a worker.
 */
export class GrowingBody {
  readonly #memory: BodyMemory;
  readonly #most: number;
  /** Bytes that have come. */
  length = 0;
  /** Bytes of `#bytes` that count as a small body. */
  #small = 0;
  #lease: BodyLease | undefined;
  #bytes: Uint8Array = nothing;
  #isGone = false;

  /** @param most length of the longest body */
  constructor(memory: BodyMemory, most: number) {
    this.#memory = memory;
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
    if (length > this.#bytes.byteLength && !this.#grow(length)) {
      this.#memory.refused++;
      return 'no-memory';
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
    const lease = this.#memory.lend(room);
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

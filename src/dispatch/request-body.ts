import { largeBody } from '../jsonrpc/body.ts';
import type { BodyLease, BodyMemory } from './body-memory.ts';

/**
 * The body of one request: its place in the memory for bodies, from the head that announces it until nobody can
 * read it any more. One that comes in a single small chunk is not copied; a large one is gathered in shared
 * memory, in which it goes to a worker as it is, and to another when that worker is lost.
 */
export class RequestBody {
  readonly lease: BodyLease | undefined;
  readonly #memory: BodyMemory;
  readonly #length: number;
  #bytes: Buffer | undefined;
  #filled = 0;
  #isGone = false;

  private constructor(memory: BodyMemory, length: number, lease: BodyLease | undefined) {
    this.#memory = memory;
    this.#length = length;
    this.lease = lease;
    this.#bytes = lease?.bytes;
  }

  /** undefined: there is no memory for it now. */
  static reserve(memory: BodyMemory, length: number): RequestBody | undefined {
    if (length <= largeBody) {
      return memory.take(length) ? new RequestBody(memory, length, undefined) : refuse(memory);
    }
    const lease = memory.lend(length);
    return lease === undefined ? refuse(memory) : new RequestBody(memory, length, lease);
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
    if (this.lease === undefined) this.#memory.give(this.#length);
    else this.lease.release();
  }
}

function refuse(memory: BodyMemory): undefined {
  memory.refused++;
  return undefined;
}

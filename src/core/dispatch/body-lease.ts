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

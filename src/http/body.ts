import { largeBytes } from './limits.ts';

/**
 * Gathers a body that came in several chunks, or in one large one, in memory allocated once to its
 * Content-Length. It is shared memory: a large body goes to a worker as it is, and can go to another when
 * that worker is lost.
 */
export class Body {
  readonly #bytes: Buffer;
  #filled = 0;

  constructor(contentLength: number) {
    // The system gives its pages when they are written: what a client announces but never sends costs
    // nothing, and the cost of the rest is spread over the chunks.
    this.#bytes = Buffer.from(new SharedArrayBuffer(contentLength));
  }

  /** Copies the chunk. True once the body is complete. */
  add(chunk: Uint8Array): boolean {
    this.#bytes.set(chunk, this.#filled);
    this.#filled += chunk.byteLength;
    return this.#filled === this.#bytes.byteLength;
  }

  /** The body, once it is complete. */
  take(): Uint8Array {
    return this.#bytes;
  }
}

/** Whether a body in one chunk may be handed over as a view: `Service.handle` reads it before it returns. */
export function isSmall(bytes: number): boolean {
  return bytes <= largeBytes;
}

/** A copy that outlives the chunk. */
export function ownCopy(bytes: Uint8Array): Uint8Array {
  const body = new Body(bytes.byteLength);
  body.add(bytes);
  return body.take();
}

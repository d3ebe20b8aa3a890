import { largeBytes } from './limits.ts';

/**
 * Gathers a body that came in several chunks, or in one large one, in a buffer allocated once to its
 * Content-Length. The buffer owns its whole memory: a large body is transferred to a worker as it is.
 */
export class Body {
  readonly #bytes: Buffer;
  #filled = 0;

  constructor(contentLength: number) {
    // Not from Buffer's pool, and not zeroed: memory that a client announces but never sends costs nothing.
    this.#bytes = Buffer.allocUnsafeSlow(contentLength);
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

/** A copy that owns its memory, for a service that may transfer it. */
export function ownCopy(bytes: Uint8Array): Uint8Array {
  const body = new Body(bytes.byteLength);
  body.add(bytes);
  return body.take();
}

import type { BodyMemory } from '../../dispatch/body-memory.ts';
import { GrowingBody } from '../../dispatch/growing-body.ts';
import { type Answer, outOfMemory } from './answer.ts';
import type { Checks } from './request-checks.ts';

/**
 * The body of a chunked request, as it arrives.
 *
 * What is refused is read to its end all the same, and thrown away, so that the client sees the refusal: closing the
 * connection while the client still writes would reset it. Beyond several times the limit the connection is cut.
 */
export class ChunkedBody {
  readonly #checks: Checks;
  readonly #body: GrowingBody;
  #refused: Answer | undefined;
  /** Bytes that have come, those that were thrown away included. */
  length = 0;

  /** @param maxBodyBytes length of the longest body */
  constructor(memory: BodyMemory, maxBodyBytes: number, checks: Checks) {
    this.#checks = checks;
    this.#body = new GrowingBody(memory, maxBodyBytes);
  }

  /** The place of a large body in the memory for bodies; undefined: it is small. */
  get lease(): GrowingBody['lease'] {
    return this.#body.lease;
  }

  /** @returns the refusal of a body of which no more is read: it must be written at once, and closes the connection */
  add(chunk: Uint8Array): Answer | undefined {
    this.length += chunk.byteLength;
    if (this.#refused === undefined) {
      const refusal = this.#body.add(chunk);
      if (refusal === undefined) return undefined;
      this.#body.release();
      this.#refused = refusal === 'no-memory' ? outOfMemory : undefined;
    }
    const large = this.#checks.bodyLength(this.length);
    this.#refused ??= large;
    return large?.close === true ? large : undefined;
  }

  /** The whole body, or why it is refused. No more may come. */
  end(): Uint8Array | Answer {
    return this.#refused ?? this.#body.end();
  }

  /** See `RequestBody.release`. */
  release(): void {
    this.#body.release();
  }
}

import { clockMs } from '../../../core/base/clock.ts';
import { type BodyMemory, GrowingBody } from '../../../core/dispatch/body-memory.ts';
import type { RequestScope } from '../../../core/dispatch/scope.ts';
import { type Answer, outOfMemory } from './answer.ts';
import type { Checks } from './request-checks.ts';

/** A request whose body is still arriving. */
export interface ArrivingBody {
  /** When the body must be there, by `clockMs`. */
  readonly dueAt: number;
  /** Called once, when the body is late. */
  onLate(): void;
}

/** How often deadlines are looked at, milliseconds: a late body may be noticed this much later. */
const lookMs = 500;

/**
 * The deadlines of the bodies that arrive at one server. One timer serves all of them, and stops where no body
 * arrives.
 *
 * Nearly every body arrives in the same turn as its head. So the newest body has a place of its own, and costs an
 * assignment and a comparison. Only a body that is still arriving when the next one begins is put into a set.
 */
export class BodyDeadlines {
  readonly #now: () => number;
  #newest: ArrivingBody | undefined;
  readonly #others = new Set<ArrivingBody>();
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number = clockMs) {
    this.#now = now;
  }

  /** How many bodies are still arriving. */
  get size(): number {
    return this.#others.size + (this.#newest === undefined ? 0 : 1);
  }

  add(body: ArrivingBody): void {
    if (this.#newest !== undefined) this.#others.add(this.#newest);
    this.#newest = body;
    // `unref`: this timer alone must not keep the process alive.
    this.#timer ??= setInterval(() => this.look(), lookMs).unref();
  }

  /** The body has arrived, or its client has gone. Idempotent. */
  delete(body: ArrivingBody): void {
    if (this.#newest === body) this.#newest = undefined;
    else if (this.#others.size > 0) this.#others.delete(body);
  }

  /** Calls `onLate` of each body whose time is over. */
  look(): void {
    const now = this.#now();
    for (const body of [...this.#others, this.#newest]) {
      if (body === undefined || body.dueAt > now) continue;
      this.delete(body);
      body.onLate();
    }
    if (this.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

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

  /**
   * @param maxBodyBytes length of the longest body
   * @param scope of its request
   */
  constructor(memory: BodyMemory, maxBodyBytes: number, checks: Checks, scope: RequestScope) {
    this.#checks = checks;
    this.#body = new GrowingBody(memory, maxBodyBytes, scope);
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
      this.#refused = refusal === 'too-large' ? undefined : outOfMemory(refusal);
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

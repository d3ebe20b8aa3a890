import { clockMs } from '../../base/clock.ts';

/** A request whose body is not there yet. */
export interface ArrivingBody {
  /** When it must be there, by `clockMs`. */
  readonly dueAt: number;
  /** It is not. Called once, and then no more. */
  onLate(): void;
}

/** How late a deadline may be noticed, milliseconds. */
const lookMs = 500;

/**
 * The deadlines of the bodies that arrive at one server: one timer for all of them, which stops where none arrives.
 *
 * Nearly every body is there in the turn in which its head was: the newest one has a place of its own, so that such a body costs an
 * assignment and a comparison. Only what is still there when the next one comes is put into a set.
 */
export class BodyDeadlines {
  readonly #now: () => number;
  #newest: ArrivingBody | undefined;
  readonly #others = new Set<ArrivingBody>();
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number = clockMs) {
    this.#now = now;
  }

  /** Bodies that are waited for. */
  get size(): number {
    return this.#others.size + (this.#newest === undefined ? 0 : 1);
  }

  add(body: ArrivingBody): void {
    if (this.#newest !== undefined) this.#others.add(this.#newest);
    this.#newest = body;
    // Alone it keeps no process alive.
    this.#timer ??= setInterval(() => this.look(), lookMs).unref();
  }

  /** It is there, or its client has gone. Idempotent. */
  delete(body: ArrivingBody): void {
    if (this.#newest === body) this.#newest = undefined;
    else if (this.#others.size > 0) this.#others.delete(body);
  }

  /** Tells those whose time is over. */
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

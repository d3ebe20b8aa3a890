import { clockMs } from '../../base/clock.ts';

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

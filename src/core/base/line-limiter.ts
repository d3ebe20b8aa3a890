import { clockMs } from './clock.ts';
import { startTimer } from './timer.ts';

const windowMs = 1000;

/** The lines of one name in the current second. */
export interface NamedLines<Facts> {
  readonly facts: Facts;
  written: number;
  bytes: number;
  dropped: number;
}

/**
 * Lets the first lines of each name through in each second, and counts the others. Their number is told at the end of
 * the second.
 *
 *     lines    xxxxxxxxxxxxxxxxxxxxxxxxx           xx
 *     whole    xxxxxxxxxx                          xx
 *     told                            15 dropped
 *              |<--------- 1 s ------->|           |<--------- 1 s ------->|
 */
export class LineLimiter<Facts> {
  readonly #tell: (dropped: readonly NamedLines<Facts>[]) => void;
  #names = new Map<string, NamedLines<Facts>>();
  #endsAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param tell called with the names of whose lines some were dropped */
  constructor(tell: (dropped: readonly NamedLines<Facts>[]) => void) {
    this.#tell = tell;
  }

  /** Counts a line. Returns whether it is among the first `most` of its name. */
  admits(name: string, facts: Facts, most: number): boolean {
    this.turn();
    const lines = this.of(name, facts);
    if (lines.written < most) {
      lines.written++;
      return true;
    }
    this.drop(lines, 1);
    return false;
  }

  /** Begins a new second if the last one is over. To be called before `of`. */
  turn(): void {
    const now = clockMs();
    if (now < this.#endsAt) return;
    this.#end();
    this.#endsAt = now + windowMs;
  }

  /** @param facts what `tell` is given for this name */
  of(name: string, facts: Facts): NamedLines<Facts> {
    let lines = this.#names.get(name);
    if (lines === undefined) {
      lines = { facts, written: 0, bytes: 0, dropped: 0 };
      this.#names.set(name, lines);
    }
    return lines;
  }

  drop(lines: NamedLines<Facts>, count: number): void {
    lines.dropped += count;
    // The timer alone must not keep a process alive.
    this.#timer ??= startTimer(this.#endsAt - clockMs(), () => this.#end()).unref();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#endsAt = 0;
    const dropped = [...this.#names.values()].filter((lines) => lines.dropped > 0);
    this.#names = new Map();
    if (dropped.length > 0) this.#tell(dropped);
  }
}

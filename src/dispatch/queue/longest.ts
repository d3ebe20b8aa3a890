/** A line with a number of calls. */
export interface Length {
  calls: number;
}

/**
 * Finds the longest of many lines that grow and shrink, without a search: lines of equal length stand together, and the
 * greatest length changes by no more than a line does.
 */
export class Longest<Line extends Length> {
  readonly #byLength = new Map<number, Set<Line>>();
  #most = 0;

  constructor(lines: Iterable<Line>) {
    for (const line of lines) this.#add(line, line.calls);
  }

  /**
   * The line changes its length. `line.calls` is still the old one.
   *
   * @param calls the new length; 0: the line is gone
   */
  change(line: Line, calls: number): void {
    const before = this.#byLength.get(line.calls);
    before?.delete(line);
    if (before?.size === 0) this.#byLength.delete(line.calls);
    this.#add(line, calls);
    while (this.#most > 0 && !this.#byLength.has(this.#most)) this.#most--;
  }

  /** The longest line; of several the one that has had its length for the longest time. undefined: there is no line. */
  longest(): Line | undefined {
    return this.#byLength.get(this.#most)?.values().next().value;
  }

  #add(line: Line, calls: number): void {
    if (calls === 0) return;
    const lines = this.#byLength.get(calls);
    if (lines === undefined) this.#byLength.set(calls, new Set([line]));
    else lines.add(line);
    if (calls > this.#most) this.#most = calls;
  }
}

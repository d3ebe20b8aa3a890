/** Something that has so many calls. */
export interface Length {
  calls: number;
}

/**
 * The longest of many lines that grow and shrink, without looking at all of them: lines of one length stand together, and the greatest
 * length moves by no more than a line does.
 */
export class Longest<Line extends Length> {
  readonly #byLength = new Map<number, Set<Line>>();
  #most = 0;

  constructor(lines: Iterable<Line>) {
    for (const line of lines) this.#add(line, line.calls);
  }

  /** @param calls that it has from now on; its own member says what it had. 0: it is none any more */
  change(line: Line, calls: number): void {
    const before = this.#byLength.get(line.calls);
    before?.delete(line);
    if (before?.size === 0) this.#byLength.delete(line.calls);
    this.#add(line, calls);
    while (this.#most > 0 && !this.#byLength.has(this.#most)) this.#most--;
  }

  /** Of several the one that has been so long the longest time; undefined: there is none. */
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

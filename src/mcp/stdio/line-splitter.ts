const newline = 0x0a;

/**
 * Cuts chunks at newlines. A line that is too long is not kept: `undefined` stands for it.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end within a chunk, in order. */
  *split(chunk: Uint8Array): Generator<Uint8Array | undefined> {
    for (let start = 0; start < chunk.length; ) {
      const end = chunk.indexOf(newline, start);
      const part = chunk.subarray(start, end === -1 ? chunk.length : end);
      this.#size += part.length;
      if (this.#size > this.#maxBytes) this.#parts = [];
      else this.#parts.push(part);
      if (end === -1) return;
      yield this.#take();
      start = end + 1;
    }
  }

  /** The last line, where no newline ends it. */
  *rest(): Generator<Uint8Array | undefined> {
    if (this.#size > 0) yield this.#take();
  }

  #take(): Uint8Array | undefined {
    const line = this.#size > this.#maxBytes ? undefined : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#size = 0;
    return line;
  }
}

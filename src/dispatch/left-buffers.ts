/**
 * Shared buffers that nobody keeps, and that the garbage collector has not taken yet. Shared memory puts no pressure
 * on the collector, so that may take it hours in a process whose heap is quiet: whoever needs such a buffer meanwhile uses it
 * again, in place of a second one beside it.
 */
export class LeftBuffers {
  readonly #bySize = new Map<number, WeakRef<SharedArrayBuffer>[]>();

  add(buffer: SharedArrayBuffer): void {
    const size = buffer.byteLength;
    const list = this.#bySize.get(size);
    if (list === undefined) this.#bySize.set(size, [new WeakRef(buffer)]);
    else list.push(new WeakRef(buffer));
  }

  /** The smallest that there still is of at least `least` and at most `most` bytes. */
  take(least: number, most: number): SharedArrayBuffer | undefined {
    const sizes = [...this.#bySize.keys()].filter((size) => size >= least && size <= most);
    for (const size of sizes.sort((a, b) => a - b)) {
      const found = this.#takeOf(size);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Passes over those that the collector has taken. */
  #takeOf(size: number): SharedArrayBuffer | undefined {
    const list = this.#bySize.get(size) ?? [];
    while (list.length > 0) {
      const found = list.pop()?.deref();
      if (found !== undefined) return found;
    }
    this.#bySize.delete(size);
    return undefined;
  }
}

/** The procedures in whose code a thread may have ended, or be stuck. */
export interface Suspects {
  readonly names: readonly string[];
  /** There is one name, and the thread was in its synchronous code. Otherwise code behind an `await` of any of them ran. */
  readonly isCertain: boolean;
}

/** Most procedures that are named if nobody knows which of them it was. */
export const maxSuspects = 5;

/** What a log line about the end of a thread has of its suspects: a field, and words after the message. */
export function blame({ names, isCertain }: Suspects): { fields: object; text: string } {
  const [method] = names;
  if (method === undefined) return { fields: {}, text: '' };
  const fields = names.length === 1 ? { method } : { methods: names };
  const text = isCertain ? `it was in ${method}` : `under way there: ${names.join(', ')}`;
  return { fields, text: `; ${text}` };
}

/** The words before the records, and a record: how many calls of a name wait, then the name, which ends with a zero byte. */
export const layout = { number: 0, slot: 1, beat: 2, headerBytes: 16, recordBytes: 128 } as const;

/** Names that can be told. What runs under others is not named. */
const maxNames = 1000;

/**
 * Which procedure runs on the main thread, in memory that another thread can read while the main thread is stuck. What is
 * written for each call are two words; the names are written once.
 */
class RunningCode {
  readonly buffer = new SharedArrayBuffer(layout.headerBytes + maxNames * layout.recordBytes);
  readonly #words = new Int32Array(this.buffer);
  readonly #slots = new Map<string, number>();

  /** The number of a name; 0: it can not be told. */
  slotOf(name: string): number {
    let slot = this.#slots.get(name);
    if (slot === undefined) {
      if (this.#slots.size === maxNames) return 0;
      slot = this.#slots.size + 1;
      this.#slots.set(name, slot);
      const { recordBytes } = layout;
      Buffer.from(this.buffer, 4 * recordIndex(slot) + 4, recordBytes - 5).write(name);
    }
    return slot;
  }

  /** Synchronous code of this name begins. @returns what to give to `leave` */
  enter(slot: number): number {
    const words = this.#words;
    const outer = words[layout.slot] as number;
    words[layout.number] = ((words[layout.number] as number) + 1) | 0;
    words[layout.slot] = slot;
    return outer;
  }

  leave(outer: number): void {
    this.#words[layout.slot] = outer;
  }

  /** So many more calls of this name wait behind an `await`. */
  wait(slot: number, change: 1 | -1): void {
    if (slot !== 0) (this.#words[recordIndex(slot)] as number) += change;
  }

  /** The event loop turns. To be called several times a second, as long as it must turn. */
  beat(): void {
    (this.#words[layout.beat] as number)++;
  }

  suspects(): Suspects {
    const running = this.#words[layout.slot];
    const isCertain = running !== 0;
    const names = [...this.#slots].filter(([, slot]) =>
      isCertain ? slot === running : (this.#words[recordIndex(slot)] as number) > 0,
    );
    return { names: names.slice(0, maxSuspects).map(([name]) => name), isCertain };
  }
}

function recordIndex(slot: number): number {
  return (layout.headerBytes + (slot - 1) * layout.recordBytes) / 4;
}

export const runningCode = new RunningCode();

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isDoneWithin } from '../base/timer.ts';

/** How long a reading may take before the figures are those of the reading before, milliseconds. */
const readMs = 1000;

/** A thread as the main thread knows it. */
interface SeatedThread {
  /** The operating system's number of the thread; 0: not known. */
  readonly tid: number;
  /** Bytes that the thread holds, by its own last reading; 0: it has read none. */
  readonly memory: number;
}

/** The seat of one thread, from its start until another thread takes the seat. */
class Seat {
  readonly number: number;
  readonly thread: SeatedThread;
  /** The threads of one pool have different numbers. */
  readonly pool: object;
  /** CPU time of the thread at the last reading; undefined: none was possible. */
  cpuSeconds: number | undefined;

  constructor(number: number, thread: SeatedThread, pool: object) {
    this.number = number;
    this.thread = thread;
    this.pool = pool;
  }

  /** The bytes that the thread holds; undefined: it has not loaded yet. */
  get heapBytes(): number | undefined {
    return this.thread.memory || undefined;
  }

  note(times: ThreadTimes | undefined): void {
    if (times !== undefined) this.cpuSeconds = times.ranMs / 1000;
  }
}

/**
 * The seats of a group's threads, numbered from 1. A thread that replaces another one takes its seat, so the figures by seat
 * have as many series as there are threads. They go on through replacements and reloads: the CPU time of a seat is that of all
 * threads that have had it. While a reload goes on, a thread of the old pool and one of the new have the same number.
 */
export class Seats {
  readonly #seats = new Map<SeatedThread, Seat>();
  /** CPU seconds of the threads that have left, by the number of their seat. */
  readonly #left = new Map<number, number>();

  /** The lowest number that no thread of the pool has. */
  firstFree(pool: object): number {
    const taken = new Set<number>();
    for (const seat of this.#seats.values()) if (seat.pool === pool) taken.add(seat.number);
    let number = 1;
    while (taken.has(number)) number++;
    return number;
  }

  enter(number: number, thread: SeatedThread, pool: object): void {
    this.#seats.set(thread, new Seat(number, thread, pool));
  }

  /** The thread is about to be ended, or has ended: its seat is free. What it still computes is not counted. Idempotent. */
  leave(thread: SeatedThread): void {
    const seat = this.#seats.get(thread);
    if (seat === undefined) return;
    // Now or never: the system forgets it with the thread.
    seat.note(timesOf(thread.tid));
    this.#seats.delete(thread);
    if (seat.cpuSeconds === undefined) return;
    this.#left.set(seat.number, (this.#left.get(seat.number) ?? 0) + seat.cpuSeconds);
  }

  of(thread: SeatedThread): Pick<Seat, 'number' | 'cpuSeconds' | 'heapBytes'> | undefined {
    return this.#seats.get(thread);
  }

  /** Reads the CPU time of all threads, as far as the threads that read files for Node have time for it. */
  async read(): Promise<void> {
    const reading = Array.from(this.#seats.values(), async (seat) => {
      const { tid } = seat.thread;
      if (tid === 0) return;
      seat.note(await readFile(timesFile(tid), 'latin1').then(parseTimes, () => undefined));
    });
    await isDoneWithin(Promise.all(reading), readMs);
  }

  /** The CPU time of all threads as it was read last. By seat, without those where it is not known. */
  cpuSeconds(): Readonly<Record<string, number>> {
    const sums = Object.fromEntries(this.#left);
    for (const { number, cpuSeconds } of this.#seats.values()) {
      if (cpuSeconds !== undefined) sums[number] = (sums[number] ?? 0) + cpuSeconds;
    }
    return sums;
  }

  /** By seat, without those whose threads have not loaded. */
  heapBytes(): Readonly<Record<string, number>> {
    const sums: Record<string, number> = {};
    for (const { number, heapBytes } of this.#seats.values()) {
      if (heapBytes !== undefined) sums[number] = (sums[number] ?? 0) + heapBytes;
    }
    return sums;
  }
}

interface ThreadTimes {
  readonly ranMs: number;
  readonly waitedMs: number;
}

/**
 * For how long a thread of this process has run, and has waited for a processor; undefined: the system does not tell it (only
 * Linux does), the thread has gone, or no more files can be opened.
 *
 * @param tid the operating system's number of the thread; 0: not known
 */
export function timesOf(tid: number): ThreadTimes | undefined {
  if (tid === 0) return undefined;
  try {
    return parseTimes(readFileSync(timesFile(tid), 'latin1'));
  } catch {
    return undefined;
  }
}

/**
 * Whether a thread of this process sleeps, as far as the system tells (only Linux does). One that was woken, and waits for a
 * processor, does not: by the clock of its event loop it sleeps on until it runs.
 *
 * @param tid the operating system's number of the thread; 0: not known
 */
export function maySleep(tid: number): boolean {
  if (tid === 0) return true;
  try {
    const stat = readFileSync(`/proc/self/task/${tid}/stat`, 'latin1');
    // The state comes after the name, which may hold any character.
    return stat.charAt(stat.lastIndexOf(')') + 2) === 'S';
  } catch {
    return true;
  }
}

const timesFile = (tid: number): string => `/proc/self/task/${tid}/schedstat`;

function parseTimes(text: string): ThreadTimes {
  const [ran, waited] = text.split(' ').map(Number);
  return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
}

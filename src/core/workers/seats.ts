import { readFileSync } from 'node:fs';

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

  read(): void {
    this.cpuSeconds = cpuSecondsOf(this.thread.tid) ?? this.cpuSeconds;
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
    seat.read();
    this.#seats.delete(thread);
    if (seat.cpuSeconds === undefined) return;
    this.#left.set(seat.number, (this.#left.get(seat.number) ?? 0) + seat.cpuSeconds);
  }

  of(thread: SeatedThread): Pick<Seat, 'number' | 'cpuSeconds' | 'heapBytes'> | undefined {
    return this.#seats.get(thread);
  }

  /** Reads the CPU time of all threads: about 20 us for each. By seat, without those where it is not known. */
  cpuSeconds(): Readonly<Record<string, number>> {
    const sums = Object.fromEntries(this.#left);
    for (const seat of this.#seats.values()) {
      seat.read();
      const { number, cpuSeconds } = seat;
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

function cpuSecondsOf(tid: number): number | undefined {
  const times = timesOf(tid);
  return times && times.ranMs / 1000;
}

/**
 * For how long a thread of this process has run, and has waited for a processor; undefined: the system does not tell it (only
 * Linux does), the thread has gone, or no more files can be opened.
 *
 * @param tid the operating system's number of the thread; 0: not known
 */
export function timesOf(
  tid: number,
): { readonly ranMs: number; readonly waitedMs: number } | undefined {
  if (tid === 0) return undefined;
  try {
    const text = readFileSync(`/proc/self/task/${tid}/schedstat`, 'latin1');
    const [ran, waited] = text.split(' ').map(Number);
    return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
  } catch {
    return undefined;
  }
}

import { openSync, readSync } from 'node:fs';
import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { clockMs } from '../base/clock.ts';
import { runningCode } from '../base/running-code.ts';

/**
 * Code that takes this much CPU time of the main thread in one piece blocks it, milliseconds. A light call beside it waits
 * as long: this is the 99th percentile that such a call may have beside heavy ones. What is found may be
 * moved for good, and code that runs for the first time, or is slow on a small machine, takes a few milliseconds.
 */
export const blockedMs = 25;

/**
 * A piece of a generator that takes so long counts for the sum of its procedure; so much within a second blocks the front
 * end, milliseconds. A shorter piece is no longer than the slice that generators may take.
 */
const pieceMs = 5;
const summedMs = 250;
const sumEveryMs = 1000;

/** The CPU time of this thread is known at most so long before a call begins, milliseconds. */
const markEveryMs = 10;

/** A shorter pause of the garbage collector is part of the code that makes the garbage. */
const longPauseMs = 5;

/** Pauses that are remembered: those of a stretch of code are judged in the second turn after it. */
const maxPauses = 64;

/** A procedure whose code may block the main thread. */
export interface Suspect {
  /** Names it to `runningCode`. */
  readonly slot: number;
  /** Called when it has held the thread for so many milliseconds. */
  readonly onBlocked: ((ms: number) => void) | undefined;
}

/** @param name of the procedure, or of a hook; undefined: there are several */
export function suspectOf(
  name: string | undefined,
  onBlocked: ((ms: number) => void) | undefined,
): Suspect {
  return { slot: name === undefined ? 0 : runningCode.slotOf(name), onBlocked };
}

/** A stretch of code on this thread, by `clockMs`. */
interface CpuSpan {
  readonly from: number;
  readonly to: number;
  /** CPU time that it has had at least. */
  readonly cpuMs: number;
}

/**
 * Finds the procedures that block the main thread. Their executor brackets their code: `lagAt`, then `ended`. Only code that has
 * taken CPU time of this thread while it ran is named. A process that is stopped takes none, nor does one that waits for a processor; pauses
 * of the garbage collector are subtracted. What runs behind an `await` is not bracketed: if it holds the thread for a second, the
 * guard of the process logs its stack.
 */
export class MainThreadWatch {
  /** Wall time in long stretches of code whose owner is known, in all. */
  claimedMs = 0;
  /** What the pieces of each owner came to since `since`, by `clockMs`. */
  readonly #sums = new WeakMap<Suspect, { since: number; ms: number }>();
  /** When the CPU time of this thread was last read, less that CPU time. */
  #lag = 0;
  #markedAt = Number.NEGATIVE_INFINITY;
  #collector: PerformanceObserver | undefined;
  #pauses: { readonly from: number; readonly to: number }[] = [];
  /** Who is blamed for the inline generators of this thread, by their runs. */
  readonly #owners = new WeakMap<object, Suspect>();
  /** The piece of a generator that runs now. A generator that is closed within its own piece enters again. */
  #owner: Suspect | undefined;
  #pieceFrom = 0;
  #pieceLag = 0;
  #pieceClaimed = 0;
  #depth = 0;
  #outer = 0;

  start(): void {
    if (this.#collector !== undefined) return;
    this.#collector = new PerformanceObserver((list) => this.#keepPauses(list.getEntries()));
    this.#collector.observe({ entryTypes: ['gc'] });
  }

  close(): void {
    this.#collector?.disconnect();
  }

  /** How far the clock is ahead of this thread's CPU time. @param now by `clockMs` */
  lagAt(now: number): number {
    if (now - this.#markedAt >= markEveryMs) this.#mark(now);
    return this.#lag;
  }

  /**
   * Code of `owner` that began at `from` has ended.
   *
   * @param lag `lagAt(from)`
   * @param claimed `claimedMs` at `from`: what others have claimed since then ran within
   * @returns for how long it ran, milliseconds
   */
  ended(owner: Suspect, from: number, lag: number, claimed: number): number {
    const to = clockMs();
    if (to - from >= blockedMs) this.claim(owner, from, to, lag, claimed);
    return to - from;
  }

  /** The same for code that ended at `to`. */
  claim(owner: Suspect, from: number, to: number, lag: number, claimed: number): void {
    this.#claim(blockedMs, from, to, lag, claimed, (wallMs) => owner.onBlocked?.(wallMs));
  }

  /** @param owner of the generator that `run` resumes */
  follow(run: object, owner: Suspect): void {
    this.#owners.set(run, owner);
  }

  /** A generator holds the thread from `now` until `leave`. */
  enter(run: object, now: number): void {
    this.#owner = this.#owners.get(run);
    const outer = runningCode.enter(this.#owner?.slot ?? 0);
    if (this.#depth++ === 0) this.#outer = outer;
    this.#pieceFrom = now;
    this.#pieceLag = this.lagAt(now);
    this.#pieceClaimed = this.claimedMs;
  }

  /** A piece of a generator, one of many, has ended: what is no blocker by itself counts for their sum. */
  leave(): void {
    if (--this.#depth === 0) runningCode.leave(this.#outer);
    const owner = this.#owner;
    const from = this.#pieceFrom;
    const to = clockMs();
    if (owner === undefined || to - from < pieceMs) return;
    this.#claim(pieceMs, from, to, this.#pieceLag, this.#pieceClaimed, (wallMs, cpuMs) => {
      if (cpuMs >= blockedMs) owner.onBlocked?.(wallMs);
      else this.#sum(owner, cpuMs, to);
    });
  }

  #claim(
    boundMs: number,
    from: number,
    to: number,
    lag: number,
    claimed: number,
    onGuilty: (wallMs: number, cpuMs: number) => void,
  ): void {
    const within = this.claimedMs - claimed;
    const wallMs = to - from - within;
    if (wallMs < boundMs) return;
    this.claimedMs += wallMs;
    this.#mark(to);
    const cpuMs = to - this.#lag - (from - lag) - within;
    this.#judge({ from, to, cpuMs }, boundMs, (ranMs) => onGuilty(wallMs, ranMs));
  }

  #sum(owner: Suspect, ms: number, now: number): void {
    let sum = this.#sums.get(owner);
    if (sum === undefined || now - sum.since > sumEveryMs) {
      sum = { since: now, ms: 0 };
      this.#sums.set(owner, sum);
    }
    sum.ms += ms;
    if (sum.ms < summedMs) return;
    this.#sums.delete(owner);
    owner.onBlocked?.(sum.ms);
  }

  #mark(now: number): void {
    this.#markedAt = now;
    this.#lag = now - threadCpuMs();
  }

  /**
   * When the pauses of the garbage collector are known. Node tells of them in immediates of its own, which it runs before those
   * of JavaScript. Code that ran in one of these comes before what it tells of its own pauses: hence the second turn.
   */
  #judge(stretch: CpuSpan, boundMs: number, onGuilty: (ranMs: number) => void): void {
    if (stretch.cpuMs < boundMs) return;
    const judge = (): void => {
      this.#keepPauses(this.#collector?.takeRecords() ?? []);
      // Pauses are known by the clock. As they may have taken CPU time all along, the code has had the rest at least.
      const ranMs = stretch.cpuMs - this.#pausedWithin(stretch);
      if (ranMs >= boundMs) onGuilty(ranMs);
    };
    setImmediate(() => setImmediate(judge));
  }

  #keepPauses(entries: readonly PerformanceEntry[]): void {
    for (const { startTime, duration } of entries) {
      if (duration >= longPauseMs) {
        this.#pauses.push({ from: startTime, to: startTime + duration });
      }
    }
    if (this.#pauses.length > maxPauses) this.#pauses = this.#pauses.slice(-maxPauses);
  }

  #pausedWithin({ from, to }: CpuSpan): number {
    let sum = 0;
    for (const pause of this.#pauses) {
      sum += Math.max(0, Math.min(to, pause.to) - Math.max(from, pause.from));
    }
    return sum;
  }
}

/** Reads the CPU time of this thread where the system tells of threads, else that of the whole process. */
let read: () => number = firstRead;

/**
 * CPU time, milliseconds, that this thread has had since some moment. It stands still while the thread waits, while the
 * process is stopped and while others have the processor. Where the system tells nothing of threads, the CPU time of all
 * threads together is returned, which is never less. A reading costs a few microseconds.
 */
export function threadCpuMs(): number {
  return read();
}

function firstRead(): number {
  read = threadClock() ?? processCpuMs;
  return read();
}

/** Linux tells it in nanoseconds, at the beginning of a line. The file stays open: to open it costs ten times as much. */
function threadClock(): (() => number) | undefined {
  const bytes = Buffer.alloc(64);
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r');
    const clock = (): number => {
      const length = readSync(file, bytes, 0, bytes.length, 0);
      return Number.parseInt(bytes.toString('latin1', 0, length), 10) / 1e6;
    };
    return clock() > 0 ? clock : undefined;
  } catch {
    return undefined;
  }
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

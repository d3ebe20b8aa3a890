import { openSync, readSync } from 'node:fs';
import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { clockMs } from '../base/clock.ts';
import { type Blocker, CallTrail, type Stopwatch } from './call-trail.ts';

/**
 * Code that takes this much CPU time of the front end in one piece blocks it, milliseconds. A light call beside it waits
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

/** How often the sentinel fires while inline calls wait, and how late it is where something has held the loop, milliseconds. */
const tickMs = 10;
const lateMs = 50;

/** A shorter pause of the garbage collector is part of the code that makes the garbage. */
const longPauseMs = 5;

/** Pauses that are remembered: those of a stretch of code are judged in the turn after it. */
const maxPauses = 64;

/** Where a late sentinel led to no owner, the watch follows no calls for the first time, milliseconds; it doubles each time, up to the second. */
const firstRestMs = 1000;
const longestRestMs = 60_000;

/** A possible blocker whose calls go on after an `await`, where only the trail of a call tells whose code runs. */
export interface Suspect extends Blocker {
  /** Calls that have begun and not ended. */
  readonly waiting: number;
  /** `FrontEndWatch.turn` as it was when a call ended last. */
  readonly leftAt: number;
  /** The next calls leave a trail. */
  follow(): void;
}

/** A stretch of code on this thread, by `clockMs`. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  /** CPU time that it has had at least. */
  readonly cpuMs: number;
}

/**
 * Finds who blocks the front end. Nobody is named because something is late: only what has been seen to run, and to
 * take CPU time of this thread while it ran. A process that is stopped takes none, nor does one that waits for a
 * processor; pauses of the garbage collector are subtracted.
 *
 *     before the first await    the executor brackets the call: `lagAt`, then `ended`
 *     after an await            the sentinel is late -> calls of whoever waited leave a trail (`CallTrail`) -> `claim`
 */
export class FrontEndWatch implements Stopwatch {
  /** Wall time in long stretches of code whose owner is known, in all. */
  claimedMs = 0;
  /** Counts the times that the sentinel has fired. */
  turn = 0;
  readonly trail: CallTrail = new CallTrail(this);
  readonly #suspects = new Set<Suspect>();
  /** What the pieces of each owner came to since `since`, by `clockMs`. */
  readonly #sums = new WeakMap<Blocker, { since: number; ms: number }>();
  /** When the CPU time of this thread was last read, less that CPU time. */
  #lag = 0;
  #markedAt = Number.NEGATIVE_INFINITY;
  #collector: PerformanceObserver | undefined;
  #pauses: { readonly from: number; readonly to: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isArmed = false;
  #armedAt = 0;
  #claimedAtArming = 0;
  #waiting = 0;
  #restMs = firstRestMs;
  #restsUntil = 0;

  start(): void {
    if (this.#collector !== undefined) return;
    this.#collector = new PerformanceObserver((list) => this.#keepPauses(list.getEntries()));
    this.#collector.observe({ entryTypes: ['gc'] });
  }

  close(): void {
    this.#collector?.disconnect();
    clearTimeout(this.#timer);
    this.trail.stop();
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
   */
  ended(owner: Blocker, from: number, lag: number, claimed: number): void {
    const to = clockMs();
    if (to - from >= blockedMs) this.claim(owner, from, to, lag, claimed);
  }

  /** The same for code that ended at `to`. */
  claim(owner: Blocker, from: number, to: number, lag: number, claimed: number): void {
    this.#claim(blockedMs, from, to, lag, claimed, (wallMs) => this.#name(owner, wallMs));
  }

  /** The same for a piece of a generator, one of many: what is no blocker by itself counts for their sum. */
  endedPiece(owner: Blocker, from: number, lag: number, claimed: number): void {
    const to = clockMs();
    if (to - from < pieceMs) return;
    this.#claim(pieceMs, from, to, lag, claimed, (wallMs, cpuMs) => {
      if (cpuMs >= blockedMs) this.#name(owner, wallMs);
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

  #sum(owner: Blocker, ms: number, now: number): void {
    let sum = this.#sums.get(owner);
    if (sum === undefined || now - sum.since > sumEveryMs) {
      sum = { since: now, ms: 0 };
      this.#sums.set(owner, sum);
    }
    sum.ms += ms;
    if (sum.ms < summedMs) return;
    this.#sums.delete(owner);
    this.#name(owner, sum.ms);
  }

  #name(owner: Blocker, ms: number): void {
    this.#restMs = firstRestMs;
    this.#restsUntil = 0;
    owner.onBlocked(ms);
  }

  /** Its calls may wait. */
  add(suspect: Suspect): void {
    this.#suspects.add(suspect);
  }

  /** A call has begun to wait. */
  enter(): void {
    this.#waiting++;
    if (!this.#isArmed) this.#arm(clockMs());
  }

  leave(): void {
    this.#waiting--;
  }

  delete(suspect: Suspect): void {
    this.#suspects.delete(suspect);
  }

  #mark(now: number): void {
    this.#markedAt = now;
    this.#lag = now - threadCpuMs();
  }

  #arm(now: number): void {
    this.#isArmed = true;
    this.#armedAt = now;
    this.#claimedAtArming = this.claimedMs;
    this.lagAt(now);
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#tick(), tickMs);
      // It alone keeps no process alive.
      this.#timer.unref();
    } else {
      this.#timer.refresh();
    }
  }

  #tick(): void {
    const now = clockMs();
    if (now - this.#armedAt >= tickMs + lateMs) this.#late(this.#armedAt, now);
    this.turn++;
    this.#isArmed = false;
    this.trail.limit(now);
    if (this.#waiting > 0) this.#arm(now);
  }

  /** Somebody has held the loop. Where it was nobody who is known, calls of those who waited leave a trail. */
  #late(from: number, now: number): void {
    const lag = this.#lag;
    const turn = this.turn;
    const known = this.claimedMs - this.#claimedAtArming;
    this.#mark(now);
    const cpuMs = now - this.#lag - (from - lag) - known;
    this.#judge({ from, to: now, cpuMs }, lateMs, () => {
      if (now < this.#restsUntil) return;
      this.#restsUntil = now + this.#restMs;
      this.#restMs = Math.min(this.#restMs * 2, longestRestMs);
      for (const suspect of this.#suspects) {
        if (suspect.waiting > 0 || suspect.leftAt >= turn) suspect.follow();
      }
    });
  }

  /** In the next turn, when the pauses of the garbage collector are known. */
  #judge(stretch: Stretch, boundMs: number, onGuilty: (ranMs: number) => void): void {
    if (stretch.cpuMs < boundMs) return;
    setImmediate(() => {
      this.#keepPauses(this.#collector?.takeRecords() ?? []);
      // A pause is known by the clock, and goes on while others have the processor, as the code does.
      const runs = 1 - this.#pausedWithin(stretch) / (stretch.to - stretch.from);
      const ranMs = stretch.cpuMs * runs;
      if (ranMs >= boundMs) onGuilty(ranMs);
    });
  }

  #keepPauses(entries: readonly PerformanceEntry[]): void {
    for (const { startTime, duration } of entries) {
      if (duration >= longPauseMs) {
        this.#pauses.push({ from: startTime, to: startTime + duration });
      }
    }
    if (this.#pauses.length > maxPauses) this.#pauses = this.#pauses.slice(-maxPauses);
  }

  #pausedWithin({ from, to }: Stretch): number {
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

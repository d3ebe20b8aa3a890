import { clockMs } from '../base/clock.ts';
import { maxLookMs, type WorkerCalls } from './calls.ts';
import type { WorkerThread } from './options.ts';
import { maySleep } from './seats.ts';

/** Calls that wait behind a synchronous call are taken back when that call has run for so long, milliseconds. */
const overrunMs = 5;

/** A thread is held up by code that is no call if it is in no call and starts no other for so long, milliseconds. */
const stalledAfterMs = 50;

/** How often a thread with streams is probed, milliseconds: nothing else shows that code after an await holds it. */
const probeEveryMs = 1000;

/**
 * A thread that has slept for so long since it was probed reads its port no more, milliseconds, unless it only waits for a
 * processor: 20 programs that compute on 2 cores keep a thread from its messages for so long. A look counts for `maxLookMs` at most.
 */
const deafAfterMs = 500;

/** What holds a thread up: a call or the slice of a generator, longer than `overrunMs`; `stall`: code between calls. */
export type Overrun = 'call' | 'slice' | 'stall';

/** Whether a worker's thread gets on with what it was sent. Times are by `clockMs`. */
export class Watchdog {
  readonly #thread: WorkerThread;
  readonly #calls: WorkerCalls;
  readonly #hungAfterMs: number;
  /** Whether nothing more is sent to the thread until it has ended what it runs. */
  isHeldUp = false;
  /** Ticket of the call that starts next. `#nextSince`: when a look first saw it waiting. */
  #nextTicket = -1;
  #nextSince = 0;
  /** When the thread was probed; undefined: it was not, or it has answered. */
  #probedAt: number | undefined;
  #askedAt = 0;
  /** How long the thread has slept since then, milliseconds. `#idleMs`: its whole idle time at the last look. */
  #sleptMs = 0;
  #lookedAt = 0;
  #idleMs = 0;

  /** @param hungAfterMs how long a call may run */
  constructor(thread: WorkerThread, calls: WorkerCalls, hungAfterMs: number) {
    this.#thread = thread;
    this.#calls = calls;
    this.#hungAfterMs = hungAfterMs;
  }

  /** A message of the thread has come: it is alive. */
  beat(): void {
    this.isHeldUp = false;
    this.#probedAt = undefined;
  }

  /** What holds up calls that wait at the worker. */
  overrun(now: number): Overrun | undefined {
    const { count, all } = this.#calls;
    if (this.isHeldUp || count === 0) return undefined;
    const { ledger } = this.#thread;
    const { stretch } = ledger;
    if (stretch !== undefined) {
      this.#nextTicket = -1;
      return now - stretch.since > overrunMs ? 'slice' : undefined;
    }
    const running = all[ledger.runningSlot];
    if (running === undefined) return this.#isStalled(now) ? 'stall' : undefined;
    const startedAt = ledger.startedAt(running.ticket);
    const isAlone = count <= (running.run?.left ?? 1);
    return !isAlone && startedAt !== undefined && now - startedAt > overrunMs ? 'call' : undefined;
  }

  /** Whether a call that comes now would start within about `overrunMs`. */
  isFree(now: number): boolean {
    if (this.isHeldUp || this.#thread.ledger.stretch !== undefined) return false;
    return this.runningForMs(now) <= overrunMs;
  }

  /** How long the thread has been in the call or the generator that it runs, milliseconds; 0: it is in none. */
  runningForMs(now: number): number {
    const { ledger } = this.#thread;
    const { stretch } = ledger;
    if (stretch !== undefined) return now - stretch.since;
    const running = this.#calls.all[ledger.runningSlot];
    const startedAt = running && ledger.startedAt(running.ticket);
    return startedAt === undefined ? 0 : now - startedAt;
  }

  /** How long a generator, or what goes on between calls, has held calls up that wait here, milliseconds. */
  get heldForMs(): number {
    const { ledger } = this.#thread;
    const { stretch } = ledger;
    if (stretch !== undefined) return clockMs() - stretch.since;
    const next = this.#calls.of(this.#nextTicket);
    if (next === undefined || ledger.isBusy()) return 0;
    return ledger.startedAt(next.ticket) === undefined ? clockMs() - this.#nextSince : 0;
  }

  markOverrun(now: number): void {
    this.isHeldUp = true;
    this.probe(now);
  }

  /** Probes a thread now and then of which nothing else would show that it is held up. */
  askNowAndThen(now: number): void {
    if (now - this.#askedAt > probeEveryMs) this.probe(now);
  }

  /** Whether the thread gave no sign of life for longer than a call may run, while it was in no call and no stretch. */
  isHung(now: number): boolean {
    if (this.#probedAt === undefined) return false;
    if (this.#thread.ledger.isBusy()) this.#probedAt = now;
    return now - this.#probedAt >= this.#hungAfterMs;
  }

  /**
   * Whether the thread sleeps although a probe waits for it. To be asked again and again: only looks count, since a
   * process that was stopped for long has not looked.
   *
   * @param tid the operating system's number of the thread; 0: not known
   */
  isDeaf(now: number, tid: number): boolean {
    if (this.#probedAt === undefined) return false;
    const { idleMs } = this.#thread;
    const passedMs = now - this.#lookedAt;
    const isAsleep = idleMs - this.#idleMs > passedMs / 2;
    this.#sleptMs = isAsleep ? this.#sleptMs + Math.min(passedMs, maxLookMs) : 0;
    this.#lookedAt = now;
    this.#idleMs = idleMs;
    if (this.#sleptMs <= deafAfterMs) return false;
    if (maySleep(tid)) return true;
    this.#sleptMs = 0;
    return false;
  }

  /** Asks the thread for a sign of life. */
  probe(now: number): void {
    if (this.#probedAt !== undefined) return;
    this.#probedAt = now;
    this.#askedAt = now;
    this.#sleptMs = 0;
    this.#lookedAt = now;
    this.#idleMs = this.#thread.idleMs;
    this.#thread.post({ type: 'probe' });
  }

  /** Whether the call that should start next has been the same for too long. */
  #isStalled(now: number): boolean {
    let next: number | undefined;
    for (const item of this.#calls.all) {
      if (item === undefined || (next !== undefined && item.ticket > next)) continue;
      if (item.before !== undefined) continue;
      if (this.#thread.ledger.startedAt(item.ticket) === undefined) next = item.ticket;
    }
    if (next === undefined) return false;
    if (next === this.#nextTicket) return now - this.#nextSince > stalledAfterMs;
    this.#nextTicket = next;
    this.#nextSince = now;
    return false;
  }
}

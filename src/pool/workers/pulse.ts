import type { Slots } from './slots.ts';
import type { ReplicaThread } from './threads.ts';

/** Calls that wait behind a synchronous call are taken back when that call has run for so long, milliseconds. */
const overrunMs = 5;

/**
 * A thread is held up between calls that is in no call and has not started the next one for so long, milliseconds. What
 * holds it up goes on behind an await, or was left behind by a call that has its answer.
 */
const stalledAfterMs = 50;

/**
 * How often a thread with streams is asked for a sign of life, milliseconds: code behind an await is in no stretch, so
 * nothing else shows that it holds the thread.
 */
const probeEveryMs = 1000;

/** Whether a worker's thread gets on with what it was sent. Times are by `clockMs`. */
export class Pulse {
  readonly #thread: ReplicaThread;
  readonly #slots: Slots;
  readonly #hungAfterMs: number;
  #isHeldUp = false;
  /** Ticket of the call that starts next. `#nextSince`: when a look first saw it waiting, by `clockMs`. */
  #nextTicket = -1;
  #nextSince = 0;
  /**
   * When the front end asked the thread for a sign of life, by `clockMs`; undefined: it did not ask, or has the answer.
   */
  #probedAt: number | undefined;
  #askedAt = 0;

  /** @param hungAfterMs how long a call may run */
  constructor(thread: ReplicaThread, slots: Slots, hungAfterMs: number) {
    this.#thread = thread;
    this.#slots = slots;
    this.#hungAfterMs = hungAfterMs;
  }

  /** Whether nothing more is sent to the thread until it has ended what it runs. */
  get isHeldUp(): boolean {
    return this.#isHeldUp;
  }

  /** A message of the thread has come: it is alive. */
  beat(): void {
    this.#isHeldUp = false;
    this.#probedAt = undefined;
  }

  /**
   * Whether calls that wait at the worker are held up: by a call that has run for longer than `overrunMs`, or between
   * calls.
   */
  hasOverrun(now: number): boolean {
    const { count, all } = this.#slots;
    if (this.#isHeldUp || count === 0) return false;
    const { ledger } = this.#thread;
    const { stretch } = ledger;
    if (stretch !== undefined) return now - stretch.since > overrunMs;
    const running = all.find((item) => item !== undefined && ledger.isRunning(item.ticket));
    if (running === undefined) return this.#isStalled(now);
    const startedAt = ledger.startedAt(running.ticket);
    return count > 1 && startedAt !== undefined && now - startedAt > overrunMs;
  }

  /** How long the thread has been in the call or the generator that it runs, milliseconds; 0: it is in none. */
  runningForMs(now: number): number {
    const { ledger } = this.#thread;
    const { stretch } = ledger;
    if (stretch !== undefined) return now - stretch.since;
    const running = this.#slots.all[ledger.runningSlot];
    const startedAt = running && ledger.startedAt(running.ticket);
    return startedAt === undefined ? 0 : now - startedAt;
  }

  markOverrun(now: number): void {
    this.#isHeldUp = true;
    this.#probe(now);
  }

  /** Asks for a sign of life now and then, where nothing else would show that the thread is held up. */
  askNowAndThen(now: number): void {
    if (now - this.#askedAt > probeEveryMs) this.#probe(now);
  }

  /**
   * Whether the thread has given no sign of life for longer than a call may run, and was in no call and no stretch
   * meanwhile.
   */
  isHung(now: number): boolean {
    if (this.#probedAt === undefined) return false;
    if (this.#thread.ledger.isBusy()) this.#probedAt = now;
    return now - this.#probedAt >= this.#hungAfterMs;
  }

  #probe(now: number): void {
    if (this.#probedAt !== undefined) return;
    this.#probedAt = now;
    this.#askedAt = now;
    this.#thread.post({ type: 'probe' });
  }

  /** Whether the call that should start next has been the same for too long. */
  #isStalled(now: number): boolean {
    let next: number | undefined;
    for (const item of this.#slots.all) {
      if (item === undefined || (next !== undefined && item.ticket > next)) continue;
      const before = item.train.calls[item.index - 1];
      if (before !== undefined && !before.isAnswered) continue;
      if (this.#thread.ledger.startedAt(item.ticket) === undefined) next = item.ticket;
    }
    if (next === undefined) return false;
    if (next === this.#nextTicket) return now - this.#nextSince > stalledAfterMs;
    this.#nextTicket = next;
    this.#nextSince = now;
    return false;
  }
}

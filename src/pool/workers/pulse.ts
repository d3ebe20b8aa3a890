import type { Slots } from './slots.ts';
import type { ReplicaThread } from './threads.ts';

/** A synchronous call running longer than this gives back what was sent to wait behind it. */
const overrunMs = 5;

/**
 * A thread that is in no call and has not started what it was sent for so long is held up between calls:
 * by what goes on behind an await, or was left behind by a call that has its answer.
 */
const stalledAfterMs = 50;

/** How often a thread with streams is asked for a sign of life. What goes on behind an await is in no stretch. */
const probeEveryMs = 1000;

/** Whether a worker's thread gets on with what it was sent. Times are by `clockMs`. */
export class Pulse {
  readonly #thread: ReplicaThread;
  readonly #slots: Slots;
  readonly #hungAfterMs: number;
  #isHeldUp = false;
  /** The call that is to start next, and since when it is, as far as was looked. */
  #nextTicket = -1;
  #nextSince = 0;
  /** When the thread was asked for a sign of life; undefined: it owes none. */
  #probedAt: number | undefined;
  #askedAt = 0;

  /** @param hungAfterMs how long a call may run */
  constructor(thread: ReplicaThread, slots: Slots, hungAfterMs: number) {
    this.#thread = thread;
    this.#slots = slots;
    this.#hungAfterMs = hungAfterMs;
  }

  /** Nothing more is sent to the thread until it has ended what it is in. */
  get isHeldUp(): boolean {
    return this.#isHeldUp;
  }

  /** The thread has told of something. */
  beat(): void {
    this.#isHeldUp = false;
    this.#probedAt = undefined;
  }

  /** Whether what waits here is held up: by a call that has outlived its estimate, or between calls. */
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

  /** How long the thread has been inside the call that it runs, or in a generator, milliseconds; 0: it is in none. */
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

  /** Whether the thread has owed a sign of life for longer than a call may run, and was in no call and no stretch since. */
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

  /** The oldest call that nothing keeps from starting is the same for too long. */
  #isStalled(now: number): boolean {
    let next: number | undefined;
    for (const item of this.#slots.all) {
      if (item === undefined || (next !== undefined && item.ticket > next)) continue;
      const before = item.group.calls[item.index - 1];
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

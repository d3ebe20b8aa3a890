/**
 * The shared record of a replica's calls: which were sent, which have started and when, which one the
 * thread is in. The front end reads it at any time, also while the replica is stuck in a loop, and takes
 * a call back that has not started. Starting and taking back are one compare-and-exchange on one word,
 * so a call runs exactly once or not at all.
 *
 * A call is named by a ticket: `sequence * slotCount + slot`. The word of a slot holds the sequence's
 * low bits beside the state, so a replica that meets an old ticket of a slot that has been given to
 * another call finds that the word is not its own.
 */
export const slotCount = 4096;

const State = { Free: 0, Sent: 1, Started: 2, Revoked: 3 } as const;
const sequenceMask = 0x1fff_ffff;

const runningIndex = 0;
const headerWords = 2; // keeps the start times, which follow the words, on an eight byte boundary
const wordsBytes = (headerWords + slotCount) * Int32Array.BYTES_PER_ELEMENT;

export class Ledger {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #startedAt: Float64Array;

  constructor(
    buffer: SharedArrayBuffer = new SharedArrayBuffer(
      wordsBytes + slotCount * Float64Array.BYTES_PER_ELEMENT,
    ),
  ) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, headerWords + slotCount);
    this.#startedAt = new Float64Array(buffer, wordsBytes, slotCount);
  }

  /** Front end: the call of `ticket` is about to be posted. */
  send(ticket: number): void {
    Atomics.store(this.#words, wordIndex(ticket), word(ticket, State.Sent));
  }

  /** Front end: takes a call back. True when it had not started, and now never will. */
  revoke(ticket: number): boolean {
    return this.#exchange(ticket, State.Sent, State.Revoked);
  }

  /** Front end: when the call began to run, by its `clockMs`; undefined: it has not. */
  startedAt(ticket: number): number | undefined {
    return Atomics.load(this.#words, wordIndex(ticket)) === word(ticket, State.Started)
      ? this.#startedAt[ticket % slotCount]
      : undefined;
  }

  /** Front end: whether the thread is inside the synchronous code of this call. */
  isRunning(ticket: number): boolean {
    return Atomics.load(this.#words, runningIndex) === (ticket % slotCount) + 1;
  }

  /** Front end: whether the thread is inside the synchronous code of any call. */
  isBusy(): boolean {
    return Atomics.load(this.#words, runningIndex) !== 0;
  }

  /** Replica: claims a call to run it now, by the front end's `clockMs`. False: it was taken back. */
  start(ticket: number, now: number): boolean {
    // An old ticket's slot may hold a call that runs: its time must stay.
    if (Atomics.load(this.#words, wordIndex(ticket)) !== word(ticket, State.Sent)) return false;
    this.#startedAt[ticket % slotCount] = now;
    if (!this.#exchange(ticket, State.Sent, State.Started)) return false;
    Atomics.store(this.#words, runningIndex, (ticket % slotCount) + 1);
    return true;
  }

  /** Replica: the thread has left the call's synchronous code. */
  leave(): void {
    Atomics.store(this.#words, runningIndex, 0);
  }

  #exchange(ticket: number, from: number, to: number): boolean {
    const expected = word(ticket, from);
    return (
      Atomics.compareExchange(this.#words, wordIndex(ticket), expected, word(ticket, to)) ===
      expected
    );
  }
}

function wordIndex(ticket: number): number {
  return headerWords + (ticket % slotCount);
}

function word(ticket: number, state: number): number {
  return ((Math.floor(ticket / slotCount) & sequenceMask) << 2) | state;
}

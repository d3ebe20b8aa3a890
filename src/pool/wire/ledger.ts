/**
 * The shared record of a replica's calls: which were sent, which have started and when, and which call the thread is
 * in. The front end reads the ledger at any time, also while the replica is stuck in a loop, and takes back a call
 * that has not started. Starting a call and taking it back are compare-and-exchanges on the same word, so a call runs
 * exactly once or not at all.
 *
 *     word 0     slot that the thread is in, plus 1; 0: in no call     written by the replica
 *     word 1     unused
 *     word 2+n   sequence (29 bits) | state (2 bits) of slot n         by both, see below
 *     then       start time of slot n, float64                         by the replica
 *     then       word of the call of slot n that nobody waits for      by the front end
 *
 *     Free -> Sent (front end) -> Started (replica)
 *                  \-----------> Revoked (front end): the call will never start
 *
 * A call is named by a ticket: `sequence * slotCount + slot`. Where a slot was given to another call, a replica that
 * meets the old ticket finds another sequence in the slot's word, and does nothing.
 */
export const slotCount = 4096;

const State = { Free: 0, Sent: 1, Started: 2, Revoked: 3 } as const;
const sequenceMask = 0x1fff_ffff;

const runningIndex = 0;
const headerWords = 2; // an even number, so that the start times behind the words stand on eight bytes
const wordsBytes = (headerWords + slotCount) * Int32Array.BYTES_PER_ELEMENT;
const timesBytes = slotCount * Float64Array.BYTES_PER_ELEMENT;

export class Ledger {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #startedAt: Float64Array;
  readonly #cancelled: Int32Array;

  constructor(
    buffer: SharedArrayBuffer = new SharedArrayBuffer(
      wordsBytes + timesBytes + slotCount * Int32Array.BYTES_PER_ELEMENT,
    ),
  ) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, headerWords + slotCount);
    this.#startedAt = new Float64Array(buffer, wordsBytes, slotCount);
    this.#cancelled = new Int32Array(buffer, wordsBytes + timesBytes, slotCount);
  }

  /** Front end: notes that the call of `ticket` is about to be posted. */
  send(ticket: number): void {
    Atomics.store(this.#words, wordIndex(ticket), word(ticket, State.Sent));
  }

  /**
   * Front end: takes a call back.
   *
   * @returns true where the call had not started, and now never will
   */
  revoke(ticket: number): boolean {
    return this.#exchange(ticket, State.Sent, State.Revoked);
  }

  /** Front end: notes that nobody waits for a call that has started. Its synchronous code may look. */
  cancel(ticket: number): void {
    Atomics.store(this.#cancelled, ticket % slotCount, word(ticket, State.Started));
  }

  /** Replica: whether nobody waits for a call that runs here. */
  isCancelled(ticket: number): boolean {
    return Atomics.load(this.#cancelled, ticket % slotCount) === word(ticket, State.Started);
  }

  /** Front end: when the call began to run, by the front end's `clockMs`; undefined: it has not begun. */
  startedAt(ticket: number): number | undefined {
    return Atomics.load(this.#words, wordIndex(ticket)) === word(ticket, State.Started)
      ? this.#startedAt[ticket % slotCount]
      : undefined;
  }

  /** Front end: whether the thread is inside the synchronous code of this call. */
  isRunning(ticket: number): boolean {
    return Atomics.load(this.#words, runningIndex) === (ticket % slotCount) + 1;
  }

  /** Front end: the slot of the call whose synchronous code the thread is in; -1: of none. */
  get runningSlot(): number {
    return Atomics.load(this.#words, runningIndex) - 1;
  }

  /** Front end: whether the thread is inside the synchronous code of any call. */
  isBusy(): boolean {
    return Atomics.load(this.#words, runningIndex) !== 0;
  }

  /**
   * Replica: claims a call to run it now.
   *
   * @param now by the front end's `clockMs`
   * @returns false where the call was taken back
   */
  start(ticket: number, now: number): boolean {
    // The slot of an old ticket may hold another call that runs: that call's start time must stay.
    if (Atomics.load(this.#words, wordIndex(ticket)) !== word(ticket, State.Sent)) return false;
    this.#startedAt[ticket % slotCount] = now;
    if (!this.#exchange(ticket, State.Sent, State.Started)) return false;
    Atomics.store(this.#words, runningIndex, (ticket % slotCount) + 1);
    return true;
  }

  /** Replica: notes that the thread has left the call's synchronous code. */
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

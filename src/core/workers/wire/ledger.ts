/**
 * The shared record of a replica's calls: which were sent, which have started and when, and which call the thread is
 * in. The main thread reads the ledger at any time, also while the replica is stuck in a loop, and takes back a call
 * that has not started. Starting a call and taking it back are compare-and-exchanges on the same word, so a call runs
 * exactly once or not at all.
 *
 *     word 0     slot that the thread is in, plus 1; 0: in no call;    written by the replica
 *                -1: in a stretch of a stream's generator
 *     word 1     number of the latest stretch                          by the replica
 *     word 2+n   sequence (29 bits) | state (2 bits) of slot n         by both, see below
 *     then       start time of slot n, float64                         by the replica
 *     then       word of the call of slot n that nobody waits for      by the main thread
 *     then       start time and ticket of the stretch, float64         by the replica
 *     then       ticket of the stretch that nobody waits for           by the main thread
 *     then       bytes that the thread holds, float64; 0: not read     by the replica
 *
 *     Free -> Sent (main thread) -> Started (replica)
 *                  \-----------> Revoked (main thread): the call will never start
 *
 * A call is named by a ticket: `sequence * slotCount + slot`. Where a slot was given to another call, a replica that
 * meets the old ticket finds another sequence in the slot's word, and does nothing.
 *
 * A stream keeps the ticket of the call that opened it, and no slot: what it shares is the stretch that its generator is in,
 * one for the whole thread.
 */
export const slotCount = 4096;

const State = { Free: 0, Sent: 1, Started: 2, Revoked: 3 } as const;
const sequenceMask = 0x1fff_ffff;

const runningIndex = 0;
const stretchIndex = 1;
/** In place of a slot. */
const inStretch = -1;
const headerWords = 2; // an even number, so that the start times behind the words stand on eight bytes
const wordsBytes = (headerWords + slotCount) * Int32Array.BYTES_PER_ELEMENT;
const timesBytes = slotCount * Float64Array.BYTES_PER_ELEMENT;
const cancelledBytes = slotCount * Int32Array.BYTES_PER_ELEMENT;
const stretchStart = wordsBytes + timesBytes + cancelledBytes;

/** What is known of the stretch of a generator, each a float64. */
const Stretched = { since: 0, ticket: 1, cancelled: 2 } as const;
const stretchCells = 3;

/** A time in which a generator has held the thread without a break. */
export interface GeneratorTurn {
  /** Of its stream. */
  readonly ticket: number;
  /** By the main thread's `clockMs`. */
  readonly since: number;
  /** No two stretches of a thread have the same, but for those that lie billions apart. */
  readonly number: number;
}

export class Ledger {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #startedAt: Float64Array;
  readonly #cancelled: Int32Array;
  readonly #stretch: Float64Array;
  readonly #memory: Float64Array;

  constructor(
    buffer: SharedArrayBuffer = new SharedArrayBuffer(
      stretchStart + (stretchCells + 1) * Float64Array.BYTES_PER_ELEMENT,
    ),
  ) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, headerWords + slotCount);
    this.#startedAt = new Float64Array(buffer, wordsBytes, slotCount);
    this.#cancelled = new Int32Array(buffer, wordsBytes + timesBytes, slotCount);
    this.#stretch = new Float64Array(buffer, stretchStart, stretchCells);
    const memoryStart = stretchStart + stretchCells * Float64Array.BYTES_PER_ELEMENT;
    this.#memory = new Float64Array(buffer, memoryStart, 1);
  }

  /**
   * The bytes of the thread's heap, garbage included, and those outside of the heap that belong to it, by the replica's last
   * reading; 0: it has not read them.
   */
  get memory(): number {
    return this.#memory[0] as number;
  }

  set memory(bytes: number) {
    this.#memory[0] = bytes;
  }

  /** Main thread: notes that the call of `ticket` is about to be posted. */
  send(ticket: number): void {
    Atomics.store(this.#words, wordIndex(ticket), word(ticket, State.Sent));
  }

  /**
   * Main thread: takes a call back.
   *
   * @returns true where the call had not started, and now never will
   */
  revoke(ticket: number): boolean {
    return this.#exchange(ticket, State.Sent, State.Revoked);
  }

  /** Main thread: notes that nobody waits for a call that has started. Its synchronous code may look. */
  cancel(ticket: number): void {
    Atomics.store(this.#cancelled, ticket % slotCount, word(ticket, State.Started));
  }

  /** Main thread: notes that nobody waits for a stream. The stretch that its generator is in may look. */
  cancelStretch(ticket: number): void {
    if (this.stretch?.ticket === ticket) this.#stretch[Stretched.cancelled] = ticket;
  }

  /** Replica: whether nobody waits for a call that runs here, or for the stream that it has opened. */
  isCancelled(ticket: number): boolean {
    return (
      Atomics.load(this.#cancelled, ticket % slotCount) === word(ticket, State.Started) ||
      this.#stretch[Stretched.cancelled] === ticket
    );
  }

  /** Main thread: when the call began to run, by the main thread's `clockMs`; undefined: it has not begun. */
  startedAt(ticket: number): number | undefined {
    return Atomics.load(this.#words, wordIndex(ticket)) === word(ticket, State.Started)
      ? this.#startedAt[ticket % slotCount]
      : undefined;
  }

  /** Main thread: whether the thread is inside the synchronous code of this call. */
  isRunning(ticket: number): boolean {
    return Atomics.load(this.#words, runningIndex) === (ticket % slotCount) + 1;
  }

  /** Main thread: the slot of the call whose synchronous code the thread is in; -1: of none. */
  get runningSlot(): number {
    return Atomics.load(this.#words, runningIndex) - 1;
  }

  /** Main thread: whether the thread is inside the synchronous code of any call, or of a generator. */
  isBusy(): boolean {
    return Atomics.load(this.#words, runningIndex) !== 0;
  }

  /**
   * Replica: claims a call to run it now.
   *
   * @param now by the main thread's `clockMs`
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

  /** Replica: notes that the thread has left the synchronous code of the call, or the stretch. */
  leave(): void {
    Atomics.store(this.#words, runningIndex, 0);
  }

  /**
   * Main thread: the stretch that the thread is in; undefined: it is in none, or begins one now. What is here was read
   * while the replica may have been writing it: what matters must be the same, by its number, at a second look.
   */
  get stretch(): GeneratorTurn | undefined {
    if (Atomics.load(this.#words, runningIndex) !== inStretch) return undefined;
    const number = Atomics.load(this.#words, stretchIndex);
    const since = this.#stretch[Stretched.since] as number;
    const ticket = this.#stretch[Stretched.ticket] as number;
    const isSame = Atomics.load(this.#words, stretchIndex) === number;
    return isSame ? { ticket, since, number } : undefined;
  }

  /**
   * Replica: a generator holds the thread from now on.
   *
   * @param now by the main thread's `clockMs`
   */
  enterStretch(ticket: number, now: number): void {
    Atomics.add(this.#words, stretchIndex, 1);
    this.#stretch[Stretched.since] = now;
    this.#stretch[Stretched.ticket] = ticket;
    Atomics.store(this.#words, runningIndex, inStretch);
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

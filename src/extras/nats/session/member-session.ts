import type { Ack, FrameMark, SyncAnswer, SyncRequest } from './gateway-session.ts';

/** A message with replies, kept until the gateway has it. */
export interface KeptReplies {
  readonly n: number;
  readonly tickets: readonly number[];
  readonly payload: Uint8Array;
}

/** A gateway that acknowledges nothing for so long is asked to sync, milliseconds. */
const unackedMs = 1000;

/** `taken`: its calls are to run; `stale`: nothing of it; `gap`: one before it is missing, so the gateway must sync. */
export type FrameStatus = 'taken' | 'stale' | 'gap';

/**
 * The member's side of one session: which frames are taken, and which replies the gateway may not have. Pure: it sends nothing
 * and knows no clock.
 *
 * A frame is taken in its turn, or never. A sync moves the turn past all frames that were sent before it, so what its answer calls
 * undelivered never runs here.
 */
export class MemberSession {
  readonly session: number;
  #epoch: number;
  /** The frame that is taken next, and the last one that was. */
  #expected: number;
  #got = 0;
  readonly #from: number;
  /** What the answer to the sync of this epoch says, however often it is asked. */
  #answer: SyncAnswer;
  #replied = 0;
  #kept: KeptReplies[] = [];
  #keptBytes = 0;
  /** The oldest message at the last look, and since when it is that. */
  #oldest: number | undefined;
  #oldestSince = 0;

  /**
   * Every session begins with a sync.
   *
   * @param session a number above those of all sessions that the gateway may know of, which nobody else can guess
   */
  constructor(session: number, { epoch, next }: SyncRequest) {
    this.session = session;
    this.#epoch = epoch;
    this.#expected = next;
    this.#from = next;
    this.#answer = { epoch, session, got: 0, from: next };
  }

  get got(): number {
    return this.#got;
  }

  /** Bytes of replies that the gateway may not have. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  get isAcked(): boolean {
    return this.#kept.length === 0;
  }

  /** Whether the gateway has forgotten this session, and asks for another. */
  isForgottenBy({ epoch, session }: SyncRequest): boolean {
    return session !== this.session && epoch > this.#epoch;
  }

  /** A frame has come. */
  onFrame({ n, session, ack }: FrameMark): FrameStatus {
    if (!this.onAck({ session, ack })) return 'gap';
    if (n < this.#expected) return 'stale';
    if (n > this.#expected) return 'gap';
    this.#expected = n + 1;
    this.#got = n;
    return 'taken';
  }

  /** @returns the answer; undefined: the request is of an epoch that is over */
  onSync({ epoch, session, have, next }: SyncRequest): SyncAnswer | undefined {
    this.onAck({ session, ack: have });
    if (epoch < this.#epoch) return undefined;
    if (epoch > this.#epoch) {
      this.#epoch = epoch;
      this.#expected = next;
      this.#answer = { epoch, session: this.session, got: this.#got, from: this.#from };
    }
    return this.#answer;
  }

  /**
   * The gateway has all replies up to this one.
   *
   * @returns false: it means another session
   */
  onAck({ session, ack }: Ack): boolean {
    if (session !== this.session) return false;
    let taken = 0;
    while ((this.#kept[taken]?.n ?? Number.POSITIVE_INFINITY) <= ack) taken++;
    for (const { payload } of this.#kept.splice(0, taken)) this.#keptBytes -= payload.byteLength;
    return true;
  }

  /**
   * Whether the gateway acknowledges nothing, and is to be asked to sync. While replies go on there is nearly always one that is not
   * acknowledged yet: what counts is that the oldest of them stays the same. To be called again and again.
   */
  isStuck(now: number): boolean {
    const oldest = this.#kept[0]?.n;
    if (oldest !== this.#oldest) {
      this.#oldest = oldest;
      this.#oldestSince = now;
    }
    if (oldest === undefined || now - this.#oldestSince <= unackedMs) return false;
    this.#oldestSince = now;
    return true;
  }

  /** Keeps a message with replies, made with its number. */
  keep(tickets: readonly number[], make: (n: number) => Uint8Array): void {
    const n = ++this.#replied;
    const payload = make(n);
    this.#kept.push({ n, tickets, payload });
    this.#keptBytes += payload.byteLength;
  }

  /** The oldest message from the number `n` on that the gateway may not have. */
  keptFrom(n: number): KeptReplies | undefined {
    const first = this.#kept[0];
    return first === undefined ? undefined : this.#kept[Math.max(0, n - first.n)];
  }

  /**
   * Gives up the oldest replies beyond `limit` bytes. What takes their places says that they are lost, in their turn: no number is
   * left out.
   */
  shrink(limit: number, lost: (n: number, tickets: readonly number[]) => Uint8Array): void {
    for (let at = 0; at < this.#kept.length && this.#keptBytes > limit; at++) {
      const { n, tickets, payload } = this.#kept[at] as KeptReplies;
      const made = lost(n, tickets);
      if (made.byteLength >= payload.byteLength) continue;
      this.#kept[at] = { n, tickets, payload: made };
      this.#keptBytes += made.byteLength - payload.byteLength;
    }
  }
}

/** What a gateway asks a member after anything may have been lost between them. */
export interface SyncRequest {
  readonly epoch: number;
  /** The session as the member named it; 0: there was none. */
  readonly session: number;
  /** The last reply of that session up to which none is missing. */
  readonly have: number;
  /** The number of the first frame of the epoch. */
  readonly next: number;
}

export interface SyncAnswer {
  readonly epoch: number;
  /** A name that the member gives to no other session. */
  readonly session: number;
  /** The last frame that the member took before the epoch; 0: none. */
  readonly got: number;
  /** The first frame that the member can say anything of: of those before it, it has forgotten all. */
  readonly from: number;
}

/** How far the replies of a session have come: none is missing up to `ack`. */
export interface Ack {
  readonly session: number;
  readonly ack: number;
}

export interface FrameMark extends Ack {
  readonly n: number;
}

/** The first epoch, and the number of the first frame, of a session. */
export interface SessionStart {
  readonly epoch: number;
  readonly next: number;
}

export const firstStart: SessionStart = { epoch: 1, next: 1 };

interface SentFrame {
  readonly n: number;
  readonly bytes: number;
  readonly sentAt: number;
  readonly tickets: readonly number[];
}

export interface Synced {
  /** Calls that never came to the member, and never will: they may be sent elsewhere. */
  readonly undelivered: readonly number[];
  /** Of the calls in frames before this one the member has forgotten what became of them. */
  readonly forgottenBefore: number;
  /** The member has forgotten the session before, or there was none. */
  readonly isNew: boolean;
}

/**
 * The gateway's side of one session: which frames a member may not have got, and which replies have not come. Pure: it sends
 * nothing and knows no clock.
 *
 *     closed -- synced --> open -- gap, 503, outage --> closed, in the next epoch
 *
 * Frames are sent while the session is open. Their numbers go on across epochs, and a sync says which one comes next: a frame from
 * before has a lower number, and the member takes it no more. The first contact is a sync like any other.
 */
export class GatewaySession {
  #session = 0;
  #epoch: number;
  isOpen = false;
  #next: number;
  #have = 0;
  #acked = 0;
  /** Oldest first. An answered sync leaves none. */
  #unacked: SentFrame[] = [];
  /** Bytes of frames that the member has not said to have. */
  unackedBytes = 0;

  /** @param start beyond all that an earlier session with the same member has had */
  constructor(start = firstStart) {
    this.#epoch = start.epoch;
    this.#next = start.next;
  }

  /** The start of a later session with the same member. */
  get end(): SessionStart {
    return { epoch: this.#epoch + 1, next: this.#next };
  }

  /** When the oldest of those frames was sent; undefined: there is none. */
  get unackedSince(): number | undefined {
    return this.#unacked[0]?.sentAt;
  }

  /** Whether replies have come that the member has not been told of. */
  get owesAck(): boolean {
    return this.#acked < this.#have;
  }

  /** What is to be asked while the session is closed, again and again until it is answered. */
  get sync(): SyncRequest {
    return { epoch: this.#epoch, session: this.#session, have: this.#have, next: this.#next };
  }

  /** Something may have been lost: a new epoch begins. Does nothing while the session is closed: no frame is on its way. */
  interrupt(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#epoch++;
  }

  /** Marks a message that brings nothing but word of the replies. */
  ack(): Ack {
    this.#acked = this.#have;
    return { session: this.#session, ack: this.#have };
  }

  /** Marks the next frame. Only while the session is open. */
  send(tickets: readonly number[], bytes: number, now: number): FrameMark {
    const n = this.#next++;
    this.#unacked.push({ n, bytes, sentAt: now, tickets });
    this.unackedBytes += bytes;
    return { n, ...this.ack() };
  }

  /**
   * A frame has not left, or nobody was there to take it. The member can't take those behind it either, since it takes none out
   * of turn.
   *
   * @returns the calls of that frame and of all behind it: they never came to the member
   */
  undelivered(n: number): readonly number[] {
    const at = this.#unacked.findIndex((frame) => frame.n >= n);
    if (at === -1) return [];
    this.interrupt();
    return this.#forget(this.#unacked.splice(at));
  }

  /**
   * The member has all frames up to this one.
   *
   * @returns false: another session is meant, which the member has forgotten, or which this side has not heard of
   */
  onGot(session: number, got: number): boolean {
    if (session !== this.#session) {
      if (session > this.#session) this.interrupt();
      return false;
    }
    this.#noteGot(got);
    return true;
  }

  /**
   * A message with replies has come.
   *
   * @returns whether the replies are new, and none is missing before them
   */
  onReplies(session: number, n: number, got: number): boolean {
    if (!this.onGot(session, got)) return false;
    if (n === this.#have + 1) {
      this.#have = n;
      return true;
    }
    if (n > this.#have) this.interrupt();
    return false;
  }

  /** @returns undefined: the answer is not to what is asked now */
  onSynced({ epoch, session, got, from }: SyncAnswer): Synced | undefined {
    if (this.isOpen || epoch !== this.#epoch || session < this.#session) return undefined;
    this.isOpen = true;
    const isNew = session > this.#session;
    if (isNew) {
      this.#session = session;
      this.#have = 0;
      this.#acked = 0;
    }
    this.#noteGot(Math.max(got, from - 1));
    const undelivered = this.#forget(this.#unacked.splice(0));
    return { undelivered, forgottenBefore: from, isNew };
  }

  #noteGot(got: number): void {
    let taken = 0;
    while ((this.#unacked[taken]?.n ?? Number.POSITIVE_INFINITY) <= got) taken++;
    if (taken > 0) this.#forget(this.#unacked.splice(0, taken));
  }

  #forget(frames: readonly SentFrame[]): readonly number[] {
    for (const { bytes } of frames) this.unackedBytes -= bytes;
    return frames.flatMap(({ tickets }) => tickets);
  }
}

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
  got = 0;
  readonly #from: number;
  /** What the answer to the sync of this epoch says, however often it is asked. */
  #answer: SyncAnswer;
  #replied = 0;
  #kept: KeptReplies[] = [];
  /** Bytes of replies that the gateway may not have. */
  keptBytes = 0;
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

  get isAcked(): boolean {
    return this.#kept.length === 0;
  }

  /** Whether the gateway has forgotten this session, and asks for another. */
  isForgottenBy({ epoch, session }: SyncRequest): boolean {
    return session !== this.session && epoch > this.#epoch;
  }

  onFrame({ n, session, ack }: FrameMark): FrameStatus {
    if (!this.onAck({ session, ack })) return 'gap';
    if (n < this.#expected) return 'stale';
    if (n > this.#expected) return 'gap';
    this.#expected = n + 1;
    this.got = n;
    return 'taken';
  }

  /** @returns the answer; undefined: the request is of an epoch that is over */
  onSync({ epoch, session, have, next }: SyncRequest): SyncAnswer | undefined {
    this.onAck({ session, ack: have });
    if (epoch < this.#epoch) return undefined;
    if (epoch > this.#epoch) {
      this.#epoch = epoch;
      this.#expected = next;
      this.#answer = { epoch, session: this.session, got: this.got, from: this.#from };
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
    for (const { payload } of this.#kept.splice(0, taken)) this.keptBytes -= payload.byteLength;
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
    this.keptBytes += payload.byteLength;
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
    for (let at = 0; at < this.#kept.length && this.keptBytes > limit; at++) {
      const { n, tickets, payload } = this.#kept[at] as KeptReplies;
      const made = lost(n, tickets);
      if (made.byteLength >= payload.byteLength) continue;
      this.#kept[at] = { n, tickets, payload: made };
      this.keptBytes += made.byteLength - payload.byteLength;
    }
  }
}

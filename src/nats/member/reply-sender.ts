import type { NatsConnection } from '../connection/connection.ts';
import { afterNextLook, sizesFor, unflushedBytes } from '../pace.ts';
import type { MemberSession } from '../session/member-session.ts';
import { numbersLength } from '../wire/message.ts';
import { ReplyKind, repliesMessage, replyPart, type WireReply } from '../wire/to-gateway.ts';

/**
 * The way of replies to one gateway: gathered for a turn of the event loop, numbered, kept until they are acknowledged, and sent in
 * the order of their numbers, no faster than the connection takes them.
 */
export class ReplySender {
  readonly #connection: NatsConnection;
  readonly #session: MemberSession<Uint8Array>;
  readonly #subject: string;
  readonly #load: () => number;
  readonly #keptLimit: number;
  #gathered: WireReply[] = [];
  #gatheredLength = 0;
  #isPlanned = false;
  /** The next number to send. */
  #next = 0;
  #unflushed = 0;
  #isFlushing = false;
  /** The last frame that the gateway was told of. */
  told = 0;

  /**
   * @param load calls that this member has of others
   * @param keptLimit most bytes of replies that are kept
   */
  constructor(
    connection: NatsConnection,
    session: MemberSession<Uint8Array>,
    subject: string,
    load: () => number,
    keptLimit: number,
  ) {
    this.#connection = connection;
    this.#session = session;
    this.#subject = subject;
    this.#load = load;
    this.#keptLimit = keptLimit;
  }

  /** Whether nothing is left here that its gateway has not got. */
  get isDone(): boolean {
    return this.#gathered.length === 0 && this.#session.isAcked;
  }

  add(reply: WireReply): void {
    const { body } = reply;
    const { sharedLength } = sizesFor(this.#connection.maxPayload);
    const length = body.length + numbersLength;
    if (typeof body !== 'string' || length > sharedLength) {
      this.#gather();
      this.#addLarge(reply, typeof body === 'string' ? Buffer.from(body) : body);
    } else {
      if (this.#gatheredLength + length > sharedLength) this.#gather();
      this.#gathered.push(reply);
      this.#gatheredLength += length;
    }
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    afterNextLook(() => {
      this.#isPlanned = false;
      this.#gather();
      this.send();
    });
  }

  /** Sends again all that the gateway may not have. */
  sendAgain(): void {
    this.#next = 0;
    this.send();
  }

  /** Sends what is kept and has not been sent. */
  send(): void {
    while (!this.#isFlushing) {
      const kept = this.#session.keptFrom(this.#next);
      // What can't be sent now is sent again when the gateway asks for it.
      if (kept === undefined || !this.#connection.publish(this.#subject, kept.payload)) return;
      this.#next = kept.n + 1;
      this.told = this.#session.got;
      this.#unflushed += kept.bytes;
      if (this.#unflushed > unflushedBytes) this.#flush();
    }
  }

  #flush(): void {
    this.#isFlushing = true;
    const goOn = (): void => {
      this.#isFlushing = false;
      this.#unflushed = 0;
      this.send();
    };
    this.#connection.flush().then(goOn, goOn);
  }

  #gather(): void {
    const replies = this.#gathered;
    if (replies.length === 0) return;
    this.#gathered = [];
    this.#gatheredLength = 0;
    this.#keep(
      replies.map(({ ticket }) => ticket),
      (n) => repliesMessage(this.#mark(n), replies),
    );
  }

  #addLarge(reply: WireReply, bytes: Uint8Array): void {
    const { ticket } = reply;
    const { wholeBytes, partBytes } = sizesFor(this.#connection.maxPayload);
    let at = 0;
    if (bytes.byteLength > wholeBytes) {
      for (; bytes.byteLength - at > partBytes; at += partBytes) {
        const part = bytes.subarray(at, at + partBytes);
        this.#keep([ticket], (n) => replyPart(this.#mark(n), ticket, part));
      }
    }
    const last = { ...reply, body: bytes.subarray(at) };
    this.#keep([ticket], (n) => repliesMessage(this.#mark(n), [last]));
  }

  #keep(tickets: readonly number[], make: (n: number) => Uint8Array): void {
    const sized = (payload: Uint8Array) => ({ payload, bytes: payload.byteLength });
    this.#session.keep(tickets, (n) => sized(make(n)));
    if (this.#session.keptBytes <= this.#keptLimit) return;
    this.#session.shrink(this.#keptLimit, (n, lost) => {
      const code = 0;
      const body = '';
      const replies = lost.map((ticket) => ({
        ticket,
        kind: ReplyKind.lost,
        code,
        runUs: 0,
        body,
      }));
      return sized(repliesMessage(this.#mark(n), replies));
    });
  }

  #mark(n: number) {
    const { session, got } = this.#session;
    return { session, n, got, load: this.#load() };
  }
}

/**
 * Longest reply, in characters, that the system takes at once from a connection that waited for it: 12 KiB of UTF-8
 * at most, where Linux's send buffer begins with 16 KiB. A longer reply may have to wait for its client.
 */
export const smallReply = 4 * 1024;

/** A request whose reply can wait for others of its turn. */
interface TurnSender {
  /** Sends the reply that was kept. Must not throw. */
  sendKept(reply: string): void;
}

/**
 * Replies of one turn from which it pays to send them together. Waiting costs a cork and a pass of the event loop, which 8
 * connections do not earn back.
 */
const many = 16;

/** Turns with fewer replies than this end the gathering. Lower than `many`, so that it does not flicker. */
const few = 8;

/** Every so many replies, one turn is counted. */
const countEvery = 64;

/** Characters of replies that wait at most. Further replies of the turn are sent at once. */
const maxCharacters = 256 * 1024;

/**
 * Replies that wait at a time on a server that keeps the order of pipelined requests: more would save nothing more, and wait longer.
 * The last of them sends all, in the handler of its own request. On uWebSockets.js a reply can't be corked in the handler of another
 * request, so there is no such limit.
 */
const mostOrdered = 16;

/** How long replies are sent at once after a connection was lost because its reply waited. */
const restMs = 60_000;

/**
 * Sends the replies of one turn of the event loop in a row if turns bring many, and each reply at once otherwise.
 *
 * A send wakes the client if it sleeps. With other work between two sends the client takes the first reply and sleeps again, so
 * that each send wakes it; sends in a row wake it once. What the last turns brought decides, so that a lone caller never
 * waits.
 */
export class ReplyTurns {
  readonly #most: number;
  readonly #connections: (() => number) | undefined;
  #gathers = false;
  #senders: TurnSender[] = [];
  #replies: string[] = [];
  #characters = 0;
  /** Replies of the turn that is gathered or counted. */
  #inTurn = 0;
  #countsNext = false;
  #untilCount = countEvery;
  #restsUntil = 0;

  /**
   * @param connections how many are open on uWebSockets.js: a turn with more replies than that has pipelined requests, of which no
   *   reply may wait. Undefined: the server keeps the order of pipelined requests
   */
  constructor(connections?: () => number) {
    this.#most = connections === undefined ? mostOrdered : Number.POSITIVE_INFINITY;
    this.#connections = connections;
  }

  /**
   * Keeps a short reply, which is then sent with others of this turn.
   *
   * @returns false: the reply is not kept, and the caller must send it
   */
  keeps(reply: string, sender: TurnSender): boolean {
    if (!this.#gathers) {
      this.#count();
      return false;
    }
    if (this.#inTurn++ === 0) setImmediate(this.#endTurn);
    const { length } = reply;
    if (length > smallReply || this.#characters + length > maxCharacters) return false;
    this.#characters += length;
    this.#replies.push(reply);
    if (this.#senders.push(sender) === this.#most) this.#send();
    return true;
  }

  /**
   * A connection closed while its reply was kept. uWebSockets.js closes a connection that sends a request before the reply
   * to the one before it: for a while, replies are sent at once again.
   */
  lost(): void {
    if (this.#connections === undefined) return;
    this.#gathers = false;
    this.#restsUntil = performance.now() + restMs;
  }

  #count(): void {
    if (this.#inTurn > 0) {
      this.#inTurn++;
    } else if (--this.#untilCount === 0) {
      setImmediate(this.#beginCount);
    } else if (this.#countsNext) {
      this.#countsNext = false;
      this.#inTurn = 1;
      setImmediate(this.#endCount);
    }
  }

  readonly #beginCount = (): void => {
    this.#countsNext = true;
  };

  readonly #endCount = (): void => {
    const replies = this.#inTurn;
    this.#inTurn = 0;
    this.#untilCount = countEvery;
    const areSingle = this.#connections === undefined || replies <= this.#connections();
    this.#gathers = replies >= many && areSingle && performance.now() >= this.#restsUntil;
  };

  readonly #endTurn = (): void => {
    if (this.#inTurn < few) this.#gathers = false;
    this.#inTurn = 0;
    this.#send();
  };

  #send(): void {
    const senders = this.#senders;
    const replies = this.#replies;
    this.#senders = [];
    this.#replies = [];
    this.#characters = 0;
    for (let i = 0; i < senders.length; i++) senders[i]?.sendKept(replies[i] ?? '');
  }
}

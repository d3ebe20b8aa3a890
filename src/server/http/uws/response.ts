import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { Sweep } from '../../../core/dispatch/deadline.ts';
import type { Answer, ReplyLines } from '../edge/answer.ts';
import { smallReply } from '../edge/reply-turns.ts';
import {
  type EventOutlet,
  type EventStream,
  keepAliveComment,
} from '../event-stream/event-stream.ts';
import type { Exchange, ExchangeContext, InFlight, Responder } from '../exchange.ts';
import { Outflow, type OutflowLimits } from '../outflow.ts';
import { nativeText } from './load.ts';

/**
 * How often the rest of a waiting reply is offered to the system again. uWebSockets.js closes a connection that was
 * not writable for 10 s, and Linux calls a connection writable only when a third of its send buffer is free. That is
 * megabytes, for which a slow reader takes longer than 10 s. A write takes what room there is and restarts the 10 s.
 */
const offerMs = 2500;

/** Bytes that uWebSockets.js gathers (its cork) before it writes. A longer reply is written at once. */
const corkBytes = 16 * 1024;

/**
 * Share of the replies that fit the cork which are written in the costlier way that tells whether the client reads. Which
 * replies is a matter of chance. A connection then holds 16 unread replies on average, 200 KB at most.
 */
const probeShare = 1 / 16;

/** Most replies without a body that end in one turn of the event loop, for all connections of a server together. */
const bodilessPerTurn = 64;

/** What may have bytes that the system had no room for: `offer` offers them to the system again. */
type Offering = Pick<UnsentReply, 'offer'>;

/** What the responses of one server share: among them those that their clients have not taken whole. */
export class UwsReplies {
  readonly inFlight: InFlight;
  readonly outflow: OutflowLimits;
  readonly #waiting = new Set<Offering>();
  readonly #sweep = new Sweep(offerMs, () => {
    for (const waiting of this.#waiting) waiting.offer();
    return this.#waiting.size > 0;
  });
  /** Replies without a body that have ended in this turn of the event loop. */
  #bodiless = 0;

  constructor({ inFlight, outflow }: ExchangeContext) {
    this.inFlight = inFlight;
    this.outflow = outflow;
  }

  add(reply: Offering): void {
    this.#waiting.add(reply);
    this.#sweep.wake();
  }

  delete(reply: Offering): void {
    this.#waiting.delete(reply);
  }

  /**
   * Whether one more reply without a body may end in this turn: uWebSockets.js does not say whether its client reads. After
   * a number of them, the others end in the next turn. Before that turn uWebSockets.js closes a connection that has sent
   * further requests.
   */
  mayEndBodiless(): boolean {
    if (this.#bodiless === 0) {
      setImmediate(() => {
        this.#bodiless = 0;
      });
    }
    return ++this.#bodiless <= bodilessPerTurn;
  }
}

/**
 * Length to which a reply that closes its connection is padded, with spaces, which JSON allows. A corked reply is
 * written only when the parser's turn ends. By then the parser would have run the bytes behind a request of uncertain
 * end as the next request, and running that request also undoes the mark to close. An overfull cork is written and
 * closed at once, in the handler, and the parser stops there.
 */
const overfull = corkBytes + 1;

/**
 * Writes what one request is answered with, once. The flag `isDone` alone says whether `res` may still be touched: not
 * after its end or its abort. Whoever calls a method that writes is in the handler of the request or in `cork`.
 */
export class UwsResponse implements Responder {
  readonly replies: UwsReplies;
  readonly res: HttpResponse;
  isDone = false;
  /** What the connection still has to take: the rest of a large reply, or events. */
  #unsent: UnsentReply | UwsEventOutlet | undefined;
  /** uWebSockets.js closes the connection when its client has taken all. */
  #closedByUws = false;
  /** The connection must close after the answer. */
  isLast = false;
  /**
   * Closes the connection after the answer if uWebSockets.js does not; undefined: the connection goes on. It is a second
   * object for the same response: the first one can't be touched once it has written all.
   */
  closer: Pick<HttpResponse, 'close'> | undefined;
  exchange: Exchange | undefined;

  /**
   * Must be made first in a handler: a handler that returns or throws before it has called `onAborted` aborts the
   * process.
   */
  constructor(replies: UwsReplies, res: HttpResponse) {
    res.onAborted(() => this.#onAborted());
    this.replies = replies;
    this.res = res;
    replies.inFlight.enter();
  }

  /** Costs a system call and an ArrayBuffer: 2 us, a quarter of a small request. Undefined where the response is done. */
  get connectedFrom(): string | undefined {
    if (this.isDone) return undefined;
    return Buffer.from(this.res.getRemoteAddressAsText()).toString('latin1');
  }

  /**
   * uWebSockets.js takes the end of a chunked body where others would not: behind a chunk it passes over two bytes, whatever
   * they are, and the trailer it reads as a request. So nothing behind such a body may be run. It ends after the parser's
   * turn, and only where the parser has found nothing more in it: uWebSockets.js closes a connection on which anything
   * comes behind a request that is not answered yet. The answer closes it too (`closer`).
   *
   * The end of an empty body is not told if the head came in pieces.
   */
  readBody(length: number | undefined): void {
    const { exchange } = this;
    if (length === 0) {
      // Still in the turn of the parser, when the handler has returned.
      queueMicrotask(() => this.cork(() => exchange?.onBodyEnd()));
      return;
    }
    this.res.onData((chunk, last) => {
      if (this.isDone) return;
      // The bytes may be a view that is valid until this callback returns.
      exchange?.onChunk(new Uint8Array(chunk));
      if (!last) return;
      if (length === undefined) setImmediate(() => this.cork(() => exchange?.onBodyEnd()));
      else exchange?.onBodyEnd();
    });
  }

  cork(write: () => void): void {
    if (this.isDone) return;
    this.res.cork(write);
    // Behind the cork: what it still holds would be lost.
    if (this.isDone && !this.#closedByUws) this.closer?.close();
  }

  answer(answer: Answer, cors: ReplyLines, isHead: boolean): void {
    const { res, isLast } = this;
    const { status, headers, body } = answer;
    res.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`);
    writeLines(res, headers);
    writeLines(res, cors.lines);
    if (typeof body === 'string' && (answer.close || isLast)) {
      // The reply keeps its body even for HEAD, since nothing is read behind it.
      this.#endAndClose(body.toString().padEnd(overfull));
      return;
    }
    if (this.replies.inFlight.draining || isLast) writeLines(res, closeLines);
    if (body === undefined || isHead) {
      // Given a length, endWithoutBody takes the reply for unfinished and closes the connection at the next request.
      if (body !== undefined) res.writeHeader('content-length', String(Buffer.byteLength(body)));
      this.#endBodiless();
    } else {
      this.#write(body, typeof body !== 'string' && answer.isOwn !== true);
    }
  }

  reply(
    reply: string | Uint8Array,
    cors: ReplyLines,
    limit: readonly string[],
    inTurn: boolean,
  ): void {
    const { res, isLast } = this;
    const { draining } = this.replies.inFlight;
    res.writeHeader(cors.jsonName, cors.jsonValue);
    writeLines(res, limit);
    const isSmall = typeof reply === 'string' && reply.length <= smallReply;
    if ((draining && !inTurn && isSmall) || (isLast && reply.length <= corkBytes)) {
      // Closes even the connections of clients that ignore "connection: close": a drain under load would otherwise
      // never end. In the turn of the parser that read the body, a connection must not be closed.
      this.#endAndClose(reply);
      return;
    }
    if (draining || isLast) writeLines(res, closeLines);
    this.#write(reply, false);
  }

  events(events: EventStream): EventOutlet {
    const outlet = new UwsEventOutlet(this, events);
    this.#unsent = outlet;
    return outlet;
  }

  /** The answer is complete, or the connection becomes a WebSocket: the response must not be touched afterwards. */
  finish(): void {
    this.isDone = true;
    this.replies.inFlight.leave();
  }

  #onAborted(): void {
    if (this.isDone) return;
    this.finish();
    this.#unsent?.leave();
    this.exchange?.onGone();
  }

  /**
   * Writes a body behind its head, as much as the system takes. The rest is kept as it is, where `end` would copy it
   * for each client. A further request of the same client finds this reply unfinished, and uWebSockets.js then closes
   * the connection. So a client that does not read its answers gets no more answers.
   *
   * A body that fits the cork is mostly left to `end`, which is cheaper but does not tell whether the client reads.
   * One in sixteen is written in the way that tells. Chance decides which, so that nobody can predict it; a
   * connection can then hold only some unread replies.
   */
  #write(body: string | Uint8Array, isShared: boolean): void {
    const { res } = this;
    if (typeof body === 'string' && body.length <= smallReply && Math.random() > probeShare) {
      this.finish();
      res.end(nativeText(body));
      return;
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const [, isWhole] = res.tryEnd(bytes, bytes.byteLength);
    if (isWhole) {
      this.finish();
      return;
    }
    this.#unsent = new UnsentReply(this, bytes, isShared);
  }

  #endAndClose(body: string | Uint8Array): void {
    this.finish();
    this.#closedByUws = true;
    this.res.end(nativeText(body), true);
  }

  /**
   * Ends a reply without a body. Nobody can tell whether its client reads, so only a few such replies end in one
   * turn.
   */
  #endBodiless(): void {
    const end = (): void => {
      this.finish();
      this.res.endWithoutBody();
    };
    if (this.replies.mayEndBodiless()) end();
    else setImmediate(() => this.cork(end));
  }
}

/**
 * The rest of a reply that the system did not take at once. The bytes stay here, where a drain waits for them, and
 * are written as the client reads.
 */
class UnsentReply {
  readonly #response: UwsResponse;
  readonly #res: HttpResponse;
  readonly #rest: Uint8Array;
  readonly #outflow: Outflow;
  #isOver = false;

  /**
   * @param body whole; a part of it was written
   * @param isShared whether the bytes exist once, however many clients wait for them
   */
  constructor(response: UwsResponse, body: Uint8Array, isShared: boolean) {
    const { res, replies } = response;
    const scope = response.exchange?.scope;
    this.#response = response;
    this.#res = res;
    this.#rest = body;
    this.#outflow = new Outflow(replies.outflow, { scope, isShared, cut: () => this.#res.close() });
    this.#outflow.set(body.byteLength);
    res.onWritable((offset) => {
      const written = this.#write(offset);
      if (this.#isOver) response.closer?.close();
      return written;
    });
    replies.add(this);
  }

  /** Writes as much as there is room for, whether the system has reported room or not. */
  offer(): void {
    if (this.#isOver) return;
    this.#res.cork(() => this.#write(this.#res.getWriteOffset()));
    // Behind the cork: what it still holds would be lost.
    if (this.#isOver) this.#response.closer?.close();
  }

  /** The connection has gone, or has taken all. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#outflow.set(0);
    this.#response.replies.delete(this);
  }

  #write(offset: number): boolean {
    if (this.#isOver) return true;
    this.#outflow.taken = offset;
    const [written, isWhole] = this.#res.tryEnd(this.#rest.subarray(offset), this.#rest.byteLength);
    if (isWhole) {
      this.leave();
      this.#response.finish();
    }
    return written;
  }
}

/**
 * Events on uWebSockets.js: one chunk for each write. What a write leaves unsent, uWebSockets.js keeps, and sends when
 * something else is written, never by itself. Whether all was sent, too, is told by the next write only.
 */
class UwsEventOutlet implements EventOutlet {
  readonly #response: UwsResponse;
  readonly #res: HttpResponse;
  readonly #stream: EventStream;
  #hasEnded = false;
  #isBlocked = false;

  constructor(response: UwsResponse, stream: EventStream) {
    this.#response = response;
    this.#res = response.res;
    this.#stream = stream;
    // Without this listener, a timer of uWebSockets.js goes on beside a backlog that was sent, and ends the connection.
    response.res.onWritable(() => {
      this.offer();
      return true;
    });
    response.replies.add(this);
  }

  write(texts: readonly string[], isLast: boolean, head: readonly string[] = []): boolean {
    let isTaken = true;
    this.#res.cork(() => {
      writeLines(this.#res, head);
      if (head.length > 0 && this.#response.isLast) writeLines(this.#res, closeLines);
      for (const text of texts) isTaken = this.#res.write(nativeText(text));
      if (isTaken && isLast) this.#end();
    });
    if (this.#hasEnded) this.#response.closer?.close();
    this.#isBlocked = !isTaken;
    return isTaken;
  }

  /**
   * Has what was kept sent, as far as there is room: when the system reports room, and from time to time, since it
   * reports room late (see UwsReplies). A comment tells whether all was sent. Where no write has failed, an empty cork sends
   * what the last one may have left, and adds nothing.
   */
  offer(): void {
    if (!this.#isBlocked) this.#res.cork(() => {});
    else if (this.write([keepAliveComment], false)) this.#stream.drained();
  }

  end(): void {
    this.#res.cork(() => this.#end());
    this.#response.closer?.close();
  }

  cut(): void {
    this.#res.close();
  }

  leave(): void {
    this.#response.replies.delete(this);
  }

  #end(): void {
    this.leave();
    this.#hasEnded = true;
    this.#response.finish();
    // Without the argument that closes the connection: uWebSockets.js would write its header into the body.
    this.#res.end();
  }
}

const closeLines = ['connection', 'close'];

/** @param lines flat: name, value, name, value */
function writeLines(res: HttpResponse, lines: readonly string[]): void {
  for (let i = 0; i < lines.length; i += 2) {
    res.writeHeader(lines[i] ?? '', nativeText(lines[i + 1] ?? ''));
  }
}

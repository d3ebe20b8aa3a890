import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import type { RateNotice } from '../../dispatch/quota/rate-limit.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import type { Answer } from '../edge/answer.ts';
import type { CorsLines } from '../edge/cors.ts';
import type { InFlight } from '../edge/in-flight.ts';
import { corkBytes, probeShare, smallReply } from '../edge/limits.ts';
import { rateLimitLines } from '../edge/rate-limit-lines.ts';
import type { HttpSpan } from '../edge/span.ts';
import type { EventStream } from '../event-stream/event-stream.ts';
import { eventStreamLines } from '../event-stream/event-text.ts';
import { UwsEventOutlet } from './event-outlet.ts';
import { closeLines, endHead, writeLines } from './head-lines.ts';
import { nativeText } from './native-text.ts';
import { type BodilessReplies, type Closer, type UwsReplies, UwsReply } from './reply.ts';

/** What all responses of one server share. */
export interface ResponseContext {
  readonly inFlight: InFlight;
  readonly replies: UwsReplies;
  readonly bodiless: BodilessReplies;
}

/**
 * Length to which a reply that closes its connection is padded, with spaces, which JSON allows. A corked reply is
 * written only when the parser's turn ends. By then the parser would have run the bytes behind a request of uncertain
 * end as the next request, and running that request also undoes the mark to close. An overfull cork is written and
 * closed at once, in the handler, and the parser stops there.
 */
const overfull = corkBytes + 1;

/**
 * Writes what one request is answered with, once. The flag `#isDone` alone says whether `res` may still be touched: not
 * after its end or its abort. Whoever calls a method that writes is in the handler of the request or in `cork`.
 */
export class UwsResponse {
  readonly #context: ResponseContext;
  readonly #res: HttpResponse;
  #isDone = false;
  /** What the connection still has to take: the rest of a large reply, or events. */
  #unsent: UwsReply | UwsEventOutlet | undefined;
  /** uWebSockets.js closes the connection when its client has taken all. */
  #closesItself = false;
  /** Closes the connection behind the answer; undefined: the connection goes on. */
  closer: Closer | undefined;
  /** The span of the request, where requests are traced. */
  span: HttpSpan | undefined = undefined;

  constructor(context: ResponseContext, res: HttpResponse) {
    this.#context = context;
    this.#res = res;
    context.inFlight.enter();
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Costs a system call and an ArrayBuffer: 2 us, a quarter of a small request. Undefined where the response is done. */
  get remoteAddressText(): string | undefined {
    if (this.#isDone) return undefined;
    return Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
  }

  /** Runs `write` corked; where the response is done, not at all. */
  cork(write: () => void): void {
    if (this.#isDone) return;
    this.#res.cork(write);
    // Behind the cork: what it still holds would be lost.
    if (this.#isDone && !this.#closesItself) this.closer?.close();
  }

  /** The connection becomes a WebSocket: the response must not be touched afterwards. */
  upgraded(): void {
    this.span?.answered(101);
    this.#finish();
  }

  /** The connection has gone. */
  leave(): void {
    this.#finish();
    this.span?.left();
    this.#unsent?.leave();
  }

  /** Writes a reply that is no JSON-RPC reply. */
  answer(answer: Answer, cors: CorsLines, headOnly: boolean): void {
    const res = this.#res;
    const { status, headers, body, close } = answer;
    this.span?.answered(status);
    res.writeStatus(`${status} ${STATUS_CODES[status]}`);
    writeLines(res, headers);
    writeLines(res, cors.lines);
    const closes = close || this.closer !== undefined;
    if (this.#context.inFlight.draining && !closes) writeLines(res, closeLines);
    if (body !== undefined && closes) {
      // The reply keeps its body even for HEAD, since nothing is read behind it.
      this.#endAndClose(body.toString().padEnd(overfull));
    } else if (body === undefined || headOnly) {
      this.#endBodiless(() => {
        if (body === undefined) res.endWithoutBody();
        else endHead(res, Buffer.byteLength(body));
      });
    } else {
      this.#write(body, typeof body !== 'string');
    }
  }

  /**
   * Writes a JSON-RPC reply. No other method writes one.
   *
   * @param inTurn true: this is the turn of the parser that read the body, in which a connection must not be closed
   */
  send(reply: Reply, cors: CorsLines, rateNotice: RateNotice | undefined, inTurn: boolean): void {
    const res = this.#res;
    this.span?.answered(reply === undefined ? 204 : 200);
    const { draining } = this.#context.inFlight;
    const isLast = this.closer !== undefined;
    const { lines, jsonName, jsonValue } = cors;
    if (reply === undefined) {
      res.writeStatus('204 No Content');
      writeLines(res, lines);
      if (rateNotice !== undefined) writeLines(res, rateLimitLines(rateNotice));
      if (draining || isLast) writeLines(res, closeLines);
      this.#endBodiless(() => res.endWithoutBody());
    } else {
      res.writeHeader(jsonName, jsonValue);
      if (rateNotice !== undefined) writeLines(res, rateLimitLines(rateNotice));
      const isSmall = typeof reply === 'string' && reply.length <= smallReply;
      if ((draining && !inTurn && isSmall) || (isLast && reply.length <= corkBytes)) {
        // Closes even the connections of clients that ignore "connection: close": a drain under load would otherwise
        // never end.
        this.#endAndClose(reply);
        return;
      }
      if (draining || isLast) writeLines(res, closeLines);
      this.#write(reply, false);
    }
  }

  /** Answers by events. The span ends with the last of them. */
  sendEvents(events: EventStream, cors: CorsLines, rateNotice: RateNotice | undefined): void {
    const { closer } = this;
    const closing = closer === undefined ? [] : closeLines;
    const limit = rateLimitLines(rateNotice);
    const lines = [...eventStreamLines, ...cors.lines, ...limit, ...closing];
    const onEnd = () => {
      this.span?.answered(200);
      this.#finish();
    };
    const { replies } = this.#context;
    const outlet = new UwsEventOutlet(this.#res, replies, events, lines, onEnd, closer);
    this.#unsent = outlet;
    events.start(outlet);
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
    const res = this.#res;
    if (typeof body === 'string' && body.length <= smallReply && Math.random() > probeShare) {
      this.#finish();
      res.end(nativeText(body));
      return;
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const [, isWhole] = res.tryEnd(bytes, bytes.byteLength);
    if (isWhole) {
      this.#finish();
      return;
    }
    const taken = res.getWriteOffset();
    const onEnd = () => this.#finish();
    const { replies } = this.#context;
    this.#unsent = new UwsReply(replies, res, bytes, taken, isShared, onEnd, this.closer);
  }

  #endAndClose(body: string | Uint8Array): void {
    this.#finish();
    this.#closesItself = true;
    this.#res.end(nativeText(body), true);
  }

  /**
   * Ends a reply without a body. Nobody can tell whether its client reads, so only a few such replies end in one
   * turn.
   */
  #endBodiless(end: () => void): void {
    if (this.#context.bodiless.mayEnd()) {
      this.#finish();
      end();
      return;
    }
    setImmediate(() => {
      this.cork(() => {
        this.#finish();
        end();
      });
    });
  }

  #finish(): void {
    this.#isDone = true;
    this.#context.inFlight.leave();
  }
}

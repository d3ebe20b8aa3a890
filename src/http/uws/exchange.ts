import type { HttpResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { type GoesToSink, goesToSink, type ReplySink } from '../../dispatch/reply-sink.ts';
import { RequestBody } from '../../dispatch/request-body.ts';
import { RequestScope, type ScopeFacts } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import type { Reply } from '../../jsonrpc/reply.ts';
import { type Answer, failure, lateBody, outOfMemory } from '../edge/answer.ts';
import type { AuthRequest, HttpAuthenticator } from '../edge/auth-request.ts';
import type { ArrivingBody, BodyDeadlines } from '../edge/body-deadlines.ts';
import type { CorsLines } from '../edge/cors.ts';
import { addressText } from '../edge/http-server.ts';
import type { InFlight } from '../edge/in-flight.ts';
import { bodyDeadlineMs, corkBytes, probeShare, smallReply } from '../edge/limits.ts';
import type { Peers, ProxyHeaders } from '../edge/peer.ts';
import { rateLimitLines } from '../edge/rate-limit-lines.ts';
import type { RequestHead } from '../edge/request-head.ts';
import type { HttpSpan } from '../edge/span.ts';
import { acceptsEventStream } from '../event-stream/accepts.ts';
import { EventStream, type EventStreamOptions } from '../event-stream/event-stream.ts';
import { eventStreamLines } from '../event-stream/event-text.ts';
import { UwsEventOutlet } from './event-outlet.ts';
import { closeLines, endHead, writeLines } from './head-lines.ts';
import { type BodilessReplies, type UwsReplies, UwsReply } from './reply.ts';

/** What all requests of one server share. */
export interface ExchangeContext {
  readonly service: Service;
  readonly inFlight: InFlight;
  readonly warn: (message: string) => void;
  readonly replies: UwsReplies;
  readonly bodiless: BodilessReplies;
  /** Undefined: no proxy is trusted. */
  readonly peers: Peers | undefined;
  readonly bodyDeadlines: BodyDeadlines;
  readonly bodyTimeoutMs: number;
  readonly eventStreams: EventStreamOptions;
}

/**
 * Length to which a reply that closes its connection is padded, with spaces, which JSON allows. A corked reply is
 * written only when the parser's turn ends. By then the parser would have run the bytes behind a request of uncertain
 * end as the next request, and running that request also undoes the mark to close. An overfull cork is written and
 * closed at once, in the handler, and the parser stops there.
 */
const overfull = corkBytes + 1;

/**
 * One request on uWebSockets.js, from its handler to its last byte. The flag `#done` alone says whether `res` may
 * still be touched: not after its end or its abort.
 */
export class UwsExchange implements ScopeFacts, ArrivingBody, ReplySink {
  readonly #context: ExchangeContext;
  readonly #res: HttpResponse;
  #done = false;
  /**
   * The client asked for its connection to be closed, which uWebSockets.js does with the reply's last byte. Were that
   * in the parser's turn, the parser would go on to run what was sent behind the request on the closed socket: a
   * handler whose body never comes and whose abort is never told.
   */
  #closes = false;
  #cors: CorsLines | undefined;
  #scope: RequestScope | undefined;
  /** The memory of the body. Released with the reply, or when the client goes before the body was handed over. */
  #body: RequestBody | undefined;
  /** The body was handed over to the service. */
  #isHandled = false;
  /** During a drain: this is still the turn of the parser that read the body. */
  #isInTurn = false;
  #waiting: UwsReply | undefined;
  /** Reads the stream of the request, where its client takes events; undefined: it does not. */
  #events: EventStream | undefined;
  #outlet: UwsEventOutlet | undefined;
  /**
   * The span of the request, where requests are traced. The server sets it before anything else is done with the
   * request.
   */
  span: HttpSpan | undefined = undefined;
  /** The address of the connection, once it was read. */
  #address: string | undefined;
  /** The address of the caller, where a proxy may stand in between: 6 us to find out. */
  #caller: string | undefined;
  dueAt = 0;
  /**
   * What proxies say of the caller. Where some proxies are trusted, the server sets it before anything reads an
   * address.
   */
  proxyHeaders: ProxyHeaders | undefined;
  headers: ScopeFacts['headers'];
  timeoutMs: number | undefined;
  traceparent: string | undefined;
  tracestate: string | undefined;

  /**
   * Must be made first in a handler: a handler that returns or throws before it has called `onAborted` aborts the
   * process.
   */
  constructor(context: ExchangeContext, res: HttpResponse) {
    res.onAborted(() => this.#abort());
    this.#context = context;
    this.#res = res;
    context.inFlight.enter();
  }

  get remoteAddress(): string | undefined {
    const { peers } = this.#context;
    if (peers === undefined || this.proxyHeaders === undefined) return this.#connectedFrom;
    this.#caller ??= peers.addressOf(this.#connectedFrom, this.proxyHeaders);
    return this.#caller;
  }

  get callerHeader(): string | undefined {
    return this.proxyHeaders?.caller === undefined
      ? undefined
      : this.#context.peers?.callerHeader(this.#connectedFrom, this.proxyHeaders);
  }

  /** Read on demand: it costs a system call and an ArrayBuffer, 2 us, a quarter of a small request. */
  get #connectedFrom(): string | undefined {
    if (this.#address === undefined && !this.#done) {
      const text = Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
      this.#address = addressText(text);
    }
    return this.#address;
  }

  /**
   * Reads the body and answers the request. Must be called in the handler: what arrives before it is called is lost.
   *
   * @returns false: there is no memory for the body; the request is answered
   */
  call(head: RequestHead, cors: CorsLines): boolean {
    const body = RequestBody.reserve(this.#context.service.bodyMemory, head.contentLength);
    if (body === undefined) {
      this.answer(outOfMemory, cors, false);
      return false;
    }
    this.#body = body;
    this.headers = head.forwarded;
    this.timeoutMs = head.timeoutMs;
    this.traceparent = head.traceparent;
    this.tracestate = head.tracestate;
    this.#cors = cors;
    this.#closes = head.closes;
    const scope = new RequestScope(this);
    scope.body = body.lease;
    if (this.span !== undefined) scope.trace = this.span.calls;
    this.#scope = scope;
    const { bodyDeadlines, bodyTimeoutMs, eventStreams } = this.#context;
    if (acceptsEventStream(head.accept))
      scope.streams = this.#events = new EventStream(eventStreams);
    this.dueAt = scope.receivedAt + bodyDeadlineMs(head.contentLength, bodyTimeoutMs);
    bodyDeadlines.add(this);
    this.#res.onData((chunk, last) => {
      if (this.#done) return;
      // The bytes may be a view that is valid until this callback returns. `handle` reads a small body before it
      // returns.
      const bytes = body.add(new Uint8Array(chunk));
      if (last && bytes !== undefined) this.#handle(bytes, scope);
    });
    return true;
  }

  onLate(): void {
    const cors = this.#cors;
    if (this.#done || cors === undefined) return;
    this.#res.cork(() => this.answer(lateBody, cors, false));
    this.#body?.release();
    this.#scope?.cancel();
  }

  /** Asks the hook who calls, while the body arrives. To be called after `call`. */
  askFor(authenticate: HttpAuthenticator, request: AuthRequest): void {
    if (this.#scope !== undefined) this.#scope.verdict = authenticate(request);
  }

  /** Writes a reply that is no JSON-RPC reply and may have to be waited for. */
  answerOnce(
    make: (scope: RequestScope) => Answer | Promise<Answer>,
    cors: CorsLines,
    headOnly: boolean,
  ): void {
    this.#scope = new RequestScope(this);
    const answer = make(this.#scope);
    if (!(answer instanceof Promise)) {
      this.answer(answer, cors, headOnly);
      return;
    }
    const write = (settled: Answer): void => {
      if (!this.#done) this.#res.cork(() => this.answer(settled, cors, headOnly));
    };
    answer.then(write, (error: unknown) => {
      this.#context.warn(`service failed under a request: ${String(error)}`);
      write(failure('the service failed'));
    });
  }

  /**
   * Makes a WebSocket of the connection, or answers why not. Must be called in the handler.
   *
   * @param refuse why the upgrade is refused, or a promise of it; undefined: it is not
   * @param become upgrades the connection: the response must not be touched afterwards
   */
  upgrade(
    refuse: (scope: RequestScope) => Answer | undefined | Promise<Answer | undefined>,
    cors: CorsLines,
    become: (scope: RequestScope) => void,
  ): void {
    const scope = new RequestScope(this);
    this.#scope = scope;
    const settle = (answer: Answer | undefined): void => {
      if (answer !== undefined) {
        this.answer(answer, cors, false);
        return;
      }
      this.span?.answered(101);
      this.#finish();
      become(scope);
    };
    const answer = refuse(scope);
    if (!(answer instanceof Promise)) {
      settle(answer);
      return;
    }
    const later = (settled: Answer | undefined): void => {
      if (!this.#done) this.#res.cork(() => settle(settled));
    };
    answer.then(later, (error: unknown) => {
      this.#context.warn(`service failed under a request: ${String(error)}`);
      later(failure('the service failed'));
    });
  }

  /** Writes a reply that is no JSON-RPC reply, in the handler or in a cork. */
  answer(answer: Answer, cors: CorsLines, headOnly: boolean): void {
    const res = this.#res;
    const { status, headers, body, close } = answer;
    this.span?.answered(status);
    res.writeStatus(`${status} ${STATUS_CODES[status]}`);
    writeLines(res, headers);
    writeLines(res, cors.lines);
    if (this.#context.inFlight.draining && !close) writeLines(res, closeLines);
    if (body !== undefined && close) {
      // The reply keeps its body even for HEAD, since nothing is read behind it.
      this.#finish();
      res.end(body.toString().padEnd(overfull), true);
    } else if (body === undefined || headOnly) {
      this.#endBodiless(() => {
        if (body === undefined) res.endWithoutBody();
        else endHead(res, Buffer.byteLength(body));
      });
    } else {
      this.#write(body, typeof body !== 'string');
    }
  }

  #handle(bytes: Uint8Array, scope: RequestScope): void {
    this.#isHandled = true;
    this.#context.bodyDeadlines.delete(this);
    let reply: Reply | Promise<Reply> | GoesToSink;
    try {
      const { service } = this.#context;
      reply = this.#closes
        ? afterTurn(service.handle(bytes, scope))
        : service.handle(bytes, scope, this);
    } catch (error) {
      this.#body?.release();
      this.#fail(error);
      return;
    }
    if (reply !== goesToSink && !(reply instanceof Promise)) {
      this.#body?.release();
      this.#send(reply, true);
      return;
    }
    this.#noteTurn();
    if (reply instanceof Promise) this.#await(reply);
  }

  onReply(reply: Reply): void {
    this.#body?.release();
    if (this.#done) return;
    corked.exchange = this;
    corked.reply = reply;
    try {
      this.#res.cork(sendCorked);
    } catch (error) {
      this.#context.warn(`a reply could not be written: ${String(error)}`);
    }
  }

  /** Sends the reply of `corked`. */
  sendCorked(reply: Reply): void {
    this.#send(reply, this.#isInTurn);
  }

  /**
   * A reply that is there already is sent still in the parser's turn. That matters only to a drain, and only to a call
   * that began in it: a call that began before the drain is past its first turn.
   */
  #noteTurn(): void {
    this.#isInTurn = this.#context.inFlight.draining;
    if (!this.#isInTurn) return;
    setImmediate(() => {
      this.#isInTurn = false;
    });
  }

  #await(reply: Promise<Reply>): void {
    reply.then(
      (settled) => this.onReply(settled),
      (error: unknown) => {
        this.#body?.release();
        if (!this.#done) this.#res.cork(() => this.#fail(error));
      },
    );
  }

  /**
   * Writes the reply. No other method writes one. The socket is corked.
   *
   * @param inTurn true: this is the turn of the parser that read the body, in which a connection must not be closed
   */
  #send(reply: Reply, inTurn: boolean): void {
    if (this.#done || this.#cors === undefined) return;
    if (this.#events?.isOpen === true) {
      this.#sendEvents(this.#events, this.#cors);
      return;
    }
    const res = this.#res;
    this.span?.answered(reply === undefined ? 204 : 200);
    const { draining } = this.#context.inFlight;
    const { lines, jsonName, jsonValue } = this.#cors;
    const rateNotice = this.#scope?.rateNotice;
    if (reply === undefined) {
      res.writeStatus('204 No Content');
      writeLines(res, lines);
      if (rateNotice !== undefined) writeLines(res, rateLimitLines(rateNotice));
      if (draining) writeLines(res, closeLines);
      this.#endBodiless(() => res.endWithoutBody());
    } else {
      res.writeHeader(jsonName, jsonValue);
      if (rateNotice !== undefined) writeLines(res, rateLimitLines(rateNotice));
      if (draining && !inTurn && typeof reply === 'string' && reply.length <= smallReply) {
        // Closes even the connections of clients that ignore "connection: close": a drain under load would otherwise
        // never end.
        this.#finish();
        res.end(reply, true);
        return;
      }
      if (draining) writeLines(res, closeLines);
      this.#write(reply, false);
    }
  }

  /** Answers by events. The span ends with the last of them. */
  #sendEvents(events: EventStream, cors: CorsLines): void {
    const limit = rateLimitLines(this.#scope?.rateNotice);
    const lines = [...eventStreamLines, ...cors.lines, ...limit];
    const onEnd = () => {
      this.span?.answered(200);
      this.#finish();
    };
    this.#outlet = new UwsEventOutlet(this.#res, this.#context.replies, events, lines, onEnd);
    events.start(this.#outlet);
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
      res.end(body);
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
    this.#waiting = new UwsReply(this.#context.replies, res, bytes, taken, isShared, onEnd);
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
      if (this.#done) return;
      this.#res.cork(() => {
        this.#finish();
        end();
      });
    });
  }

  /** Answers a request for which the service broke its contract, which is never to throw and never to reject. */
  #fail(error: unknown): void {
    this.#context.warn(`service failed under a request: ${String(error)}`);
    if (this.#done || this.#cors === undefined) return;
    this.answer(failure('the service failed'), this.#cors, false);
  }

  #finish(): void {
    this.#done = true;
    this.#context.inFlight.leave();
  }

  #abort(): void {
    if (this.#done) return;
    this.#finish();
    this.span?.left();
    this.#waiting?.leave();
    this.#events?.leave();
    this.#outlet?.leave();
    this.#context.bodyDeadlines.delete(this);
    if (!this.#isHandled) this.#body?.release();
    this.#scope?.cancel();
  }
}

/** What `sendCorked` sends. One function for all replies: a cork takes one without arguments, and calls it at once. */
const corked: { exchange: UwsExchange | undefined; reply: Reply } = {
  exchange: undefined,
  reply: undefined,
};

function sendCorked(): void {
  const { exchange, reply } = corked;
  corked.exchange = undefined;
  corked.reply = undefined;
  exchange?.sendCorked(reply);
}

/** Settles after the parser's turn, and after everything that is read in this turn of the event loop. */
async function afterTurn(reply: Reply | Promise<Reply>): Promise<Reply> {
  const settled = await reply;
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

import type { HttpResponse } from 'uWebSockets.js';
import { type GoesToSink, goesToSink } from '../../dispatch/reply-sink.ts';
import { RequestBody } from '../../dispatch/request-body.ts';
import { RequestScope } from '../../dispatch/scope.ts';
import { type Answer, lateBody, outOfMemory, serviceFailed } from '../edge/answer.ts';
import type { AuthRequest, HttpAuthenticator } from '../edge/auth-request.ts';
import type { ArrivingBody } from '../edge/body-deadlines.ts';
import {
  type BodyAnswer,
  type BodyHandler,
  type BodySink,
  isAnswer,
} from '../edge/body-handler.ts';
import type { ChunkedBody } from '../edge/chunked-body.ts';
import type { CorsLines } from '../edge/cors.ts';
import { bodyDeadlineMs } from '../edge/limits.ts';
import type { TurnSender } from '../edge/reply-turns.ts';
import type { RequestHead } from '../edge/request-head.ts';
import type { HttpSpan } from '../edge/span.ts';
import { acceptsEventStream } from '../event-stream/accepts.ts';
import { EventStream } from '../event-stream/event-stream.ts';
import { readChunks } from './chunks.ts';
import { afterTurn, sendInCork, whenMade } from './corked.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { UwsFacts } from './facts.ts';
import type { Closer } from './reply.ts';
import { UwsResponse } from './response.ts';

/**
 * One request on uWebSockets.js, from its handler to its last byte: its body comes, the service gets it, the reply goes to
 * the response. Nothing is written to `#res` here.
 */
export class UwsExchange implements ArrivingBody, BodySink, TurnSender {
  readonly #context: ExchangeContext;
  readonly #res: HttpResponse;
  readonly #response: UwsResponse;
  /**
   * The client asked for its connection to be closed, which uWebSockets.js does with the reply's last byte. Were that
   * in the parser's turn, the parser would go on to run what was sent behind the request on the closed socket: a
   * handler whose body never comes and whose abort is never told.
   */
  #closes = false;
  #cors: CorsLines | undefined;
  #scope: RequestScope | undefined;
  /** The memory of the body. Released with the reply, or when the client goes before the body was handed over. */
  #body: RequestBody | ChunkedBody | undefined;
  /** The body was handed over to the service. */
  #isHandled = false;
  /** During a drain: this is still the turn of the parser that read the body. */
  #isInTurn = false;
  /** Reads the stream of the request, where its client takes events; undefined: it does not. */
  #events: EventStream | undefined;
  /** The reply waits for the end of the turn. */
  #isKept = false;
  /** Answers the body. The server sets another one than the service before anything is answered. */
  handler: BodyHandler;
  dueAt = 0;
  readonly facts: UwsFacts;

  /**
   * Must be made first in a handler: a handler that returns or throws before it has called `onAborted` aborts the
   * process.
   */
  constructor(context: ExchangeContext, res: HttpResponse) {
    res.onAborted(() => this.#abort());
    this.#context = context;
    this.handler = context.service;
    this.#res = res;
    this.#response = new UwsResponse(context, res);
    this.facts = new UwsFacts(this.#response, context.peers);
  }

  get span(): HttpSpan | undefined {
    return this.#response.span;
  }

  /** The span of the request, where requests are traced. Must be set before anything else is done with the request. */
  set span(span: HttpSpan | undefined) {
    this.#response.span = span;
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
    this.#closes = head.closes;
    const scope = this.#expect(body, head, cors);
    this.#res.onData((chunk, last) => {
      if (this.#response.isDone) return;
      // The bytes may be a view that is valid until this callback returns. `handle` reads a small body before it
      // returns.
      const bytes = body.add(new Uint8Array(chunk));
      if (last && bytes !== undefined) this.#handle(bytes, scope);
    });
    return true;
  }

  /** `call` for a body that comes in chunks. See `readChunks`. */
  callChunked(body: ChunkedBody, head: RequestHead, cors: CorsLines): void {
    const scope = this.#expect(body, head, cors);
    const { bodyDeadlines, bodyTimeoutMs } = this.#context;
    const refuse = (answer: Answer): void => {
      bodyDeadlines.delete(this);
      this.answer(answer, cors, false);
      scope.cancel();
    };
    readChunks(this.#res, this.#response, body, {
      onBytes: (length) => {
        this.dueAt = scope.receivedAt + bodyDeadlineMs(length, bodyTimeoutMs);
      },
      onLast: () => bodyDeadlines.delete(this),
      refuse,
      take: (whole) => {
        scope.body = body.lease;
        this.#handle(whole, scope);
      },
    });
  }

  /** Closes the connection behind the answer. */
  set closer(closer: Closer) {
    this.#response.closer = closer;
  }

  /** What is the same whether or not the body's length is known. */
  #expect(body: RequestBody | ChunkedBody, head: RequestHead, cors: CorsLines): RequestScope {
    this.#body = body;
    this.facts.take(head);
    this.#cors = cors;
    const scope = new RequestScope(this.facts);
    scope.body = body.lease;
    const { span } = this.#response;
    if (span !== undefined) scope.trace = span.calls;
    this.#scope = scope;
    const { bodyDeadlines, bodyTimeoutMs, eventStreams } = this.#context;
    if (acceptsEventStream(head.accept))
      scope.streams = this.#events = new EventStream(eventStreams);
    const length = head.isChunked ? 0 : head.contentLength;
    this.dueAt = scope.receivedAt + bodyDeadlineMs(length, bodyTimeoutMs);
    bodyDeadlines.add(this);
    return scope;
  }

  onLate(): void {
    const cors = this.#cors;
    if (this.#response.isDone || cors === undefined) return;
    this.#response.cork(() => this.answer(lateBody, cors, false));
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
    const scope = new RequestScope(this.facts);
    this.#scope = scope;
    whenMade(this.#response, make(scope), this.#context.warn, (answer) =>
      this.answer(answer, cors, headOnly),
    );
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
    const scope = new RequestScope(this.facts);
    this.#scope = scope;
    whenMade(this.#response, refuse(scope), this.#context.warn, (refusal) => {
      if (refusal !== undefined) {
        this.answer(refusal, cors, false);
        return;
      }
      this.#response.upgraded();
      become(scope);
    });
  }

  /** Writes a reply that is no JSON-RPC reply, in the handler or in a cork. */
  answer(answer: Answer, cors: CorsLines, headOnly: boolean): void {
    this.#response.answer(this.handler.reword?.(answer) ?? answer, cors, headOnly);
  }

  #handle(bytes: Uint8Array, scope: RequestScope): void {
    this.#isHandled = true;
    this.#context.bodyDeadlines.delete(this);
    let reply: BodyAnswer | Promise<BodyAnswer> | GoesToSink;
    try {
      reply = this.#closes
        ? afterTurn(this.handler.handle(bytes, scope))
        : this.handler.handle(bytes, scope, this);
    } catch (error) {
      this.#body?.release();
      this.#fail(error);
      return;
    }
    if (reply !== goesToSink && !(reply instanceof Promise)) {
      this.#body?.release();
      if (!this.#keeps(reply)) this.#send(reply, true);
      return;
    }
    this.#noteTurn();
    if (reply instanceof Promise) this.#await(reply);
  }

  onReply(reply: BodyAnswer): void {
    this.#body?.release();
    if (this.#response.isDone) return;
    try {
      sendInCork(this.#response, this, reply);
    } catch (error) {
      this.#context.warn(`a reply could not be written: ${String(error)}`);
    }
  }

  /** Whether a reply that is there at once is sent with the others of its turn. */
  #keeps(reply: BodyAnswer): boolean {
    const { inFlight, turns } = this.#context;
    if (typeof reply !== 'string' || this.#events?.isOpen === true || inFlight.draining)
      return false;
    this.#isKept = turns.keeps(reply, this);
    return this.#isKept;
  }

  sendKept(reply: string): void {
    this.#isKept = false;
    this.onReply(reply);
  }

  /** Called by `sendInCork`. */
  sendCorked(reply: BodyAnswer): void {
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

  #await(reply: Promise<BodyAnswer>): void {
    reply.then(
      (settled) => {
        if (!this.#keeps(settled)) this.onReply(settled);
      },
      (error: unknown) => {
        this.#body?.release();
        this.#response.cork(() => this.#fail(error));
      },
    );
  }

  /**
   * Writes the reply. The socket is corked.
   *
   * @param inTurn true: this is the turn of the parser that read the body
   */
  #send(reply: BodyAnswer, inTurn: boolean): void {
    const response = this.#response;
    const cors = this.#cors;
    if (response.isDone || cors === undefined) return;
    if (isAnswer(reply)) {
      this.answer(reply, cors, false);
      return;
    }
    const rateNotice = this.#scope?.rateNotice;
    if (this.#events?.isOpen === true) response.sendEvents(this.#events, cors, rateNotice);
    else response.send(reply, cors, rateNotice, inTurn);
  }

  /** See {@link serviceFailed}. */
  #fail(error: unknown): void {
    this.#context.warn(`service failed under a request: ${String(error)}`);
    if (this.#response.isDone || this.#cors === undefined) return;
    this.answer(serviceFailed, this.#cors, false);
  }

  #abort(): void {
    if (this.#response.isDone) return;
    if (this.#isKept) this.#context.turns.lost();
    this.#response.leave();
    this.#events?.leave();
    this.#context.bodyDeadlines.delete(this);
    if (!this.#isHandled) this.#body?.release();
    this.#scope?.cancel();
  }
}

import { RequestBody } from '../../../core/dispatch/body-memory.ts';
import { RequestScope } from '../../../core/dispatch/scope.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import type { Reply } from '../../../core/protocol/reply.ts';
import { type GoesToSink, goesToSink } from '../../../core/protocol/reply.ts';
import {
  EventStream,
  type EventStreamOptions,
  eventStreamLines,
} from '../event-stream/event-stream.ts';
import {
  type Answer,
  type BodyAnswer,
  type BodyHandler,
  type BodySink,
  type CorsLines,
  isAnswer,
  lateBody,
  outOfMemory,
  rateLimitLines,
  serviceFailed,
} from './answer.ts';
import { acceptsEventStream } from './header-values.ts';
import type { InFlight } from './http-server.ts';
import { bodyDeadlineMs } from './limits.ts';
import type { Peers } from './peer.ts';
import type { ReplyTurns, TurnSender } from './reply-turns.ts';
import { type ArrivingBody, type BodyDeadlines, ChunkedBody } from './request-bodies.ts';
import type { Checks } from './request-checks.ts';
import { RequestFacts, type RequestHead } from './request-head.ts';
import type { HttpSpan } from './span.ts';

/** What all requests of one server share. */
export interface ExchangeContext {
  readonly service: Service;
  readonly inFlight: InFlight;
  readonly warn: (message: string) => void;
  readonly checks: Checks;
  /** Undefined: no proxy is trusted. */
  readonly peers: Peers | undefined;
  readonly bodyDeadlines: BodyDeadlines;
  /** See HttpOptions. */
  readonly bodyTimeoutMs: number;
  readonly maxBodyBytes: number;
  readonly eventStreams: EventStreamOptions;
  readonly turns: ReplyTurns;
}

/** What a response tells of its request. */
export interface ResponseListener {
  /** @param chunk lent until this returns */
  onChunk(chunk: Uint8Array): void;
  onBodyEnd(): void;
  /** The body was read before: as text, or as bytes. */
  onWholeBody(body: string | Uint8Array): void;
  /** Called where the body can't be read. */
  refuse(answer: Answer): void;
  /** The client has gone before its answer was complete. */
  onGone(): void;
}

/**
 * One request on its server: how its body is read and its answer written. Exactly one of `answer`, `reply` and `events` is
 * called, once, in the request's handler or in `cork`.
 */
export interface Responder {
  listener: ResponseListener | undefined;
  /** Says whose request it is, as far as that is known. */
  scope: RequestScope | undefined;
  /** The answer is complete, or the client has gone: nothing may be written any more. */
  readonly isDone: boolean;
  /** The address of the connection. Costly on uWebSockets.js. */
  readonly connectedFrom: string | undefined;
  /** Gives the body to the listener. Must be called in the handler. */
  readBody(isChunked: boolean): void;
  /** Runs `write` where the response may be written to. Does nothing where the response is done. */
  cork(write: () => void): void;
  /** Writes any status, headers and bytes. @param isHead leaves out the body, whose length is told */
  answer(answer: Answer, cors: CorsLines, isHead: boolean): void;
  /**
   * Writes a JSON-RPC reply.
   *
   * @param limit lines of its rate limit, flat
   * @param inTurn the event loop is still in the turn that read the body
   */
  reply(reply: Reply, cors: CorsLines, limit: readonly string[], inTurn: boolean): void;
  /** Answers by a stream. @param onEnd called when its last text is written */
  events(events: EventStream, lines: readonly string[], onEnd: () => void): void;
}

/** One HTTP request, from its head to the last byte of its answer: its body comes, a handler gets it, the answer is written. */
export class Exchange implements ResponseListener, ArrivingBody, BodySink, TurnSender {
  readonly #context: ExchangeContext;
  readonly #response: Responder;
  readonly #cors: CorsLines;
  readonly facts: RequestFacts;
  /** Answers the body. Another one than the service is set before anything is answered. */
  handler: BodyHandler;
  /** The span of the request, where requests are traced. Set before anything else is done with the request. */
  span: HttpSpan | undefined = undefined;
  /** The method is HEAD. */
  isHead = false;
  dueAt = 0;
  /**
   * The client asked for its connection to be closed, which uWebSockets.js does with the reply's last byte. Were that
   * in the parser's turn, the parser would go on to run what was sent behind the request on the closed socket: a
   * handler whose body never comes and whose abort is never told.
   */
  #closes = false;
  /** The memory of the body. Released with the reply, or when the client goes before the body was handed over. */
  #body: RequestBody | ChunkedBody | undefined;
  /** A body of known length, once it is complete. */
  #bytes: Uint8Array | undefined;
  /** The body was handed over to the service. */
  #isHandled = false;
  /** This is still the turn that read the body. Known of a drain and of a connection that closes. */
  #isInTurn = false;
  /** Reads the stream of the request, where its client takes events; undefined: it does not. */
  #events: EventStream | undefined;
  /** The reply waits for the end of the turn. */
  #isKept = false;

  constructor(context: ExchangeContext, response: Responder, head: RequestHead, cors: CorsLines) {
    this.#context = context;
    this.#response = response;
    this.#cors = cors;
    this.facts = new RequestFacts(response, context.peers, head);
    this.handler = context.service;
    response.listener = this;
  }

  /** Of the request; undefined before `call`, `answerOnce` or `upgrade`. */
  get scope(): RequestScope | undefined {
    return this.#response.scope;
  }

  /**
   * Reads the body and answers the request.
   *
   * @returns false: there is no memory for the body; the request is answered
   */
  call(head: RequestHead): boolean {
    const { service, checks, bodyDeadlines, bodyTimeoutMs, maxBodyBytes, eventStreams } =
      this.#context;
    this.facts.take(head);
    const scope = new RequestScope(this.facts);
    this.#response.scope = scope;
    const { isChunked } = head;
    const body = isChunked
      ? new ChunkedBody(service.bodyMemory, maxBodyBytes, checks, scope)
      : RequestBody.reserve(service.bodyMemory, head.contentLength, scope);
    if (typeof body === 'string') {
      this.answer(outOfMemory(body));
      return false;
    }
    this.#body = body;
    this.#closes = head.closes;
    scope.body = body.lease;
    if (this.span !== undefined) scope.trace = this.span.calls;
    if (acceptsEventStream(head.accept)) {
      this.#events = new EventStream(eventStreams, scope);
      scope.streams = this.#events;
    }
    const length = isChunked ? 0 : head.contentLength;
    this.dueAt = scope.receivedAt + bodyDeadlineMs(length, bodyTimeoutMs);
    bodyDeadlines.add(this);
    this.#response.readBody(isChunked);
    return true;
  }

  onChunk(chunk: Uint8Array): void {
    const body = this.#body;
    if (body instanceof RequestBody) {
      this.#bytes = body.add(chunk);
    } else if (body !== undefined) {
      const cut = body.add(chunk);
      const receivedAt = this.scope?.receivedAt ?? 0;
      this.dueAt = receivedAt + bodyDeadlineMs(body.length, this.#context.bodyTimeoutMs);
      if (cut !== undefined) this.refuse(cut);
    }
  }

  onBodyEnd(): void {
    const body = this.#body;
    if (body instanceof ChunkedBody) {
      const whole = body.end();
      if (!(whole instanceof Uint8Array)) {
        this.refuse(whole);
        return;
      }
      if (this.scope !== undefined) this.scope.body = body.lease;
      this.#handle(whole);
      return;
    }
    const bytes = this.#bytes;
    this.#bytes = undefined;
    this.#handle(bytes ?? noBytes);
  }

  onWholeBody(read: string | Uint8Array): void {
    const body = this.#body;
    if (!(body instanceof RequestBody)) return;
    this.#handle(typeof read === 'string' ? body.addText(read) : (body.add(read) ?? read));
  }

  refuse(answer: Answer): void {
    this.#context.bodyDeadlines.delete(this);
    this.answer(answer);
    this.#body?.release();
    this.scope?.cancel();
  }

  onLate(): void {
    if (this.#response.isDone) return;
    this.#response.cork(() => this.refuse(lateBody));
  }

  /** Answers a request that is no call. */
  answerOnce(make: (scope: RequestScope) => Answer | Promise<Answer>): void {
    this.#whenMade(make, (answer) => this.answer(answer));
  }

  /**
   * Makes a WebSocket of the connection, or answers why not.
   *
   * @param refuse why the upgrade is refused, or a promise of it; undefined: it is not
   * @param open upgrades the connection: the response must not be touched afterwards
   */
  upgrade(
    refuse: (scope: RequestScope) => Answer | undefined | Promise<Answer | undefined>,
    open: (scope: RequestScope) => void,
  ): void {
    this.#whenMade(refuse, (refusal, scope) => {
      if (refusal !== undefined) {
        this.answer(refusal);
        return;
      }
      this.span?.answered(101);
      open(scope);
    });
  }

  /** Writes an answer of any kind, in the handler of the request or in a cork. */
  answer(answer: Answer): void {
    if (this.#response.isDone) return;
    const made = this.handler.reword?.(answer) ?? answer;
    this.span?.answered(made.status);
    this.#response.answer(made, this.#cors, this.isHead);
  }

  /** Takes the answer to the body from wherever it comes. */
  onReply(reply: BodyAnswer): void {
    this.#body?.release();
    if (this.#response.isDone) return;
    if (this.#isInTurn && this.#closes) {
      setImmediate(() => this.onReply(reply));
      return;
    }
    try {
      this.#response.cork(() => this.#send(reply, this.#isInTurn));
    } catch (error) {
      this.#context.warn(`a reply could not be written: ${String(error)}`);
    }
  }

  sendKept(reply: string): void {
    this.#isKept = false;
    this.onReply(reply);
  }

  onGone(): void {
    if (this.#isKept) this.#context.turns.lost();
    this.span?.left();
    this.#events?.leave();
    this.#context.bodyDeadlines.delete(this);
    if (!this.#isHandled) this.#body?.release();
    this.scope?.cancel();
  }

  #handle(bytes: string | Uint8Array): void {
    const { scope } = this;
    if (scope === undefined) return;
    this.#isHandled = true;
    this.#context.bodyDeadlines.delete(this);
    let reply: BodyAnswer | Promise<BodyAnswer> | GoesToSink;
    try {
      reply = this.handler.handle(bytes, scope, this);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (reply !== goesToSink && !(reply instanceof Promise) && !this.#closes) {
      this.#body?.release();
      if (!this.#keeps(reply)) this.#send(reply, true);
      return;
    }
    this.#noteTurn();
    if (reply instanceof Promise) this.#await(reply);
    else if (reply !== goesToSink) this.onReply(reply);
  }

  #await(reply: Promise<BodyAnswer>): void {
    reply.then(
      (settled) => {
        if (this.#closes || !this.#keeps(settled)) this.onReply(settled);
      },
      (error: unknown) => {
        this.#body?.release();
        this.#response.cork(() => this.#fail(error));
      },
    );
  }

  /**
   * A reply that is there already is sent still in the parser's turn. That matters to a connection that closes; and to a
   * drain, for a call that began in it: a call that began before the drain is past its first turn.
   */
  #noteTurn(): void {
    this.#isInTurn = this.#closes || this.#context.inFlight.draining;
    if (!this.#isInTurn) return;
    setImmediate(() => {
      this.#isInTurn = false;
    });
  }

  /** Whether a reply that is there at once is sent with the others of its turn. */
  #keeps(reply: BodyAnswer): boolean {
    const { inFlight, turns } = this.#context;
    if (typeof reply !== 'string' || this.#events?.isOpen === true || inFlight.draining)
      return false;
    this.#isKept = turns.keeps(reply, this);
    return this.#isKept;
  }

  /** Writes the answer to the body. The socket is corked. @param inTurn this is the turn that read the body */
  #send(reply: BodyAnswer, inTurn: boolean): void {
    const response = this.#response;
    if (response.isDone) return;
    if (isAnswer(reply)) {
      this.answer(reply);
      return;
    }
    const limit = rateLimitLines(response.scope?.rateNotice);
    if (this.#events?.isOpen === true) {
      const lines = [...eventStreamLines, ...this.#cors.lines, ...limit];
      response.events(this.#events, lines, () => this.span?.answered(200));
      return;
    }
    this.span?.answered(reply === undefined ? 204 : 200);
    response.reply(reply, this.#cors, limit, inTurn);
  }

  #whenMade<Made extends Answer | undefined>(
    make: (scope: RequestScope) => Made | Promise<Made>,
    write: (made: Made | Answer, scope: RequestScope) => void,
  ): void {
    const scope = new RequestScope(this.facts);
    this.#response.scope = scope;
    const made = make(scope);
    if (!(made instanceof Promise)) {
      write(made, scope);
      return;
    }
    made.then(
      (settled) => this.#response.cork(() => write(settled, scope)),
      (error: unknown) => this.#response.cork(() => this.#fail(error)),
    );
  }

  /** See {@link serviceFailed}. */
  #fail(error: unknown): void {
    this.#body?.release();
    this.#context.warn(`service failed under a request: ${String(error)}`);
    this.answer(serviceFailed);
  }
}

const noBytes = new Uint8Array(0);

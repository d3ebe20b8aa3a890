import { setTimeout as pause } from 'node:timers/promises';
import { textAbout } from '../../core/base/message-of.ts';
import { startTimer } from '../../core/base/timer.ts';
import { RequestBody } from '../../core/dispatch/body-memory.ts';
import { Sweep } from '../../core/dispatch/deadline.ts';
import { RequestScope } from '../../core/dispatch/scope.ts';
import type { Service } from '../../core/dispatch/service.ts';
import type { ReplySink } from '../../core/protocol/reply.ts';
import {
  type Answer,
  type BodyAnswer,
  type BodyHandler,
  bodyless,
  type CorsLines,
  isAnswer,
  lateBody,
  type Made,
  outOfMemory,
  type ReplyLines,
  rateLimitLines,
  serviceFailed,
  transferTimeoutMs,
} from './edge/answer.ts';
import type { HttpOptions } from './edge/http-options.ts';
import type { Peers } from './edge/peer.ts';
import type { ReplyTurns } from './edge/reply-turns.ts';
import type { Checks } from './edge/request-checks.ts';
import { RequestFacts, type RequestHead } from './edge/request-head.ts';
import type { HttpSpan } from './edge/span.ts';
import {
  type EventOutlet,
  EventStream,
  type EventStreamOptions,
  eventStreamLines,
} from './event-stream/event-stream.ts';

/** What all requests of one server share. */
export interface ExchangeContext {
  readonly service: Service;
  readonly options: HttpOptions;
  readonly inFlight: InFlight;
  readonly checks: Checks;
  /** Undefined: no proxy is trusted. */
  readonly peers: Peers | undefined;
  readonly bodyDeadlines: BodyDeadlines;
  readonly outflow: EventStreamOptions;
  readonly turns: ReplyTurns;
}

/**
 * One request on its server: how its body is read and its answer written. Exactly one of `answer`, `reply` and `events` is
 * called, once, in the request's handler or in `cork`.
 */
export interface Responder {
  /** Gets the body, or is told that the client has gone. */
  exchange: Exchange | undefined;
  /** The answer is complete, or the client has gone: nothing may be written any more. */
  readonly isDone: boolean;
  /** The address of the connection. Costly on uWebSockets.js. */
  readonly connectedFrom: string | undefined;
  /** Gives the body to the exchange. Must be called in the handler. @param length undefined: it comes in chunks */
  readBody(length: number | undefined): void;
  /** Runs `write` when the response may be written to. Does nothing if the response is done. */
  cork(write: () => void): void;
  /** Writes any status, headers and bytes. @param isHead leaves out the body, whose length is told */
  answer(answer: Answer, cors: ReplyLines, isHead: boolean): void;
  /**
   * Writes a JSON-RPC reply.
   *
   * @param limit lines of its rate limit, flat
   * @param inTurn the event loop is still in the turn that read the body
   */
  reply(
    reply: string | Uint8Array,
    cors: ReplyLines,
    limit: readonly string[],
    inTurn: boolean,
  ): void;
  /** Answers by a stream, which writes to what this returns. */
  events(events: EventStream): EventOutlet;
}

const noBytes = new Uint8Array(0);
const noContent = bodyless(204, []);

/** One HTTP request, from its head to the last byte of its answer: its body comes, a handler gets it, the answer is written. */
export class Exchange implements ReplySink<BodyAnswer> {
  readonly #context: ExchangeContext;
  readonly #response: Responder;
  readonly #cors: CorsLines;
  readonly #isHead: boolean;
  readonly facts: RequestFacts;
  /** Undefined before `begin`. */
  scope: RequestScope | undefined = undefined;
  /** Answers the body. Another one than the service is set before anything is answered. */
  handler: BodyHandler;
  /** The span of the request, if requests are traced. Set before anything else is done with the request. */
  span: HttpSpan | undefined = undefined;
  /** When the body must be there, by `clockMs`. */
  dueAt = 0;
  /**
   * The client asked for its connection to be closed, which uWebSockets.js does with the reply's last byte. Were that
   * in the parser's turn, the parser would go on to run what was sent behind the request on the closed socket: a
   * handler whose body never comes and whose abort is never told.
   */
  #closes = false;
  /** The memory of the body. Released with the reply, or when the client goes before the body was handed over. */
  #body: RequestBody | undefined;
  /** Bytes of chunks that have come, those that were thrown away included; -1: the length of the body was known. */
  #chunked = -1;
  /** Why the chunks that come are thrown away. */
  #refused: Answer | undefined;
  /** `asked`: the handler has the body, and has not returned yet. */
  #state: 'reading' | 'asked' | 'waiting' | 'answered' = 'reading';
  /** This is still the turn that read the body. Known of a drain and of a connection that closes. */
  #isInTurn = false;
  /** Reads the stream of the request; undefined: its client takes no events. */
  #events: EventStream | undefined;
  /** The reply waits for the end of the turn. */
  #isKept = false;

  constructor(
    context: ExchangeContext,
    response: Responder,
    head: RequestHead,
    cors: CorsLines,
    isHead: boolean,
  ) {
    this.#context = context;
    this.#response = response;
    this.#cors = cors;
    this.#isHead = isHead;
    this.facts = new RequestFacts(response, context.peers, head);
    this.handler = context.service;
    response.exchange = this;
  }

  /** Begins a request that has passed its checks. Who calls may be written into the scope; then its answer is made. */
  begin(head: RequestHead): RequestScope {
    const scope = new RequestScope(this.facts);
    this.scope = scope;
    this.#closes = head.closes;
    if (this.span !== undefined) scope.trace = this.span.calls;
    if (this.handler.takesEvents ?? head.acceptsEvents) {
      this.#events = new EventStream(this.#context.outflow, scope);
      scope.streams = this.#events;
    }
    return scope;
  }

  /**
   * Has the body read, which the handler answers.
   *
   * @returns false: there is no memory for the body; the request is answered
   */
  receive({ isChunked, contentLength }: RequestHead, scope: RequestScope): boolean {
    const { service, options, bodyDeadlines } = this.#context;
    const body = isChunked
      ? new RequestBody(service.bodyMemory, options.maxBodyBytes, scope)
      : RequestBody.reserve(service.bodyMemory, contentLength, scope);
    if (typeof body === 'string') {
      this.answer(outOfMemory(body));
      return false;
    }
    this.#body = body;
    scope.body = body.lease;
    if (isChunked) this.#chunked = 0;
    this.#setDue(scope, isChunked ? 0 : contentLength);
    bodyDeadlines.add(this);
    this.#response.readBody(isChunked ? undefined : contentLength);
    return true;
  }

  #setDue(scope: RequestScope, bytes: number): void {
    this.dueAt = scope.receivedAt + transferTimeoutMs(bytes, this.#context.options.bodyTimeoutMs);
  }

  /** Has the handler answer a request that has no body. */
  run(): void {
    this.#handle(noBytes);
  }

  /** @param chunk lent until this returns */
  onChunk(chunk: Uint8Array): void {
    const body = this.#body;
    if (body === undefined) return;
    if (this.#chunked === -1) body.add(chunk);
    else this.#onPart(body, chunk);
  }

  /**
   * What is refused is read to its end all the same, and thrown away, so that the client sees the refusal: closing the
   * connection while the client still writes would reset it. Beyond several times the limit the connection is cut.
   */
  #onPart(body: RequestBody, part: Uint8Array): void {
    this.#chunked += part.byteLength;
    this.#setDue(body.scope, this.#chunked);
    const refusal = this.#refused === undefined ? body.add(part) : undefined;
    if (refusal !== undefined) {
      body.release();
      if (refusal !== 'too-large') this.#refused = outOfMemory(refusal);
    }
    const large = this.#context.checks.bodyLength(this.#chunked);
    this.#refused ??= large;
    if (large?.close === true) this.refuse(large);
  }

  onBodyEnd(): void {
    const { scope } = this;
    const body = this.#body;
    if (scope === undefined || body === undefined) return;
    if (this.#refused !== undefined) {
      this.refuse(this.#refused);
      return;
    }
    const whole = body.end();
    scope.body = body.lease;
    this.#handle(whole);
  }

  /** The body was read before: as text, or as bytes. */
  onWholeBody(read: string | Uint8Array): void {
    const body = this.#body;
    if (body === undefined) return;
    if (typeof read === 'string') {
      this.#handle(body.endText(read));
      return;
    }
    body.add(read);
    this.#handle(body.end());
  }

  /** Answers a request whose body can't be read. */
  refuse(answer: Answer): void {
    this.#context.bodyDeadlines.delete(this);
    this.answer(answer);
    this.#body?.release();
    this.scope?.cancel();
  }

  /** See {@link BodyDeadlines}. */
  onLate(): void {
    this.#response.cork(() => this.refuse(lateBody));
  }

  /**
   * Answers by what was made without a body: at once, or when it is there.
   *
   * @param open makes a WebSocket of the connection, if there is no answer: the response must not be touched afterwards
   */
  answerWhen(made: Made | Promise<Made>, open?: () => void): void {
    const write = (answer: Made): void => {
      if (answer !== undefined) {
        this.answer(answer);
        return;
      }
      this.span?.answered(101);
      open?.();
    };
    if (!(made instanceof Promise)) {
      write(made);
      return;
    }
    made.then(
      (answer) => this.#response.cork(() => write(answer)),
      (error: unknown) => this.#response.cork(() => this.fail(error)),
    );
  }

  /** Writes an answer of any kind, in the handler of the request or in a cork. */
  answer(answer: Answer): void {
    if (this.#response.isDone) return;
    const made = this.handler.reword?.(answer) ?? answer;
    this.span?.answered(made.status);
    this.#response.answer(made, this.#cors, this.#isHead);
  }

  onReply(reply: BodyAnswer): void {
    const isAtOnce = this.#state === 'asked';
    this.#state = 'answered';
    this.#body?.release();
    if (this.#closes) {
      if (isAtOnce) this.#noteTurn();
      this.#write(reply);
    } else if (this.#keeps(reply)) return;
    else if (isAtOnce) this.#send(reply, true);
    else this.#write(reply);
  }

  /** See {@link ReplyTurns}. */
  sendKept(reply: string): void {
    this.#isKept = false;
    this.#write(reply);
  }

  #write(reply: BodyAnswer): void {
    if (this.#response.isDone) return;
    if (this.#isInTurn && this.#closes) {
      setImmediate(() => this.#write(reply));
      return;
    }
    try {
      this.#response.cork(() => this.#send(reply, this.#isInTurn));
    } catch (error) {
      this.#context.options.warn(`a reply could not be written: ${textAbout(() => String(error))}`);
    }
  }

  /** The client has gone before its answer was complete. */
  onGone(): void {
    if (this.#isKept) this.#context.turns.lost();
    this.span?.left();
    this.#events?.leave();
    this.#context.bodyDeadlines.delete(this);
    if (this.#state === 'reading') this.#body?.release();
    this.scope?.cancel();
  }

  #handle(bytes: string | Uint8Array): void {
    const { scope } = this;
    if (scope === undefined) return;
    this.#state = 'asked';
    this.#context.bodyDeadlines.delete(this);
    try {
      this.handler.handle(bytes, scope, this);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (this.#state !== 'asked') return;
    this.#state = 'waiting';
    this.#noteTurn();
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
    const cors = this.handler.isUncached === true ? this.#cors.uncached : this.#cors;
    const limit = rateLimitLines(this.scope?.rateNotice);
    if (this.#events?.isOpen === true) {
      const lines = [...eventStreamLines, ...this.#cors.lines, ...limit];
      this.#events.start(response.events(this.#events), lines, () => this.span?.answered(200));
    } else if (reply === undefined) {
      this.span?.answered(204);
      response.answer(limit.length === 0 ? noContent : bodyless(204, limit), cors, false);
    } else {
      this.span?.answered(200);
      response.reply(reply, cors, limit, inTurn);
    }
  }

  /** Answers that the service broke its contract. See {@link serviceFailed}. */
  fail(error: unknown): void {
    this.#body?.release();
    this.#context.options.warn(`service failed under a request: ${textAbout(() => String(error))}`);
    this.answer(serviceFailed);
  }
}

/** How often deadlines are looked at, milliseconds: a late body may be noticed this much later. */
const lookMs = 500;

/**
 * The deadlines of the bodies that arrive at one server.
 *
 * Nearly every body arrives in the same turn as its head. So the newest body has a place of its own, and costs an
 * assignment and a comparison. Only a body that is still arriving when the next one begins is put into a set.
 */
export class BodyDeadlines {
  #newest: Exchange | undefined;
  readonly #others = new Set<Exchange>();
  readonly #sweep = new Sweep(lookMs, (now) => this.#look(now));

  add(body: Exchange): void {
    if (this.#newest !== undefined) this.#others.add(this.#newest);
    this.#newest = body;
    this.#sweep.wake();
  }

  /** The body has arrived, or its client has gone. Idempotent. */
  delete(body: Exchange): void {
    if (this.#newest === body) this.#newest = undefined;
    else if (this.#others.size > 0) this.#others.delete(body);
  }

  /** Calls `onLate` of each body whose time is over. @returns whether others are left */
  #look(now: number): boolean {
    for (const body of [...this.#others, this.#newest]) {
      if (body === undefined || body.dueAt > now) continue;
      this.delete(body);
      body.onLate();
    }
    return this.#newest !== undefined || this.#others.size > 0;
  }
}

/** Requests whose handler was entered and whose reply is not written yet. A drain waits for them. */
export class InFlight {
  #count = 0;
  /** Those that were ever in flight. */
  #entered = 0;
  /** true once `drain` was called: replies then tell the client to close its connection. */
  draining = false;
  #wake: (() => void) | undefined;

  enter(): void {
    this.#count++;
    this.#entered++;
  }

  leave(): void {
    this.#count--;
    if (this.#count === 0) this.#wake?.();
  }

  /**
   * Resolves when nothing is in flight, or when the grace is over.
   *
   * @param quietMs for so long nothing must have come either
   */
  async drain(graceMs: number, quietMs = 0): Promise<void> {
    this.draining = true;
    let graceOver = false;
    let isQuiet: boolean;
    const timer = startTimer(graceMs, () => {
      graceOver = true;
      this.#wake?.();
    });
    do {
      const entered = this.#entered;
      if (this.#count > 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      // The last reply may still be corked: promises run before the turn of the parser ends. In the rest of that turn
      // another request may come in on a connection that is still open.
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (quietMs > 0 && !graceOver) await pause(Math.min(quietMs, graceMs));
      isQuiet = this.#count === 0 && (quietMs === 0 || this.#entered === entered);
    } while (!isQuiet && !graceOver);
    clearTimeout(timer);
  }
}

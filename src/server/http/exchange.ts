import { clockMs } from '../../core/base/clock.ts';
import { startTimer } from '../../core/base/timer.ts';
import { type BodyMemory, RequestBody } from '../../core/dispatch/body-memory.ts';
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
  /** Bounds what clients have not read. */
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
  /** Says whose request it is, as far as that is known. */
  scope: RequestScope | undefined;
  /** The answer is complete, or the client has gone: nothing may be written any more. */
  readonly isDone: boolean;
  /** The address of the connection. Costly on uWebSockets.js. */
  readonly connectedFrom: string | undefined;
  /** Gives the body to the exchange. Must be called in the handler. */
  readBody(isChunked: boolean): void;
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
  #body: RequestBody | ChunkedBody | undefined;
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
    const { service, options, checks, bodyDeadlines } = this.#context;
    const scope = this.#begin(head);
    const { isChunked } = head;
    const body = isChunked
      ? new ChunkedBody(service.bodyMemory, options.maxBodyBytes, checks, scope)
      : RequestBody.reserve(service.bodyMemory, head.contentLength, scope);
    if (typeof body === 'string') {
      this.answer(outOfMemory(body));
      return false;
    }
    this.#body = body;
    scope.body = body.lease;
    const length = isChunked ? 0 : head.contentLength;
    this.dueAt = scope.receivedAt + transferTimeoutMs(length, options.bodyTimeoutMs);
    bodyDeadlines.add(this);
    this.#response.readBody(isChunked);
    return true;
  }

  /** Begins a call that has no body. Its scope may be told who calls; then `run` makes it. */
  callWithoutBody(head: RequestHead): void {
    this.#begin(head);
  }

  run(): void {
    this.#handle(noBytes);
  }

  #begin(head: RequestHead): RequestScope {
    this.facts.take(head);
    const scope = new RequestScope(this.facts);
    this.#response.scope = scope;
    this.#closes = head.closes;
    if (this.span !== undefined) scope.trace = this.span.calls;
    if (this.handler.takesEvents ?? head.acceptsEvents) {
      this.#events = new EventStream(this.#context.outflow, scope);
      scope.streams = this.#events;
    }
    return scope;
  }

  /** @param chunk lent until this returns */
  onChunk(chunk: Uint8Array): void {
    const body = this.#body;
    const cut = body?.add(chunk);
    if (body instanceof ChunkedBody) {
      const receivedAt = this.scope?.receivedAt ?? 0;
      this.dueAt = receivedAt + transferTimeoutMs(body.length, this.#context.options.bodyTimeoutMs);
      if (typeof cut === 'object') this.refuse(cut);
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
    this.#handle(body?.end() ?? noBytes);
  }

  /** The body was read before: as text, or as bytes. */
  onWholeBody(read: string | Uint8Array): void {
    const body = this.#body;
    if (!(body instanceof RequestBody)) return;
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
    this.#response.answer(made, this.#cors, this.#isHead);
  }

  /** Takes the answer to the body from wherever it comes. */
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
      this.#context.options.warn(`a reply could not be written: ${String(error)}`);
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
    const limit = rateLimitLines(response.scope?.rateNotice);
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

  #whenMade<Made extends Answer | undefined>(
    make: (scope: RequestScope) => Made | Promise<Made>,
    write: (made: Made, scope: RequestScope) => void,
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
      (error: unknown) => this.#response.cork(() => this.fail(error)),
    );
  }

  /** Answers that the service broke its contract. See {@link serviceFailed}. */
  fail(error: unknown): void {
    this.#body?.release();
    this.#context.options.warn(`service failed under a request: ${String(error)}`);
    this.answer(serviceFailed);
  }
}

/**
 * The body of a chunked request, as it arrives.
 *
 * What is refused is read to its end all the same, and thrown away, so that the client sees the refusal: closing the
 * connection while the client still writes would reset it. Beyond several times the limit the connection is cut.
 */
class ChunkedBody {
  readonly #checks: Checks;
  readonly #body: RequestBody;
  #refused: Answer | undefined;
  /** Bytes that have come, those that were thrown away included. */
  length = 0;

  /** @param maxBodyBytes length of the longest body */
  constructor(memory: BodyMemory, maxBodyBytes: number, checks: Checks, scope: RequestScope) {
    this.#checks = checks;
    this.#body = new RequestBody(memory, maxBodyBytes, scope);
  }

  /** The place of a large body in the memory for bodies; undefined: it is small. */
  get lease(): RequestBody['lease'] {
    return this.#body.lease;
  }

  /** @returns the refusal of a body of which no more is read: it must be written at once, and closes the connection */
  add(chunk: Uint8Array): Answer | undefined {
    this.length += chunk.byteLength;
    if (this.#refused === undefined) {
      const refusal = this.#body.add(chunk);
      if (refusal === undefined) return undefined;
      this.#body.release();
      this.#refused = refusal === 'too-large' ? undefined : outOfMemory(refusal);
    }
    const large = this.#checks.bodyLength(this.length);
    this.#refused ??= large;
    return large?.close === true ? large : undefined;
  }

  /** The whole body, or why it is refused. No more may come. */
  end(): Uint8Array | Answer {
    return this.#refused ?? this.#body.end();
  }

  release(): void {
    this.#body.release();
  }
}

/** A request whose body is still arriving. `onLate` is called once, when the body is late. */
type ArrivingBody = Pick<Exchange, 'dueAt' | 'onLate'>;

/** How often deadlines are looked at, milliseconds: a late body may be noticed this much later. */
const lookMs = 500;

/**
 * The deadlines of the bodies that arrive at one server. One timer serves all of them, and stops when no body arrives.
 *
 * Nearly every body arrives in the same turn as its head. So the newest body has a place of its own, and costs an
 * assignment and a comparison. Only a body that is still arriving when the next one begins is put into a set.
 */
export class BodyDeadlines {
  readonly #now: () => number;
  #newest: ArrivingBody | undefined;
  readonly #others = new Set<ArrivingBody>();
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number = clockMs) {
    this.#now = now;
  }

  /** How many bodies are still arriving. */
  get size(): number {
    return this.#others.size + (this.#newest === undefined ? 0 : 1);
  }

  add(body: ArrivingBody): void {
    if (this.#newest !== undefined) this.#others.add(this.#newest);
    this.#newest = body;
    // `unref`: this timer alone must not keep the process alive.
    this.#timer ??= setInterval(() => this.look(), lookMs).unref();
  }

  /** The body has arrived, or its client has gone. Idempotent. */
  delete(body: ArrivingBody): void {
    if (this.#newest === body) this.#newest = undefined;
    else if (this.#others.size > 0) this.#others.delete(body);
  }

  /** Calls `onLate` of each body whose time is over. */
  look(): void {
    const now = this.#now();
    for (const body of [...this.#others, this.#newest]) {
      if (body === undefined || body.dueAt > now) continue;
      this.delete(body);
      body.onLate();
    }
    if (this.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Requests whose handler was entered and whose reply is not written yet. A drain waits for them. */
export class InFlight {
  #count = 0;
  #draining = false;
  #wake: (() => void) | undefined;

  /** true once `drain` was called: replies then tell the client to close its connection. */
  get draining(): boolean {
    return this.#draining;
  }

  enter(): void {
    this.#count++;
  }

  leave(): void {
    this.#count--;
    if (this.#count === 0) this.#wake?.();
  }

  /** Resolves when nothing is in flight, or when the grace is over. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    let graceOver = false;
    const timer = startTimer(graceMs, () => {
      graceOver = true;
      this.#wake?.();
    });
    do {
      if (this.#count > 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      // The last reply may still be corked: promises run before the turn of the parser ends. In the rest of that turn
      // another request may come in on a connection that is still open.
      await new Promise<void>((resolve) => setImmediate(resolve));
    } while (this.#count > 0 && !graceOver);
    clearTimeout(timer);
  }
}

import { clockMs } from '../../../core/base/clock.ts';
import { maxCallsPerConnection, type Overload } from '../../../core/base/overloads.ts';
import { RequestBody } from '../../../core/dispatch/body-memory.ts';
import { overloadedOutcome, overloadedReply, unrunOutcome } from '../../../core/dispatch/call.ts';
import { RequestScope } from '../../../core/dispatch/scope.ts';
import type {
  StreamCall,
  StreamHost,
  StreamSink,
} from '../../../core/dispatch/streams/contract.ts';
import type { RequestSpan } from '../../../core/dispatch/trace.ts';
import { ErrorCode } from '../../../core/protocol/errors.ts';
import {
  errorReply,
  type Outcome,
  type Reply,
  type ReplySink,
} from '../../../core/protocol/reply.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { beginMessage, clientGone } from '../edge/span.ts';
import { Outflow } from '../outflow.ts';
import {
  type SocketContext,
  type SocketFacts,
  type SocketWire,
  serviceRestart,
} from './sockets.ts';
import { type Subscriber, Subscription, Subscriptions } from './subscriptions.ts';

/** One message of a client, which is a request, until its answer is there. */
class SocketMessage implements ReplySink, StreamHost {
  readonly scope: RequestScope;
  readonly span: RequestSpan | undefined;
  /** Why the service has refused the whole message, or has failed under it; undefined: neither. */
  failure: number | undefined;
  isAnswered = false;
  readonly #body: RequestBody;
  readonly #owner: SocketConnection;
  /** Those that its calls may open. */
  #subscriptions: Subscription[] | undefined;

  constructor(
    owner: SocketConnection,
    scope: RequestScope,
    body: RequestBody,
    span: RequestSpan | undefined,
  ) {
    this.#owner = owner;
    this.scope = scope;
    this.#body = body;
    this.span = span;
  }

  onReply(reply: Reply): void {
    this.isAnswered = true;
    this.#body.release();
    this.#owner.onAnswer(this, reply);
  }

  accept(call: StreamCall): StreamSink | Outcome {
    const accepted = this.#owner.acceptStream(call);
    if (accepted instanceof Subscription) {
      this.#subscriptions ??= [];
      this.#subscriptions.push(accepted);
    }
    return accepted;
  }

  get unsubscribe(): (id: string) => boolean {
    return (id) => this.#owner.unsubscribe(id);
  }

  /** The answer is sent, which names the subscriptions: their values may follow. */
  begin(): void {
    for (const subscription of this.#subscriptions ?? []) subscription.begin();
  }
}

/** Most milliseconds after which a client should come back to a service that ends: they must not all come at once. */
const spreadMs = 1000;

/** Characters or bytes of messages that wait for the end of the turn, at most. */
const maxQueued = 16 * 1024;

/** Unread bytes of a client above which its streams pause. */
const highWater = 64 * 1024;

const failed = errorReply('null', ErrorCode.InternalError, { reason: 'the service failed' });

/**
 * One WebSocket from its upgrade to its end: each message is a request, and answers go as they come. It knows neither
 * of the two servers: a server calls its methods for what comes, and takes what goes from its wire.
 */
export class SocketConnection implements Subscriber {
  readonly #context: SocketContext;
  readonly #wire: SocketWire;
  readonly #facts: SocketFacts;
  /** Found out with the first message, and the same for each. */
  #callerKey: string | undefined;
  /** Messages whose answers are not there yet. Made with the first of them: most sockets are idle. */
  #open: Set<SocketMessage> | undefined;
  #subscriptions: Subscriptions | undefined;
  /** A message is being handled, and its server gathers what is sent meanwhile. */
  #isCorked = false;
  /** What is sent in one turn of the event loop is written together; undefined: nothing waits. */
  #queue: (string | Uint8Array)[] | undefined;
  #queued = 0;
  /** What the client has not read; undefined: it has always read all at once. */
  #outflow: Outflow | undefined;
  #isDraining = false;
  /** The close frame is sent; the client's own may still come. */
  #isEnding = false;
  #isOver = false;
  readonly #clocks: ConnectionClocks;

  constructor(context: SocketContext, wire: SocketWire, facts: SocketFacts) {
    this.#context = context;
    this.#wire = wire;
    this.#facts = facts;
    this.#clocks = new ConnectionClocks(context.options, wire);
    context.sockets.add(this);
  }

  /**
   * @param bytes lent until this returns
   * @param isCorked the server underneath writes what is sent until this returns in one go
   */
  onMessage(bytes: Uint8Array, isCorked: boolean): void {
    if (this.#isOver || this.#isEnding) return;
    this.#isCorked = isCorked;
    try {
      this.#handle(bytes);
    } finally {
      this.#isCorked = false;
    }
  }

  #handle(bytes: Uint8Array): void {
    const { service, inFlight } = this.#context;
    const scope = this.#scope();
    this.#clocks.heardAt = scope.receivedAt;
    const span = service.tracing && beginMessage(service.tracing, this.#facts, scope.receivedAt);
    scope.trace = span;
    const body = RequestBody.reserve(service.bodyMemory, bytes.byteLength, scope);
    if (typeof body === 'string') {
      endSpan(span, ErrorCode.Overloaded);
      this.send(overloadedReply(body));
      return;
    }
    scope.body = body.lease;
    const message = new SocketMessage(this, scope, body, span);
    scope.streams = message;
    const verdict = this.#verdict();
    if (verdict !== undefined) {
      scope.verdict = verdict;
      message.failure = verdict.refusal.code;
    }
    try {
      body.add(bytes);
      service.handle(body.end(), scope, message);
    } catch (error) {
      this.#onFault(message, error);
      return;
    }
    this.#callerKey ??= scope.callerKey;
    if (message.isAnswered) return;
    this.#open ??= new Set();
    this.#open.add(message);
    inFlight.enter();
  }

  onAnswer(message: SocketMessage, reply: Reply): void {
    const wasOpen = this.#open?.delete(message) === true;
    if (this.#isOver) return;
    endSpan(message.span, message.failure);
    if (reply !== undefined) this.send(reply);
    message.begin();
    if (!wasOpen) return;
    this.#context.inFlight.leave();
    this.#endWhenDrained();
  }

  acceptStream(call: StreamCall): Subscription | Outcome {
    this.#subscriptions ??= new Subscriptions(this, this.#context.options.maxStreamsPerConnection);
    return this.#subscriptions.accept(call);
  }

  unsubscribe(id: string): boolean {
    return this.#subscriptions?.unsubscribe(id) === true;
  }

  get hasRoom(): boolean {
    return this.#unread <= highWater;
  }

  /** Sends one message: at once, or together with others of this turn. */
  send(message: string | Uint8Array): void {
    if (this.#isOver) return;
    if (this.#isCorked && this.#queue === undefined) {
      if (!this.#wire.send(message)) this.onDrain();
      return;
    }
    this.#queued += message.length;
    if (this.#queue === undefined) {
      this.#queue = [message];
      this.#context.sockets.flushSoon(this);
    } else {
      this.#queue.push(message);
    }
    // Whether the client reads is known only of what was written.
    if (this.#queued >= maxQueued) this.flush();
  }

  flush(): void {
    const queue = this.#queue;
    if (queue === undefined || this.#isOver) return;
    this.#queue = undefined;
    this.#queued = 0;
    const [first = '', second] = queue;
    if (second === undefined) {
      if (this.#wire.send(first)) return;
    } else {
      this.#wire.cork(() => {
        for (const message of queue) this.#wire.send(message);
      });
    }
    this.onDrain();
  }

  /** A drain waits for the ends of streams. */
  onOpen(): void {
    this.#context.inFlight.enter();
  }

  onClose(): void {
    this.#context.inFlight.leave();
    if (!this.#isOver) this.#endWhenDrained();
  }

  /** A ping, or the answer to one, has come. */
  onHeard(): void {
    this.#clocks.heardAt = clockMs();
  }

  /** The system has taken something of what the client had not read. */
  onTaken(): void {
    if (this.#unread > 0) this.onDrain();
  }

  /** Looks at how much the client has not read of what was sent to it. */
  onDrain(): void {
    if (this.#isOver) return;
    const bytes = this.#wire.unsent;
    const { inFlight, options } = this.#context;
    const before = this.#unread;
    if (bytes === 0 && before === 0) return;
    // A drain waits until the client has its answers.
    if (before === 0) inFlight.enter();
    this.#outflow ??= this.#createOutflow();
    this.#outflow.set(bytes);
    if (bytes > options.maxReplyBytes) {
      this.#wire.cut();
      return;
    }
    if (this.hasRoom) this.#subscriptions?.resume();
    if (bytes > 0) return;
    inFlight.leave();
    this.#endWhenDrained();
  }

  onGone(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#queue = undefined;
    const { sockets, inFlight } = this.#context;
    sockets.delete(this);
    if (this.#unread > 0) {
      this.#outflow?.set(0);
      inFlight.leave();
    }
    this.#subscriptions?.cancel();
    for (const { scope, span } of this.#open ?? []) {
      span?.end({}, clientGone);
      inFlight.leave();
      scope.cancel();
    }
  }

  /** Ends the connection when its messages are answered. What comes until then is refused. */
  drain(): void {
    this.#isDraining = true;
    this.#endWhenDrained();
  }

  cut(): void {
    if (!this.#isOver) this.#wire.cut();
  }

  /** Looks at the clocks of the connection: cuts it, pings it, or leaves it. See Sockets. */
  look(now: number, stalledMs: number, longestMs: number): number | undefined {
    if (this.#unread === 0) return this.#clocks.look(now, stalledMs, longestMs);
    // The client can't see a ping before it has read what was sent before it.
    this.#clocks.restart(now);
    return undefined;
  }

  /** Bytes that were sent and that the client has not read. */
  get #unread(): number {
    return this.#outflow?.bytes ?? 0;
  }

  #createOutflow(): Outflow {
    const cut = () => this.#wire.cut();
    const isPaused = () => this.#streams > 0;
    return new Outflow(this.#context.outflow, { scope: this.#scope(), cut, isPaused });
  }

  get #streams(): number {
    return this.#subscriptions?.size ?? 0;
  }

  #scope(): RequestScope {
    const scope = new RequestScope(this.#facts);
    scope.authText = this.#facts.authText;
    scope.callerKey = this.#callerKey;
    return scope;
  }

  /** Why a message that comes now is refused: each of its requests is then answered with that. */
  #verdict(): { readonly refusal: Outcome; readonly overload?: Overload } | undefined {
    if (this.#isDraining) {
      const retryAfterMs = Math.round(Math.random() * spreadMs);
      const data = { reason: 'shutdown', retryAfterMs };
      return { refusal: unrunOutcome({ code: ErrorCode.Cancelled, data }) };
    }
    const overload = 'callsOfConnection';
    if ((this.#open?.size ?? 0) < maxCallsPerConnection) return undefined;
    return { refusal: overloadedOutcome(overload), overload };
  }

  #endWhenDrained(): void {
    if (!this.#isDraining || this.#isEnding) return;
    if ((this.#open?.size ?? 0) > 0 || this.#streams > 0) return;
    this.flush();
    if (this.#unread > 0 || this.#isOver) return;
    this.#isEnding = true;
    this.#wire.end(serviceRestart);
  }

  /** The service broke its contract, which is never to throw and never to reject. */
  #onFault(message: SocketMessage, error: unknown): void {
    this.#context.options.warn(`service failed under a message: ${String(error)}`);
    message.failure = ErrorCode.InternalError;
    message.onReply(failed);
  }
}

/** @param failure the code of an error that is this service's, not its caller's; undefined: there is none */
function endSpan(span: RequestSpan | undefined, failure: number | undefined): void {
  span?.end({}, failure === undefined ? undefined : String(failure));
}

/** How long the answer to a ping may take at least, milliseconds: the client, the way, and this thread may be busy. */
const minAnswerMs = 1000;

/** What was last heard of one client, and when: whether it is still there, and whether a message of it trickles. */
class ConnectionClocks {
  readonly #options: HttpOptions;
  readonly #wire: SocketWire;
  /** When a message, a ping or the answer to one was last heard, by `clockMs`. */
  heardAt: number = clockMs();
  #pingedAt = 0;
  #withinSince: number | undefined;
  #received = 0;
  #receivedAt = this.heardAt;

  constructor(options: HttpOptions, wire: SocketWire) {
    this.#options = options;
    this.#wire = wire;
  }

  restart(now: number): void {
    this.#receivedAt = now;
    this.heardAt = now;
  }

  /**
   * Cuts the connection if it is silent or a message takes too long; pings it if nothing was heard for a while.
   *
   * @param stalledMs for how long this thread was held up. It could not hear the client then, who was not silent for that
   * @param longestMs how long a message may be on its way
   * @returns since when it seems to be within a message; undefined: it is not
   */
  look(now: number, stalledMs: number, longestMs: number): number | undefined {
    if (stalledMs > 0) {
      const later = (at: number): number => Math.min(now, at + stalledMs);
      this.heardAt = later(this.heardAt);
      this.#pingedAt = later(this.#pingedAt);
      this.#receivedAt = later(this.#receivedAt);
      if (this.#withinSince !== undefined) this.#withinSince = later(this.#withinSince);
    }
    const { streamPingMs, socketIdleMs } = this.#options;
    const { received } = this.#wire;
    if (received !== this.#received) {
      this.#received = received ?? 0;
      this.#receivedAt = now;
    }
    const isSilent = received !== undefined && now - this.#receivedAt >= socketIdleMs;
    const since = this.#withinMessageSince(now);
    const isLate = since !== undefined && now - since >= longestMs;
    if (isSilent || isLate) {
      this.#wire.cut();
      return undefined;
    }
    if (streamPingMs > 0 && now - Math.max(this.heardAt, this.#pingedAt) >= streamPingMs) {
      this.#pingedAt = now;
      this.#wire.ping();
    }
    return since;
  }

  /**
   * Since when a message has been coming, as far as can be told. Nothing can stand within a frame: a client that does not
   * answer a ping is within one, or is gone.
   */
  #withinMessageSince(now: number): number | undefined {
    const { isWithinMessage } = this.#wire;
    const { streamPingMs } = this.#options;
    const mostMs = streamPingMs + Math.max(minAnswerMs, streamPingMs / 2);
    const owesAnswer = this.#pingedAt > this.heardAt && now - this.heardAt >= mostMs;
    if (!(isWithinMessage ?? owesAnswer)) this.#withinSince = undefined;
    else this.#withinSince ??= isWithinMessage === true ? now : this.heardAt;
    return this.#withinSince;
  }
}

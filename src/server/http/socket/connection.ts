import { clockMs } from '../../../core/base/clock.ts';
import type { Overload } from '../../../core/base/overloads.ts';
import { RequestBody } from '../../../core/dispatch/body-memory.ts';
import { overloadedOutcome, overloadedReply } from '../../../core/dispatch/call.ts';
import type { WaitingReply } from '../../../core/dispatch/reply-memory.ts';
import { RequestScope } from '../../../core/dispatch/scope.ts';
import type {
  StreamCall,
  StreamHost,
  StreamSink,
} from '../../../core/dispatch/streams/contract.ts';
import { ErrorCode } from '../../../core/protocol/errors.ts';
import {
  errorOutcome,
  errorReply,
  type GoesToSink,
  goesToSink,
  type Outcome,
  type Reply,
  type ReplySink,
} from '../../../core/protocol/reply.ts';
import { writeDeadlineMs } from '../edge/limits.ts';
import { MessageSpan } from '../edge/span.ts';
import type { SocketContext, SocketFacts, SocketWire } from './sockets.ts';
import { type Subscriber, Subscription, Subscriptions } from './subscriptions.ts';

/** One message of a client, which is a request, until its answer is there. */
export class SocketMessage implements ReplySink, StreamHost {
  readonly scope: RequestScope;
  readonly span: MessageSpan | undefined;
  /** Why the service has refused the whole message, or has failed under it; undefined: neither. */
  failure: number | undefined;
  readonly #body: RequestBody;
  readonly #owner: SocketConnection;
  /** Those that its calls may open. */
  #subscriptions: Subscription[] | undefined;

  constructor(
    owner: SocketConnection,
    scope: RequestScope,
    body: RequestBody,
    span: MessageSpan | undefined,
  ) {
    this.#owner = owner;
    this.scope = scope;
    this.#body = body;
    this.span = span;
  }

  onReply(reply: Reply): void {
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
    return this.#owner.unsubscribe;
  }

  /** The answer is sent, which names the subscriptions: their values may follow. */
  begin(): void {
    for (const subscription of this.#subscriptions ?? []) subscription.begin();
  }
}

/** Most milliseconds after which a client should come back to a service that ends: they must not all come at once. */
const spreadMs = 1000;

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
  /** Made with the first stream. */
  #subscriptions: Subscriptions | undefined;
  #backlog: Backlog | undefined;
  #isDraining = false;
  /** The close frame is sent; the client's own may still come. */
  #isEnding = false;
  #isOver = false;
  readonly #clocks: ConnectionClocks;

  constructor(context: SocketContext, wire: SocketWire, facts: SocketFacts) {
    this.#context = context;
    this.#wire = wire;
    this.#facts = facts;
    this.#clocks = new ConnectionClocks(context, wire);
    context.sockets.add(this);
  }

  /** @param bytes lent until this returns */
  onMessage(bytes: Uint8Array): void {
    if (this.#isOver || this.#isEnding) return;
    const { service } = this.#context;
    const scope = this.#scope();
    this.#clocks.heardAt = scope.receivedAt;
    const span = this.#spanFor(scope);
    const body = RequestBody.reserve(service.bodyMemory, bytes.byteLength, scope);
    if (typeof body === 'string') {
      span?.answered(ErrorCode.Overloaded);
      this.#wire.send(overloadedReply(body));
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
    let reply: Reply | Promise<Reply> | GoesToSink;
    try {
      reply = service.handle(body.add(bytes) ?? bytes, scope, message);
    } catch (error) {
      this.#onFault(message, error);
      return;
    }
    this.#callerKey ??= scope.callerKey;
    if (reply !== goesToSink && !(reply instanceof Promise)) {
      message.onReply(reply);
      return;
    }
    this.#open ??= new Set();
    this.#open.add(message);
    this.#context.inFlight.enter();
    if (reply === goesToSink) return;
    reply.then(
      (settled) => message.onReply(settled),
      (error: unknown) => this.#onFault(message, error),
    );
  }

  onAnswer(message: SocketMessage, reply: Reply): void {
    const wasOpen = this.#open?.delete(message) === true;
    if (this.#isOver) return;
    message.span?.answered(message.failure);
    if (reply !== undefined) this.#wire.send(reply);
    message.begin();
    if (!wasOpen) return;
    this.#context.inFlight.leave();
    this.#endWhenDrained();
  }

  acceptStream(call: StreamCall): Subscription | Outcome {
    this.#subscriptions ??= new Subscriptions(this, this.#context.maxStreamsPerConnection);
    return this.#subscriptions.accept(call);
  }

  get unsubscribe(): (id: string) => boolean {
    return (id) => this.#subscriptions?.unsubscribe(id) === true;
  }

  get hasRoom(): boolean {
    return this.#backlog === undefined || this.#backlog.bytes <= highWater;
  }

  send(text: string): void {
    if (!this.#isOver) this.#wire.send(text);
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

  /**
   * Told where the client has not read all that was sent to it, and again when it has read more.
   *
   * @param bytes how many are left
   */
  onUnsent(bytes: number): void {
    if (this.#isOver) return;
    const { service, inFlight, maxReplyBytes } = this.#context;
    const { replyMemory } = service;
    const before = this.#backlog;
    if (before !== undefined) replyMemory.delete(before);
    if (bytes === 0) {
      if (before === undefined) return;
      this.#backlog = undefined;
      inFlight.leave();
      this.#subscriptions?.resume();
      this.#endWhenDrained();
      return;
    }
    // A drain waits until the client has its answers.
    if (before === undefined) inFlight.enter();
    before?.update(bytes);
    const backlog = before ?? new Backlog(this.#scope(), this.#wire, bytes);
    this.#backlog = backlog;
    if (bytes > maxReplyBytes) {
      this.#wire.cut();
      return;
    }
    replyMemory.add(backlog);
    if (this.hasRoom) this.#subscriptions?.resume();
  }

  /** The connection has gone. */
  onGone(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { sockets, inFlight, service } = this.#context;
    sockets.delete(this);
    if (this.#backlog !== undefined) {
      service.replyMemory.delete(this.#backlog);
      inFlight.leave();
    }
    this.#subscriptions?.cancel();
    for (const { scope, span } of this.#open ?? []) {
      span?.left();
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
  look(now: number, stalledMs: number): number | undefined {
    if (this.#backlog === undefined) return this.#clocks.look(now, stalledMs);
    // The client can't see a ping before it has read what stands in front of it.
    const dueAt = this.#backlog.dueAt(this.#context.writeTimeoutMs, this.#streams > 0);
    if (now >= dueAt) this.#wire.cut();
    this.#clocks.restart(now);
    return undefined;
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

  #spanFor(scope: RequestScope): MessageSpan | undefined {
    const { tracing } = this.#context.service;
    if (tracing === undefined) return undefined;
    const span = new MessageSpan(tracing, this.#facts, scope.receivedAt);
    scope.trace = span.calls;
    return span;
  }

  /** Why a message that comes now is refused: each of its requests is then answered with that. */
  #verdict(): { readonly refusal: Outcome; readonly overload?: Overload } | undefined {
    if (this.#isDraining) {
      const retryAfterMs = Math.round(Math.random() * spreadMs);
      return { refusal: errorOutcome(ErrorCode.Cancelled, { reason: 'shutdown', retryAfterMs }) };
    }
    const overload = 'callsOfConnection';
    if ((this.#open?.size ?? 0) < this.#context.maxCallsPerConnection) return undefined;
    return { refusal: overloadedOutcome(overload), overload };
  }

  #endWhenDrained(): void {
    if (!this.#isDraining || this.#isEnding) return;
    if ((this.#open?.size ?? 0) > 0 || this.#streams > 0) return;
    this.#wire.flush();
    if (this.#backlog !== undefined || this.#isOver) return;
    this.#isEnding = true;
    this.#wire.end(1012);
  }

  /** The service broke its contract, which is never to throw and never to reject. */
  #onFault(message: SocketMessage, error: unknown): void {
    this.#context.warn(`service failed under a message: ${String(error)}`);
    message.failure = ErrorCode.InternalError;
    message.onReply(failed);
  }
}

/** How long the answer to a ping may take at least, milliseconds: the client, the way, and this thread may be busy. */
const leastAnswerMs = 1000;

/** What was last heard of one client, and when: whether it is still there, and whether a message of it trickles. */
class ConnectionClocks {
  readonly #limits: SocketContext;
  readonly #wire: SocketWire;
  /** When a message, a ping or the answer to one was last heard, by `clockMs`. */
  heardAt: number = clockMs();
  #pingedAt = 0;
  #withinSince: number | undefined;
  #received = 0;
  #receivedAt = this.heardAt;

  constructor(limits: SocketContext, wire: SocketWire) {
    this.#limits = limits;
    this.#wire = wire;
  }

  /** Counts as if the client had just been heard. */
  restart(now: number): void {
    this.#receivedAt = now;
    this.heardAt = now;
  }

  /**
   * Cuts the connection where it is silent or a message takes too long; pings it where nothing was heard for a while.
   *
   * @param stalledMs for how long this thread was held up. It could not hear the client then, who was not silent for that
   * @returns since when it seems to be within a message; undefined: it is not
   */
  look(now: number, stalledMs: number): number | undefined {
    if (stalledMs > 0) this.#skip(now, stalledMs);
    const { streamPingMs, socketIdleMs, longestMessageMs } = this.#limits;
    const { received } = this.#wire;
    if (received !== this.#received) {
      this.#received = received ?? 0;
      this.#receivedAt = now;
    }
    const isSilent = received !== undefined && now - this.#receivedAt >= socketIdleMs;
    const since = this.#withinMessageSince(now);
    const isLate = since !== undefined && now - since >= socketIdleMs + longestMessageMs;
    if (socketIdleMs > 0 && (isSilent || isLate)) {
      this.#wire.cut();
      return undefined;
    }
    if (streamPingMs > 0 && now - Math.max(this.heardAt, this.#pingedAt) >= streamPingMs) {
      this.#pingedAt = now;
      this.#wire.ping();
    }
    return since;
  }

  #skip(now: number, ms: number): void {
    const later = (at: number): number => Math.min(now, at + ms);
    this.heardAt = later(this.heardAt);
    this.#pingedAt = later(this.#pingedAt);
    this.#receivedAt = later(this.#receivedAt);
    if (this.#withinSince !== undefined) this.#withinSince = later(this.#withinSince);
  }

  /**
   * Since when a message has been coming, as far as can be told. Nothing can stand within a frame: a client that does not
   * answer a ping is within one, or is gone.
   */
  #withinMessageSince(now: number): number | undefined {
    const isWithin = this.#wire.isWithinMessage ?? this.#owesAnswer(now);
    if (!isWithin) this.#withinSince = undefined;
    else this.#withinSince ??= this.#wire.isWithinMessage === true ? now : this.heardAt;
    return this.#withinSince;
  }

  /** Whether a ping is not answered, and has not been for longer than an answer may take. */
  #owesAnswer(now: number): boolean {
    const { streamPingMs } = this.#limits;
    const mostMs = streamPingMs + Math.max(leastAnswerMs, streamPingMs / 2);
    return this.#pingedAt > this.heardAt && now - this.heardAt >= mostMs;
  }
}

/** The bytes that one client has not read. As long as there are any, they count in the memory for replies. */
class Backlog implements WaitingReply {
  bytes: number;
  readonly scope: RequestScope;
  readonly #since = clockMs();
  /** Bytes that the backlog has held since it began, those included that the client has read by now. */
  #total: number;
  /** When the client has read last. */
  #movedAt = this.#since;
  readonly #wire: SocketWire;

  /** @param scope says whose connection it is */
  constructor(scope: RequestScope, wire: SocketWire, bytes: number) {
    this.scope = scope;
    this.#wire = wire;
    this.bytes = bytes;
    this.#total = bytes;
  }

  /** Sets how many bytes are left. The memory for replies must not hold it meanwhile. */
  update(bytes: number): void {
    if (bytes < this.bytes) this.#movedAt = clockMs();
    else this.#total += bytes - this.bytes;
    this.bytes = bytes;
  }

  /**
   * When the client is too slow, by `clockMs`: as with a large reply over HTTP. Streams pause where their client is slow,
   * so it may be as slow as it likes, as long as it reads at all.
   */
  dueAt(writeTimeoutMs: number, isStreaming: boolean): number {
    return isStreaming
      ? this.#movedAt + writeTimeoutMs
      : this.#since + writeDeadlineMs(this.#total, writeTimeoutMs);
  }

  get pace(): number {
    return (this.#total - this.bytes) / (clockMs() - this.#since + 1);
  }

  cut(): void {
    this.#wire.cut();
  }
}

import { clockMs } from '../../base/clock.ts';
import { noMemory, tooManyInFlight } from '../../dispatch/limit.ts';
import { type GoesToSink, goesToSink } from '../../dispatch/reply-sink.ts';
import { RequestBody } from '../../dispatch/request-body.ts';
import { RequestScope } from '../../dispatch/scope.ts';
import type { StreamCall } from '../../dispatch/streams/contract.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { errorOutcome, errorReply, type Outcome, type Reply } from '../../jsonrpc/reply.ts';
import { Backlog } from './backlog.ts';
import { ConnectionClocks } from './clocks.ts';
import type { SocketFacts } from './facts.ts';
import { type MessageOwner, SocketMessage } from './message.ts';
import type { SocketContext } from './sockets.ts';
import { MessageSpan } from './span.ts';
import type { Subscription } from './subscription.ts';
import type { SubscriptionIds } from './subscription-ids.ts';
import { type Subscriber, Subscriptions } from './subscriptions.ts';
import type { SocketWire } from './wire.ts';

/** Most milliseconds after which a client should come back to a service that ends: they must not all come at once. */
const spreadMs = 1000;

/** Unread bytes of a client above which its streams pause. */
const highWater = 64 * 1024;

const failed = errorReply('null', ErrorCode.InternalError, { reason: 'the service failed' });

/**
 * One WebSocket from its upgrade to its end: each message is a request, and answers go as they come. It knows neither
 * of the two servers: a server calls its methods for what comes, and takes what goes from its wire.
 */
export class SocketConnection implements MessageOwner, Subscriber {
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
    const body = RequestBody.reserve(service.bodyMemory, bytes.byteLength);
    if (body === undefined) {
      span?.answered(ErrorCode.Overloaded);
      this.#wire.send(noMemory);
      return;
    }
    scope.body = body.lease;
    const message = new SocketMessage(this, scope, body, span);
    scope.streams = message;
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      scope.verdict = { refusal };
      message.failure = refusal.code;
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
    this.#subscriptions ??= new Subscriptions(this);
    return this.#subscriptions.accept(call);
  }

  get unsubscribe(): (id: string) => boolean {
    return (id) => this.#subscriptions?.unsubscribe(id) === true;
  }

  get maxStreamsPerConnection(): number {
    return this.#context.maxStreamsPerConnection;
  }

  get ids(): SubscriptionIds {
    return this.#context.subscriptionIds;
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
    this.#backlog =
      before?.next(bytes, clockMs()) ?? Backlog.begin(bytes, clockMs(), () => this.#wire.cut());
    if (bytes > maxReplyBytes) {
      this.#wire.cut();
      return;
    }
    replyMemory.add(this.#backlog);
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
    scope.admit(this.#facts.authText);
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
  #refusal(): Outcome | undefined {
    if (this.#isDraining) {
      const retryAfterMs = Math.round(Math.random() * spreadMs);
      return errorOutcome(ErrorCode.Cancelled, { reason: 'shutdown', retryAfterMs });
    }
    const open = this.#open?.size ?? 0;
    return open < this.#context.maxCallsPerConnection ? undefined : tooManyInFlight();
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

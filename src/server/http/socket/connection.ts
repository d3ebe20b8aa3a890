import { randomInt } from 'node:crypto';
import { clockMs } from '../../../core/base/clock.ts';
import { textAbout } from '../../../core/base/message-of.ts';
import { maxCallsPerConnection, type Overload } from '../../../core/base/overloads.ts';
import { RequestBody } from '../../../core/dispatch/body-memory.ts';
import { overloadedOutcome, overloadedReply, unrunOutcome } from '../../../core/dispatch/call.ts';
import { RequestScope } from '../../../core/dispatch/scope.ts';
import {
  notificationOf,
  type StreamCall,
  type StreamFlow,
  type StreamHost,
  type StreamSink,
} from '../../../core/dispatch/streams/contract.ts';
import { ValueWindow } from '../../../core/dispatch/streams/readers.ts';
import type { RequestSpan } from '../../../core/dispatch/trace.ts';
import { ErrorCode } from '../../../core/protocol/errors.ts';
import {
  errorOutcome,
  errorReply,
  type Outcome,
  type Reply,
  type ReplySink,
  replyText,
  resultReply,
} from '../../../core/protocol/reply.ts';
import { beginMessage, clientGone } from '../edge/span.ts';
import { Outflow } from '../outflow.ts';
import {
  ConnectionClocks,
  type SocketContext,
  type SocketFacts,
  type SocketWire,
  serviceRestart,
} from './sockets.ts';

/** One message of a client, which is a request, until its answer is there. */
class SocketMessage implements ReplySink, StreamHost {
  readonly scope: RequestScope;
  readonly span: RequestSpan | undefined;
  /** Why the service has refused the whole message, or has failed under it; undefined: neither. */
  failure: number | undefined;
  isAnswered = false;
  readonly #body: RequestBody;
  readonly #owner: SocketConnection;
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

/**
 * The id of the next subscription: one counter a process, from a random start, so that an old client meets no new stream.
 * Ids are hexadecimal, since some clients of Ethereum nodes take nothing else.
 */
let nextId = randomInt(2 ** 36, 2 ** 40);

/** The values of one stream as notifications, and its end as one of the method `rpc.end`. */
class Subscription implements StreamSink {
  readonly id: string;
  /** JSON text. */
  readonly #callId: string;
  readonly #owner: SocketConnection;
  /** A notification up to its value. */
  readonly #head: string;
  #flow: StreamFlow | undefined;
  /** undefined: its client was not told its id yet. */
  #window: ValueWindow | undefined;
  /** How it ended before that. */
  #early: Outcome | undefined;

  constructor(owner: SocketConnection, call: StreamCall) {
    this.#owner = owner;
    this.id = `0x${(nextId++).toString(16)}`;
    // A call without an id opens no stream.
    this.#callId = call.id ?? 'null';
    this.#head = `{"jsonrpc":"2.0","method":${JSON.stringify(notificationOf(call))},"params":{"subscription":"${this.id}","result":`;
  }

  opened(flow: StreamFlow): Reply {
    const refusal = this.#owner.openStream(this);
    if (refusal !== undefined) {
      flow.cancel();
      return replyText(this.#callId, refusal);
    }
    this.#flow = flow;
    // A member beside the result: a text that looks like an id may be the result of an ordinary call.
    return resultReply(this.#callId, `"${this.id}","subscription":true`);
  }

  /** The reply that names it is sent: its values may follow. */
  begin(): void {
    if (this.#flow === undefined) return;
    this.#window = new ValueWindow(this.#flow);
    if (this.#early === undefined) this.#window.open();
    else this.end(this.#early);
  }

  value(text: string): void {
    this.#owner.send(`${this.#head}${text}}}`);
    this.#window?.add(text.length);
    if (this.#owner.mayGoOn()) this.#window?.taken();
  }

  /** The client has read: what went out meanwhile is granted again. */
  resume(): void {
    this.#window?.taken();
  }

  end(outcome: Outcome): void {
    if (this.#window === undefined) {
      this.#early = outcome;
      return;
    }
    const member = outcome.ok ? 'result' : 'error';
    this.#owner.send(
      `{"jsonrpc":"2.0","method":"rpc.end","params":{"subscription":"${this.id}","${member}":${outcome.text}}}`,
    );
    this.#owner.closeStream(this);
  }

  /** Nobody reads it any more: nothing follows, not even the end of a stream that had ended before it was named. */
  cancel(): void {
    this.#flow?.cancel();
    this.#flow = undefined;
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
export class SocketConnection {
  readonly #context: SocketContext;
  readonly #wire: SocketWire;
  readonly #facts: SocketFacts;
  /** Found out with the first message, and the same for each. */
  #callerKey: string | undefined;
  /** Messages whose answers are not there yet. Made with the first of them: most sockets are idle. */
  #open: Set<SocketMessage> | undefined;
  /** The open streams by their ids. Made with the first of them. */
  #subscriptions: Map<string, Subscription> | undefined;
  #isPaused = false;
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

  /** The sink of a stream that a call asks for; or why it may have none. */
  acceptStream(call: StreamCall): Subscription | Outcome {
    return this.#streamRefusal() ?? new Subscription(this, call);
  }

  /** Takes a stream in; or says why there may be none more. A drain waits for its end. */
  openStream(subscription: Subscription): Outcome | undefined {
    if (this.#isOver) return errorOutcome(ErrorCode.Cancelled);
    // Several calls may have been accepted before the first of their streams has opened.
    const refusal = this.#streamRefusal();
    if (refusal !== undefined) return refusal;
    this.#subscriptions ??= new Map();
    this.#subscriptions.set(subscription.id, subscription);
    this.#context.inFlight.enter();
    return undefined;
  }

  closeStream({ id }: Subscription): void {
    if (this.#subscriptions?.delete(id) !== true) return;
    this.#context.inFlight.leave();
    if (!this.#isOver) this.#endWhenDrained();
  }

  /** @returns false: the connection has no such subscription */
  unsubscribe(id: string): boolean {
    const subscription = this.#subscriptions?.get(id);
    if (subscription === undefined) return false;
    this.closeStream(subscription);
    subscription.cancel();
    return true;
  }

  /** Whether the client has read nearly all that was sent to it. If not, `resume` of each stream is called when it has. */
  mayGoOn(): boolean {
    this.#isPaused ||= !this.#hasRoom;
    return this.#hasRoom;
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
    if (this.#isPaused && this.#hasRoom) this.#resumeStreams();
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
    for (const id of this.#subscriptions?.keys() ?? []) this.unsubscribe(id);
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

  get #hasRoom(): boolean {
    return this.#unread <= highWater;
  }

  #resumeStreams(): void {
    this.#isPaused = false;
    for (const subscription of this.#subscriptions?.values() ?? []) subscription.resume();
  }

  #streamRefusal(): Outcome | undefined {
    const limit = this.#context.options.maxStreamsPerConnection;
    return this.#streams < limit ? undefined : errorOutcome(ErrorCode.LimitExceeded, { limit });
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
    this.#context.options.warn(`service failed under a message: ${textAbout(() => String(error))}`);
    message.failure = ErrorCode.InternalError;
    message.onReply(failed);
  }
}

/** @param failure the code of an error that is this service's, not its caller's; undefined: there is none */
function endSpan(span: RequestSpan | undefined, failure: number | undefined): void {
  span?.end({}, failure === undefined ? undefined : String(failure));
}

import type { Procedure } from '../procedures/types.ts';
import type { GoesToSink, Outcome, Reply, ReplySink } from '../protocol/reply.ts';
import type { BodyMemory } from './body-memory.ts';
import type { ReplyMemory } from './reply-memory.ts';
import type { RequestScope } from './scope.ts';
import type { RequestTracing } from './trace.ts';

/**
 * `starting`: replicas load, or no member was heard of yet; `ready`: serving; `draining`: finishes what it has; `closed`. With NATS
 * also `disconnected`: its server is away; `alone`: a gateway whose members have all gone.
 */
export type ServiceState = 'starting' | 'ready' | 'draining' | 'closed' | 'disconnected' | 'alone';

/** A document that is serialised once per registry. */
export interface Document {
  readonly bytes: Uint8Array;
  /** Names these bytes: 22 letters, digits, `-` and `_`, others for other bytes. */
  readonly version: string;
}

/** `tandem`: the introspection document. */
export type DocumentFormat = 'tandem' | 'openrpc';

/** The procedures of a service as they are now. A registration or a reload makes another one. */
export interface ServedProcedures {
  /** By name, in the order of registration. */
  readonly table: ReadonlyMap<string, Procedure>;
  /** Grows with each change of the same table. */
  readonly version: number;
}

/** The figures of a service, made into text when somebody asks for them. */
export interface MetricsText {
  /** In the text format of Prometheus, UTF-8: the same bytes for all who ask at the time. Never rejects. */
  bytes(): Promise<Uint8Array>;
}

/**
 * What a transport sees of the dispatcher, and all it may use. Nothing below knows of a transport: words such as a
 * status, a path or an ETag are the transport's own.
 *
 * A transport does this with each request (a request is one JSON-RPC message: a call, a notification, or a batch):
 *
 * 1. **Scope.** It makes one `RequestScope` when the request begins, which is `receivedAt`, and tells it what it knows:
 *    the address, the metadata that procedures may see, the time the caller gives it, its trace context. A fact that is
 *    costly to read may be a getter; facts are read until the request is answered, and never of another request.
 * 2. **Span.** Where `tracing` is there it begins a span, in its own words, gives it to the scope (`scope.trace`), and
 *    ends it with what it answered. Without a span of its own the calls are traced below the caller's.
 * 3. **Who calls.** Where it has an `Authenticator` it asks once, when it has the facts and before it has the body, and
 *    puts the answer, or the promise of one, into `scope.verdict`. The service waits for it and refuses.
 * 4. **Size.** It refuses a message over its limit without keeping it, with -32004 and the id null; or it ends the
 *    connection, where its protocol can't go on behind such a message.
 * 5. **Body memory.** Before it gathers a body it reserves room (`RequestBody.reserve`), puts the lease of a large one into
 *    `scope.body`, and gathers the body there. Where there is no room, it refuses with -32000. It releases the body once
 *    the request is answered, or when the caller left before `handle`.
 * 6. **Handle.** It calls `handle` once, with the whole body and nothing else. A small body is lent only until `handle`
 *    returns: afterwards the transport may reuse the bytes. A large one must stay as it is until the answer is there.
 * 7. **Answer.** It writes exactly one answer for each request, as it is, to the caller that asked; for `undefined`
 *    it writes nothing, or what says "nothing" in its protocol. It never writes to a caller that has left.
 * 8. **Reply memory.** Bytes of an answer that the caller has not taken yet are in `replyMemory`, with the way to cut
 *    that caller; a caller that does not read is not read from.
 * 9. **Leaving.** When the caller goes before its answer, the transport calls `scope.cancel()`. Its calls then stop.
 * 10. **Draining.** Its own `close()` takes no new callers, answers what it has accepted, and then ends. After a grace it
 *    cuts the rest, and cancels their scopes.
 *
 * A transport may rely on this:
 *
 * - `handle` and `admit` never throw and never reject; an answer is valid JSON-RPC of at most `maxReplyBytes`.
 * - A sink that is given to `handle` gets the answer once, after `handle` has said so, whether the caller has left or not.
 * - Every request is answered: by its deadline (the scope's, and the service's own), and when the service ends.
 * - The service limits the depth, the batch, the calls in flight and the time. A transport limits bytes and callers.
 * - `handle` may be called in every state. While the service is starting, the request waits.
 *
 * The suite in test/transports holds every transport to this.
 */
export interface Service {
  readonly state: ServiceState;
  /** What the bodies of requests, and the replies that wait for their callers, may take. */
  readonly bodyMemory: BodyMemory;
  readonly replyMemory: ReplyMemory;
  /** Makes the spans of requests; undefined: nobody traces. */
  readonly tracing: RequestTracing | undefined;
  /**
   * One JSON-RPC request or batch, as text or as UTF-8 bytes. Stays synchronous when every call it holds ran inline and
   * synchronously. Never throws, never rejects.
   */
  handle(body: string | Uint8Array, scope: RequestScope): Reply | Promise<Reply>;
  /** The same. The answer may also go to the sink, which spares the promise. */
  handle(
    body: string | Uint8Array,
    scope: RequestScope,
    sink: ReplySink | undefined,
  ): Reply | Promise<Reply> | GoesToSink;
  /**
   * For a request that is no call and yet waits for a `verdict`: why it is refused; undefined: it is not.
   * Never throws, never rejects.
   */
  admit(scope: RequestScope): Outcome | undefined | Promise<Outcome | undefined>;
  /** undefined: none are kept. */
  readonly metrics: MetricsText | undefined;
  /** What describes the procedures; undefined while there is none: starting, or closed. */
  introspect(format: DocumentFormat): Document | undefined;
  /**
   * The procedures themselves, for a transport whose protocol describes them in a way of its own. A promise while the
   * service starts; undefined: it has ended, or could not start. Never throws, never rejects.
   */
  served(): ServedProcedures | undefined | Promise<ServedProcedures | undefined>;
}

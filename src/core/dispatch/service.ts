import type { Document } from '../procedures/document/document-text.ts';
import type { Procedure } from '../procedures/types.ts';
import type { Outcome, ReplySink } from '../protocol/reply.ts';
import type { BodyMemory } from './body-memory.ts';
import type { ReplyMemory } from './reply-memory.ts';
import type { RequestScope } from './scope.ts';
import type { RequestTracing } from './trace.ts';

/**
 * `starting`: replicas load, or no member was heard of yet; `ready`: serving; `draining`: finishes what it has; `closed`. With NATS
 * also `disconnected`: its server is away; `alone`: a gateway whose members have all gone.
 */
export type ServiceState = 'starting' | 'ready' | 'draining' | 'closed' | 'disconnected' | 'alone';

export type { Document };

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
 * status, a path or an ETag are the transport's own. The suite in test/transports holds every transport to this.
 *
 * For each request (one JSON-RPC message: a call, a notification or a batch) a transport does this:
 *
 * 1. **Scope.** Makes a `RequestScope` when the request begins, from what it knows. Facts are read until the request is
 *    answered; a fact that is costly to read may be a getter.
 * 2. **Span.** If `tracing` is there: begins a span, gives it to the scope, and ends it with what it answered.
 * 3. **Who calls.** If it has an `Authenticator`: asks once, before it has the body, and puts the answer or its promise into
 *    `scope.verdict`. The service waits for it and refuses.
 * 4. **Size.** Refuses a message over its limit with -32004 and the id null, or ends the connection.
 * 5. **Body memory.** Reserves room before it gathers a body (`RequestBody.reserve`), and puts the lease of a large one into
 *    `scope.body`; without room it refuses with -32000. Releases the body when the request is answered, or when the caller
 *    left before `handle`.
 * 6. **Handle.** Calls `handle` once, with the whole body. A small body is lent until `handle` returns. A large one must stay
 *    as it is until the answer is there.
 * 7. **Answer.** Writes exactly one answer, as it is, to the caller that asked; for `undefined` nothing. Never writes to a
 *    caller that has left.
 * 8. **Reply memory.** Counts bytes that the caller has not taken yet in `replyMemory`, with the way to cut that caller. Reads
 *    nothing from a caller that does not read.
 * 9. **Leaving.** Calls `scope.cancel()` when the caller goes before its answer.
 * 10. **Draining.** `close()` takes no new callers, answers what it has accepted, cuts the rest after a grace and cancels their
 *    scopes.
 *
 * A transport may rely on this:
 *
 * - `handle` and `admit` never throw, and `admit` never rejects; an answer is valid JSON-RPC of at most `maxReplyBytes`.
 * - The sink gets the answer once, within `handle` or later, whether the caller has left or not.
 * - Every request is answered: by its deadline (the scope's, and the service's own), and when the service ends.
 * - The service limits the depth, the batch, the calls in flight and the time. A transport limits bytes and callers.
 * - `handle` may be called in every state. While the service is starting, the request waits.
 */
export interface Service {
  readonly state: ServiceState;
  /** What the bodies of requests, and the replies that wait for their callers, may take. */
  readonly bodyMemory: BodyMemory;
  readonly replyMemory: ReplyMemory;
  /** Makes the spans of requests; undefined: nobody traces. */
  readonly tracing: RequestTracing | undefined;
  /**
   * One JSON-RPC request or batch, as text or as UTF-8 bytes. The sink gets the answer before this returns when every call
   * ran inline and synchronously. Never throws.
   */
  handle(body: string | Uint8Array, scope: RequestScope, sink: ReplySink): void;
  /**
   * For a request that is no call and yet waits for a `verdict`: why it is refused; undefined: it is not.
   * Never throws, never rejects.
   */
  admit(scope: RequestScope): Outcome | undefined | Promise<Outcome | undefined>;
  /** undefined: none are kept. */
  readonly metrics: MetricsText | undefined;
  /** What describes the procedures, made once for each of their states; undefined while there is none: starting, or closed. */
  introspect(format: DocumentFormat): Promise<Document> | undefined;
  /**
   * The procedures themselves, for a transport whose protocol describes them in a way of its own. A promise while the
   * service starts; undefined: it has ended, or could not start. Never throws, never rejects.
   */
  served(): ServedProcedures | undefined | Promise<ServedProcedures | undefined>;
}

import type { Outcome, Reply } from '../jsonrpc/reply.ts';
import type { BodyMemory } from './body-memory.ts';
import type { ReplyMemory } from './reply-memory.ts';
import type { RequestScope } from './scope.ts';

/** `starting`: replicas load; `ready`: serving; `draining`: finishes what it has; `closed`. */
export type ServiceState = 'starting' | 'ready' | 'draining' | 'closed';

/** A document that is serialised once per registry, with the ETag that names that serialisation. */
export interface Document {
  readonly bytes: Uint8Array;
  /** Quoted, as it stands in the header. */
  readonly etag: string;
}

/** `tandem`: the introspection document. */
export type DocumentFormat = 'tandem' | 'openrpc';

/** The figures of a service, made into text when somebody asks for them. */
export interface MetricsText {
  /** In the text format of Prometheus, UTF-8: the same bytes for all who ask at the time. Never rejects. */
  bytes(): Promise<Uint8Array>;
}

/** What a transport sees of the dispatcher: nothing below it knows of a transport. */
export interface Service {
  readonly state: ServiceState;
  /** What the bodies of requests, and the replies that wait for their clients, may take. */
  readonly bodyMemory: BodyMemory;
  readonly replyMemory: ReplyMemory;
  /**
   * One JSON-RPC request or batch, as text or as UTF-8 bytes. A large `body` stays as it is
   * until the reply is there; a small one only until this returns. Stays synchronous when every call it holds ran inline and
   * synchronously. Never throws, never rejects.
   */
  handle(body: string | Uint8Array, scope: RequestScope): Reply | Promise<Reply>;
  /**
   * For what is no call and yet has a `verdict` to wait for: why it is refused, undefined where it is not.
   * Never throws, never rejects.
   */
  admit(scope: RequestScope): Outcome | undefined | Promise<Outcome | undefined>;
  /** undefined: none are kept. */
  readonly metrics: MetricsText | undefined;
  /** What GET answers; undefined while there is none: starting, or closed. */
  introspect(format: DocumentFormat): Document | undefined;
}

import type { CallLog } from './call-log.ts';
import type { ErrorMakers } from './declared-errors.ts';

/** The second argument of a handler: the same inline and in a worker. */
export interface CallContext<State = unknown, Errors = Record<never, never>, Auth = unknown> {
  /** Aborts when the caller has gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /**
   * Whether the caller has gone, or was answered at the deadline. In a worker it is true within synchronous code too, where
   * the signal can't abort: a loop may ask in each round, which costs some nanoseconds. Synchronous code on the main
   * thread keeps it from learning of either: there compare `deadline`.
   */
  readonly cancelled: boolean;
  /** Writes lines into the service's log: `context.log.info({ rows }, 'imported')`. They carry `method` and `id`. */
  readonly log: CallLog;
  /**
   * When this call must have ended, in milliseconds since the Unix epoch. Read it anew each time you compare it with
   * Date.now(): when somebody sets the wall clock, the deadline moves with it.
   */
  readonly deadline: number;
  /** The request's id, undefined for a notification. A number beyond double precision is rounded here only. */
  readonly id: string | number | null | undefined;
  /** The name the procedure was called by. */
  readonly method: string;
  /** The request headers named in `forwardHeaders`, lower-case names. Frozen. */
  readonly headers: Readonly<Record<string, string>>;
  /** The caller's address, undefined where the transport has none. */
  readonly remoteAddress: string | undefined;
  /** What the `authenticate` hook returned. Each call has its own copy. */
  readonly auth: Auth;
  /**
   * The `traceparent` header (W3C Trace Context); undefined where the request had none or an invalid one. With the
   * option `tracing` it names the span of this call. Send it with the requests that the handler makes.
   */
  readonly traceparent: string | undefined;
  /** The `tracestate` header that came with it. */
  readonly tracestate: string | undefined;
  /** What the module's `setup()` returned in this replica. */
  readonly state: State;
  /** Makes the errors the procedure declares: `throw context.errors.NAME(data)`. */
  readonly errors: ErrorMakers<Errors>;
}

/** The context of a call, as `invoke` has it. */
export interface InvokeContext extends CallContext {
  /** Set by `invoke`: how long the handler held its thread, where it began after a wait for what runs in front of it. */
  resumedMs?: number;
}

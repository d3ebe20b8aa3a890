import type { ErrorMakers } from './declared-errors.ts';

/** What a handler gets as its second argument, the same in both places it may run. */
export interface CallContext<State = unknown, Errors = Record<never, never>> {
  /** Aborts when the caller has gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /**
   * When this call must have ended, in milliseconds since the Unix epoch. Compare it with Date.now() where you need
   * it, and read it anew each time: it follows the wall clock where that is set.
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
  /** What the `authenticate` hook returned: a copy of this call's own. */
  readonly auth: unknown;
  /**
   * The `traceparent` header (W3C Trace Context), undefined where none came or it was invalid; with the
   * option `tracing` that of this call's span. For what the handler itself calls.
   */
  readonly traceparent: string | undefined;
  /** The `tracestate` header that came with it. */
  readonly tracestate: string | undefined;
  /** What the module's `setup()` returned in this replica. */
  readonly state: State;
  /** Makes the errors the procedure declares: `throw context.errors.NAME(data)`. */
  readonly errors: ErrorMakers<Errors>;
}

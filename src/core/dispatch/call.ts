import { type Overload, overloads } from '../base/overloads.ts';
import type { Place } from '../base/place.ts';
import { mayRepeat } from '../procedures/declarations.ts';
import type { FaultReporter } from '../procedures/fault.ts';
import { capped } from '../procedures/invoke.ts';
import type { Procedure } from '../procedures/types.ts';
import { verified } from '../protocol/body.ts';
import { ErrorCode, type LossReason, type OverloadReason } from '../protocol/errors.ts';
import {
  errorOutcome,
  errorReply,
  exceedsByLength,
  finishedReply,
  type Outcome,
  type Reply,
  replyText,
} from '../protocol/reply.ts';
import type { RequestScope } from './scope.ts';
import type { StreamSink } from './streams/contract.ts';
import type { CallTrace } from './trace.ts';

/**
 * Params of which nothing is known yet, not even that they are JSON: they stand in `source` between `start`
 * and `end`. Those that are known to be JSON, and not parsed either, are `verified`.
 */
export const unparsed: unique symbol = Symbol('unparsed params');

/** One call of a procedure that exists, ready to be placed. Plain data. */
export interface Call {
  readonly procedure: Procedure;
  /** JSON text of the id, exactly as it was written; undefined: a notification. */
  readonly id: string | undefined;
  /** undefined (none), an object, an array, `unparsed` or `verified`. */
  readonly params: unknown;
  /** The body the params stand in, where there is one: bytes for a large one. */
  readonly source: string | Uint8Array | undefined;
  /** -1: no params. */
  readonly start: number;
  readonly end: number;
  readonly scope: RequestScope;
  /** Its span, where the request is traced. */
  readonly trace?: CallTrace | undefined;
  readonly sink?: StreamSink | undefined;
}

/** Characters or bytes of the params as they came; 0 where they did not come as text. */
export function paramsLength(call: Call): number {
  return call.end - call.start;
}

/** The params of a call that is no longer `unparsed`. */
export function parsedParams({ params, source, start, end }: Call): unknown {
  if (params !== verified || source === undefined) return params;
  return JSON.parse(textBetween(source, start, end));
}

/** The text of a body from `start` to `end`: bytes of UTF-8 are decoded. */
export function textBetween(source: string | Uint8Array, start: number, end: number): string {
  if (typeof source === 'string') return source.slice(start, end);
  const { buffer, byteOffset, byteLength } = source;
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8', start, end);
}

/** Whether the params, as they came, are more than so many bytes. */
export function exceedsBytes(call: Call, limit: number): boolean {
  const { source, start, end } = call;
  if (typeof source !== 'string') return paramsLength(call) > limit;
  return (
    exceedsByLength(paramsLength(call), limit) ??
    Buffer.byteLength(source.slice(start, end)) > limit
  );
}

/** How long a call may take, and which limit it is that ends it. */
export interface TimeLimit {
  /** By `clockMs`. */
  readonly at: number;
  /** The limit in milliseconds, as the -32001 reports it. */
  readonly timeoutMs: number;
}

/**
 * Milliseconds that a call may run, before the time of its request is looked at: what the process that sent it here has
 * said, else what its procedure says.
 */
export function ownTimeoutMs({ scope, procedure }: Call, defaultTimeoutMs: number): number {
  return scope.callTimeoutMs ?? procedure.timeoutMs ?? defaultTimeoutMs;
}

/** The limit of a call that starts running at `startedAt`: its own, or what is left of the request's. */
export function timeLimit(call: Call, defaultTimeoutMs: number, startedAt: number): TimeLimit {
  const own = ownTimeoutMs(call, defaultTimeoutMs);
  const { expiresAt, timeoutMs } = call.scope;
  return startedAt + own <= expiresAt || timeoutMs === undefined
    ? { at: startedAt + own, timeoutMs: own }
    : { at: expiresAt, timeoutMs };
}

/** Why a call is not run: a standard error without its id. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly data?: object | undefined;
  /** What refuses, where the code is -32000. */
  readonly overload?: Overload;
}

/** The refusal of calls that have not started when their executor closes, or whose caller has gone. */
export const cancelled: Refusal = { code: ErrorCode.Cancelled };
const cancelledUnrun: Refusal = { ...cancelled, data: { retry: true } };

/**
 * The refusal of what never ran, and may find the service ready at the next try. It says so: a client sends nothing else again
 * (docs/protocol.md, "Errors").
 */
function unrun(refusal: Refusal): Refusal {
  // Thousands of callers may leave at once.
  if (refusal === cancelled) return cancelledUnrun;
  const { code, data } = refusal;
  const isRepeated = code === ErrorCode.Overloaded || code === ErrorCode.Cancelled;
  return isRepeated ? { ...refusal, data: { ...data, retry: true } } : refusal;
}

/** The outcome of a whole request of which nothing has run. */
export function unrunOutcome(refusal: Refusal): Outcome {
  const { code, data } = unrun(refusal);
  return errorOutcome(code, data);
}

export const cancelledOutcome: Outcome = unrunOutcome(cancelled);

/** The refusal of calls whose time is over. @param timeoutMs the limit that ended them, milliseconds */
export function deadlineExceeded(timeoutMs: number | undefined): Refusal {
  return { code: ErrorCode.DeadlineExceeded, data: { timeoutMs } };
}

/**
 * The refusal of calls whose params or reply are too large.
 *
 * @param limit bytes
 * @param reason `params`: the caller has sent too much; undefined: the reply is too large
 */
export function limitExceeded(limit: number, reason?: 'params'): Refusal {
  const data = reason === undefined ? { limit } : { limit, reason };
  return { code: ErrorCode.LimitExceeded, data };
}

/** Why calls of a request must not start any more: its caller has gone, or its time is over. */
export function refusalBeforeStart(scope: RequestScope, now: number): Refusal | undefined {
  if (scope.cancelled) return cancelled;
  if (scope.timeoutMs === undefined || now < scope.expiresAt) return undefined;
  return deadlineExceeded(scope.timeoutMs);
}

/** A refusal as a call's reply; a notification gets none. */
export function errorFor(call: Call, { code, data }: Refusal): Reply {
  return call.id === undefined ? undefined : errorReply(call.id, code, data);
}

/** A call that was lost with its thread. `retry`: running it twice does no harm. */
export function lostCall({ procedure }: Call, reason: LossReason): Refusal {
  const data = mayRepeat(procedure) ? { reason, retry: true } : { reason };
  return { code: ErrorCode.WorkerLost, data };
}

/** When to try again where nobody knows how long what is here will stay, milliseconds. */
export const usualRetryMs = 1000;

/** Why something does not run: there is too much of it, of all callers or of its own. */
export function overloaded(overload: Overload, retryAfterMs = usualRetryMs) {
  const { reason, limit } = overloads[overload];
  const data = { reason: reason satisfies OverloadReason, limit, retryAfterMs };
  return { code: ErrorCode.Overloaded, data, overload } as const;
}

export function overloadedOutcome(overload: Overload, retryAfterMs?: number): Outcome {
  return unrunOutcome(overloaded(overload, retryAfterMs));
}

/** The same of what has no id that could be read. */
export function overloadedReply(overload: Overload): string {
  return replyText('null', overloadedOutcome(overload));
}

/** Instead of the time it ran: a call that was refused, dropped or lost before its handler was entered. */
export const neverRan = -1;

/** Instead of the time it ran: the call ran and was not timed; another one that was timed stands for it. */
export const notTimed = -2;

/**
 * Which calls are timed. `sampled`: of the calls that run inline from start to end without a wait only some, since two readings of
 * the clock may take longer than such a call.
 */
export type Timing = 'none' | 'sampled' | 'all';

/** What became of a call with affinity: it went to the worker of its key, to another one, or it has no key. */
export type AffinityOutcome = 'hit' | 'steal' | 'none';

/**
 * Told of the end of each call and stream, at the one point where it is known. Facts are passed as arguments, so that a report
 * makes no object. None of the methods throws.
 */
export interface CallObserver {
  readonly timing: Timing;
  /**
   * A call of a procedure has its answer. Once for each, notifications included; called by `CallEnding` alone.
   *
   * @param code of its error; 0: a result
   * @param place the executor's own name, or `noPlace`
   * @param waitUs microseconds from its arrival that it did not run: queue, and the way there and back
   * @param runUs microseconds in its handler, waiting there included; `neverRan`, `notTimed`
   * @param busyUs microseconds that it held its thread without a break before it ended or first waited; of a call that is
   *   not timed, or ran elsewhere, no number that means anything
   * @param reply as it goes out, undefined for a notification
   * @param together calls for which the handler ran at once, this one among them; 0: it takes single calls, or never ran
   */
  onCall(
    call: Call,
    code: number,
    place: Place,
    waitUs: number,
    runUs: number,
    busyUs: number,
    reply: Reply,
    together: number,
  ): void;
  /** The handler of a batch procedure has run, or runs, once for so many calls. */
  onHandlerBatch?(procedure: string, place: Place, calls: number): void;
  /** A call of a procedure with affinity was answered by a worker, to which it went after so many milliseconds here. */
  onAffinity?(procedure: string, place: Place, outcome: AffinityOutcome, waitMs: number): void;
  /**
   * A stream has ended. Once for each that has opened: its call was reported when it opened.
   *
   * @param code of the error that ended it; 0: its generator returned
   * @param values how many it gave, of so many `characters` of JSON
   * @param ms since it opened
   */
  onStreamEnd?(
    call: Call,
    code: number,
    place: Place,
    values: number,
    characters: number,
    ms: number,
  ): void;
  /** A call or a whole request is refused because there is too much. Its end is told by itself. */
  onOverloaded?(overload: Overload, scope: RequestScope): void;
  /**
   * Something that is no call of a procedure was refused: a body, an entry of a batch, a method that no procedure has.
   *
   * @param method as it was sent, undefined where none could be read
   * @param id JSON text, undefined for a notification and where none could be read
   */
  onRefused(
    code: number,
    method: string | undefined,
    id: string | undefined,
    scope: RequestScope,
  ): void;
}

/**
 * How the calls of one place end: each method makes a call's reply, reports the call to the observer, and gives the
 * reply back. Nobody else calls `onCall`. Whoever ends a call does it here, once; see {@link Executor}.
 *
 * Times are microseconds. `runUs`: in the handler, `neverRan` or `notTimed`. `waitUs`, `busyUs`, `together`: see
 * {@link CallObserver.onCall}.
 */
export class CallEnding {
  readonly place: Place;
  readonly maxReplyBytes: number;
  readonly observer: CallObserver | undefined;
  readonly timing: Timing;
  readonly #onFault: FaultReporter | undefined;

  /** @param onFault told of results that are too large; undefined: nobody is */
  constructor(
    place: Place,
    maxReplyBytes: number,
    observer: CallObserver | undefined,
    onFault?: FaultReporter,
  ) {
    this.#onFault = onFault;
    this.place = place;
    this.maxReplyBytes = maxReplyBytes;
    this.observer = observer;
    this.timing = observer?.timing ?? 'none';
  }

  /** A handler has come to `outcome`: its reply, or a -32004 in its place where the reply is too large. */
  finish(
    call: Call,
    outcome: Outcome,
    runUs: number,
    waitUs: number,
    busyUs: number,
    together = 0,
  ): Reply {
    const { id, procedure } = call;
    if (id === undefined)
      return this.pass(call, undefined, outcome.code, runUs, waitUs, busyUs, together);
    const kept = capped(procedure, id, outcome, this.maxReplyBytes, this.#onFault);
    return this.pass(call, finishedReply(id, kept), kept.code, runUs, waitUs, busyUs, together);
  }

  /** A call ends with a standard error: it is not run, or not waited for any longer. */
  refuse(
    call: Call,
    refusal: Refusal,
    runUs = neverRan,
    waitUs = 0,
    busyUs = 0,
    together = 0,
  ): Reply {
    if (refusal.overload !== undefined) this.observer?.onOverloaded?.(refusal.overload, call.scope);
    const error = errorFor(call, runUs === neverRan ? unrun(refusal) : refusal);
    return this.pass(call, error, refusal.code, runUs, waitUs, busyUs, together);
  }

  /**
   * A reply that was made, and capped, where the call ran.
   *
   * @param code of its error; 0: a result
   */
  pass(
    call: Call,
    reply: Reply,
    code: number,
    runUs: number,
    waitUs = 0,
    busyUs = 0,
    together = 0,
  ): Reply {
    this.observer?.onCall(call, code, this.place, waitUs, runUs, busyUs, reply, together);
    return reply;
  }
}

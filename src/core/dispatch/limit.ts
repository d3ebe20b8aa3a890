import { type Overload, overloads } from '../base/overloads.ts';
import { mayRepeat } from '../procedures/declarations.ts';
import { ErrorCode, type LossReason, type OverloadReason } from '../protocol/errors.ts';
import { errorOutcome, errorReply, type Outcome, type Reply } from '../protocol/reply.ts';
import type { Call } from './call.ts';
import type { RequestScope } from './scope.ts';

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
  readonly data?: unknown;
  /** What refuses, where the code is -32000. */
  readonly overload?: Overload;
}

/** The refusal of calls that have not started when their executor closes, or whose caller has gone. */
export const cancelled: Refusal = { code: ErrorCode.Cancelled };

/** The same of a whole request, of which nothing has run. */
export const cancelledOutcome: Outcome = errorOutcome(ErrorCode.Cancelled);

/** The refusal of calls whose time is over. @param timeoutMs the limit that ended them, milliseconds */
export function deadlineExceeded(timeoutMs: number | undefined): Refusal {
  return { code: ErrorCode.DeadlineExceeded, data: { timeoutMs } };
}

/** The refusal of calls whose params or reply are too large. @param limit bytes */
export function limitExceeded(limit: number): Refusal {
  return { code: ErrorCode.LimitExceeded, data: { limit } };
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

/** The same of a whole request. */
export function overloadedOutcome(overload: Overload, retryAfterMs?: number): Outcome {
  return errorOutcome(ErrorCode.Overloaded, overloaded(overload, retryAfterMs).data);
}

/** The same of what has no id that could be read. */
export function overloadedReply(overload: Overload): string {
  return errorReply('null', ErrorCode.Overloaded, overloaded(overload).data);
}

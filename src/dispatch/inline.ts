import { clockMs } from '../base/clock.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { cappedOutcome, type Outcome, type Reply, replyText } from '../jsonrpc/reply.ts';
import { type InvokeOptions, invoke } from '../router/invoke.ts';
import { LazyContext, type RequestFacts } from '../router/lazy-context.ts';
import { type Call, parsedParams } from './call.ts';
import type { DeadlineSweep } from './deadline.ts';
import type { Executor, RunObserver } from './executor.ts';
import { errorFor, refusalBeforeStart, type TimeLimit, timeLimit } from './limit.ts';
import { type CallObserver, neverRan, notTimed, type Timing } from './observer.ts';
import { WaitingCall, type WaitingOwner } from './waiting-call.ts';

export interface InlineOptions extends InvokeOptions {
  readonly timeoutMs: number;
  readonly maxReplyBytes: number;
}

/** What the inline executors of one service share. */
export class InlineHost {
  readonly options: InlineOptions;
  readonly deadlines: DeadlineSweep;
  readonly observer: CallObserver | undefined;
  /** Calls that wait. */
  inFlight = 0;
  isClosed = false;

  /** @param observer told of each call */
  constructor(options: InlineOptions, deadlines: DeadlineSweep, observer?: CallObserver) {
    this.options = options;
    this.deadlines = deadlines;
    this.observer = observer;
  }

  /** From here on nothing starts; what waits is ended through its deadline. */
  close(): void {
    this.isClosed = true;
  }
}

/** Two looks at the clock cost a fifteenth of a small call: of short ones one in so many is timed. */
const timedOneIn = 8;

/** A procedure whose last timed call took this long or longer has each call timed, microseconds. */
const shortUs = 100;

/**
 * Runs calls on this thread: right for the cheap ones, and for those that wait for I/O. One for each
 * procedure, so that of each some calls are timed.
 */
export class InlineExecutor implements Executor, WaitingOwner {
  readonly takesUnparsed = false;
  readonly #host: InlineHost;
  readonly #observer: CallObserver | undefined;
  readonly #onRun: RunObserver | undefined;
  readonly #timing: Timing;
  /** Every so many calls is timed; Infinity: none. */
  #timedOneIn: number;
  /** The first one is. */
  #sinceTimed = timedOneIn;

  /** @param onRun told of synchronous runs that gave a result */
  constructor(host: InlineHost, onRun?: RunObserver) {
    this.#host = host;
    this.#observer = host.observer;
    this.#onRun = onRun;
    this.#timing = onRun === undefined ? (host.observer?.timing ?? 'none') : 'all';
    this.#timedOneIn = this.#timing === 'none' ? Number.POSITIVE_INFINITY : 1;
  }

  execute(call: Call): Reply | Promise<Reply> {
    const host = this.#host;
    if (host.isClosed) return this.#refuse(call, ErrorCode.Cancelled);
    const isTimed = ++this.#sinceTimed >= this.#timedOneIn;
    const began = clockMs();
    const refusal = refusalBeforeStart(call.scope, began);
    if (refusal !== undefined) return this.#refuse(call, refusal.code, refusal.data);
    const limit = timeLimit(call, host.options.timeoutMs, began);
    const context = new LazyContext(call.procedure, call.id, factsOf(call), limit.at);
    const params = parsedParams(call);
    const outcome =
      call.trace === undefined
        ? invoke(call.procedure, params, context, host.options)
        : call.trace.run(() => invoke(call.procedure, params, context, host.options));
    if (isTimed) this.#sinceTimed = 0;
    if (outcome instanceof Promise) {
      return this.#supervise(call, context, outcome, limit, isTimed ? began : undefined);
    }
    const runUs = isTimed ? this.#timeSince(began) : notTimed;
    if (isTimed && outcome.ok) this.#onRun?.(call, runUs);
    return this.#end(call, outcome, runUs);
  }

  #refuse(call: Call, code: ErrorCode, data?: unknown): Reply {
    const reply = errorFor(call, code, data);
    this.#observer?.onCall(call, code, 'inline', 0, neverRan, reply);
    return reply;
  }

  /** A call has run: its reply. */
  #end(call: Call, outcome: Outcome, runUs: number): Reply {
    const { id } = call;
    if (id === undefined) {
      this.#observer?.onCall(call, outcome.code, 'inline', 0, runUs, undefined);
      return undefined;
    }
    const capped = cappedOutcome(id, outcome, this.#host.options.maxReplyBytes);
    const reply = replyText(id, capped);
    this.#observer?.onCall(call, capped.code, 'inline', 0, runUs, reply);
    return reply;
  }

  /** Answered when it ends or at its deadline, its signal aborted when nobody waits. */
  #supervise(
    call: Call,
    context: LazyContext,
    outcome: Promise<Outcome>,
    limit: TimeLimit,
    began: number | undefined,
  ): Promise<Reply> {
    this.#host.inFlight++;
    return new Promise((resolve) => {
      const waiting = new WaitingCall(call, began, context, limit, this, resolve);
      this.#host.deadlines.add(waiting);
      call.scope.addListener(waiting);
      // Its own synchronous part may have ended the caller's wait.
      if (call.scope.cancelled) waiting.onCancelled();
      // An outcome never rejects.
      void outcome.then((value) => {
        waiting.end(value);
        // A synchronous handler behind an asynchronous `authorize` is measured like any other.
        if (value.ok && context.resumedMs > 0) this.#onRun?.(call, context.resumedMs * 1000);
      });
    });
  }

  /** See {@link WaitingOwner}. */
  finish(waiting: WaitingCall, outcome: Outcome): Reply {
    return this.#end(waiting.call, outcome, this.#leave(waiting));
  }

  /** See {@link WaitingOwner}. */
  giveUp(waiting: WaitingCall, code: ErrorCode, data: unknown): Reply {
    const { call } = waiting;
    const reply = errorFor(call, code, data);
    const timedUs = this.#leave(waiting);
    // One that is given up was no short one: no other stands for it.
    const runUs = timedUs === notTimed ? waiting.waitedMs * 1000 : timedUs;
    this.#observer?.onCall(call, code, 'inline', 0, runUs, reply);
    return reply;
  }

  /** How long it ran, microseconds. */
  #leave(waiting: WaitingCall): number {
    this.#host.inFlight--;
    this.#host.deadlines.delete(waiting);
    waiting.call.scope.removeListener(waiting);
    return waiting.began === undefined ? notTimed : this.#timeSince(waiting.began);
  }

  /** How long a call took, microseconds, and with it which of those to come are timed. */
  #timeSince(began: number): number {
    const runUs = (clockMs() - began) * 1000;
    if (this.#timing === 'sampled') this.#timedOneIn = runUs < shortUs ? timedOneIn : 1;
    return runUs;
  }
}

/** What the handler is told of the request: of a traced call its own span, in place of the caller's. */
function factsOf({ scope, trace }: Call): RequestFacts {
  if (trace === undefined) return scope;
  const { headers, remoteAddress, authText } = scope;
  const { traceparent, tracestate } = trace;
  return { headers, remoteAddress, authText, traceparent, tracestate };
}

import { clockMs } from '../base/clock.ts';
import { inlinePlace } from '../base/place.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import type { Outcome, Reply } from '../jsonrpc/reply.ts';
import { type InvokeOptions, invoke } from '../router/invoke.ts';
import { LazyContext, type RequestFacts } from '../router/lazy-context.ts';
import { type Call, parsedParams } from './call.ts';
import { CallEnding } from './call-ending.ts';
import type { DeadlineSweep } from './deadline.ts';
import type { Executor, ExecutorFigures, RunObserver } from './executor.ts';
import { type Refusal, refusalBeforeStart, type TimeLimit, timeLimit } from './limit.ts';
import { type CallObserver, notTimed, type Timing } from './observer.ts';
import { WaitingCall, type WaitingOwner } from './waiting-call.ts';

export interface InlineOptions extends InvokeOptions {
  readonly timeoutMs: number;
  readonly maxReplyBytes: number;
}

/** What the inline executors of one service share. */
export class InlineHost implements ExecutorFigures {
  readonly place = inlinePlace;
  readonly options: InlineOptions;
  readonly deadlines: DeadlineSweep;
  readonly ending: CallEnding;
  /** Calls that wait. */
  inFlight = 0;
  isClosed = false;

  /** @param observer told of each call */
  constructor(options: InlineOptions, deadlines: DeadlineSweep, observer?: CallObserver) {
    this.options = options;
    this.deadlines = deadlines;
    this.ending = new CallEnding(this.place, options.maxReplyBytes, observer);
  }

  /** From here on nothing starts; what waits is ended through its deadline. */
  close(): void {
    this.isClosed = true;
  }
}

/** Why nothing starts any more. */
const closed: Refusal = { code: ErrorCode.Cancelled };

/** Two looks at the clock cost a fifteenth of a small call: of short ones one in so many is timed. */
const timedOneIn = 8;

/** A procedure whose last timed call took this long or longer has each call timed, microseconds. */
const shortUs = 100;

/**
 * Runs calls on this thread: right for the cheap ones, and for those that wait for I/O. One for each
 * procedure, so that of each some calls are timed.
 */
export class InlineExecutor implements Executor, WaitingOwner {
  readonly place = inlinePlace;
  readonly takesUnparsed = false;
  readonly #host: InlineHost;
  readonly #ending: CallEnding;
  readonly #onRun: RunObserver | undefined;
  readonly #timing: Timing;
  /** Every so many calls is timed; Infinity: none. */
  #timedOneIn: number;
  /** The first one is. */
  #sinceTimed = timedOneIn;

  /** @param onRun told of synchronous runs that gave a result */
  constructor(host: InlineHost, onRun?: RunObserver) {
    this.#host = host;
    this.#ending = host.ending;
    this.#onRun = onRun;
    this.#timing = onRun === undefined ? host.ending.timing : 'all';
    this.#timedOneIn = this.#timing === 'none' ? Number.POSITIVE_INFINITY : 1;
  }

  execute(call: Call): Reply | Promise<Reply> {
    const host = this.#host;
    if (host.isClosed) return this.#ending.refuse(call, closed);
    const isTimed = ++this.#sinceTimed >= this.#timedOneIn;
    const began = clockMs();
    const refusal = refusalBeforeStart(call.scope, began);
    if (refusal !== undefined) return this.#ending.refuse(call, refusal);
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
    return this.#ending.finish(call, outcome, runUs);
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
    return this.#ending.finish(waiting.call, outcome, this.#leave(waiting));
  }

  /** See {@link WaitingOwner}. */
  giveUp(waiting: WaitingCall, refusal: Refusal): Reply {
    const timedUs = this.#leave(waiting);
    // One that is given up was no short one: no other stands for it.
    const runUs = timedUs === notTimed ? waiting.waitedMs * 1000 : timedUs;
    return this.#ending.refuse(waiting.call, refusal, runUs);
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

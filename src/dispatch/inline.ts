import { clockMs } from '../base/clock.ts';
import { inlinePlace } from '../base/place.ts';
import type { Outcome, Reply } from '../jsonrpc/reply.ts';
import { type CallLine, CallLines } from '../router/call-log.ts';
import { type InvokeOptions, invoke, sourceOf } from '../router/invoke.ts';
import { type CallHost, LazyContext, type RequestFacts } from '../router/lazy-context.ts';
import { type Call, parsedParams } from './call.ts';
import { CallEnding } from './call-ending.ts';
import type { CallTrail } from './call-trail.ts';
import type { DeadlineSweep } from './deadline.ts';
import type { Executor, ExecutorFigures, RunObserver } from './executor.ts';
import { blockedMs, type FrontEndWatch, type Suspect } from './front-end-watch.ts';
import { cancelled, type Refusal, refusalBeforeStart, type TimeLimit, timeLimit } from './limit.ts';
import { type CallObserver, neverRan, notTimed, type Timing } from './observer.ts';
import type { StreamSink } from './streams/contract.ts';
import { Generators } from './streams/generators.ts';
import type { OpenStreams } from './streams/open-streams.ts';
import { WaitingCall, type WaitingOwner } from './waiting-call.ts';

export interface InlineOptions extends InvokeOptions {
  readonly timeoutMs: number;
  readonly maxReplyBytes: number;
  /** Gets the lines of `context.log`; undefined: nobody does. */
  readonly onLine?: ((line: CallLine) => void) | undefined;
}

/** What the inline executors of one service share. */
export class InlineHost implements ExecutorFigures, CallHost {
  readonly place = inlinePlace;
  readonly options: InlineOptions;
  readonly deadlines: DeadlineSweep;
  readonly ending: CallEnding;
  readonly lines: CallLines;
  /** undefined: nobody wants to know what blocks this thread. */
  readonly watch: FrontEndWatch | undefined;
  readonly generators: Generators;
  /** Calls that wait. */
  inFlight = 0;
  isClosed = false;

  /** @param observer told of each call */
  constructor(
    options: InlineOptions,
    deadlines: DeadlineSweep,
    streams: OpenStreams,
    observer?: CallObserver,
    watch?: FrontEndWatch,
  ) {
    this.options = options;
    this.deadlines = deadlines;
    this.generators = new Generators(streams, this.place, options.maxReplyBytes);
    this.lines = new CallLines(options.onLine ?? (() => {}));
    this.watch = watch;
    this.ending = new CallEnding(this.place, options.maxReplyBytes, observer);
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

/** Waiting for less is not counted. A call that waited longer is timed, and stands for itself alone. */
const noticedMs = 1;

/** Of a procedure that may block this thread, so many calls leave a trail. */
const followedCalls = 20;

/** What an executor tells of beside its replies. */
export interface InlineListeners {
  /** Told of synchronous runs that gave a result. */
  readonly onRun?: RunObserver | undefined;
  /** A call has held this thread for so long, milliseconds. */
  readonly onBlocked?: ((ms: number) => void) | undefined;
}

/**
 * Runs calls on this thread: right for the cheap ones, and for those that wait for I/O. One for each
 * procedure, so that of each some calls are timed.
 */
export class InlineExecutor implements Executor, WaitingOwner, Suspect {
  readonly place = inlinePlace;
  readonly takesUnparsed = false;
  readonly #host: InlineHost;
  readonly #ending: CallEnding;
  readonly #onRun: RunObserver | undefined;
  readonly #timing: Timing;
  /** Every so many calls is timed; Infinity: none. */
  #timedOneIn: number;
  /** Calls since the last timed one. Starts at the interval, so that the first call is timed. */
  #sinceTimed = timedOneIn;
  readonly #watch: FrontEndWatch | undefined;
  readonly #onBlocked: ((ms: number) => void) | undefined;
  /** See {@link Suspect}. */
  waiting = 0;
  leftAt = 0;
  /** Calls to come that leave a trail. */
  #toFollow = 0;

  constructor(host: InlineHost, { onRun, onBlocked }: InlineListeners = {}) {
    this.#host = host;
    this.#ending = host.ending;
    this.#watch = host.watch;
    this.#watch?.add(this);
    this.#onRun = onRun;
    this.#onBlocked = onBlocked;
    this.#timing = onRun === undefined ? host.ending.timing : 'all';
    const isNever = this.#timing === 'none' && host.watch === undefined;
    this.#timedOneIn = isNever ? Number.POSITIVE_INFINITY : 1;
  }

  execute(call: Call): Reply | Promise<Reply> {
    const host = this.#host;
    if (host.isClosed) return this.#ending.refuse(call, cancelled);
    const watch = this.#watch;
    const began = clockMs();
    const waitUs = waitOf(call, began);
    const refusal = refusalBeforeStart(call.scope, began);
    if (refusal !== undefined) return this.#ending.refuse(call, refusal, neverRan, waitUs);
    const isTraced = watch?.trail.isOn === true || this.#toFollow > 0;
    const isTimed = ++this.#sinceTimed >= this.#timedOneIn || waitUs > 0 || isTraced;
    const limit = timeLimit(call, host.options.timeoutMs, began);
    const context = new LazyContext(call.procedure, call.id, factsOf(call), limit.at, host);
    const params = parsedParams(call);
    const lag = watch === undefined ? 0 : watch.lagAt(began);
    const claimed = watch === undefined ? 0 : watch.claimedMs;
    const outcome =
      isTraced && watch !== undefined
        ? this.#invokeTraced(watch.trail, call, params, context)
        : this.#invoke(call, params, context);
    if (isTimed) this.#sinceTimed = 0;
    if (outcome instanceof Promise) {
      watch?.ended(this, began, lag, claimed);
      return this.#supervise(call, context, outcome, limit, isTimed ? began : undefined);
    }
    const runUs = isTimed ? this.#timeSince(began) : notTimed;
    if (runUs >= blockedMs * 1000) watch?.claim(this, began, began + runUs / 1000, lag, claimed);
    if (isTimed && outcome.ok) this.#onRun?.(call, runUs);
    return call.sink === undefined
      ? this.#ending.finish(call, outcome, runUs, waitUs)
      : this.#open(call, call.sink, context, outcome, runUs, waitUs);
  }

  /** See {@link Suspect}. */
  onBlocked(ms: number): void {
    this.#toFollow = followedCalls;
    this.#onBlocked?.(ms);
  }

  /** See {@link Suspect}. */
  follow(): void {
    this.#toFollow = followedCalls;
  }

  /** No call will come. */
  close(): void {
    this.#watch?.delete(this);
  }

  #invoke(call: Call, params: unknown, context: LazyContext): Outcome | Promise<Outcome> {
    const { options } = this.#host;
    return call.trace === undefined
      ? invoke(call.procedure, params, context, options)
      : call.trace.run(() => invoke(call.procedure, params, context, options));
  }

  /** While calls are followed, what others make must not be taken for theirs. */
  #invokeTraced(
    trail: CallTrail,
    call: Call,
    params: unknown,
    context: LazyContext,
  ): Outcome | Promise<Outcome> {
    const run = (): Outcome | Promise<Outcome> => this.#invoke(call, params, context);
    if (this.#toFollow === 0) return trail.run(undefined, run);
    this.#toFollow--;
    const round = trail.begin();
    const outcome = trail.run(this, run);
    if (outcome instanceof Promise) void outcome.then(() => trail.end(round));
    else trail.end(round);
    return outcome;
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
    this.waiting++;
    this.#watch?.enter();
    return new Promise((resolve) => {
      const waiting = new WaitingCall(call, began, context, limit, this, resolve);
      this.#host.deadlines.add(waiting);
      call.scope.addListener(waiting);
      // The synchronous part of the handler may have ended its caller's wait, in a call within the process.
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
    const { call, context } = waiting;
    const runUs = this.#leave(waiting);
    const waitUs = waitOf(call, waiting.began);
    return call.sink === undefined
      ? this.#ending.finish(call, outcome, runUs, waitUs)
      : this.#open(call, call.sink, context, outcome, runUs, waitUs);
  }

  /** See {@link WaitingOwner}. */
  giveUp(waiting: WaitingCall, refusal: Refusal): Reply {
    const timedUs = this.#leave(waiting);
    // A call that is given up was not short: it is counted by itself, and stands for no other.
    const runUs = timedUs === notTimed ? waiting.waitedMs * 1000 : timedUs;
    const { call, began } = waiting;
    return this.#ending.refuse(call, refusal, runUs, waitOf(call, began));
  }

  /** The handler of a call that streams has given an iterator, or failed. */
  #open(
    call: Call,
    sink: StreamSink,
    context: LazyContext,
    outcome: Outcome,
    runUs: number,
    waitUs: number,
  ): Reply {
    const source = sourceOf(outcome);
    if (source === undefined) return this.#ending.finish(call, outcome, runUs, waitUs);
    const { generators, isClosed } = this.#host;
    const opening = generators.open(call, sink, context, source, isClosed);
    return 'refusal' in opening
      ? this.#ending.refuse(call, opening.refusal, runUs, waitUs)
      : this.#ending.pass(call, opening.reply, 0, runUs, waitUs);
  }

  /** How long it ran, microseconds. */
  #leave(waiting: WaitingCall): number {
    this.#host.inFlight--;
    this.waiting--;
    if (this.#watch !== undefined) {
      this.#watch.leave();
      this.leftAt = this.#watch.turn;
    }
    this.#host.deadlines.delete(waiting);
    waiting.call.scope.removeListener(waiting);
    return waiting.began === undefined ? notTimed : this.#timeSince(waiting.began);
  }

  /** How long a call took, microseconds, and with it which of those to come are timed. */
  #timeSince(began: number): number {
    const runUs = (clockMs() - began) * 1000;
    if (this.#timing !== 'all') this.#timedOneIn = runUs < shortUs ? timedOneIn : 1;
    return runUs;
  }
}

/**
 * Microseconds from the arrival of its request until a call began: behind others of its batch, the verdict on its caller, the
 * rest of its body, or whoever held the front end. What is too short to be noticed counts as none.
 */
function waitOf({ scope }: Call, began: number | undefined): number {
  if (began === undefined) return 0;
  const waitedMs = began - scope.receivedAt;
  return waitedMs >= noticedMs ? waitedMs * 1000 : 0;
}

/** What the handler is told of the request: of a traced call its own span, in place of the caller's. */
function factsOf({ scope, trace }: Call): RequestFacts {
  if (trace === undefined) return scope;
  const { headers, remoteAddress, authText } = scope;
  const { traceparent, tracestate } = trace;
  return { headers, remoteAddress, authText, traceparent, tracestate };
}

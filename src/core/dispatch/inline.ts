import { clockMs } from '../base/clock.ts';
import { inlinePlace } from '../base/place.ts';
import { runningCode } from '../base/running-code.ts';
import { type AroundRun, type BatchCall, BatchGatherer } from '../procedures/batch-run.ts';
import type { Broadcast } from '../procedures/broadcast.ts';
import { type CallLine, CallLines } from '../procedures/context.ts';
import { type InvokeOptions, invoke, sourceOf, type ValueSource } from '../procedures/invoke.ts';
import { type CallHost, LazyContext, type RequestFacts } from '../procedures/lazy-context.ts';
import type { Outcome, Reply, ReplySink } from '../protocol/reply.ts';
import {
  type Call,
  CallEnding,
  type CallObserver,
  cancelled,
  deadlineExceeded,
  lostCall,
  neverRan,
  notTimed,
  overloaded,
  paramsLength,
  parsedParams,
  type Refusal,
  refusalBeforeStart,
  type TimeLimit,
  type Timing,
  timeLimit,
} from './call.ts';
import type { Deadline, DeadlineSweep, OrphanCounts } from './deadline.ts';
import type { Executor, ExecutorFigures } from './executor.ts';
import { type InlineTurns, inlineCostUs, smallResult } from './inline-turns.ts';
import { blockedMs, type MainThreadWatch, type Suspect, suspectOf } from './main-thread-watch.ts';
import type { CancelListener, RequestScope } from './scope.ts';
import { type Callers, oneCaller } from './share.ts';
import type { StreamSink } from './streams/contract.ts';
import type { OpenStreams } from './streams/open-streams.ts';
import { RunQueue, ranBy, StreamRun } from './streams/stream-run.ts';

export interface InlineOptions extends InvokeOptions {
  readonly timeoutMs: number;
  readonly maxReplyBytes: number;
  /** Gets the lines of `context.log`; undefined: nobody does. */
  readonly onLine?: ((line: CallLine) => void) | undefined;
  /** `context.broadcast`; undefined: no service runs the calls. */
  readonly broadcast?: Broadcast | undefined;
}

/** What the inline executors of a service are made of. */
export interface InlineParts {
  readonly options: InlineOptions;
  readonly deadlines: DeadlineSweep;
  /** Those that their calls open. */
  readonly streams: OpenStreams;
  /** Of this thread, as `turns`: whatever loading of the modules they are of. */
  readonly orphans: OrphanCounts;
  /** Calls whose results are large wait here. */
  readonly turns: InlineTurns;
  /** Told of each call. */
  readonly observer?: CallObserver | undefined;
  /** undefined: nobody wants to know what blocks this thread. */
  readonly watch?: MainThreadWatch | undefined;
  /** Who take turns if more calls of a batch procedure wait than one run takes. */
  readonly callers?: Callers<RequestScope>;
}

/** What the inline executors of one service share. */
export class InlineHost implements ExecutorFigures {
  readonly place = inlinePlace;
  readonly parts: InlineParts;
  /** For callers that see the messages of internal errors. */
  readonly openOptions: InlineOptions;
  readonly ending: CallEnding;
  /** For `context.log` of all calls. */
  readonly lines: CallLines;
  /** Of the generators of this thread. */
  readonly #queue: RunQueue;
  /** Calls that wait. */
  inFlight = 0;
  isClosed = false;

  constructor(parts: InlineParts) {
    const { options, observer, watch } = parts;
    this.parts = parts;
    this.openOptions = { ...options, showsFaults: true };
    this.#queue = new RunQueue(watch);
    this.lines = new CallLines(options.onLine ?? (() => {}));
    this.ending = new CallEnding(this.place, options.maxReplyBytes, observer, options.onFault);
  }

  /**
   * Opens the stream of a call whose handler has given an iterator.
   *
   * @param owner is blamed if the generator holds the thread
   * @returns the reply of the call, or why it has none: the iterator is closed then
   */
  open(
    call: Call,
    sink: StreamSink,
    context: LazyContext,
    source: ValueSource,
    owner: Suspect,
  ): { readonly reply: Reply } | { readonly refusal: Refusal } {
    const { orphans, streams, watch, options } = this.parts;
    const onLeft = (ended: Promise<unknown> | undefined): void =>
      orphans.addUntil(call.procedure.name, ended);
    const gone = this.isClosed || call.scope.cancelled;
    const refusal = gone ? cancelled : streams.refusalOf(call.scope);
    if (refusal !== undefined) {
      context.abort(refusal);
      onLeft(source.close());
      return { refusal };
    }
    const stream = streams.add(call, sink, this.place);
    const { trace } = call;
    // The span of the call is the current one while its generator runs, too.
    const traced = trace === undefined ? source : ranBy(source, (part) => trace.run(part));
    const { maxReplyBytes } = options;
    const run = new StreamRun(traced, context, stream, maxReplyBytes, this.#queue, 0, onLeft);
    stream.producer = run;
    watch?.follow(run, owner);
    return { reply: sink.opened(stream) };
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

/** Characters that a result is supposed to have as long as the first one of its procedure is being written: a turn's worth. */
const supposedResult = 1024 * 1024;

/** Waiting for less is not counted. A call that waited longer is timed, and stands for itself alone. */
const noticedMs = 1;

/**
 * Runs calls on this thread: right for the cheap ones, and for those that wait for I/O. One for each
 * procedure, so that of each some calls are timed.
 */
export class InlineExecutor implements Executor {
  readonly place = inlinePlace;
  readonly takesUnparsed = false;
  readonly #suspect: Suspect;
  readonly #host: InlineHost;
  readonly #ending: CallEnding;
  readonly #timing: Timing;
  /** Every so many calls is timed; Infinity: none. */
  #timedOneIn: number;
  /** Calls since the last timed one. Starts at the interval, so that the first call is timed. */
  #sinceTimed = timedOneIn;
  readonly #watch: MainThreadWatch | undefined;
  /** For the contexts of its calls. */
  readonly #contexts: CallHost;
  /** Calls of batch procedures that gather, by procedure. */
  readonly #gatherers = new Map<string, BatchGatherer>();
  /** Characters of the last result; 0: there was none yet. */
  #lastResult = 0;

  /**
   * @param onBlocked told when a call has held this thread for so many milliseconds
   * @param name of the procedure; undefined: there are several
   */
  constructor(host: InlineHost, onBlocked?: (ms: number) => void, name?: string) {
    this.#suspect = suspectOf(name, onBlocked);
    this.#host = host;
    this.#ending = host.ending;
    this.#watch = host.parts.watch;
    this.#timing = host.ending.timing;
    const isNever = this.#timing === 'none' && host.parts.watch === undefined;
    this.#timedOneIn = isNever ? Number.POSITIVE_INFINITY : 1;
    this.#contexts = {
      lines: host.lines,
      broadcast: host.parts.options.broadcast,
      join: (params, context) => this.#gathererOf(context).join(params, context),
      resultTurn: (context) => this.#resultTurn(context),
    };
  }

  execute(call: Call, sink: ReplySink): void {
    if (this.#lastResult <= smallResult) {
      this.#start(call, sink);
      return;
    }
    this.#host.parts.turns.run(
      call.scope,
      inlineCostUs(paramsLength(call), this.#lastResult),
      () => this.#start(call, sink),
      (refusal) => this.#refuse(call, sink, refusal, waitOf(call, clockMs())),
    );
  }

  #refuse(call: Call, sink: ReplySink, refusal: Refusal, waitUs = 0): void {
    sink.onReply(this.#ending.refuse(call, refusal, neverRan, waitUs));
  }

  #start(call: Call, sink: ReplySink): void {
    const host = this.#host;
    const watch = this.#watch;
    const began = clockMs();
    const waitUs = waitOf(call, began);
    const refusal = this.#refusalOf(call, began);
    if (refusal !== undefined) {
      this.#refuse(call, sink, refusal, waitUs);
      return;
    }
    const isTimed = ++this.#sinceTimed >= this.#timedOneIn || waitUs > 0;
    const limit = timeLimit(call, host.parts.options.timeoutMs, began);
    const context = new LazyContext(
      call.procedure,
      call.id,
      factsOf(call),
      limit.at,
      this.#contexts,
      0,
      call.scope,
    );
    const params = parsedParams(call);
    const lag = watch === undefined ? 0 : watch.lagAt(began);
    const claimed = watch === undefined ? 0 : watch.claimedMs;
    const outer = runningCode.enter(this.#suspect.slot);
    const outcome = this.#invoke(call, params, context);
    runningCode.leave(outer);
    if (isTimed) this.#sinceTimed = 0;
    if (outcome instanceof Promise) {
      const busyMs = watch?.ended(this.#suspect, began, lag, claimed);
      if (isTimed) this.#supervise(call, context, outcome, limit, began, busyMs, sink);
      else this.#supervise(call, context, outcome, limit, undefined, undefined, sink);
      return;
    }
    const runUs = isTimed ? this.#timeSince(began) : notTimed;
    if (runUs >= blockedMs * 1000)
      watch?.claim(this.#suspect, began, began + runUs / 1000, lag, claimed);
    sink.onReply(this.#finish(call, context, outcome, runUs, waitUs, runUs));
  }

  #refusalOf({ procedure, scope }: Call, now: number): Refusal | undefined {
    const { isClosed, parts } = this.#host;
    if (isClosed) return cancelled;
    if (parts.orphans.isFullOf(procedure.name)) return overloaded('orphans');
    return refusalBeforeStart(scope, now);
  }

  /** What still runs although nobody waits for it. */
  get orphans(): OrphanCounts {
    return this.#host.parts.orphans;
  }

  #gathererOf(context: LazyContext): BatchGatherer {
    const { name, batch } = LazyContext.procedureOf(context);
    let gatherer = this.#gatherers.get(name);
    if (gatherer === undefined) {
      if (batch === undefined) throw new Error(`${name} takes single calls`);
      const around: AroundRun = (calls, start) => this.#runBatch(name, calls, start);
      gatherer = new BatchGatherer(batch, around, (one) => this.#callerOf(one));
      this.#gatherers.set(name, gatherer);
    }
    return gatherer;
  }

  #callerOf(context: LazyContext): string {
    return (this.#host.parts.callers ?? oneCaller).keyOf(scopeOf(context));
  }

  /** Runs the handler for calls that have gathered. What it holds the thread for is blamed on its procedure. */
  #runBatch(
    name: string,
    calls: readonly BatchCall[],
    start: () => Promise<void> | undefined,
  ): Promise<void> | undefined {
    const watch = this.#watch;
    const began = clockMs();
    const lag = watch === undefined ? 0 : watch.lagAt(began);
    const claimed = watch === undefined ? 0 : watch.claimedMs;
    const outer = runningCode.enter(this.#suspect.slot);
    const pending = start();
    runningCode.leave(outer);
    const heldMs = watch?.ended(this.#suspect, began, lag, claimed) ?? 0;
    for (const { context } of calls) context.resumedMs += heldMs / calls.length;
    const ran = calls.find(({ context }) => LazyContext.togetherOf(context) > 0);
    if (ran !== undefined) {
      const together = LazyContext.togetherOf(ran.context);
      this.#ending.observer?.onHandlerBatch?.(name, this.place, together);
    }
    return pending;
  }

  /** What a call that waited gives may be large, too: it is written in a turn of its own. An iterator is never large. */
  #resultTurn(context: LazyContext): Promise<void> | undefined {
    if (LazyContext.procedureOf(context).stream !== undefined) return undefined;
    if (this.#lastResult === 0) {
      // Those that end at the same time as the first one wait until its size is known.
      this.#lastResult = supposedResult;
      return undefined;
    }
    const scope = scopeOf(context);
    const isSmall = this.#lastResult <= smallResult;
    // A caller who has left ends the wait at once: what is only supposed to be large is not thrown away for that.
    if (isSmall || (this.#lastResult === supposedResult && scope.cancelled)) return undefined;
    return this.#host.parts.turns.next(scope, inlineCostUs(0, this.#lastResult));
  }

  #invoke(call: Call, params: unknown, context: LazyContext): Outcome | Promise<Outcome> {
    const { showsFaults, rawBytes } = call.scope;
    const usual = showsFaults ? this.#host.openOptions : this.#host.parts.options;
    const options = rawBytes?.asResult === true ? { ...usual, keepsBytes: true } : usual;
    const bytes = rawBytes?.param;
    return call.trace === undefined
      ? invoke(call.procedure, params, context, options, bytes)
      : call.trace.run(() => invoke(call.procedure, params, context, options, bytes));
  }

  /** Answered when it ends or at its deadline, its signal aborted when nobody waits. */
  #supervise(
    call: Call,
    context: LazyContext,
    outcome: Promise<Outcome>,
    limit: TimeLimit,
    began: number | undefined,
    busyMs: number | undefined,
    sink: ReplySink,
  ): void {
    this.#host.inFlight++;
    runningCode.wait(this.#suspect.slot, 1);
    const waiting = new WaitingCall(call, began, busyMs, context, limit, this, sink);
    this.#host.parts.deadlines.add(waiting);
    call.scope.addListener(waiting);
    // The synchronous part of the handler may have ended its caller's wait, in a call within the process.
    if (call.scope.cancelled) waiting.onCancelled();
    // An outcome never rejects.
    void outcome.then((value) => waiting.end(value));
  }

  finish(waiting: WaitingCall, outcome: Outcome): Reply {
    const { call, context } = waiting;
    const runUs = this.#leave(waiting);
    const waitUs = waitOf(call, waiting.began);
    const together = LazyContext.togetherOf(context);
    return this.#finish(call, context, outcome, runUs, waitUs, waiting.busyMs * 1000, together);
  }

  giveUp(waiting: WaitingCall, refusal: Refusal): Reply {
    const timedUs = this.#leave(waiting);
    // A call that is given up was not short: it is counted by itself, and stands for no other.
    const runUs = timedUs === notTimed ? waiting.waitedMs * 1000 : timedUs;
    const { call, began, context, busyMs } = waiting;
    const together = LazyContext.togetherOf(context);
    const waitUs = waitOf(call, began);
    return this.#ending.refuse(call, refusal, runUs, waitUs, busyMs * 1000, together);
  }

  #finish(
    call: Call,
    context: LazyContext,
    outcome: Outcome,
    runUs: number,
    waitUs: number,
    busyUs: number,
    together = 0,
  ): Reply {
    const { sink } = call;
    const source = sink === undefined ? undefined : sourceOf(outcome);
    if (sink !== undefined && source !== undefined) {
      const opening = this.#host.open(call, sink, context, source, this.#suspect);
      return 'refusal' in opening
        ? this.#ending.refuse(call, opening.refusal, runUs, waitUs, busyUs)
        : this.#ending.pass(call, opening.reply, 0, runUs, waitUs, busyUs);
    }
    // An error tells nothing of the results to come.
    if (sink === undefined && outcome.ok)
      this.#lastResult = outcome.bytes?.byteLength ?? outcome.text.length;
    return this.#ending.finish(call, outcome, runUs, waitUs, busyUs, together);
  }

  /** How long it ran, microseconds. */
  #leave(waiting: WaitingCall): number {
    this.#host.inFlight--;
    runningCode.wait(this.#suspect.slot, -1);
    this.#host.parts.deadlines.delete(waiting);
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
 * rest of its body, or whoever held the main thread. What is too short to be noticed counts as none.
 */
function waitOf({ scope }: Call, began: number | undefined): number {
  if (began === undefined) return 0;
  const waitedMs = began - scope.receivedAt;
  return waitedMs >= noticedMs ? waitedMs * 1000 : 0;
}

/** The context keeps what `InlineExecutor` gave it, and knows nothing of requests. */
function scopeOf(context: LazyContext): RequestScope {
  return LazyContext.requestOf(context) as RequestScope;
}

/** What the handler is told of the request: of a traced call its own span, instead of the caller's. */
function factsOf({ scope, trace }: Call): RequestFacts {
  if (trace === undefined) return scope;
  const { headers, remoteAddress, authText } = scope;
  const { traceparent, tracestate } = trace;
  return { headers, remoteAddress, authText, traceparent, tracestate };
}

/**
 * An inline call that waits. It is answered when it ends or at its deadline; its signal is aborted when nobody waits
 * for it any more.
 */
class WaitingCall implements Deadline, CancelListener {
  readonly call: Call;
  readonly at: number;
  /** When the call began, by `clockMs`; undefined: the call is not timed. */
  readonly began: number | undefined;
  readonly context: LazyContext;
  /** How long it held the thread before its first wait, milliseconds; undefined: the call is not timed. */
  readonly #firstMs: number | undefined;
  readonly #timeoutMs: number;
  readonly #owner: InlineExecutor;
  readonly #sink: ReplySink;
  /** `left`: nobody waits for it; `answered`: it was given up, and its handler still runs. Both are orphans. */
  #state: 'waits' | 'left' | 'answered' | 'ended' = 'waits';

  constructor(
    call: Call,
    began: number | undefined,
    firstMs: number | undefined,
    context: LazyContext,
    limit: TimeLimit,
    owner: InlineExecutor,
    sink: ReplySink,
  ) {
    this.call = call;
    this.at = limit.at;
    this.began = began;
    this.#firstMs = firstMs;
    this.context = context;
    this.#timeoutMs = limit.timeoutMs;
    this.#owner = owner;
    this.#sink = sink;
  }

  /** Milliseconds since the call began, computed from its deadline. */
  get waitedMs(): number {
    return Math.max(0, clockMs() - (this.at - this.#timeoutMs));
  }

  /** How long it held the thread before its first wait, and again after one for `authorize` or middleware, milliseconds. */
  get busyMs(): number {
    return (this.#firstMs ?? 0) + this.context.resumedMs;
  }

  /** Ends the call with what its handler came to. Does nothing where the call was answered at its deadline. */
  end(outcome: Outcome): void {
    if (this.#state !== 'waits' && this.#endOrphan(outcome)) return;
    this.#state = 'ended';
    this.#sink.onReply(this.#owner.finish(this, outcome));
  }

  expire(): void {
    this.#giveUp(deadlineExceeded(this.#timeoutMs));
  }

  shutdown(): void {
    this.#giveUp(lostCall(this.call, 'shutdown'));
  }

  onCancelled(): void {
    this.context.abort(cancelled);
    if (this.#state !== 'waits') return;
    this.#state = 'left';
    this.#owner.orphans.add(this.#name);
  }

  get #name(): string {
    return this.call.procedure.name;
  }

  /** @returns whether the call has been answered */
  #endOrphan(outcome: Outcome): boolean {
    const { orphans } = this.#owner;
    if (this.#state === 'left') {
      orphans.remove(this.#name);
      return false;
    }
    orphans.removeOverdue(this.#name);
    // A stream that nobody waits for any more.
    orphans.addUntil(this.#name, sourceOf(outcome)?.close());
    return true;
  }

  #giveUp(refusal: Refusal): void {
    this.context.abort(refusal);
    if (this.#state === 'answered' || this.#state === 'ended') return;
    const { orphans } = this.#owner;
    if (this.#state === 'left') orphans.remove(this.#name);
    orphans.addOverdue(this.#name);
    this.#state = 'answered';
    this.#sink.onReply(this.#owner.giveUp(this, refusal));
  }
}

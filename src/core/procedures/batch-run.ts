import { AsyncResource } from 'node:async_hooks';
import { clockMs } from '../base/clock.ts';
import { isThenable } from '../base/value-kinds.ts';
import { ErrorCode, RpcError, standardError } from '../protocol/errors.ts';
import type { BatchContext, BatchRules } from './batch.ts';
import type { CallLog } from './context.ts';
import { BatchFault } from './fault.ts';
import { type JoinedRun, LazyContext } from './lazy-context.ts';
import type { Handler, Procedure } from './types.ts';

/** A call that has come to the handler of its batch procedure. */
export interface BatchCall {
  /** Validated. */
  readonly params: Record<string, unknown>;
  readonly context: LazyContext;
  /**
   * Called once. Must not throw.
   *
   * @param value the call's result; else what its handler would have thrown
   */
  end(ok: boolean, value: unknown): void;
}

/** The `handler` of each batch procedure: it takes one call, and lets it join others. */
export const joinBatch: Handler = (params, given) => {
  // Every call has such a context, and params that were bound.
  const context = given as unknown as LazyContext;
  const host = LazyContext.hostOf(context);
  return host?.join === undefined ? runAlone(params, context) : host.join(params, context);
};

/** Runs the handler for one call. Throws and rejects as a handler does. */
export function runAlone(params: Record<string, unknown>, context: LazyContext): unknown {
  let ended: { readonly ok: boolean; readonly value: unknown } | undefined;
  const pending = runTogether([
    {
      params,
      context,
      end: (ok, value) => {
        ended = { ok, value };
      },
    },
  ]);
  const take = (): unknown => {
    if (ended?.ok === true) return ended.value;
    throw ended?.value;
  };
  return pending === undefined ? take() : pending.then(take);
}

/**
 * The handler runs in no call's asynchronous context: it works for all of them, and what the first of them has there, such as
 * its span, is none of the others'.
 */
const outside = new AsyncResource('tandem-rpc.batch', { requireManualDestroy: true });

/**
 * Runs the handler once for calls of one procedure, without those that nobody waits for any more. Each call is ended. Never
 * throws, never rejects.
 *
 * @param onExpired called if the handler goes on although the time of all calls is over
 * @returns undefined: it was synchronous, or there was nothing to run
 */
export function runTogether(
  calls: readonly BatchCall[],
  onExpired?: () => void,
): Promise<void> | undefined {
  const wanted = withoutLeft(calls);
  const [first] = wanted;
  if (first === undefined) return undefined;
  const procedure = LazyContext.procedureOf(first.context);
  const run = new BatchRun(procedure, wanted, onExpired);
  const params = wanted.map((call) => call.params);
  const fail = (message: string, thrown?: { readonly error: unknown }): void => {
    const fault = new BatchFault(message, wanted.length, thrown);
    for (const call of wanted) call.end(false, fault);
  };
  const failAfter = (error: unknown): void => {
    // Nobody waits, and the handler says so: no fault.
    if (run.isReason(error)) for (const call of wanted) call.end(false, reasonOf(call));
    else fail('the handler threw', { error });
  };
  const finish = (results: unknown): void => {
    try {
      const wrong = faultOf(results, wanted.length);
      if (wrong !== undefined) {
        fail(wrong);
        return;
      }
    } catch (error) {
      fail('what the handler gave throws when it is read', { error });
      return;
    }
    for (let i = 0; i < wanted.length; i++) {
      endWith(wanted[i] as BatchCall, results as readonly unknown[], i);
    }
  };
  let results: unknown;
  try {
    const { handler } = procedure.batch as BatchRules;
    results = outside.runInAsyncScope(handler, undefined, params as never, run as never);
    if (isThenable(results)) return Promise.resolve(results).then(finish, failAfter);
  } catch (error) {
    failAfter(error);
    return undefined;
  }
  finish(results);
  return undefined;
}

function withoutLeft(calls: readonly BatchCall[]): readonly BatchCall[] {
  let left = 0;
  for (const { context } of calls) if (context.cancelled) left++;
  if (left === 0) return calls;
  return calls.filter((call) => {
    const { cancelled } = call.context;
    if (cancelled) call.end(false, reasonOf(call));
    return !cancelled;
  });
}

function reasonOf({ context }: BatchCall): Error {
  return LazyContext.abortReasonOf(context) ?? standardError(ErrorCode.Cancelled);
}

/** Why what a handler gave can't be told apart by calls. */
function faultOf(results: unknown, calls: number): string | undefined {
  const wanted = `an array of ${calls}: a result, or an Error, in the place of each call`;
  if (!Array.isArray(results)) {
    return `a batch handler gave no array: return ${wanted}`;
  }
  if (results.length === calls) return undefined;
  return `a batch handler gave an array of ${results.length}: return ${wanted}`;
}

function endWith(call: BatchCall, results: readonly unknown[], index: number): void {
  let error: unknown;
  try {
    const value = results[index];
    if (!isThenable(value) && !(value instanceof Error || RpcError.is(value))) {
      call.end(true, value);
      return;
    }
    error = isThenable(value) ? promiseInPlace(value) : value;
  } catch (thrown) {
    error = thrown; // a proxy, or a getter, that throws
  }
  call.end(false, error);
}

function promiseInPlace(value: PromiseLike<unknown>): TypeError {
  // Its rejection would otherwise be unhandled.
  Promise.resolve(value).catch(() => {});
  const advice = 'return await Promise.all(...) of them';
  return new TypeError(`a batch handler gave a promise in the place of a call: ${advice}`);
}

/** What the other calls of a run may add to the time of one call alone, microseconds, if half of that time is less. */
const maxAddedUs = 8000;

/** The largest run may be twice as large as those before it, but so many calls in any case. */
const smallRun = 8;

/** While the time bounds the runs, one in so many has one call. */
const aloneOneIn = 16;

/**
 * How many calls a run of one procedure may take, by the time for which its runs held their thread: a call that comes meanwhile
 * waits for all of them. A table scan takes as long for many calls as for one, other work so long for each.
 */
export class RunSize {
  /** Of a run of one call, microseconds; undefined: nothing has run. */
  #aloneUs: number | undefined;
  /** What each further call adds. */
  #addedUs = 0;
  #largest = 0;
  /** Runs since one call ran alone. */
  #together = 0;

  get calls(): number {
    if (this.#aloneUs === undefined) return Number.POSITIVE_INFINITY;
    const most = 1 + Math.floor(Math.max(maxAddedUs, this.#aloneUs / 2) / this.#addedUs);
    // If one call alone takes longer by now, others seem to add that.
    if (most <= this.#largest && this.#together >= aloneOneIn) return 1;
    return Math.min(most, Math.max(smallRun, 2 * this.#largest));
  }

  /** @param us for which a run of so many calls held its thread, microseconds */
  record(calls: number, us: number): void {
    this.#largest = Math.max(this.#largest, calls);
    // Until one call has run alone, each is taken to cost as much as the others.
    const alone = Math.min(this.#aloneUs ?? us / calls, us);
    if (calls > 1) {
      const added = (us - alone) / (calls - 1);
      this.#addedUs = this.#aloneUs === undefined ? added : (this.#addedUs + added) / 2;
      this.#aloneUs = alone;
      this.#together++;
    } else {
      this.#together = 0;
      this.#aloneUs = (alone + us) / 2;
      // So that two calls are tried again some day.
      this.#addedUs *= 0.98;
    }
  }
}

/** One run of a handler: the second argument of the handler, and what its calls tell of themselves. */
class BatchRun implements BatchContext<LazyContext, unknown>, JoinedRun {
  readonly calls: readonly LazyContext[];
  readonly #procedure: Procedure;
  readonly #onExpired: (() => void) | undefined;
  /** Calls that somebody waits for. */
  #waited: number;
  #reason: Error | undefined;
  #controller: AbortController | undefined;
  #log: CallLog | undefined;

  constructor(
    procedure: Procedure,
    calls: readonly BatchCall[],
    onExpired: (() => void) | undefined,
  ) {
    this.calls = calls.map(({ context }) => context);
    this.#procedure = procedure;
    this.#onExpired = onExpired;
    this.#waited = calls.length;
    for (const context of this.calls) LazyContext.joinRun(context, this);
  }

  get size(): number {
    return this.calls.length;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get deadline(): number {
    let latest = 0;
    for (const { deadline } of this.calls) latest = Math.max(latest, deadline);
    return latest;
  }

  get state(): unknown {
    return this.#procedure.moduleState?.value;
  }

  get errors(): LazyContext['errors'] {
    return (this.calls[0] as LazyContext).errors;
  }

  get log(): CallLog {
    const [first] = this.calls;
    const host = first && LazyContext.hostOf(first);
    this.#log ??= host?.lines.of(this.#procedure.name, undefined) ?? (first as LazyContext).log;
    return this.#log;
  }

  /** Whether this is what the signal was aborted with, or comes of it. */
  isReason(error: unknown): boolean {
    if (this.#reason === undefined) return false;
    if (error === this.#reason) return true;
    try {
      return error instanceof Error && error.cause === this.#reason;
    } catch {
      return false; // a proxy that throws
    }
  }

  onAbort(reason: Error, isFirst: boolean): void {
    if (isFirst && --this.#waited === 0) {
      this.#reason = reason;
      this.#controller?.abort(reason);
    }
    if (this.#onExpired !== undefined && clockMs() >= this.#endsAt) this.#onExpired();
  }

  get #endsAt(): number {
    let latest = 0;
    for (const context of this.calls) latest = Math.max(latest, LazyContext.endsAtOf(context));
    return latest;
  }
}

/** Calls `start`, which starts a run of calls, measures the run and reports it. */
export type AroundRun = (
  calls: readonly BatchCall[],
  start: () => Promise<void> | undefined,
) => Promise<void> | undefined;

/** A call that waits for a run of its handler. If its caller leaves, or its time is over, it waits no longer. */
class GatheringCall implements BatchCall, JoinedRun {
  readonly params: Record<string, unknown>;
  readonly context: LazyContext;
  readonly size = 0;
  readonly #end: (ok: boolean, value: unknown) => void;
  readonly #onLeft: (call: GatheringCall) => void;

  constructor(
    params: Record<string, unknown>,
    context: LazyContext,
    end: (ok: boolean, value: unknown) => void,
    onLeft: (call: GatheringCall) => void,
  ) {
    this.params = params;
    this.context = context;
    this.#end = end;
    this.#onLeft = onLeft;
    LazyContext.joinRun(context, this);
  }

  end(ok: boolean, value: unknown): void {
    this.#end(ok, value);
  }

  onAbort(reason: Error): void {
    this.#onLeft(this);
    this.#end(false, reason);
  }
}

/**
 * Calls of one batch procedure that have come to its handler on this thread. Those of one turn of the event loop run
 * together. While `parallel` runs of an asynchronous handler go on, further calls gather.
 */
export class BatchGatherer {
  readonly #rules: BatchRules;
  readonly #around: AroundRun;
  readonly #callerOf: ((context: LazyContext) => string) | undefined;
  readonly #waiting = new Set<GatheringCall>();
  readonly #size = new RunSize();
  /** The same by caller, who is next first; undefined: no more wait than one run takes. */
  #lines: Map<string, Set<GatheringCall>> | undefined;
  #running = 0;
  #isPlanned = false;

  /** @param callerOf asked only if more calls wait than one run takes: then callers take turns */
  constructor(rules: BatchRules, around: AroundRun, callerOf?: (context: LazyContext) => string) {
    this.#rules = rules;
    this.#around = around;
    this.#callerOf = callerOf;
  }

  /** @returns the call's result. Rejects with what its handler would have thrown */
  join(params: Record<string, unknown>, context: LazyContext): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const end = (ok: boolean, value: unknown): void =>
        ok ? resolve(value) : reject(value as Error);
      const call = new GatheringCall(params, context, end, (left) => this.#remove(left));
      this.#waiting.add(call);
      if (this.#lines !== undefined) this.#enter(this.#lines, call);
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned || this.#waiting.size === 0) return;
    if (this.#running >= this.#rules.parallel) return;
    this.#isPlanned = true;
    setImmediate(() => this.#runNext());
  }

  #runNext(): void {
    this.#isPlanned = false;
    while (this.#waiting.size > 0 && this.#running < this.#rules.parallel) {
      // A synchronous run has held the thread: others have their turn before the next one.
      if (!this.#run(this.#take())) break;
    }
    this.#plan();
  }

  /** As many as a run may take: those that came first, or one of each caller in turn. */
  #take(): readonly BatchCall[] {
    const max = Math.min(this.#rules.max, this.#size.calls);
    const isFew = this.#waiting.size <= max;
    if (isFew) this.#lines = undefined;
    else if (this.#callerOf !== undefined) this.#lines ??= this.#tellApart();
    const calls: GatheringCall[] = [];
    while (calls.length < max) {
      const call = this.#lines === undefined ? firstOf(this.#waiting) : nextOf(this.#lines);
      if (call === undefined) break;
      this.#waiting.delete(call);
      calls.push(call);
    }
    return calls;
  }

  #tellApart(): Map<string, Set<GatheringCall>> {
    const lines = new Map<string, Set<GatheringCall>>();
    for (const call of this.#waiting) this.#enter(lines, call);
    return lines;
  }

  #enter(lines: Map<string, Set<GatheringCall>>, call: GatheringCall): void {
    const key = this.#callerOf?.(call.context) ?? '';
    const line = lines.get(key);
    if (line === undefined) lines.set(key, new Set([call]));
    else line.add(call);
  }

  #remove(call: GatheringCall): void {
    this.#waiting.delete(call);
    const key = this.#lines && this.#callerOf?.(call.context);
    const line = key === undefined ? undefined : this.#lines?.get(key);
    line?.delete(call);
    if (key !== undefined && line?.size === 0) this.#lines?.delete(key);
  }

  /** @returns whether the run goes on */
  #run(calls: readonly BatchCall[]): boolean {
    let isCounted = true;
    const leave = (): void => {
      if (!isCounted) return;
      isCounted = false;
      this.#running--;
      this.#plan();
    };
    this.#running++;
    // A handler that never ends must not keep later calls from running: when its time is over, it counts no more.
    const pending = this.#around(calls, () => {
      const began = clockMs();
      const ended = runTogether(calls, leave);
      this.#size.record(calls.length, (clockMs() - began) * 1000);
      return ended;
    });
    if (pending === undefined) {
      isCounted = false;
      this.#running--;
      return false;
    }
    void pending.then(leave);
    return true;
  }
}

function firstOf(calls: ReadonlySet<GatheringCall>): GatheringCall | undefined {
  return calls.values().next().value;
}

/** Takes the oldest call of the caller whose turn it is, who then is the last in turn. */
function nextOf(lines: Map<string, Set<GatheringCall>>): GatheringCall | undefined {
  for (const [key, line] of lines) {
    const call = firstOf(line);
    lines.delete(key);
    if (call === undefined) continue;
    line.delete(call);
    if (line.size > 0) lines.set(key, line);
    return call;
  }
  return undefined;
}

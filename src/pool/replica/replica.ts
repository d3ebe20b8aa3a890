import { getHeapStatistics } from 'node:v8';
import { clockMs } from '../../base/clock.ts';
import { type RunSource, ranBy } from '../../dispatch/streams/stream-run.ts';
import { ErrorCode, standardError } from '../../jsonrpc/errors.ts';
import { cappedOutcome, type Outcome, replyText } from '../../jsonrpc/reply.ts';
import { CallLines } from '../../router/call-log.ts';
import { toErrorOutcome } from '../../router/fault.ts';
import { type InvokeOptions, invoke, sourceOf } from '../../router/invoke.ts';
import { type CallHost, LazyContext, type RequestFacts } from '../../router/lazy-context.ts';
import type { Procedure } from '../../router/types.ts';
import type { Frame, FrameEntry } from '../wire/frame.ts';
import { readFrame } from '../wire/frame-reader.ts';
import type { Ledger } from '../wire/ledger.ts';
import type { Command, ReplicaOptions } from '../wire/messages.ts';
import { readParams } from './params.ts';
import type { Postbox } from './postbox.ts';
import { StreamRuns } from './stream-runs.ts';
import type { RunTraced } from './trace.ts';

/** How often the heap's size is read, at most: reading it takes some microseconds. */
const memoryCheckMs = 100;

interface Finished {
  readonly code: number;
  /** JSON text; '' for a notification. */
  readonly reply: string;
}

/** The worker's side of the pool: runs the calls of the frames it gets and posts each result as it ends. */
export class Replica {
  readonly #postbox: Postbox;
  readonly #ledger: Ledger;
  readonly #table: ReadonlyMap<string, Procedure>;
  readonly #options: ReplicaOptions;
  readonly #invokeOptions: InvokeOptions;
  readonly #host: CallHost;
  readonly #behindMs: number;
  readonly #runTraced: RunTraced | undefined;
  readonly streams: StreamRuns;
  #memoryCheckedAt = 0;
  /** Contexts of the calls that wait, by ticket, so that an abort finds them. */
  readonly #waiting = new Map<number, LazyContext>();

  /** @param behindMs how far the front end's `clockMs` is ahead of this thread's */
  constructor(
    postbox: Postbox,
    ledger: Ledger,
    table: ReadonlyMap<string, Procedure>,
    options: ReplicaOptions,
    behindMs: number,
    runTraced?: RunTraced,
  ) {
    this.#postbox = postbox;
    this.#ledger = ledger;
    this.#table = table;
    this.#options = options;
    this.#behindMs = behindMs;
    this.#runTraced = runTraced;
    this.streams = new StreamRuns(postbox, ledger, options.maxReplyBytes, behindMs, () =>
      this.#checkMemory(),
    );
    this.#host = {
      lines: new CallLines((line) => postbox.notify({ type: 'line', line })),
      isCancelled: (ticket) => ledger.isCancelled(ticket),
    };
    this.#invokeOptions = {
      checkResults: options.checkResults,
      onFault: (fault) => postbox.notify({ type: 'fault', fault }),
    };
  }

  run(frame: Frame): void {
    const entries = readFrame(frame);
    let waits = false;
    for (let start = 0; start < entries.length; ) {
      let end = start + 1;
      while (entries[end]?.follows === true) end++;
      if (this.#runChain(entries, start, end) !== undefined) waits = true;
      start = end;
    }
    this.#postbox.tell();
    const last = entries.at(-1);
    // The front end counts a call as work until its result comes. This notice ends that for calls that only wait.
    if (waits && last !== undefined)
      this.#postbox.notify({ type: 'idle', lastTicket: last.ticket });
    this.#checkMemory();
  }

  abort(command: Extract<Command, { type: 'abort' }>): void {
    const code = command.reason === 'cancelled' ? ErrorCode.Cancelled : ErrorCode.DeadlineExceeded;
    this.#waiting.get(command.ticket)?.abort(standardError(code));
    // Sent after the abort: where a listener of the signal never returns, no notice comes, and the front end knows
    // that the thread is stuck.
    this.#postbox.notify({ type: 'aborted', ticket: command.ticket });
  }

  /** Runs calls one after another. Returns a promise where one of them waits. */
  #runChain(entries: readonly FrameEntry[], start: number, end: number): Promise<void> | undefined {
    for (let at = start; at < end; at++) {
      const entry = entries[at] as FrameEntry;
      const began = clockMs();
      // The front end has taken this call back, so the call runs elsewhere. The calls behind it must run behind it
      // there, even those that were not taken back yet.
      if (!this.#ledger.start(entry.ticket, began + this.#behindMs)) return undefined;
      const pending = this.#runCall(entry, began);
      if (pending !== undefined) return pending.then(() => this.#resumeChain(entries, at + 1, end));
    }
    return undefined;
  }

  #resumeChain(
    entries: readonly FrameEntry[],
    start: number,
    end: number,
  ): Promise<void> | undefined {
    const pending = this.#runChain(entries, start, end);
    this.#postbox.tell();
    return pending;
  }

  #runCall(entry: FrameEntry, began: number): Promise<void> | undefined {
    const { ticket, isShort } = entry;
    this.#postbox.tellBefore(isShort, began);
    const finished = this.#callSafely(entry, began);
    this.#ledger.leave();
    const ended = clockMs();
    const micros = (ended - began) * 1000;
    if (!(finished instanceof Promise)) {
      this.#postbox.result(ended, ticket, finished.code, micros, micros, finished.reply);
      return undefined;
    }
    const settle = ({ code, reply }: Finished): void => {
      // A call holds the thread a second time where a synchronous handler runs after an asynchronous `authorize`.
      const resumedMs = this.#waiting.get(ticket)?.resumedMs ?? 0;
      this.#waiting.delete(ticket);
      const settled = clockMs();
      const elapsedUs = (settled - began) * 1000;
      this.#postbox.result(settled, ticket, code, micros + resumedMs * 1000, elapsedUs, reply);
      this.#postbox.tell();
    };
    return finished.then(settle, (error: unknown) => settle(this.#failed(entry, error)));
  }

  /** Turns an error around a handler into an error of that call. The calls behind it go on. */
  #callSafely(entry: FrameEntry, began: number): Finished | Promise<Finished> {
    try {
      return this.#call(entry, began);
    } catch (error) {
      return this.#failed(entry, error);
    }
  }

  #failed({ id, method }: FrameEntry, error: unknown): Finished {
    return this.#finish(id, toErrorOutcome(error, method, this.#invokeOptions.onFault));
  }

  #call(entry: FrameEntry, began: number): Finished | Promise<Finished> {
    const { ticket, method, timeoutMs, expiresAt, facts } = entry;
    const procedure = this.#table.get(method);
    // Both sides hold the same registry, since their fingerprints agree. So an unknown method is a defect here, not a
    // caller's typo.
    if (procedure === undefined) throw new Error(`replica without procedure ${method}`);
    const read = readParams(entry, this.#options);
    if (read.reply !== undefined) return { code: read.code, reply: read.reply };
    const { id, params } = read;
    const endsAt = Math.min(began + timeoutMs, expiresAt - this.#behindMs);
    const context = new LazyContext(procedure, id, facts, endsAt, this.#host, ticket);
    const outcome =
      this.#runTraced === undefined
        ? invoke(procedure, params, context, this.#invokeOptions)
        : this.#runTraced(facts, () => invoke(procedure, params, context, this.#invokeOptions));
    if (!(outcome instanceof Promise)) return this.#finishOrOpen(entry, id, context, outcome);
    this.#waiting.set(ticket, context);
    return outcome.then((value) => this.#finishOrOpen(entry, id, context, value));
  }

  /** An empty reply of a call with an id says that its stream has opened. */
  #finishOrOpen(
    { ticket, facts }: FrameEntry,
    id: string | undefined,
    context: LazyContext,
    outcome: Outcome,
  ): Finished {
    const source = sourceOf(outcome);
    if (source === undefined) return this.#finish(id, outcome);
    // A notification has nobody who could read.
    if (id === undefined) void source.close();
    else this.streams.open(ticket, this.#traced(source, facts), context);
    return { code: 0, reply: '' };
  }

  /** The generator runs in the span of its call, too. */
  #traced(source: RunSource, facts: RequestFacts | undefined): RunSource {
    const runTraced = this.#runTraced;
    return runTraced === undefined ? source : ranBy(source, (part) => runTraced(facts, part));
  }

  /** The size includes garbage that has not been collected: the thread holds it too. */
  #checkMemory(): void {
    const limit = this.#options.maxWorkerMemory;
    if (limit === 0) return;
    const now = clockMs();
    if (now < this.#memoryCheckedAt + memoryCheckMs) return;
    this.#memoryCheckedAt = now;
    const { used_heap_size, external_memory } = getHeapStatistics();
    const bytes = used_heap_size + external_memory;
    if (bytes > limit) this.#postbox.notify({ type: 'memory', bytes });
  }

  #finish(id: string | undefined, outcome: Outcome): Finished {
    if (id === undefined) return { code: outcome.code, reply: '' };
    const capped = cappedOutcome(id, outcome, this.#options.maxReplyBytes);
    return { code: capped.code, reply: replyText(id, capped) };
  }
}

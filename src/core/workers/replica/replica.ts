import { getHeapStatistics } from 'node:v8';
import { clockMs } from '../../base/clock.ts';
import { LineLimiter } from '../../base/line-limiter.ts';
import {
  type RunContext,
  type RunOutlet,
  RunQueue,
  type RunSource,
  ranBy,
  StreamRun,
} from '../../dispatch/streams/stream-run.ts';
import {
  type BatchCall,
  BatchGatherer,
  runAlone,
  runTogether,
} from '../../procedures/batch-run.ts';
import type { Broadcast } from '../../procedures/broadcast.ts';
import { CallLines } from '../../procedures/context.ts';
import { describe, toErrorOutcome } from '../../procedures/fault.ts';
import {
  capped,
  type InvokeOptions,
  invoke,
  invokeTogether,
  sourceOf,
} from '../../procedures/invoke.ts';
import { type CallHost, LazyContext, type RequestFacts } from '../../procedures/lazy-context.ts';
import type { Procedure } from '../../procedures/types.ts';
import { invalidReply, isInvalid, verified } from '../../protocol/body.ts';
import { ErrorCode, standardError } from '../../protocol/errors.ts';
import { readBody } from '../../protocol/read.ts';
import { finishedReply, type Outcome, type ReplyBytes } from '../../protocol/reply.ts';
import { exceedsDepth } from '../../protocol/syntax.ts';
import { type Frame, type FrameEntry, readFrame } from '../wire/frame.ts';
import type { Ledger } from '../wire/ledger.ts';
import {
  type Command,
  ItemKind,
  type ReplicaOptions,
  type ReplicaSender,
  type StreamCommand,
} from '../wire/messages.ts';

/** Faults of a procedure in a second that are logged in full. */
const maxFaults = 10;

/** How often the heap's size is read, at most: reading it takes a microsecond. */
const memoryEveryMs = 100;

/** Runs a handler with the span of its call as the current span. The main thread began that span. */
export type RunTraced = <T>(facts: RequestFacts | undefined, handler: () => T) => T;

/** What the thread of a replica has for its calls. */
interface ReplicaHost {
  readonly runTraced?: RunTraced | undefined;
  readonly broadcast?: Broadcast | undefined;
}

interface Finished {
  readonly code: number;
  /** JSON text, or its bytes; '' for a notification. */
  readonly reply: string | ReplyBytes;
}

/** A call that runs together with others. */
interface StartedCall {
  readonly entry: FrameEntry;
  context: LazyContext | undefined;
  finished: Finished | Promise<Finished> | undefined;
  /** Set once the call waits. */
  settle?: (finished: Finished) => void;
}

/** The worker's side of the pool: runs the calls of the frames it gets and posts each result as it ends. */
export class Replica {
  readonly #sender: ReplicaSender;
  readonly #ledger: Ledger;
  readonly #table: ReadonlyMap<string, Procedure>;
  readonly #options: ReplicaOptions;
  readonly #invokeOptions: InvokeOptions;
  /** For callers that see the messages of internal errors. */
  readonly #openOptions: InvokeOptions;
  readonly #host: CallHost;
  readonly #behindMs: number;
  readonly #runTraced: RunTraced | undefined;
  readonly streams: StreamRuns;
  #isBroken = false;
  /** By `clockMs`: when the synchronous code of a call ended last, and when the heap's size was read last. */
  #endedAt = 0;
  #memoryReadAt = Number.NEGATIVE_INFINITY;
  /** Contexts of the calls that wait, by ticket, so that an abort finds them. */
  readonly #waiting = new Map<number, LazyContext>();
  /** Takes the calls of a batch that is about to run; undefined: none is. */
  #together: BatchCall[] | undefined;
  /** Calls of batch procedures that came to their handlers after a wait, by procedure. */
  readonly #gatherers = new Map<string, BatchGatherer>();

  /** @param behindMs how far the main thread's `clockMs` is ahead of this thread's */
  constructor(
    sender: ReplicaSender,
    ledger: Ledger,
    table: ReadonlyMap<string, Procedure>,
    options: ReplicaOptions,
    behindMs: number,
    { runTraced, broadcast }: ReplicaHost = {},
  ) {
    this.#sender = sender;
    this.#ledger = ledger;
    this.#table = table;
    this.#options = options;
    this.#behindMs = behindMs;
    this.#runTraced = runTraced;
    this.streams = new StreamRuns(sender, ledger, options.maxReplyBytes, behindMs, () =>
      this.#readMemory(clockMs()),
    );
    this.#readMemory(clockMs());
    const faults = new LineLimiter<string>((dropped) => {
      for (const { facts: method, dropped: count } of dropped) {
        sender.notify({ type: 'fault', fault: { ref: '', method, detail: '', count } });
      }
    });
    this.#host = {
      lines: new CallLines((line) => sender.notify({ type: 'line', line })),
      isCancelled: (ticket) => ledger.isCancelled(ticket),
      broadcast,
      join: (params, context) => this.#join(params, context),
    };
    this.#invokeOptions = {
      checkResults: options.checkResults,
      onFault: (fault) => {
        if (fault.isSent === true || faults.admits(fault.method, fault.method, maxFaults))
          sender.notify({ type: 'fault', fault });
      },
    };
    this.#openOptions = { ...this.#invokeOptions, showsFaults: true };
  }

  run(frame: Frame): void {
    const began = this.streams.isWaiting ? clockMs() : undefined;
    const entries = readFrame(frame);
    let waits = false;
    for (let start = 0; start < entries.length; ) {
      let end = start + 1;
      if (entries[end]?.joins === true) {
        while (entries[end]?.joins === true) end++;
        if (this.#runBatch(entries, start, end)) waits = true;
      } else {
        while (entries[end]?.follows === true) end++;
        if (this.#runChain(entries, start, end) !== undefined) waits = true;
      }
      start = end;
    }
    this.#sender.flush();
    const last = entries.at(-1);
    // The main thread counts a call as work until its result comes. This notice ends that for calls that only wait.
    if (waits && last !== undefined) this.#sender.notify({ type: 'idle', lastTicket: last.ticket });
    this.#readMemory(this.#endedAt);
    if (began !== undefined) this.streams.noteCalls(clockMs() - began);
  }

  abort(command: Extract<Command, { type: 'abort' }>): void {
    const code = command.reason === 'cancelled' ? ErrorCode.Cancelled : ErrorCode.DeadlineExceeded;
    this.#waiting.get(command.ticket)?.abort({ code });
    // After the abort: if a listener of the signal never returns, no notice comes, and the thread is known to be stuck.
    this.#sender.notify({ type: 'aborted', ticket: command.ticket });
  }

  /** Runs calls one after another. Returns a promise where one of them waits. */
  #runChain(entries: readonly FrameEntry[], start: number, end: number): Promise<void> | undefined {
    for (let at = start; at < end; at++) {
      const entry = entries[at] as FrameEntry;
      const began = clockMs();
      // The main thread has taken this call back. The calls after it must run after it, elsewhere, even those that were
      // not taken back yet.
      if (!this.#ledger.start(entry.ticket, began + this.#behindMs)) return undefined;
      const pending = this.#runCall(entry, began);
      if (pending !== undefined) {
        return pending.then(() => {
          const next = this.#runChain(entries, at + 1, end);
          this.#sender.flush();
          return next;
        });
      }
    }
    return undefined;
  }

  #runCall(entry: FrameEntry, began: number): Promise<void> | undefined {
    const { ticket, isShort } = entry;
    this.#sender.flushBefore(isShort, began);
    let finished: Finished | Promise<Finished>;
    try {
      finished = this.#call(entry, began);
    } catch (error) {
      // An error of that call alone: the calls after it go on.
      finished = this.#failed(entry, error);
    }
    this.#ledger.leave();
    const ended = clockMs();
    this.#endedAt = ended;
    const micros = (ended - began) * 1000;
    if (!(finished instanceof Promise)) {
      this.#sender.result(ended, ticket, finished.code, micros, micros, finished.reply);
      return undefined;
    }
    const settle = (ended: Finished): void => {
      this.#settle(entry, ended, began, micros);
      this.#sender.flush();
    };
    return finished.then(settle, (error: unknown) => settle(this.#failed(entry, error)));
  }

  /** A call that has waited has ended. `flush` must follow. */
  #settle({ ticket }: FrameEntry, { code, reply }: Finished, began: number, micros: number): void {
    // A call holds the thread a second time where a synchronous handler runs after an asynchronous `authorize`.
    const resumedMs = this.#waiting.get(ticket)?.resumedMs ?? 0;
    this.#waiting.delete(ticket);
    const settled = clockMs();
    const elapsedUs = (settled - began) * 1000;
    this.#sender.result(settled, ticket, code, micros + resumedMs * 1000, elapsedUs, reply);
  }

  /** Runs a handler once for calls that were sent to run together. Returns whether any of them waits. */
  #runBatch(entries: readonly FrameEntry[], start: number, end: number): boolean {
    const began = clockMs();
    this.#sender.flushBefore((entries[start] as FrameEntry).isShort, began);
    const started: StartedCall[] = [];
    const together: BatchCall[] = [];
    this.#together = together;
    for (let at = start; at < end; at++) {
      const entry = entries[at] as FrameEntry;
      // Each call is taken back by itself.
      if (!this.#ledger.start(entry.ticket, began + this.#behindMs)) continue;
      const call: StartedCall = { entry, context: undefined, finished: undefined };
      started[started.length] = call;
      try {
        this.#begin(call, began, together);
      } catch (error) {
        call.finished = this.#failed(entry, error);
      }
    }
    this.#together = undefined;
    const pending = together.length === 0 ? undefined : runTogether(together);
    this.#ledger.leave();
    const ended = clockMs();
    const elapsedUs = (ended - began) * 1000;
    const micros = elapsedUs / started.length;
    let waits = false;
    for (const call of started) {
      const { entry, finished, context } = call;
      if (finished !== undefined && !(finished instanceof Promise)) {
        this.#sender.result(ended, entry.ticket, finished.code, micros, elapsedUs, finished.reply);
        continue;
      }
      waits = true;
      if (context !== undefined) this.#waiting.set(entry.ticket, context);
      const settle = (settled: Finished): void => this.#settle(entry, settled, began, micros);
      call.settle = settle;
      const settleAlone = (settled: Finished): void => {
        settle(settled);
        this.#sender.flush();
      };
      const fail = (error: unknown): void => settleAlone(this.#failed(entry, error));
      if (finished !== undefined) void finished.then(settleAlone, fail);
    }
    if (pending !== undefined) void pending.then(() => this.#sender.flush());
    return waits;
  }

  /** Validates a call and gives it to `together`, or runs what comes before its handler. */
  #begin(call: StartedCall, began: number, together: BatchCall[]): void {
    const { entry } = call;
    const procedure = this.#procedureOf(entry);
    const read = readParams(entry, this.#options);
    if (read.reply !== undefined) {
      call.finished = { code: read.code, reply: read.reply };
      return;
    }
    const { id, params } = read;
    const context = this.#contextOf(procedure, entry, id, began);
    const options = this.#invokeOptionsOf(entry);
    call.context = context;
    const onEnd = (outcome: Outcome): void => {
      let finished: Finished;
      try {
        finished = this.#finish(procedure, id, outcome);
      } catch (error) {
        finished = this.#failed(entry, error);
      }
      if (call.settle === undefined) call.finished = finished;
      else call.settle(finished);
    };
    const add = (one: BatchCall): void => {
      // By index: a handler may have replaced `push`.
      together[together.length] = one;
    };
    const invokeOne = (): Outcome | Promise<Outcome> | undefined =>
      invokeTogether(procedure, params, context, options, entry.bytes, add, onEnd);
    const run = this.#runTraced;
    const outcome = run === undefined ? invokeOne() : run(entry.facts, invokeOne);
    if (outcome instanceof Promise) {
      call.finished = outcome.then((value) => this.#finish(procedure, id, value));
    } else if (outcome !== undefined) call.finished = this.#finish(procedure, id, outcome);
  }

  /** A call of a batch procedure has come to its handler. */
  #join(params: Record<string, unknown>, context: LazyContext): unknown {
    const together = this.#together;
    if (together !== undefined) {
      return new Promise((resolve, reject) => {
        const end = (ok: boolean, value: unknown): void =>
          ok ? resolve(value) : reject(value as Error);
        together[together.length] = { params, context, end };
      });
    }
    // The thread is in the call that was sent alone.
    if (this.#ledger.isBusy()) return runAlone(params, context);
    const { name, batch } = LazyContext.procedureOf(context);
    let gatherer = this.#gatherers.get(name);
    if (gatherer === undefined) {
      if (batch === undefined) throw new Error(`${name} takes single calls`);
      gatherer = new BatchGatherer(batch, (calls, start) => {
        const began = clockMs();
        const pending = start();
        const ms = clockMs() - began;
        for (const call of calls) call.context.resumedMs += ms / calls.length;
        return pending;
      });
      this.#gatherers.set(name, gatherer);
    }
    return gatherer.join(params, context);
  }

  /** What a handler throws is an outcome: this is the fault of the code around it. */
  #failed({ id, method }: FrameEntry, error: unknown): Finished {
    this.#breaks(describe(error));
    return this.#finish(undefined, id, toErrorOutcome(error, method, this.#invokeOptions));
  }

  #call(entry: FrameEntry, began: number): Finished | Promise<Finished> {
    const { ticket, facts, bytes } = entry;
    const procedure = this.#procedureOf(entry);
    const read = readParams(entry, this.#options);
    if (read.reply !== undefined) return { code: read.code, reply: read.reply };
    const { id, params } = read;
    const context = this.#contextOf(procedure, entry, id, began);
    const options = this.#invokeOptionsOf(entry);
    const outcome =
      this.#runTraced === undefined
        ? invoke(procedure, params, context, options, bytes)
        : this.#runTraced(facts, () => invoke(procedure, params, context, options, bytes));
    if (!(outcome instanceof Promise))
      return this.#finishOrOpen(procedure, entry, id, context, outcome);
    this.#waiting.set(ticket, context);
    return outcome.then((value) => this.#finishOrOpen(procedure, entry, id, context, value));
  }

  #procedureOf({ method }: FrameEntry): Procedure {
    const procedure = this.#table.get(method);
    // Both sides hold the same registry, since their fingerprints agree: this is a defect, not a caller's typo.
    if (procedure === undefined) throw new Error(`replica without procedure ${method}`);
    return procedure;
  }

  #contextOf(
    procedure: Procedure,
    { ticket, timeoutMs, expiresAt, facts }: FrameEntry,
    id: string | undefined,
    began: number,
  ): LazyContext {
    const endsAt = Math.min(began + timeoutMs, expiresAt - this.#behindMs);
    return new LazyContext(procedure, id, facts, endsAt, this.#host, ticket);
  }

  #invokeOptionsOf({ showsFaults, keepsBytes }: FrameEntry): InvokeOptions {
    const usual = showsFaults ? this.#openOptions : this.#invokeOptions;
    return keepsBytes ? { ...usual, keepsBytes: true } : usual;
  }

  /** An empty reply of a call with an id says that its stream has opened. */
  #finishOrOpen(
    procedure: Procedure,
    { ticket, facts }: FrameEntry,
    id: string | undefined,
    context: LazyContext,
    outcome: Outcome,
  ): Finished {
    const source = sourceOf(outcome);
    if (source === undefined) return this.#finish(procedure, id, outcome);
    // A notification has nobody who could read.
    if (id === undefined) void source.close();
    else {
      const run = this.#runTraced;
      // The generator runs in the span of its call, too.
      const traced = run === undefined ? source : ranBy(source, (part) => run(facts, part));
      this.streams.open(ticket, traced, context);
    }
    return { code: 0, reply: '' };
  }

  #breaks(detail: string): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#sender.notify({ type: 'broken', detail });
  }

  /** The size includes garbage that has not been collected: the thread holds it too. */
  #readMemory(now: number): void {
    if (now < this.#memoryReadAt + memoryEveryMs) return;
    this.#memoryReadAt = now;
    const { used_heap_size, external_memory } = getHeapStatistics();
    this.#ledger.memory = used_heap_size + external_memory;
  }

  #finish(procedure: Procedure | undefined, id: string | undefined, outcome: Outcome): Finished {
    if (id === undefined) return { code: outcome.code, reply: '' };
    const { onFault } = this.#invokeOptions;
    const kept = capped(procedure, id, outcome, this.#options.maxReplyBytes, onFault);
    return { code: kept.code, reply: finishedReply(id, kept) };
  }
}

/** The parsed params of a call, or the reply that ends it. */
export type ReadParams =
  | { readonly reply: undefined; readonly params: unknown; readonly id: string | undefined }
  | { readonly reply: string; readonly code: ErrorCode };

/**
 * Parses a call's params in the worker, where broken params cost the main thread nothing: it has read only the envelope
 * around them. If they are not one JSON value, the exact reader decides on the whole body, as for an inline call.
 */
export function readParams(entry: FrameEntry, options: ReplicaOptions): ReadParams {
  const { source, start, end, id } = entry;
  if (source === undefined) return { reply: undefined, params: undefined, id };
  // The source is the params alone: a part of a body that the main thread has read whole.
  if (end === -1) return { reply: undefined, params: JSON.parse(textOf(source)), id };
  const text =
    typeof source === 'string'
      ? source.slice(start, end)
      : bytesOf(source).toString('utf8', start, end);
  // The limit is one less than for the body: the params stand one level deep in it.
  if (!exceedsDepth(text, options.maxDepth - 1)) {
    try {
      const params: unknown = JSON.parse(text);
      if (typeof params === 'object' && params !== null) return { reply: undefined, params, id };
    } catch {
      // The params are not one JSON value: the exact reader decides.
    }
  }
  return readExactly(textOf(source), options);
}

function textOf(source: string | Uint8Array): string {
  return typeof source === 'string' ? source : bytesOf(source).toString('utf8');
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function readExactly(text: string, options: ReplicaOptions): ReadParams {
  const body = readBody(text, { ...options, maxBatch: 1 });
  if (body.kind === 'reply') return body;
  // The quick reader saw that the body is an object, so it can't be a batch.
  if (body.kind === 'batch') throw new Error('a single call was read as a batch');
  const { entry } = body;
  if (isInvalid(entry)) return { reply: invalidReply(entry), code: entry.code };
  const { id, params, paramsStart, paramsEnd } = entry;
  const isParsed = params !== verified;
  const value = isParsed ? params : (JSON.parse(text.slice(paramsStart, paramsEnd)) as unknown);
  return { reply: undefined, params: value, id };
}

/** The generators of a worker's thread. Each is named by the ticket of the call that has opened its stream. */
class StreamRuns {
  readonly #sender: ReplicaSender;
  readonly #maxValueBytes: number;
  readonly #queue: RunQueue;
  readonly #runs = new Map<number, StreamRun>();
  #isInTurn = false;
  #isFlushing = false;

  /**
   * @param maxValueBytes UTF-8 bytes of one value
   * @param behindMs how far the main thread's `clockMs` is ahead of this thread's
   * @param onTurnEnd called after each slice
   */
  constructor(
    sender: ReplicaSender,
    ledger: Ledger,
    maxValueBytes: number,
    behindMs: number,
    onTurnEnd: () => void,
  ) {
    this.#sender = sender;
    this.#maxValueBytes = maxValueBytes;
    const watch = {
      enter: ({ ticket }: { readonly ticket: number }, now: number): void => {
        this.#isInTurn = true;
        ledger.enterStretch(ticket, now + behindMs);
      },
      leave: (): void => {
        this.#isInTurn = false;
        ledger.leave();
      },
    };
    this.#queue = new RunQueue(watch, () => {
      sender.flush();
      onTurnEnd();
    });
  }

  /** Whether generators wait for their turn. */
  get isWaiting(): boolean {
    return this.#queue.isWaiting;
  }

  noteCalls(ms: number): void {
    this.#queue.noteCalls(ms);
  }

  /** Opens a stream with the iterator of a handler. It is asked for nothing before the main thread grants credit. */
  open(ticket: number, source: RunSource, context: RunContext): void {
    let items = 0;
    const put = (kind: number, code: number, text: string): void => {
      this.#sender.item(ticket, kind, code, items++, text);
      this.#flushLater();
    };
    const outlet: RunOutlet = {
      value: (text) => put(ItemKind.value, 0, text),
      end: ({ ok, code, text }: Outcome) => put(ok ? ItemKind.result : ItemKind.error, code, text),
      closed: () => {
        this.#runs.delete(ticket);
        put(ItemKind.closed, 0, '');
      },
    };
    const run = new StreamRun(source, context, outlet, this.#maxValueBytes, this.#queue, ticket);
    this.#runs.set(ticket, run);
  }

  /** Commands for a stream that is over are ignored. */
  obey(command: StreamCommand): void {
    switch (command.type) {
      case 'grant':
        for (let i = 0; i < command.grants.length; i += 3) {
          const [ticket = 0, values = 0, characters = 0] = command.grants.slice(i, i + 3);
          this.#runs.get(ticket)?.grant(values, characters);
        }
        break;
      case 'cancel':
        this.#runs.get(command.ticket)?.cancel(reasonOf(command));
        break;
      case 'drain':
        this.#runs.get(command.ticket)?.drain(reasonOf(command));
        break;
    }
  }

  /** Wakes the main thread at the end of the run queue's turn; outside of one, of this turn of the event loop. */
  #flushLater(): void {
    if (this.#isInTurn || this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.#sender.flush();
    });
  }
}

function reasonOf({ code, data }: Extract<StreamCommand, { readonly code: number }>) {
  return standardError(code as ErrorCode, data);
}

import { noPlace } from '../base/place.ts';
import { suggest } from '../base/suggest.ts';
import type { Procedure, StreamRules } from '../procedures/types.ts';
import {
  type Body,
  type Envelope,
  type InvalidEnvelope,
  isInvalid,
  largeBatch,
  largeBody,
  type ReadLimits,
  unreadableBody,
} from '../protocol/body.ts';
import { ErrorCode } from '../protocol/errors.ts';
import {
  decodeUtf8,
  readBody,
  readBytes,
  readPayload,
  type ScannedEnvelope,
  scanEnvelope,
  scanLargeEnvelope,
} from '../protocol/read.ts';
import {
  cappedReply,
  errorReply,
  type GoesToSink,
  mostUnitBytes,
  type Outcome,
  type Reply,
  type ReplySink,
  replyText,
} from '../protocol/reply.ts';
import { exceedsDepth } from '../protocol/syntax.ts';
import { builtIn } from './built-in.ts';
import {
  type Call,
  CallEnding,
  type CallObserver,
  cancelled,
  exceedsBytes,
  limitExceeded,
  neverRan,
  overloaded,
  unparsed,
} from './call.ts';
import type { Executor } from './executor.ts';
import type { RequestScope } from './scope.ts';
import { joinReplies, runConcurrently, runInOrder, type Step } from './sequence.ts';
import type { StreamSink } from './streams/contract.ts';
import type { OpenStreams } from './streams/open-streams.ts';
import { CollectingExecutor } from './streams/readers.ts';

/**
 * Turns a body into its reply: reads the envelope, finds the procedure, places the call, keeps a batch in order.
 * Knows no transport and no thread. Never throws; synchronous until a promise appears.
 */
export class Kernel {
  readonly #limits: KernelLimits;
  readonly #current: () => Routing;
  readonly #observer: CallObserver | undefined;
  /** Ends calls that come to no executor. */
  readonly #unplaced: CallEnding;
  readonly #onBatch: ((scope: RequestScope, calls: number) => void) | undefined;

  /**
   * @param observer called with what is refused before it comes to an executor
   * @param onBatch called with the number of calls of a batch, before the first of them runs
   */
  constructor(
    limits: KernelLimits,
    current: () => Routing,
    observer?: CallObserver,
    onBatch?: (scope: RequestScope, calls: number) => void,
  ) {
    this.#onBatch = onBatch;
    this.#limits = limits;
    this.#current = current;
    this.#observer = observer;
    this.#unplaced = new CallEnding(noPlace, limits.maxReplyBytes, observer);
  }

  handle(body: string | Uint8Array, scope: RequestScope): Reply | Promise<Reply>;
  handle(
    body: string | Uint8Array,
    scope: RequestScope,
    sink: ReplySink | undefined,
  ): Reply | Promise<Reply> | GoesToSink;
  /**
   * @param body text, or UTF-8 bytes; the kernel owns bytes above 64 KB from here on
   * @param sink undefined: a reply that comes later is a promise
   */
  handle(
    body: string | Uint8Array,
    scope: RequestScope,
    sink?: ReplySink,
  ): Reply | Promise<Reply> | GoesToSink {
    const routing = this.#current();
    if (body.length > largeBody) return this.#handleLarge(body, scope, routing, sink);
    const text = typeof body === 'string' ? body : decodeUtf8(body);
    return text === undefined
      ? this.#run(unreadableBody(), undefined, scope, routing)
      : this.#handleText(text, scope, routing, sink);
  }

  /** As `handle`, for a payload that is parsed already. */
  handlePayload(payload: unknown, scope: RequestScope): Reply | Promise<Reply> {
    return this.#run(readPayload(payload, this.#limits), undefined, scope, this.#current());
  }

  #handleLarge(
    body: string | Uint8Array,
    scope: RequestScope,
    routing: Routing,
    sink: ReplySink | undefined,
  ): Reply | Promise<Reply> | GoesToSink {
    const quick = scanLargeEnvelope(body, this.#limits.strict);
    const procedure = quick && routing.table.get(quick.method);
    if (quick?.id !== undefined && procedure !== undefined && procedure.stream === undefined) {
      const executor = routing.executorFor(procedure);
      if (executor.takesUnparsed) {
        return execute(executor, unparsedCall(procedure, quick, body, scope), sink);
      }
    }
    if (typeof body !== 'string' && body.byteLength > largeBatch) {
      return this.#run(readBytes(body, this.#limits), body, scope, routing);
    }
    const text = typeof body === 'string' ? body : decodeUtf8(body);
    const read = text === undefined ? unreadableBody() : readBody(text, this.#limits);
    return this.#run(read, text, scope, routing);
  }

  #handleText(
    text: string,
    scope: RequestScope,
    routing: Routing,
    sink: ReplySink | undefined,
  ): Reply | Promise<Reply> | GoesToSink {
    const quick = scanEnvelope(text, text, 0, this.#limits.strict);
    if (quick !== undefined) {
      const procedure = routing.table.get(quick.method);
      if (procedure !== undefined && procedure.stream === undefined) {
        const executor = routing.executorFor(procedure);
        if (executor.takesUnparsed && idIsKnown(quick, text)) {
          return execute(executor, unparsedCall(procedure, quick, text, scope), sink);
        }
        const params = executor.takesUnparsed ? unparsed : this.#parseParams(text, quick);
        if (params !== unparsed) {
          const { id, start, end } = quick;
          const trace = scope.trace?.call(procedure.name, id);
          return executor.execute({
            procedure,
            id,
            params,
            source: text,
            start,
            end,
            scope,
            trace,
          });
        }
      }
    }
    return this.#run(readBody(text, this.#limits), text, scope, routing);
  }

  /** The params of a quick reading; `unparsed` where only the exact reader can say what they are. */
  #parseParams(text: string, quick: ScannedEnvelope): unknown {
    if (quick.start === -1) return undefined;
    if ((quick.end - quick.start) * mostUnitBytes > this.#limits.maxInlineParamsBytes)
      return unparsed;
    if (exceedsDepth(text, this.#limits.maxDepth)) return unparsed;
    try {
      const params: unknown = JSON.parse(text.slice(quick.start, quick.end));
      return typeof params === 'object' && params !== null ? params : unparsed;
    } catch {
      return unparsed;
    }
  }

  #run(
    body: Body,
    source: string | Uint8Array | undefined,
    scope: RequestScope,
    routing: Routing,
  ): Reply | Promise<Reply> {
    switch (body.kind) {
      case 'reply':
        this.#observer?.onRefused(body.code, undefined, undefined, scope);
        return body.reply;
      case 'single': {
        const step = this.#plan(source, scope, routing, true).toStep(body.entry);
        return step.call === undefined ? step.reply : step.executor.execute(step.call);
      }
      case 'batch': {
        this.#onBatch?.(scope, body.entries.length);
        const plan = this.#plan(source, scope, routing, false);
        const steps = body.entries.map((entry) => plan.toStep(entry));
        const { batchConcurrency, overlapReads } = this.#limits;
        const replies =
          batchConcurrency === 1
            ? runInOrder(steps, this.#unplaced, overlapReads)
            : runConcurrently(steps, batchConcurrency, this.#unplaced);
        return replies instanceof Promise ? replies.then(joinReplies) : joinReplies(replies);
      }
    }
  }

  #plan(
    source: string | Uint8Array | undefined,
    scope: RequestScope,
    routing: Routing,
    isAlone: boolean,
  ): Plan {
    return new Plan(source, scope, routing, this.#limits, this.#unplaced, isAlone);
  }
}

/**
 * Whether the quick reading knows for certain that the call has an id or has none. What looks like a notification may
 * have an id behind its params, which the quick reader could not read. A worker would read it; but this side answers
 * where there is no worker.
 */
function idIsKnown(quick: ScannedEnvelope, text: string): boolean {
  if (quick.id !== undefined || quick.start === -1) return true;
  return !text.includes('"id"') && !text.includes('\\u'); // the name may be written with escapes
}

function execute(
  executor: Executor,
  call: Call,
  sink: ReplySink | undefined,
): Reply | Promise<Reply> | GoesToSink {
  return sink === undefined || executor.executeInto === undefined
    ? executor.execute(call)
    : executor.executeInto(call, sink);
}

function unparsedCall(
  procedure: Procedure,
  quick: ScannedEnvelope,
  source: string | Uint8Array,
  scope: RequestScope,
): Call {
  const { id, start, end } = quick;
  const params = start === -1 ? undefined : unparsed;
  const trace = scope.trace?.call(procedure.name, id);
  return { procedure, id, params, source, start, end, scope, trace };
}

/**
 * The reply to a body of which nothing may run: the refusal with the request's id, one object with id null
 * for a batch, nothing for notifications. What is no request keeps the error it would have had.
 *
 * Of a large body only the envelope is read, from both ends: who is refused must not buy the parsing of
 * megabytes. Where that does not tell the id, it is null. Only what seems to be a notification is read whole.
 */
export function refuseBody(
  body: string | Uint8Array,
  refusal: Outcome,
  limits: KernelLimits,
): Reply {
  if (body.length > largeBody) {
    const quick = scanLargeEnvelope(body, limits.strict);
    // What looks like a notification may have its id behind the params.
    if (quick === undefined || quick.id !== undefined)
      return replyTo(quick?.id ?? 'null', refusal, limits);
    const read = typeof body === 'string' ? readBody(body, limits) : readBytes(body, limits);
    return refuse(read, refusal, limits);
  }
  const text = typeof body === 'string' ? body : decodeUtf8(body);
  if (text === undefined) return unreadableBody().reply;
  return refuse(readBody(text, anyBatch(limits)), refusal, limits);
}

/** The same for a payload that is parsed already. */
export function refusePayload(payload: unknown, refusal: Outcome, limits: KernelLimits): Reply {
  return refuse(readPayload(payload, anyBatch(limits)), refusal, limits);
}

/** `maxBatch` is not checked where nothing of the batch runs. */
function anyBatch(limits: KernelLimits): KernelLimits {
  return { ...limits, maxBatch: Number.POSITIVE_INFINITY };
}

function refuse(body: Body, refusal: Outcome, limits: KernelLimits): Reply {
  switch (body.kind) {
    case 'reply':
      return body.reply;
    case 'single': {
      const { entry } = body;
      if (isNotification(entry)) return undefined;
      if (isInvalid(entry)) return errorReply(entry.id, entry.code);
      return replyTo(entry.id ?? 'null', refusal, limits);
    }
    case 'batch':
      return body.entries.every(isNotification) ? undefined : replyTo('null', refusal, limits);
  }
}

function isNotification(entry: Envelope | InvalidEnvelope): boolean {
  return !isInvalid(entry) && entry.id === undefined;
}

function replyTo(id: string, outcome: Outcome, { maxReplyBytes }: KernelLimits): string {
  return cappedReply(id, outcome, maxReplyBytes);
}

/** Characters compared for all suggestions of one request: about half a millisecond. */
const suggestionSteps = 50_000;

/**
 * Decides where the calls of one request run, before the first of them runs. The work for
 * suggestions has one bound for all calls of the request.
 */
class Plan {
  readonly #source: string | Uint8Array | undefined;
  readonly #scope: RequestScope;
  readonly #routing: Routing;
  readonly #limits: KernelLimits;
  readonly #unplaced: CallEnding;
  readonly #isAlone: boolean;
  readonly #suggestions = { left: suggestionSteps };

  /**
   * @param source the body; undefined for a payload that came parsed
   * @param unplaced ends the calls that come to no executor
   * @param isAlone the request is no batch
   */
  constructor(
    source: string | Uint8Array | undefined,
    scope: RequestScope,
    routing: Routing,
    limits: KernelLimits,
    unplaced: CallEnding,
    isAlone: boolean,
  ) {
    this.#isAlone = isAlone;
    this.#source = source;
    this.#scope = scope;
    this.#routing = routing;
    this.#limits = limits;
    this.#unplaced = unplaced;
  }

  toStep(entry: Envelope | InvalidEnvelope): Step {
    if (isInvalid(entry)) {
      this.#unplaced.observer?.onRefused(entry.code, undefined, entry.id, this.#scope);
      return { call: undefined, reply: errorReply(entry.id, entry.code) };
    }
    const { method, id, params, paramsStart: start, paramsEnd: end } = entry;
    const { table } = this.#routing;
    const procedure = table.get(method);
    if (procedure === undefined) return this.#toBuiltIn(entry);
    const source = this.#source;
    const executor = this.#routing.executorFor(procedure);
    const trace = this.#scope.trace?.call(procedure.name, id);
    const call = { procedure, id, params, source, start, end, scope: this.#scope, trace };
    return this.#place(call, executor);
  }

  /** Plans a method that no registered procedure has: a built-in one, or an unknown one. */
  #toBuiltIn({ method, id, params, paramsStart: start, paramsEnd: end }: Envelope): Step {
    const { table } = this.#routing;
    const scope = this.#scope;
    const { introspection } = this.#limits;
    const found = builtIn(method, table, scope, introspection, this.#unplaced);
    if (found !== undefined) {
      const { procedure, executor } = found;
      const trace = scope.trace?.call(method, id);
      const call = { procedure, id, params, source: this.#source, start, end, scope, trace };
      return this.#place(call, executor);
    }
    // A member that serves it may come yet: until then there is nobody with whom it could wait.
    const refusal = this.#routing.isIncomplete ? overloaded('queue') : undefined;
    const code = refusal?.code ?? ErrorCode.MethodNotFound;
    const { observer } = this.#unplaced;
    if (refusal !== undefined) observer?.onOverloaded?.('queue', scope);
    observer?.onRefused(code, method, id, scope);
    if (id !== undefined && refusal !== undefined) {
      return { call: undefined, reply: errorReply(id, code, refusal.data) };
    }
    if (id === undefined) return { call: undefined, reply: undefined };
    const didYouMean = suggest(method, table.keys(), this.#suggestions);
    const data = didYouMean === undefined ? { method } : { method, didYouMean };
    return { call: undefined, reply: errorReply(id, ErrorCode.MethodNotFound, data) };
  }

  #place(call: Call, executor: Executor): Step {
    const step = this.#withParams(call, executor);
    if (call.procedure.stream === undefined || step.call === undefined) return step;
    const { streams } = this.#routing;
    return toStreamStep(step, call.procedure.stream, streams, this.#isAlone, this.#unplaced);
  }

  #withParams(call: Call, executor: Executor): Step {
    if (this.#source === undefined) {
      return call.params !== undefined && executor.takesUnparsed
        ? this.#withText(call, executor)
        : { call, executor };
    }
    const { maxInlineParamsBytes: limit } = this.#limits;
    if (executor.takesUnparsed || call.start === -1 || !exceedsBytes(call, limit)) {
      return { call, executor };
    }
    return { call: undefined, reply: this.#unplaced.refuse(call, limitExceeded(limit)) };
  }

  /** Turns the params of a parsed payload into text at once: their owner may change them later. */
  #withText(call: Call, executor: Executor): Step {
    const text = jsonOf(call.params);
    if (text === undefined) {
      const code = ErrorCode.InvalidRequest;
      // The params make this no valid request, so it is answered even where it has no id.
      const error = errorReply(call.id ?? 'null', code);
      return { call: undefined, reply: this.#unplaced.pass(call, error, code, neverRan) };
    }
    return { call: { ...call, source: text, start: 0, end: text.length }, executor };
  }
}

/**
 * JSON text of the params; undefined where JSON can't hold them, or where a toJSON makes them neither object nor
 * array.
 */
function jsonOf(params: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(params);
    return text?.startsWith('{') || text?.startsWith('[') ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Why a stream is not given to a caller that reads replies only. */
const reason = 'it streams: accept text/event-stream, or use WebSocket';

/**
 * The step of a call whose procedure streams: with the sink of its reader; collected into an array, where nobody can read
 * the stream and the procedure allows that; else refused. A notification has no reader: it does not run.
 *
 * @param streams those that are open
 * @param isAlone the request is no batch
 * @param unplaced reports the call that does not run
 */
function toStreamStep(
  step: { readonly call: Call; readonly executor: Executor },
  { collect }: StreamRules,
  streams: OpenStreams,
  isAlone: boolean,
  unplaced: CallEnding,
): Step {
  const { call, executor } = step;
  if (call.id === undefined) {
    return { call: undefined, reply: unplaced.refuse(call, { code: ErrorCode.MethodNotFound }) };
  }
  const refusal = streams.refusalOf(call.scope);
  if (refusal !== undefined) return { call: undefined, reply: unplaced.refuse(call, refusal) };
  const accepted = call.scope.streams?.accept(call, isAlone);
  if (accepted === undefined) {
    if (collect) {
      return { call, executor: new CollectingExecutor(executor, unplaced.maxReplyBytes) };
    }
    const data = { method: call.procedure.name, reason };
    const reply = unplaced.refuse(call, { code: ErrorCode.MethodNotFound, data });
    return { call: undefined, reply };
  }
  if (isSink(accepted)) return { call: { ...call, sink: accepted }, executor };
  const text = replyText(call.id, accepted);
  return { call: undefined, reply: unplaced.pass(call, text, accepted.code, neverRan) };
}

function isSink(accepted: StreamSink | Outcome): accepted is StreamSink {
  return 'opened' in accepted;
}

/** The procedures and executors one request uses from its first call to its last. */
export interface Routing {
  readonly table: ReadonlyMap<string, Procedure>;
  /** Whether procedures may exist that the table lacks: other machines have not told yet what they serve. */
  readonly isIncomplete: boolean;
  /** The streams that calls of this routing have opened. */
  readonly streams: OpenStreams;
  /** Where calls of the procedure run now. */
  executorFor(procedure: Procedure): Executor;
}

export interface KernelLimits extends ReadLimits {
  readonly maxReplyBytes: number;
  /** Of the params of a call that runs on this thread, as they came. */
  readonly maxInlineParamsBytes: number;
  /** Whether `rpc.discover` is answered. */
  readonly introspection: boolean;
  /** Calls of one batch that run at a time; 1: strictly one after another. */
  readonly batchConcurrency: number;
  /** Whether neighbours in a batch that are readOnly run at the same time. */
  readonly overlapReads: boolean;
}

/** The executor of a service that has ended: nothing runs, each call is answered as cancelled before it ran. */
export class ClosedExecutor implements Executor {
  readonly place = noPlace;
  readonly takesUnparsed = true;
  readonly #ending: CallEnding;

  constructor(observer: CallObserver | undefined) {
    // A refusal is short: no bound on replies is near it.
    this.#ending = new CallEnding(noPlace, Number.POSITIVE_INFINITY, observer);
  }

  execute(call: Call): Reply {
    return this.#ending.refuse(call, cancelled);
  }
}

/** What a service serves after its end. */
export function closedRouting(
  table: ReadonlyMap<string, Procedure>,
  streams: OpenStreams,
  observer: CallObserver | undefined,
): Routing {
  const executor = new ClosedExecutor(observer);
  return {
    table,
    isIncomplete: false,
    streams,
    executorFor: () => executor,
  };
}

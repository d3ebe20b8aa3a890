import { noPlace } from '../base/place.ts';
import { suggest } from '../base/suggest.ts';
import type { Procedure, StreamRules } from '../procedures/types.ts';
import {
  type Body,
  type Envelope,
  type InvalidEnvelope,
  invalidReply,
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
  maxUnitBytes,
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
  overloadedOutcome,
  paramsLength,
  type Refusal,
  unparsed,
  unrunOutcome,
} from './call.ts';
import type { Executor } from './executor.ts';
import { type InlineTurns, inlineCostUs, smallParams } from './inline-turns.ts';
import type { RequestScope } from './scope.ts';
import { type BatchLimits, runBatch, type Step } from './sequence.ts';
import type { OpenStreams } from './streams/open-streams.ts';
import { collecting } from './streams/readers.ts';

/** The procedures and executors one request uses from its first call to its last. */
export interface Routing {
  readonly table: ReadonlyMap<string, Procedure>;
  /** Whether procedures may exist that the table lacks: other machines have not told yet what they serve. */
  readonly isIncomplete: boolean;
  /** The streams that calls of this routing have opened. */
  readonly streams: OpenStreams;
  executorFor(procedure: Procedure): Executor;
}

export interface KernelLimits extends ReadLimits, BatchLimits {
  readonly maxReplyBytes: number;
  /** Of the params of a call that runs on this thread, as they came. */
  readonly maxInlineParamsBytes: number;
  /** Whether `rpc.discover` is answered. */
  readonly introspection: boolean;
}

/** What the calls of one request have in common. */
interface Request {
  /** The body; undefined: the payload came parsed. */
  readonly source: string | Uint8Array | undefined;
  readonly scope: RequestScope;
  readonly routing: Routing;
  readonly isAlone: boolean;
  /** Characters that may still be compared to suggest a method. */
  readonly suggestions: { left: number };
}

/** Characters compared for all suggestions of one request: about half a millisecond. */
const suggestionSteps = 50_000;

/** Why a stream is not given to a caller that reads replies only. */
const notRead = 'it streams: accept text/event-stream, or use WebSocket';

/**
 * Turns a body into its reply: reads the envelope, finds the procedure, places the call, keeps a batch in order.
 * Knows no transport and no thread. Never throws; answers at once if every call does.
 */
export class Kernel {
  readonly #limits: KernelLimits;
  readonly #current: () => Routing;
  /** Ends calls that come to no executor. */
  readonly #unplaced: CallEnding;
  readonly #onBatch: ((scope: RequestScope, calls: number) => void) | undefined;
  readonly #turns: InlineTurns;

  /**
   * @param turns of what runs on this thread
   * @param observer called with what is refused before it comes to an executor
   * @param onBatch called with the number of calls of a batch, before the first of them runs
   */
  constructor(
    limits: KernelLimits,
    current: () => Routing,
    turns: InlineTurns,
    observer?: CallObserver,
    onBatch?: (scope: RequestScope, calls: number) => void,
  ) {
    this.#onBatch = onBatch;
    this.#limits = limits;
    this.#current = current;
    this.#turns = turns;
    this.#unplaced = new CallEnding(noPlace, limits.maxReplyBytes, observer);
  }

  /** @param body text, or UTF-8 bytes; the kernel owns bytes above 64 KB from here on */
  handle(body: string | Uint8Array, scope: RequestScope, sink: ReplySink): void {
    const routing = this.#current();
    if (body.length > largeBody) {
      this.#handleLarge(body, scope, routing, sink);
      return;
    }
    const text = typeof body === 'string' ? body : decodeUtf8(body);
    if (text === undefined) this.#run(unreadableBody(), undefined, scope, routing, sink);
    else this.#handleText(text, scope, routing, sink);
  }

  /** As `handle`, for a payload that is parsed already. */
  handlePayload(payload: unknown, scope: RequestScope, sink: ReplySink): void {
    this.#run(readPayload(payload, this.#limits), undefined, scope, this.#current(), sink);
  }

  #handleLarge(
    body: string | Uint8Array,
    scope: RequestScope,
    routing: Routing,
    sink: ReplySink,
  ): void {
    const found = findCall(scanLargeEnvelope(body, this.#limits.strict), routing);
    if (found?.quick.id !== undefined) {
      const call = unparsedCall(found, body, scope);
      if (found.executor.takesUnparsed) {
        found.executor.execute(call, sink);
        return;
      }
      const { maxInlineParamsBytes: limit } = this.#limits;
      if (paramsLength(call) > limit) {
        sink.onReply(this.#unplaced.refuse(call, limitExceeded(limit, 'params')));
        return;
      }
    }
    this.#inTurn(body, found, scope, sink, () => {
      if (typeof body !== 'string' && body.byteLength > largeBatch) {
        this.#run(readBytes(body, this.#limits), body, scope, routing, sink);
        return;
      }
      const text = typeof body === 'string' ? body : decodeUtf8(body);
      const read = text === undefined ? unreadableBody() : readBody(text, this.#limits);
      this.#run(read, text, scope, routing, sink);
    });
  }

  #handleText(text: string, scope: RequestScope, routing: Routing, sink: ReplySink): void {
    const found = findCall(scanEnvelope(text, text, 0, this.#limits.strict), routing);
    if (found?.executor.takesUnparsed === true && idIsKnown(found.quick, text))
      found.executor.execute(unparsedCall(found, text, scope), sink);
    else if (text.length <= smallParams) this.#runText(text, found, scope, routing, sink);
    else {
      const run = (): void => this.#runText(text, found, scope, routing, sink);
      this.#inTurn(text, found, scope, sink, run);
    }
  }

  #runText(
    text: string,
    found: FoundCall | undefined,
    scope: RequestScope,
    routing: Routing,
    sink: ReplySink,
  ): void {
    if (found?.executor.takesUnparsed === false) {
      const params = this.#parseParams(text, found.quick);
      if (params !== unparsed) {
        found.executor.execute(toCall(found, params, text, scope), sink);
        return;
      }
    }
    this.#run(readBody(text, this.#limits), text, scope, routing, sink);
  }

  /** Reads and runs a body that is not small, in a turn of its caller. */
  #inTurn(
    source: string | Uint8Array,
    found: FoundCall | undefined,
    scope: RequestScope,
    sink: ReplySink,
    run: () => void,
  ): void {
    const refuse = (refusal: Refusal): Reply => {
      if (found?.quick.id !== undefined) {
        return this.#unplaced.refuse(unparsedCall(found, source, scope), refusal);
      }
      this.#unplaced.observer?.onRefused(refusal.code, undefined, undefined, scope);
      // Nobody waits for the reply to what only reading would tell of.
      return scope.cancelled ? undefined : refuseBody(source, unrunOutcome(refusal), this.#limits);
    };
    this.#turns.run(scope, inlineCostUs(source.length, 0), run, (refusal) =>
      sink.onReply(refuse(refusal)),
    );
  }

  /** The params of a quick reading; `unparsed` where only the exact reader can say what they are. */
  #parseParams(text: string, quick: ScannedEnvelope): unknown {
    if (quick.start === -1) return undefined;
    if ((quick.end - quick.start) * maxUnitBytes > this.#limits.maxInlineParamsBytes)
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
    sink: ReplySink,
  ): void {
    const suggestions = { left: suggestionSteps };
    switch (body.kind) {
      case 'reply':
        this.#unplaced.observer?.onRefused(body.code, undefined, undefined, scope);
        sink.onReply(body.reply);
        return;
      case 'single': {
        const request = { source, scope, routing, isAlone: true, suggestions };
        const step = this.#toStep(body.entry, request);
        if (step.call === undefined) sink.onReply(step.reply);
        else step.executor.execute(step.call, sink);
        return;
      }
      case 'batch': {
        this.#onBatch?.(scope, body.entries.length);
        const request = { source, scope, routing, isAlone: false, suggestions };
        const steps = body.entries.map((entry) => this.#toStep(entry, request));
        const nextTurn = (costUs: number): Promise<void> => this.#turns.next(scope, costUs);
        runBatch(steps, this.#limits, this.#unplaced, nextTurn, sink);
      }
    }
  }

  /** Decides where a call of a request runs. The calls of a batch are placed before the first of them runs. */
  #toStep(entry: Envelope | InvalidEnvelope, request: Request): Step {
    const { scope, routing, source } = request;
    if (isInvalid(entry)) {
      this.#unplaced.observer?.onRefused(entry.code, undefined, entry.id, scope);
      return { call: undefined, reply: invalidReply(entry) };
    }
    const { method, id, params, paramsStart: start, paramsEnd: end } = entry;
    let procedure = routing.table.get(method);
    let executor: Executor;
    if (procedure === undefined) {
      const { introspection } = this.#limits;
      const found = builtIn(method, routing.table, scope, introspection, this.#unplaced);
      if (found === undefined) return this.#toUnknown(entry, request);
      ({ procedure, executor } = found);
    } else {
      executor = routing.executorFor(procedure);
    }
    const trace = scope.trace?.call(method, id);
    const call = { procedure, id, params, source, start, end, scope, trace };
    const step = this.#withParams(call, executor);
    if (procedure.stream === undefined || step.call === undefined) return step;
    return this.#toStreamStep(step, procedure.stream, request);
  }

  #toUnknown({ method, id }: Envelope, { scope, routing, suggestions }: Request): Step {
    const { observer } = this.#unplaced;
    if (routing.isIncomplete) {
      // A member that serves the method may come yet. Until then there is nobody with whom the call could wait.
      observer?.onOverloaded?.('queue', scope);
      observer?.onRefused(ErrorCode.Overloaded, method, id, scope);
      const reply = id === undefined ? undefined : replyText(id, overloadedOutcome('queue'));
      return { call: undefined, reply };
    }
    observer?.onRefused(ErrorCode.MethodNotFound, method, id, scope);
    if (id === undefined) return { call: undefined, reply: undefined };
    const didYouMean = suggest(method, routing.table.keys(), suggestions);
    const data = didYouMean === undefined ? { method } : { method, didYouMean };
    return { call: undefined, reply: errorReply(id, ErrorCode.MethodNotFound, data) };
  }

  #withParams(call: Call, executor: Executor): Step {
    if (call.source === undefined) {
      if (call.params === undefined || !executor.takesUnparsed) return { call, executor };
      // The params of a parsed payload become text at once: their owner may change them later.
      const text = jsonOf(call.params);
      if (text !== undefined) {
        return { call: { ...call, source: text, start: 0, end: text.length }, executor };
      }
      const code = ErrorCode.InvalidRequest;
      // The params make this no valid request, so it is answered even if it has no id.
      const error = errorReply(call.id ?? 'null', code);
      return { call: undefined, reply: this.#unplaced.pass(call, error, code, neverRan) };
    }
    const { maxInlineParamsBytes: limit } = this.#limits;
    if (executor.takesUnparsed || call.start === -1 || !exceedsBytes(call, limit)) {
      return { call, executor };
    }
    return { call: undefined, reply: this.#unplaced.refuse(call, limitExceeded(limit, 'params')) };
  }

  /**
   * The step of a call whose procedure streams: with the sink of its reader; collected into an array, if nobody can read
   * the stream and the procedure allows that; else refused. A notification has no reader: it does not run.
   */
  #toStreamStep(
    { call, executor }: Extract<Step, { readonly call: Call }>,
    { collect }: StreamRules,
    { scope, routing, isAlone }: Request,
  ): Step {
    const refuse = (refusal: Refusal): Step => ({
      call: undefined,
      reply: this.#unplaced.refuse(call, refusal),
    });
    if (call.id === undefined) return refuse({ code: ErrorCode.MethodNotFound });
    const refusal = routing.streams.refusalOf(scope);
    if (refusal !== undefined) return refuse(refusal);
    const accepted = scope.streams?.accept(call, isAlone);
    if (accepted === undefined) {
      if (collect) {
        return { call, executor: collecting(executor, this.#limits.maxReplyBytes) };
      }
      const data = { method: call.procedure.name, reason: notRead };
      return refuse({ code: ErrorCode.MethodNotFound, data });
    }
    if ('opened' in accepted) return { call: { ...call, sink: accepted }, executor };
    const text = replyText(call.id, accepted);
    return { call: undefined, reply: this.#unplaced.pass(call, text, accepted.code, neverRan) };
  }
}

/**
 * Whether the quick reading knows for certain that the call has an id or has none. What looks like a notification may
 * have an id after its params, which the quick reader could not read.
 */
function idIsKnown(quick: ScannedEnvelope, text: string): boolean {
  if (quick.id !== undefined || quick.start === -1) return true;
  return !text.includes('"id"') && !text.includes('\\u'); // the name may be written with escapes
}

/** The one call of a body, as far as the quick reader can tell: its procedure exists and does not stream. */
interface FoundCall {
  readonly quick: ScannedEnvelope;
  readonly procedure: Procedure;
  readonly executor: Executor;
}

function findCall(quick: ScannedEnvelope | undefined, routing: Routing): FoundCall | undefined {
  if (quick === undefined) return undefined;
  const procedure = routing.table.get(quick.method);
  if (procedure === undefined || procedure.stream !== undefined) return undefined;
  return { quick, procedure, executor: routing.executorFor(procedure) };
}

function unparsedCall(found: FoundCall, source: string | Uint8Array, scope: RequestScope): Call {
  return toCall(found, found.quick.start === -1 ? undefined : unparsed, source, scope);
}

function toCall(
  { quick: { id, start, end }, procedure }: FoundCall,
  params: unknown,
  source: string | Uint8Array,
  scope: RequestScope,
): Call {
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
      if (isInvalid(entry)) return invalidReply(entry);
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

/** undefined: JSON can't hold the params, or a toJSON makes them neither object nor array. */
function jsonOf(params: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(params);
    return text?.startsWith('{') || text?.startsWith('[') ? text : undefined;
  } catch {
    return undefined;
  }
}

/** The executor of a service that has ended: each call is answered as cancelled before it ran. */
export function closedExecutor(observer: CallObserver | undefined): Executor {
  // A refusal is short: no bound on replies is near it.
  const ending = new CallEnding(noPlace, Number.POSITIVE_INFINITY, observer);
  return {
    place: noPlace,
    takesUnparsed: true,
    execute: (call, sink) => sink.onReply(ending.refuse(call, cancelled)),
  };
}

/** What a service serves after its end. */
export function closedRouting(
  table: ReadonlyMap<string, Procedure>,
  streams: OpenStreams,
  observer: CallObserver | undefined,
): Routing {
  const executor = closedExecutor(observer);
  return { table, isIncomplete: false, streams, executorFor: () => executor };
}

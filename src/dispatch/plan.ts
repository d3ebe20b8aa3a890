import { suggest } from '../base/suggest.ts';
import { type Envelope, type InvalidEnvelope, isInvalid } from '../jsonrpc/envelope.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { errorReply } from '../jsonrpc/reply.ts';
import { type Call, exceedsBytes } from './call.ts';
import type { CallEnding } from './call-ending.ts';
import { builtIn } from './discover.ts';
import type { Executor } from './executor.ts';
import { limitExceeded } from './limit.ts';
import { neverRan } from './observer.ts';
import { roughLength } from './rough-length.ts';
import type { KernelLimits, Routing } from './routing.ts';
import type { RequestScope } from './scope.ts';
import type { Step } from './sequence.ts';
import { toStreamStep } from './streams/stream-step.ts';
import { unsubscribing } from './streams/unsubscribe.ts';

/** Characters compared for all suggestions of one request: about half a millisecond. */
const suggestionSteps = 50_000;

/** Values visited to estimate the lengths of all parsed params of one request: about half a millisecond, too. */
const lengthSteps = 10_000;

/** When to try again with a method of which nobody has told yet who serves it, milliseconds. */
const retryUnknownMs = 1000;

/**
 * Decides where the calls of one request run, before the first of them runs. The work beyond the calls themselves,
 * for suggestions and estimates, has one bound for all calls of the request.
 */
export class Plan {
  readonly #source: string | Uint8Array | undefined;
  readonly #scope: RequestScope;
  readonly #routing: Routing;
  readonly #limits: KernelLimits;
  readonly #unplaced: CallEnding;
  readonly #isAlone: boolean;
  readonly #suggestions = { left: suggestionSteps };
  readonly #lengths = { left: lengthSteps };

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
    const executor = this.#routing.executorFor(procedure, this.#lengthOf(entry));
    const trace = this.#scope.trace?.call(procedure.name, id);
    const call = { procedure, id, params, source, start, end, scope: this.#scope, trace };
    return this.#place(call, executor);
  }

  /** Plans a method that no registered procedure has: a built-in one, or an unknown one. */
  #toBuiltIn({ method, id, params, paramsStart: start, paramsEnd: end }: Envelope): Step {
    const { table } = this.#routing;
    const scope = this.#scope;
    const { maxReplyBytes, observer } = this.#unplaced;
    const found =
      unsubscribing(method, table, scope, this.#unplaced) ??
      (this.#limits.introspection ? builtIn(method, table, maxReplyBytes, observer) : undefined);
    if (found !== undefined) {
      const { procedure, executor } = found;
      const trace = scope.trace?.call(method, id);
      const call = { procedure, id, params, source: this.#source, start, end, scope, trace };
      return this.#place(call, executor);
    }
    const { isIncomplete } = this.#routing;
    const code = isIncomplete ? ErrorCode.Overloaded : ErrorCode.MethodNotFound;
    this.#unplaced.observer?.onRefused(code, method, id, scope);
    if (id !== undefined && isIncomplete) {
      return { call: undefined, reply: errorReply(id, code, { retryAfterMs: retryUnknownMs }) };
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

  #lengthOf({ params, paramsStart, paramsEnd }: Envelope): number {
    if (this.#source !== undefined) return paramsEnd - paramsStart;
    return this.#routing.placesByLength ? roughLength(params, this.#lengths) : 0;
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

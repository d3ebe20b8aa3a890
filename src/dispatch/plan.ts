import { suggest } from '../base/suggest.ts';
import { type Envelope, type InvalidEnvelope, isInvalid } from '../jsonrpc/envelope.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { errorReply, type Reply } from '../jsonrpc/reply.ts';
import { type Call, exceedsBytes } from './call.ts';
import { builtIn } from './discover.ts';
import type { Executor } from './executor.ts';
import { errorFor } from './limit.ts';
import { type CallObserver, neverRan } from './observer.ts';
import { roughLength } from './rough-length.ts';
import type { KernelLimits, Routing } from './routing.ts';
import type { RequestScope } from './scope.ts';
import type { Step } from './sequence.ts';

/** Characters compared for all suggestions of one request: half a millisecond. */
const suggestionSteps = 50_000;

/** Values looked at for the lengths of all parsed params of one request: as long. */
const lengthSteps = 10_000;

/**
 * Where the calls of one request run, decided before the first of them does. What is spent on a request
 * beyond its calls, on hints and estimates, has a bound for all of its calls together.
 */
export class Plan {
  readonly #source: string | Uint8Array | undefined;
  readonly #scope: RequestScope;
  readonly #routing: Routing;
  readonly #limits: KernelLimits;
  readonly #observer: CallObserver | undefined;
  readonly #suggestions = { left: suggestionSteps };
  readonly #lengths = { left: lengthSteps };

  /** @param source the body, undefined for a payload that came parsed */
  constructor(
    source: string | Uint8Array | undefined,
    scope: RequestScope,
    routing: Routing,
    limits: KernelLimits,
    observer: CallObserver | undefined,
  ) {
    this.#source = source;
    this.#scope = scope;
    this.#routing = routing;
    this.#limits = limits;
    this.#observer = observer;
  }

  toStep(entry: Envelope | InvalidEnvelope): Step {
    if (isInvalid(entry)) {
      this.#observer?.onRefused(entry.code, undefined, entry.id, this.#scope);
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

  /** A name that no procedure has. */
  #toBuiltIn({ method, id, params, paramsStart: start, paramsEnd: end }: Envelope): Step {
    const { introspection, maxReplyBytes } = this.#limits;
    const { table } = this.#routing;
    const scope = this.#scope;
    const found = introspection ? builtIn(method, table, maxReplyBytes, this.#observer) : undefined;
    if (found !== undefined) {
      const { procedure, executor } = found;
      const trace = scope.trace?.call(method, id);
      const call = { procedure, id, params, source: this.#source, start, end, scope, trace };
      return this.#place(call, executor);
    }
    this.#observer?.onRefused(ErrorCode.MethodNotFound, method, id, scope);
    if (id === undefined) return { call: undefined, reply: undefined };
    const didYouMean = suggest(method, table.keys(), this.#suggestions);
    const data = didYouMean === undefined ? { method } : { method, didYouMean };
    return { call: undefined, reply: errorReply(id, ErrorCode.MethodNotFound, data) };
  }

  #place(call: Call, executor: Executor): Step {
    if (this.#source === undefined) {
      return call.params !== undefined && executor.takesUnparsed
        ? this.#withText(call, executor)
        : { call, executor };
    }
    const { maxInlineParamsBytes: limit } = this.#limits;
    return !executor.takesUnparsed && call.start !== -1 && exceedsBytes(call, limit)
      ? this.#refuse(
          call,
          ErrorCode.LimitExceeded,
          errorFor(call, ErrorCode.LimitExceeded, { limit }),
        )
      : { call, executor };
  }

  /** The params of a parsed payload become text at once: later its owner may have changed them. */
  #withText(call: Call, executor: Executor): Step {
    const text = jsonOf(call.params);
    if (text === undefined) {
      const code = ErrorCode.InvalidRequest;
      return this.#refuse(call, code, errorReply(call.id ?? 'null', code));
    }
    return { call: { ...call, source: text, start: 0, end: text.length }, executor };
  }

  #refuse(call: Call, code: ErrorCode, reply: Reply): Step {
    this.#observer?.onCall(call, code, 'none', 0, neverRan, reply);
    return { call: undefined, reply };
  }

  #lengthOf({ params, paramsStart, paramsEnd }: Envelope): number {
    if (this.#source !== undefined) return paramsEnd - paramsStart;
    return this.#routing.placesByLength ? roughLength(params, this.#lengths) : 0;
  }
}

/** undefined for what JSON can't hold, or what a toJSON makes into neither object nor array. */
function jsonOf(params: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(params);
    return text?.startsWith('{') || text?.startsWith('[') ? text : undefined;
  } catch {
    return undefined;
  }
}

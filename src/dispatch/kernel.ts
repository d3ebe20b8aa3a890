import { exceedsDepth } from '../jsonrpc/depth.ts';
import { type Envelope, type InvalidEnvelope, isInvalid } from '../jsonrpc/envelope.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import {
  type Body,
  decodeUtf8,
  type ReadLimits,
  readBody,
  unreadableBody,
} from '../jsonrpc/read.ts';
import { readPayload } from '../jsonrpc/read-value.ts';
import { errorReply, type Reply } from '../jsonrpc/reply.ts';
import { type ScannedEnvelope, scanEnvelope } from '../jsonrpc/scan.ts';
import type { Procedure } from '../router/types.ts';
import { suggest } from '../suggest.ts';
import { type Call, unparsed } from './call.ts';
import { builtIn } from './discover.ts';
import type { Executor } from './executor.ts';
import { largeBody, scanLargeBody } from './large-body.ts';
import { type CallObserver, neverRan } from './observer.ts';
import { roughLength } from './rough-length.ts';
import type { RequestScope } from './scope.ts';
import { joinReplies, runConcurrently, runInOrder, type Step } from './sequence.ts';

/** The procedures and executors one request uses from its first call to its last. */
export interface Generation {
  readonly table: ReadonlyMap<string, Procedure>;
  /**
   * Where a call runs now.
   *
   * @param paramsLength characters or bytes of its params as they came
   */
  executorFor(procedure: Procedure, paramsLength: number): Executor;
}

export interface KernelLimits extends ReadLimits {
  readonly maxReplyBytes: number;
  /** Whether `rpc.discover` is answered. */
  readonly introspection: boolean;
  /** Calls of one batch that run at a time; 1: strictly one after another. */
  readonly batchConcurrency: number;
}

/**
 * From a body to its reply: reads the envelope, finds the procedure, places the call, keeps a batch in
 * order. Knows no transport and no thread. Never throws; synchronous until a promise appears.
 */
export class Kernel {
  readonly #limits: KernelLimits;
  readonly #current: () => Generation;
  readonly #observer: CallObserver | undefined;

  /** @param observer told of what is refused before it comes to an executor */
  constructor(limits: KernelLimits, current: () => Generation, observer?: CallObserver) {
    this.#limits = limits;
    this.#current = current;
    this.#observer = observer;
  }

  /** @param body text, or UTF-8 bytes that the kernel owns from here on when there are more than 64 KB */
  handle(body: string | Uint8Array, scope: RequestScope): Reply | Promise<Reply> {
    const generation = this.#current();
    if (typeof body === 'string') return this.#handleText(body, scope, generation);
    if (body.byteLength > largeBody) {
      const quick = scanLargeBody(body, this.#limits.strict);
      if (quick !== undefined) {
        const procedure = generation.table.get(quick.method);
        const executor = procedure && generation.executorFor(procedure, quick.end - quick.start);
        if (procedure !== undefined && executor?.takesUnparsed === true && idIsKnown(quick, body)) {
          return executor.execute(unparsedCall(procedure, quick, body, scope));
        }
      }
    }
    const text = decodeUtf8(body);
    return text === undefined
      ? this.#run(unreadableBody(), undefined, scope, generation)
      : this.#handleText(text, scope, generation);
  }

  /** The same for a payload that is parsed already. */
  handlePayload(payload: unknown, scope: RequestScope): Reply | Promise<Reply> {
    return this.#run(readPayload(payload, this.#limits), undefined, scope, this.#current());
  }

  #handleText(text: string, scope: RequestScope, generation: Generation): Reply | Promise<Reply> {
    const quick = scanEnvelope(text, text, 0, this.#limits.strict);
    if (quick !== undefined) {
      const procedure = generation.table.get(quick.method);
      if (procedure !== undefined) {
        const executor = generation.executorFor(procedure, quick.end - quick.start);
        if (executor.takesUnparsed && idIsKnown(quick, text)) {
          return executor.execute(unparsedCall(procedure, quick, text, scope));
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
    return this.#run(readBody(text, this.#limits), text, scope, generation);
  }

  /** The params of a quick reading, `unparsed` where only the exact reader can tell what they are. */
  #parseParams(text: string, quick: ScannedEnvelope): unknown {
    if (quick.start === -1) return undefined;
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
    source: string | undefined,
    scope: RequestScope,
    generation: Generation,
  ): Reply | Promise<Reply> {
    switch (body.kind) {
      case 'reply':
        this.#observer?.onRefused(body.code, undefined, undefined, scope);
        return body.reply;
      case 'single': {
        const step = this.#toStep(body.entry, source, scope, generation);
        return step.call === undefined ? step.reply : step.executor.execute(step.call);
      }
      case 'batch': {
        const steps = body.entries.map((entry) => this.#toStep(entry, source, scope, generation));
        const { batchConcurrency, maxReplyBytes } = this.#limits;
        const replies =
          batchConcurrency === 1
            ? runInOrder(steps, maxReplyBytes, this.#observer)
            : runConcurrently(steps, batchConcurrency, maxReplyBytes, this.#observer);
        return replies instanceof Promise ? replies.then(joinReplies) : joinReplies(replies);
      }
    }
  }

  #toStep(
    entry: Envelope | InvalidEnvelope,
    source: string | undefined,
    scope: RequestScope,
    generation: Generation,
  ): Step {
    if (isInvalid(entry)) {
      this.#observer?.onRefused(entry.code, undefined, entry.id, scope);
      return { call: undefined, reply: errorReply(entry.id, entry.code) };
    }
    const { method, id, params } = entry;
    const { paramsStart: start, paramsEnd: end } = entry;
    const procedure = generation.table.get(method);
    if (procedure === undefined) return this.#toBuiltIn(entry, source, scope, generation);
    const length = source === undefined ? roughLength(params) : end - start;
    const executor = generation.executorFor(procedure, length);
    const trace = scope.trace?.call(procedure.name, id);
    const call = { procedure, id, params, source, start, end, scope, trace };
    return source === undefined && params !== undefined && executor.takesUnparsed
      ? this.#withText(call, executor)
      : { call, executor };
  }

  /** A name that no procedure has. */
  #toBuiltIn(
    { method, id, params, paramsStart: start, paramsEnd: end }: Envelope,
    source: string | undefined,
    scope: RequestScope,
    { table }: Generation,
  ): Step {
    const { introspection, maxReplyBytes } = this.#limits;
    const found = introspection ? builtIn(method, table, maxReplyBytes, this.#observer) : undefined;
    if (found !== undefined) {
      const { procedure, executor } = found;
      const trace = scope.trace?.call(method, id);
      return { call: { procedure, id, params, source, start, end, scope, trace }, executor };
    }
    this.#observer?.onRefused(ErrorCode.MethodNotFound, method, id, scope);
    if (id === undefined) return { call: undefined, reply: undefined };
    const didYouMean = suggest(method, table.keys());
    const data = didYouMean === undefined ? { method } : { method, didYouMean };
    return { call: undefined, reply: errorReply(id, ErrorCode.MethodNotFound, data) };
  }

  /** The params of a parsed payload become text at once: later its owner may have changed them. */
  #withText(call: Call, executor: Executor): Step {
    const text = jsonOf(call.params);
    if (text === undefined) {
      const code = ErrorCode.InvalidRequest;
      const reply = errorReply(call.id ?? 'null', code);
      this.#observer?.onCall(call, code, 'none', 0, neverRan, reply);
      return { call: undefined, reply };
    }
    return { call: { ...call, source: text, start: 0, end: text.length }, executor };
  }
}

/**
 * False where what looks like a notification may have an id behind its params that the quick reader could
 * not read. The worker would read it, but this side answers where there is no worker (any more).
 */
export function idIsKnown(quick: ScannedEnvelope, body: string | Uint8Array): boolean {
  if (quick.id !== undefined || quick.start === -1) return true;
  const text =
    typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return !text.includes('"id"') && !text.includes('\\u'); // it may be spelled with escapes
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

/** undefined for what JSON can't hold, or what a toJSON makes into neither object nor array. */
function jsonOf(params: unknown): string | undefined {
  try {
    const text: string | undefined = JSON.stringify(params);
    return text?.startsWith('{') || text?.startsWith('[') ? text : undefined;
  } catch {
    return undefined;
  }
}

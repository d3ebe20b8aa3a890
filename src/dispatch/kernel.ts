import { noPlace } from '../base/place.ts';
import { type Body, largeBatch, largeBody, unreadableBody } from '../jsonrpc/body.ts';
import { exceedsDepth } from '../jsonrpc/depth.ts';
import { type ScannedEnvelope, scanEnvelope } from '../jsonrpc/quick/scan.ts';
import { decodeUtf8, readBody, readBytes } from '../jsonrpc/read.ts';
import { readPayload } from '../jsonrpc/read-value.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import { mostUnitBytes } from '../jsonrpc/utf8.ts';
import type { Procedure } from '../router/types.ts';
import { type Call, unparsed } from './call.ts';
import { CallEnding } from './call-ending.ts';
import type { Executor } from './executor.ts';
import { scanLargeBody } from './large-body.ts';
import type { CallObserver } from './observer.ts';
import { Plan } from './plan.ts';
import type { GoesToSink, ReplySink } from './reply-sink.ts';
import type { KernelLimits, Routing } from './routing.ts';
import type { RequestScope } from './scope.ts';
import { joinReplies, runConcurrently, runInOrder } from './sequence.ts';

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
    const quick = scanLargeBody(body, this.#limits.strict);
    const procedure = quick && routing.table.get(quick.method);
    if (quick?.id !== undefined && procedure !== undefined && procedure.stream === undefined) {
      const executor = routing.executorFor(procedure, quick.end - quick.start);
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
        const executor = routing.executorFor(procedure, quick.end - quick.start);
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

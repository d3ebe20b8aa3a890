import { clockMs } from '../../base/clock.ts';
import { inlinePlace } from '../../base/place.ts';
import { ErrorCode, RpcError, standardError } from '../../jsonrpc/errors.ts';
import { errorOutcome, type Outcome, type Reply, resultOutcome } from '../../jsonrpc/reply.ts';
import { procedure, renamed } from '../../router/procedure.ts';
import { unsubscribeNames } from '../../router/stream/subscription-names.ts';
import type { Procedure } from '../../router/types.ts';
import { type Call, parsedParams } from '../call.ts';
import { CallEnding } from '../call-ending.ts';
import type { Executor } from '../executor.ts';
import { refusalBeforeStart } from '../limit.ts';
import type { RequestScope } from '../scope.ts';

/** Ends a subscription: answered where a request comes over a connection that can have subscriptions. */
const unsubscribe: Procedure = renamed(
  procedure({ name: 'unsubscribe', placement: 'inline' }, () => {
    throw new Error('answered by its executor');
  }),
  'rpc.unsubscribe', // reserved: no router accepts this name
);

/** Calls of `rpc.unsubscribe`, and of what the procedures of a table call it; undefined: the method is none of these. */
export function unsubscribing(
  method: string,
  table: ReadonlyMap<string, Procedure>,
  { streams }: RequestScope,
  { maxReplyBytes, observer }: CallEnding,
): { readonly procedure: Procedure; readonly executor: Executor } | undefined {
  const end = streams?.unsubscribe;
  if (end === undefined) return undefined;
  if (method !== unsubscribe.name && !unsubscribeNames(table).has(method)) return undefined;
  const ending = new CallEnding(inlinePlace, maxReplyBytes, observer);
  return { procedure: unsubscribe, executor: new UnsubscribeExecutor(end, ending) };
}

class UnsubscribeExecutor implements Executor {
  readonly place = inlinePlace;
  readonly takesUnparsed = false;
  readonly #end: (id: string) => boolean;
  readonly #ending: CallEnding;

  constructor(end: (id: string) => boolean, ending: CallEnding) {
    this.#end = end;
    this.#ending = ending;
  }

  execute(call: Call): Reply {
    const began = clockMs();
    const refusal = refusalBeforeStart(call.scope, began);
    if (refusal !== undefined) return this.#ending.refuse(call, refusal);
    return this.#ending.finish(call, this.#outcome(call), (clockMs() - began) * 1000);
  }

  #outcome(call: Call): Outcome {
    try {
      return resultOutcome(String(this.#end(subscriptionOf(parsedParams(call)))));
    } catch (error) {
      if (RpcError.is(error)) return errorOutcome(ErrorCode.InvalidParams, error.data);
      throw error;
    }
  }
}

/**
 * The id of the subscription: `["0x5f"]` or `{"subscription":"0x5f"}`.
 *
 * @throws RpcError -32602
 */
function subscriptionOf(params: unknown): string {
  const id = Array.isArray(params)
    ? (params[0] as unknown)
    : (params as { readonly subscription?: unknown } | undefined)?.subscription;
  const isAlone = !Array.isArray(params) || params.length === 1;
  if (typeof id === 'string' && isAlone) return id;
  throw standardError(ErrorCode.InvalidParams, [
    {
      path: '/subscription',
      message: 'must be the id of a subscription',
      expected: 'string',
      received: id === undefined ? 'undefined' : id === null ? 'null' : typeof id,
    },
  ]);
}

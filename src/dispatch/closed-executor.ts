import { ErrorCode } from '../jsonrpc/errors.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import type { Procedure } from '../router/types.ts';
import type { Call } from './call.ts';
import type { Executor } from './executor.ts';
import { errorFor } from './limit.ts';
import { type CallObserver, neverRan } from './observer.ts';
import type { Routing } from './routing.ts';

/** What a service serves after its end: nothing runs, each call is answered as cancelled before it ran. */
export function closedRouting(
  table: ReadonlyMap<string, Procedure>,
  observer: CallObserver | undefined,
): Routing {
  const refuse = (call: Call): Reply => {
    const reply = errorFor(call, ErrorCode.Cancelled);
    observer?.onCall(call, ErrorCode.Cancelled, 'none', 0, neverRan, reply);
    return reply;
  };
  const executor: Executor = { takesUnparsed: true, execute: refuse };
  return { table, placesByLength: false, executorFor: () => executor };
}

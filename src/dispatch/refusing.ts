import { ErrorCode } from '../jsonrpc/errors.ts';
import type { Reply } from '../jsonrpc/reply.ts';
import type { Procedure } from '../router/types.ts';
import type { Call } from './call.ts';
import type { Executor } from './executor.ts';
import type { Generation } from './kernel.ts';
import { errorFor } from './limit.ts';

/** Runs nothing: each call is answered as cancelled before it ran. */
const refusingExecutor: Executor = {
  takesUnparsed: true,
  execute: refuse,
  executeInOrder: (calls) => calls.map(refuse),
};

function refuse(call: Call): Reply {
  return errorFor(call, ErrorCode.Cancelled);
}

/** What a service serves after its end. */
export function refusingGeneration(table: ReadonlyMap<string, Procedure>): Generation {
  return { table, executorFor: () => refusingExecutor };
}

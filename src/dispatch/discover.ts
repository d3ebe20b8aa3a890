import { Type } from '@sinclair/typebox';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import {
  cappedReply,
  errorOutcome,
  type Outcome,
  type Reply,
  resultOutcome,
} from '../jsonrpc/reply.ts';
import { openRpcOf } from '../router/openrpc.ts';
import { procedure, renamed } from '../router/procedure.ts';
import type { Procedure } from '../router/types.ts';
import type { Call } from './call.ts';
import type { Executor } from './executor.ts';
import { errorFor, refusalBeforeStart } from './limit.ts';

type Table = ReadonlyMap<string, Procedure>;

interface Cached {
  readonly size: number;
  readonly text: string;
}

const texts = new WeakMap<Table, Cached>();

/** The OpenRPC document of a table as JSON text, serialised once: a table only ever grows. */
export function openRpcText(table: Table): string {
  let cached = texts.get(table);
  if (cached?.size !== table.size) {
    cached = { size: table.size, text: JSON.stringify(openRpcOf(table)) };
    texts.set(table, cached);
  }
  return cached.text;
}

/** `rpc.discover`, the service discovery method of OpenRPC: each service has it, no router lists it. */
const discover: Procedure = renamed(
  procedure({ name: 'discover', params: Type.Object({}), placement: 'inline' }, () => {
    throw new Error('answered by its executor');
  }),
  'rpc.discover', // reserved: no router takes it
);

/** What a built-in name stands for; undefined: nothing. */
export function builtIn(method: string, table: Table, maxReplyBytes: number): BuiltIn | undefined {
  if (method !== discover.name) return undefined;
  return { procedure: discover, executor: new DiscoverExecutor(table, maxReplyBytes) };
}

interface BuiltIn {
  readonly procedure: Procedure;
  readonly executor: Executor;
}

/** An executor, not a reply that stands already: in a batch its size is counted like any other's. */
class DiscoverExecutor implements Executor {
  readonly takesUnparsed = false;
  readonly #table: Table;
  readonly #maxReplyBytes: number;

  constructor(table: Table, maxReplyBytes: number) {
    this.#table = table;
    this.#maxReplyBytes = maxReplyBytes;
  }

  execute(call: Call): Reply {
    const refusal = refusalBeforeStart(call.scope, Date.now());
    if (refusal !== undefined) return errorFor(call, refusal.code, refusal.data);
    if (call.id === undefined) return undefined;
    return cappedReply(call.id, this.#outcome(call), this.#maxReplyBytes);
  }

  executeInOrder(calls: readonly Call[]): Reply[] {
    return calls.map((call) => this.execute(call));
  }

  #outcome({ params }: Call): Outcome {
    try {
      discover.bindParams(params);
    } catch (error) {
      if (RpcError.is(error)) return errorOutcome(ErrorCode.InvalidParams, error.data);
      throw error;
    }
    return resultOutcome(openRpcText(this.#table));
  }
}

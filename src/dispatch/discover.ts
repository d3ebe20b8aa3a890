import { Type } from '@sinclair/typebox';
import { clockMs } from '../base/clock.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import {
  cappedOutcome,
  errorOutcome,
  type Outcome,
  type Reply,
  replyText,
  resultOutcome,
} from '../jsonrpc/reply.ts';
import { openRpcOf } from '../router/document/openrpc.ts';
import { procedure, renamed } from '../router/procedure.ts';
import type { Procedure } from '../router/types.ts';
import { type Call, parsedParams } from './call.ts';
import type { Executor } from './executor.ts';
import { errorFor, refusalBeforeStart } from './limit.ts';
import { type CallObserver, neverRan } from './observer.ts';

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
export function builtIn(
  method: string,
  table: Table,
  maxReplyBytes: number,
  observer: CallObserver | undefined,
): BuiltIn | undefined {
  if (method !== discover.name) return undefined;
  return { procedure: discover, executor: new DiscoverExecutor(table, maxReplyBytes, observer) };
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
  readonly #observer: CallObserver | undefined;

  constructor(table: Table, maxReplyBytes: number, observer: CallObserver | undefined) {
    this.#table = table;
    this.#maxReplyBytes = maxReplyBytes;
    this.#observer = observer;
  }

  execute(call: Call): Reply {
    const began = clockMs();
    const refusal = refusalBeforeStart(call.scope, began);
    if (refusal !== undefined) {
      const reply = errorFor(call, refusal.code, refusal.data);
      this.#observer?.onCall(call, refusal.code, 'inline', 0, neverRan, reply);
      return reply;
    }
    const { id } = call;
    // Of a notification nobody sees what it would say: only its params are looked at.
    const found = this.#outcome(call);
    const outcome = id === undefined ? found : cappedOutcome(id, found, this.#maxReplyBytes);
    const reply = id === undefined ? undefined : replyText(id, outcome);
    const runUs = (clockMs() - began) * 1000;
    this.#observer?.onCall(call, outcome.code, 'inline', 0, runUs, reply);
    return reply;
  }

  #outcome(call: Call): Outcome {
    try {
      discover.bindParams(parsedParams(call));
    } catch (error) {
      if (RpcError.is(error)) return errorOutcome(ErrorCode.InvalidParams, error.data);
      throw error;
    }
    return resultOutcome(openRpcText(this.#table));
  }
}

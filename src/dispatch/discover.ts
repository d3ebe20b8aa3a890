import { Type } from '@sinclair/typebox';
import { clockMs } from '../base/clock.ts';
import { inlinePlace } from '../base/place.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { errorOutcome, type Outcome, type Reply, resultOutcome } from '../jsonrpc/reply.ts';
import { openRpcOf } from '../router/document/openrpc.ts';
import { procedure, renamed } from '../router/procedure.ts';
import type { Procedure } from '../router/types.ts';
import { type Call, parsedParams } from './call.ts';
import { CallEnding } from './call-ending.ts';
import type { Executor } from './executor.ts';
import { refusalBeforeStart } from './limit.ts';
import type { CallObserver } from './observer.ts';

type Table = ReadonlyMap<string, Procedure>;

interface Cached {
  readonly size: number;
  readonly text: string;
}

const texts = new WeakMap<Table, Cached>();

/**
 * The OpenRPC document of a table as JSON text, serialised again only when the table has grown: a table never loses
 * procedures.
 */
export function openRpcText(table: Table): string {
  let cached = texts.get(table);
  if (cached?.size !== table.size) {
    cached = { size: table.size, text: JSON.stringify(openRpcOf(table)) };
    texts.set(table, cached);
  }
  return cached.text;
}

/** OpenRPC's method of service discovery: each service has it, and no router lists it. Reserved: no router accepts the name. */
const discoverName = 'rpc.discover';

let made: Procedure | undefined;

/** The procedure of that name, made at its first call: its schema is compiled, which no import of the package should wait for. */
function discover(): Procedure {
  made ??= renamed(
    procedure({ name: 'discover', params: Type.Object({}), placement: 'inline' }, () => {
      throw new Error('answered by its executor');
    }),
    discoverName,
  );
  return made;
}

/** The procedure of a built-in name; undefined: the name is not built in. */
export function builtIn(
  method: string,
  table: Table,
  maxReplyBytes: number,
  observer: CallObserver | undefined,
): BuiltIn | undefined {
  if (method !== discoverName) return undefined;
  const ending = new CallEnding(inlinePlace, maxReplyBytes, observer);
  return { procedure: discover(), executor: new DiscoverExecutor(table, ending) };
}

interface BuiltIn {
  readonly procedure: Procedure;
  readonly executor: Executor;
}

/** An executor in place of a finished reply: so a batch counts its size like that of any other call. */
class DiscoverExecutor implements Executor {
  readonly place = inlinePlace;
  readonly takesUnparsed = false;
  readonly #table: Table;
  readonly #ending: CallEnding;

  constructor(table: Table, ending: CallEnding) {
    this.#table = table;
    this.#ending = ending;
  }

  execute(call: Call): Reply {
    const began = clockMs();
    const refusal = refusalBeforeStart(call.scope, began);
    if (refusal !== undefined) return this.#ending.refuse(call, refusal);
    const outcome = this.#outcome(call);
    return this.#ending.finish(call, outcome, (clockMs() - began) * 1000);
  }

  #outcome(call: Call): Outcome {
    try {
      discover().bindParams(parsedParams(call));
    } catch (error) {
      if (RpcError.is(error)) return errorOutcome(ErrorCode.InvalidParams, error.data);
      throw error;
    }
    return resultOutcome(openRpcText(this.#table));
  }
}

import { Type } from '@sinclair/typebox';
import { clockMs } from '../base/clock.ts';
import { inlinePlace } from '../base/place.ts';
import { openRpcOf } from '../procedures/document/openrpc.ts';
import { procedure, renamed } from '../procedures/procedure.ts';
import { unsubscribeNames } from '../procedures/stream.ts';
import type { Procedure } from '../procedures/types.ts';
import { ErrorCode, RpcError, standardError } from '../protocol/errors.ts';
import { errorOutcome, type Outcome, type Reply, resultOutcome } from '../protocol/reply.ts';
import { type Call, CallEnding, parsedParams, refusalBeforeStart } from './call.ts';
import type { Executor } from './executor.ts';
import type { RequestScope } from './scope.ts';

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

/** Ends a subscription: answered where a request comes over a connection that can have subscriptions. */
const unsubscribe: Procedure = renamed(
  procedure({ name: 'unsubscribe', placement: 'inline' }, () => {
    throw new Error('answered by its executor');
  }),
  'rpc.unsubscribe', // reserved: no router accepts this name
);

/** A built-in method as a call finds it: batches count, limit and report it like that of any other procedure. */
interface BuiltIn {
  readonly procedure: Procedure;
  readonly executor: Executor;
}

/**
 * The built-in procedure of a name; undefined: the name is not built in.
 *
 * @param introspection whether `rpc.discover` is answered
 */
export function builtIn(
  method: string,
  table: Table,
  { streams }: RequestScope,
  introspection: boolean,
  { maxReplyBytes, observer }: CallEnding,
): BuiltIn | undefined {
  const ending = new CallEnding(inlinePlace, maxReplyBytes, observer);
  const end = streams?.unsubscribe;
  if (end !== undefined && (method === unsubscribe.name || unsubscribeNames(table).has(method))) {
    const executor = answeredBy((params) => String(end(subscriptionOf(params))), ending);
    return { procedure: unsubscribe, executor };
  }
  if (method !== discoverName || !introspection) return undefined;
  const answer = (params: unknown): string => {
    discover().bindParams(params);
    return openRpcText(table);
  };
  return { procedure: discover(), executor: answeredBy(answer, ending) };
}

/** @param answer gives the JSON text of the result; throws an RpcError for wrong params */
function answeredBy(answer: (params: unknown) => string, ending: CallEnding): Executor {
  const outcomeOf = (call: Call): Outcome => {
    try {
      return resultOutcome(answer(parsedParams(call)));
    } catch (error) {
      if (RpcError.is(error)) return errorOutcome(ErrorCode.InvalidParams, error.data);
      throw error;
    }
  };
  const execute = (call: Call): Reply => {
    const began = clockMs();
    const refusal = refusalBeforeStart(call.scope, began);
    if (refusal !== undefined) return ending.refuse(call, refusal);
    const outcome = outcomeOf(call);
    const runUs = (clockMs() - began) * 1000;
    return ending.finish(call, outcome, runUs, 0, runUs);
  };
  return { place: inlinePlace, takesUnparsed: false, execute };
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

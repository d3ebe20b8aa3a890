import { type TObject, Type } from '@sinclair/typebox';
import { cached } from '../base/cached.ts';
import { clockMs } from '../base/clock.ts';
import { inlinePlace } from '../base/place.ts';
import { type Document, makeDocument } from '../procedures/document/document-text.ts';
import { registrySteps } from '../procedures/document/introspect.ts';
import { openRpcSteps } from '../procedures/document/openrpc.ts';
import { procedure, renamed } from '../procedures/procedure.ts';
import { unsubscribeNames } from '../procedures/stream.ts';
import type { Procedure } from '../procedures/types.ts';
import { ErrorCode, RpcError, standardError } from '../protocol/errors.ts';
import { errorOutcome, type Outcome, type ReplySink, resultOutcome } from '../protocol/reply.ts';
import { type Call, CallEnding, parsedParams, refusalBeforeStart } from './call.ts';
import type { Executor } from './executor.ts';
import type { RequestScope } from './scope.ts';
import type { DocumentFormat } from './service.ts';

type Table = ReadonlyMap<string, Procedure>;

interface Documents {
  readonly size: number;
  readonly made: Map<DocumentFormat, Promise<Document>>;
}

const documents = new WeakMap<Table, Documents>();

/**
 * What describes a table, made again only when the table has grown: a table never loses procedures. It is made in slices,
 * between which calls run.
 */
export function documentOf(table: Table, format: DocumentFormat): Promise<Document> {
  let known = documents.get(table);
  if (known?.size !== table.size) {
    known = { size: table.size, made: new Map() };
    documents.set(table, known);
  }
  return cached(known.made, format, () =>
    makeDocument(format === 'openrpc' ? openRpcSteps(table) : registrySteps(table)),
  );
}

/** OpenRPC's method of service discovery: each service has it, and no router lists it. Reserved: no router accepts the names. */
const discoverName = 'rpc.discover';

/** Ends a subscription: answered where a request comes over a connection that can have subscriptions. */
const unsubscribeName = 'rpc.unsubscribe';

const made = new Map<string, Procedure>();

/** The procedure of that name, made at its first call: its options are compiled, which no import of the package should wait for. */
function ownProcedure(name: string, params?: TObject): Procedure {
  return cached(made, name, () =>
    renamed(
      procedure({ name: 'own', params, placement: 'inline' }, () => {
        throw new Error('answered by its executor');
      }),
      name,
    ),
  );
}

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
  if (end !== undefined && (method === unsubscribeName || unsubscribeNames(table).has(method))) {
    const executor = answeredBy((params) => String(end(subscriptionOf(params))), ending);
    return { procedure: ownProcedure(unsubscribeName), executor };
  }
  if (method !== discoverName || !introspection) return undefined;
  const discover = ownProcedure(discoverName, Type.Object({}));
  const answer = async (params: unknown): Promise<string> => {
    discover.bindParams(params);
    return textOf(await documentOf(table, 'openrpc'));
  };
  return { procedure: discover, executor: answeredBy(answer, ending) };
}

function textOf({ bytes }: Document): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/** @param answer gives the JSON text of the result; throws an RpcError for wrong params */
function answeredBy(
  answer: (params: unknown) => string | Promise<string>,
  ending: CallEnding,
): Executor {
  const toRefusal = (error: unknown): Outcome => {
    if (RpcError.is(error)) return errorOutcome(ErrorCode.InvalidParams, error.data);
    throw error;
  };
  const outcomeOf = (call: Call): Outcome | Promise<Outcome> => {
    try {
      const text = answer(parsedParams(call));
      return typeof text === 'string' ? resultOutcome(text) : text.then(resultOutcome, toRefusal);
    } catch (error) {
      return toRefusal(error);
    }
  };
  const execute = (call: Call, sink: ReplySink): void => {
    const began = clockMs();
    const refusal = refusalBeforeStart(call.scope, began);
    if (refusal !== undefined) {
      sink.onReply(ending.refuse(call, refusal));
      return;
    }
    const finish = (outcome: Outcome): void => {
      const runUs = (clockMs() - began) * 1000;
      sink.onReply(ending.finish(call, outcome, runUs, 0, runUs));
    };
    const outcome = outcomeOf(call);
    if (outcome instanceof Promise) void outcome.then(finish);
    else finish(outcome);
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

import { createHash } from 'node:crypto';
import { cached } from '../../base/cached.ts';
import { defined } from '../../base/defined.ts';
import { doAll, type Steps } from '../../base/timer.ts';
import { bytesWithin } from '../../schema/bytes.ts';
import { readJsonSchema } from '../../schema/json-schema.ts';
import { anything, type ObjectNode, type SchemaNode } from '../../schema/model.ts';
import { type JsonSchema, writeJson } from '../../schema/write-json.ts';
import { typeText } from '../../schema/write-type.ts';
import { linkMembers } from '../chain.ts';
import type { CacheRules, CompiledErrors, Effects } from '../declarations.ts';
import type { Link } from '../middleware.ts';
import { assertName } from '../registration.ts';
import { type AnyRouter, tableOf } from '../router.ts';
import { subscriptionNames } from '../stream.ts';
import type { Procedure, StreamRules } from '../types.ts';

/** One parameter of a procedure (docs/protocol.md, "GET /rpc"). */
export interface ParameterSchema {
  readonly name: string;
  /** TypeScript type text. */
  readonly type: string;
  readonly schema_: JsonSchema;
  readonly required: boolean;
  /** Absent if there is none. */
  readonly default?: unknown;
}

/** An error a procedure declares. */
export interface ErrorSchema {
  readonly code: number;
  readonly message: string;
  /** Absent if the error carries no data. */
  readonly data?: JsonSchema;
  /** Its HTTP status, where it declares one. */
  readonly status?: number;
}

/** What callers of a stream see of it, beside its values. */
export interface StreamSchema {
  /** The method of the notifications that bring its values. */
  readonly notification: string;
  /** A method that ends a subscription, beside `rpc.unsubscribe`. */
  readonly unsubscribe?: string;
  /** Whether a caller that can't read a stream gets an array of all values. */
  readonly collect: boolean;
}

/** One procedure in the introspection document. */
export interface ProcedureSchema {
  readonly name: string;
  /** The part of the name before the last dot. */
  readonly namespace: string | null;
  readonly parameters: ParameterSchema[];
  /** TypeScript type text. */
  readonly return_type: string;
  readonly return_schema: JsonSchema;
  /** TypeScript type text of each value of a stream. Absent if the procedure is no stream. */
  readonly yield_type?: string;
  readonly yield_schema?: JsonSchema;
  readonly stream?: StreamSchema;
  readonly doc: string | null;
  readonly is_async: boolean;
  /** Absent if none are declared. */
  readonly effects?: Effects;
  /** The group of workers that runs it; absent if it has none. */
  readonly group?: string;
  /** By name; absent if none is declared. */
  readonly errors?: Readonly<Record<string, ErrorSchema>>;
}

/** Procedures by name. The object has no prototype, so that only registered names are found in it. */
export type RegistrySchema = Record<string, ProcedureSchema>;

export function getProcedureSchema(procedure: Procedure): ProcedureSchema {
  const { name, params, returns, errors, doc, isAsync, effects, group, stream } = procedure;
  const yields = stream && (stream.yields ?? anything);
  return defined<ProcedureSchema>({
    name,
    namespace: namespaceOf(name),
    parameters: params === undefined ? [] : parametersOf(params),
    return_type: typeText(returns ?? anything),
    return_schema: writeJson(returns ?? anything),
    yield_type: yields && typeText(yields),
    yield_schema: yields && writeJson(yields),
    stream: streamOf(procedure),
    doc,
    is_async: isAsync,
    effects,
    group,
    errors: errors && errorsOf(errors),
  });
}

export function namespaceOf(name: string): string | null {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? null : name.slice(0, dot);
}

export function streamOf(procedure: Pick<Procedure, 'name' | 'stream'>): StreamSchema | undefined {
  const { stream } = procedure;
  return (
    stream && defined<StreamSchema>({ ...subscriptionNames(procedure), collect: stream.collect })
  );
}

export function getRegistrySchema(router: AnyRouter): RegistrySchema {
  return doAll(registrySteps(tableOf(router)));
}

/** The same in steps. What is registered meanwhile is not in it. */
export function* registrySteps(table: ReadonlyMap<string, Procedure>): Steps<RegistrySchema> {
  const registry = Object.create(null) as RegistrySchema;
  const entries = [...table];
  for (const [name, procedure] of entries) {
    registry[name] = getProcedureSchema(procedure);
    yield;
  }
  return registry;
}

/**
 * A hash of everything that callers and placement see of a router, and of what runs before its handlers. The
 * replicas of one module must have equal fingerprints: a middleware or an `authorize` that only this thread has would
 * let every call of a worker pass. The order of registration doesn't count.
 *
 * @param broadcasts the names of the modules' broadcasts
 */
export function fingerprint(router: AnyRouter, broadcasts: readonly string[] = []): string {
  const sources = new Map<unknown, string>();
  const sourceOf = ({ kind, run }: Link): readonly string[] => {
    const text = (): string => hashOf(Function.prototype.toString.call(run));
    return [kind, run.name, cached(sources, run, text)];
  };
  const facts = [...tableOf(router).values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((procedure) => {
      const { placement, timeoutMs = null, maxConcurrency = null, params, links } = procedure;
      const drain = procedure.stream?.drain ?? null;
      const rest = params?.rest && writeJson(params.rest);
      const front = links.map(sourceOf);
      const schema = getProcedureSchema(procedure);
      const { tool = null, httpApi = null, cache = null, batch, affinity } = procedure;
      return [
        schema,
        placement,
        timeoutMs,
        maxConcurrency,
        drain,
        rest ?? null,
        front,
        tool,
        httpApi,
        cache,
        batch === undefined ? null : [batch.max, batch.parallel],
        affinity?.param ?? affinity?.mark ?? null,
      ];
    });
  return hashOf(JSON.stringify([...facts, ...broadcasts.toSorted()]));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function errorsOf({ declared }: CompiledErrors): Record<string, ErrorSchema> {
  return Object.fromEntries(
    Object.entries(declared).map(([name, { code, message, data, status }]) => [
      name,
      defined<ErrorSchema>({ code, message, data: data && writeJson(data), status }),
    ]),
  );
}

function parametersOf({ members }: ObjectNode): ParameterSchema[] {
  return members.map(({ name, node, isRequired }) => {
    const schema = writeJson(node);
    return {
      name,
      type: typeText(node),
      schema_: schema,
      required: isRequired,
      ...('default' in schema ? { default: schema.default } : {}),
    };
  });
}

/** A procedure as the process that runs it describes it, in JSON, to one that documents it and sends its calls there. */
export interface ProcedureDescription {
  readonly name: string;
  readonly params?: JsonSchema;
  readonly hasOrder: boolean;
  readonly returns?: JsonSchema;
  readonly errors?: Readonly<Record<string, ErrorSchema>>;
  readonly doc?: string;
  readonly effects?: Effects;
  readonly tool?: false | 'content';
  readonly httpApi?: false;
  readonly cache?: CacheRules;
  readonly isAsync: boolean;
  readonly group?: string;
  readonly timeoutMs?: number;
  readonly stream?: Omit<StreamRules, 'yields' | 'value'> & { readonly yields?: JsonSchema };
}

export function describeProcedure(procedure: Procedure): ProcedureDescription {
  const { name, params, hasOrder, returns, errors, doc, effects, tool, stream } = procedure;
  const { isAsync, group, timeoutMs, httpApi, links } = procedure;
  // A gateway knows who calls, and not whether the answer depends on it.
  const cache: CacheRules | undefined = procedure.cache && {
    ...procedure.cache,
    ...(links.length > 0 ? { scope: 'private' } : {}),
  };
  return defined<ProcedureDescription>({
    name,
    hasOrder,
    isAsync,
    params: params && writeJson(params),
    returns: returns && writeJson(returns),
    errors: errors && errorsOf(errors),
    doc: doc ?? undefined,
    effects,
    tool,
    httpApi,
    cache,
    group,
    timeoutMs,
    stream: stream && describeStream(stream),
  });
}

/**
 * A procedure that another process runs. It has no validators, and can't be called here: its calls are sent there.
 *
 * @throws Error for what describes no procedure
 */
export function describedProcedure(description: ProcedureDescription): Procedure {
  const { name, params, returns, errors, doc, effects, tool, timeoutMs, stream } = description;
  const { httpApi, cache } = description;
  assertName(name, 'a description');
  return Object.freeze({
    name,
    handler: notHere,
    ...linkMembers([]),
    params: paramsRead(params, name),
    hasOrder: description.hasOrder === true,
    returns: returns && readDescribed(returns, name),
    errors: readErrors(errors, name),
    doc: doc ?? null,
    effects,
    tool: tool === false || tool === 'content' ? tool : undefined,
    httpApi: httpApi === false ? httpApi : undefined,
    cache,
    isAsync: description.isAsync === true,
    ignoresContext: false,
    placement: 'auto' as const,
    group: description.group,
    timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : undefined,
    // The process that runs it bounds how many run.
    maxConcurrency: undefined,
    // The process that runs it gathers its calls.
    batch: undefined,
    // The process that runs it chooses among its workers.
    affinity: undefined,
    bindParams: notHere,
    result: undefined,
    stream: stream && {
      ...stream,
      yields: stream.yields && readDescribed(stream.yields, name),
      value: undefined,
    },
    moduleState: undefined,
  });
}

/** What another process says of a schema: only documents are made of it. */
export function readDescribed(json: JsonSchema, name: string): SchemaNode {
  const where = `procedure ${JSON.stringify(name.slice(0, 80))}`;
  return readJsonSchema(json, where, { strictness: 'document' });
}

export function readErrors(
  errors: Readonly<Record<string, ErrorSchema>> | undefined,
  name: string,
): CompiledErrors | undefined {
  const declared = Object.entries(errors ?? {}).map(
    ([key, { data, ...error }]) =>
      [key, { ...error, data: data && readDescribed(data, name) }] as const,
  );
  return declared.length === 0 ? undefined : { declared: Object.fromEntries(declared), make: {} };
}

function paramsRead(json: JsonSchema | undefined, name: string): ObjectNode | undefined {
  const node = json && readDescribed(json, name);
  if (node !== undefined && node.kind !== 'object') throw new Error('params that are no object');
  return node;
}

function notHere(): never {
  throw new Error('a procedure that another process runs was called here');
}

function describeStream({ value: _value, yields, ...rules }: StreamRules) {
  return yields === undefined ? rules : { ...rules, yields: writeJson(yields) };
}

/** What a client in this process is told of a router's procedures (`tableOf`), as `tandem codegen` tells others. */
export function hintsOf(table: ReadonlyMap<string, Procedure>) {
  const hints = [...table].map(([name, { effects, params, returns, stream }]) => {
    const sendsBytes = bytesWithin(params).length > 0;
    const hint = { sendsBytes, bytes: bytesWithin(returns), yields: bytesWithin(stream?.yields) };
    return [name, { ...effects, ...hint }] as const;
  });
  return Object.fromEntries(hints);
}

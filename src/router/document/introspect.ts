import { createHash } from 'node:crypto';
import type { TObject } from '@sinclair/typebox';
import type { ErrorDeclarations } from '../declared-errors.ts';
import type { Effects } from '../effects.ts';
import type { Link } from '../middleware/middleware.ts';
import { tableOf } from '../router.ts';
import type { AnyRouter } from '../router-state.ts';
import { type JsonSchema, plainSchema } from '../schema/plain-schema.ts';
import { typeText } from '../schema/type-text.ts';
import { subscriptionNames } from '../stream/subscription-names.ts';
import type { Procedure } from '../types.ts';

/** One parameter of a procedure (docs/protocol.md, "GET /rpc"). */
export interface ParameterSchema {
  readonly name: string;
  /** TypeScript type text. */
  readonly type: string;
  readonly schema_: JsonSchema;
  readonly required: boolean;
  /** Absent where there is none. */
  readonly default?: unknown;
}

/** An error a procedure declares. */
export interface ErrorSchema {
  readonly code: number;
  readonly message: string;
  /** Absent where the error carries no data. */
  readonly data?: JsonSchema;
}

/** What callers of a stream see of it, beside its values. */
export interface StreamSchema {
  /** The method of the notifications that bring its values. */
  readonly notification: string;
  /** The method that ends a subscription, beside `rpc.unsubscribe`; absent where there is no other. */
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
  /** TypeScript type text of each value of a stream. Absent where the procedure is no stream. */
  readonly yield_type?: string;
  readonly yield_schema?: JsonSchema;
  readonly stream?: StreamSchema;
  readonly doc: string | null;
  readonly is_async: boolean;
  /** Absent where none are declared. */
  readonly effects?: Effects;
  /** The group of workers that runs it; absent where it has none. */
  readonly group?: string;
  /** By name; absent where none is declared. */
  readonly errors?: Readonly<Record<string, ErrorSchema>>;
}

/** Procedures by name. The object has no prototype, so that only registered names are found in it. */
export type RegistrySchema = Record<string, ProcedureSchema>;

export function getProcedureSchema(procedure: Procedure): ProcedureSchema {
  const { name, params, returns, errors, doc, isAsync, effects, group } = procedure;
  const dot = name.lastIndexOf('.');
  const returnSchema = returns === undefined ? {} : plainSchema(returns);
  return {
    name,
    namespace: dot === -1 ? null : name.slice(0, dot),
    parameters: params === undefined ? [] : parametersOf(params),
    return_type: typeText(returnSchema),
    return_schema: returnSchema,
    ...streamMembers(procedure),
    doc,
    is_async: isAsync,
    ...(effects === undefined ? {} : { effects }),
    ...(group === undefined ? {} : { group }),
    ...(errors === undefined ? {} : { errors: errorsOf(errors.declared) }),
  };
}

/** What a stream has beside the members of every procedure. */
function streamMembers(
  procedure: Procedure,
): Pick<ProcedureSchema, 'yield_type' | 'yield_schema' | 'stream'> {
  const { stream } = procedure;
  if (stream === undefined) return {};
  const schema = stream.yields === undefined ? {} : plainSchema(stream.yields);
  const { notification, unsubscribe } = subscriptionNames(procedure);
  return {
    yield_type: typeText(schema),
    yield_schema: schema,
    stream: {
      notification,
      ...(unsubscribe === undefined ? {} : { unsubscribe }),
      collect: stream.collect,
    },
  };
}

export function getRegistrySchema(router: AnyRouter): RegistrySchema {
  const registry = Object.create(null) as RegistrySchema;
  for (const [name, procedure] of tableOf(router)) registry[name] = getProcedureSchema(procedure);
  return registry;
}

/**
 * A hash of everything that callers and placement see of a router, and of what runs in front of its handlers. The
 * replicas of one module must have equal fingerprints: a middleware or an `authorize` that only this thread has would
 * let every call of a worker pass. The order of registration doesn't count.
 */
export function fingerprint(router: AnyRouter): string {
  const sources = new Map<unknown, string>();
  const sourceOf = ({ kind, run }: Link): readonly string[] => {
    let source = sources.get(run);
    if (source === undefined) {
      source = hashOf(Function.prototype.toString.call(run));
      sources.set(run, source);
    }
    return [kind, run.name, source];
  };
  const facts = [...tableOf(router).values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((procedure) => {
      const { placement, timeoutMs = null, maxConcurrency = null, params, links } = procedure;
      const drain = procedure.stream?.drain ?? null;
      const rest = params === undefined ? null : plainSchema(params).additionalProperties;
      const front = links.map(sourceOf);
      const schema = getProcedureSchema(procedure);
      const tool = procedure.tool ?? null;
      return [schema, placement, timeoutMs, maxConcurrency, drain, rest, front, tool];
    });
  return hashOf(JSON.stringify(facts));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function errorsOf(declared: ErrorDeclarations): Record<string, ErrorSchema> {
  return Object.fromEntries(
    Object.entries(declared).map(([name, { code, message, data }]) => [
      name,
      { code, message, ...(data === undefined ? {} : { data: plainSchema(data) }) },
    ]),
  );
}

function parametersOf(params: TObject): ParameterSchema[] {
  const whole = plainSchema(params);
  const properties = whole.properties as Record<string, JsonSchema>;
  const required = new Set(whole.required as string[] | undefined);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    type: typeText(schema),
    schema_: selfContained(schema, whole),
    required: required.has(name),
    ...('default' in schema ? { default: schema.default } : {}),
  }));
}

/** Adds the params' schema as a definition where the member refers to it, as recursive params do. */
function selfContained(member: JsonSchema, whole: JsonSchema): JsonSchema {
  const id = whole.$id;
  if (typeof id !== 'string' || !refersTo(member, id)) return member;
  return { ...member, $defs: { ...(member.$defs as object | undefined), [id]: whole } };
}

function refersTo(value: unknown, id: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if ((value as JsonSchema).$ref === id) return true;
  return Object.values(value).some((one) => refersTo(one, id));
}

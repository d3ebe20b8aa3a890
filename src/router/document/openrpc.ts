import { createHash } from 'node:crypto';
import type { Effects } from '../effects.ts';
import { type JsonSchema, plainSchema } from '../schema/plain-schema.ts';
import type { Procedure } from '../types.ts';
import {
  type ErrorSchema,
  getProcedureSchema,
  type ProcedureSchema,
  type RegistrySchema,
  type StreamSchema,
} from './introspect.ts';
import { SchemaComponents } from './openrpc-schemas.ts';

/** An OpenRPC 1.4 document (https://spec.open-rpc.org): the members that this package writes. */
export interface OpenRpcDocument {
  readonly openrpc: '1.4.1';
  readonly info: { readonly title: string; readonly version: string };
  readonly methods: readonly OpenRpcMethod[];
  readonly components?: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

export interface OpenRpcMethod {
  readonly name: string;
  readonly description?: string;
  readonly tags?: readonly { readonly name: string }[];
  /** `by-name`: the order of `params` here is not the order of positional arguments, or there is none. */
  readonly paramStructure: 'either' | 'by-name';
  readonly params: readonly ContentDescriptor[];
  readonly result: ContentDescriptor;
  readonly errors?: readonly { readonly code: number; readonly message: string }[];
  /** The declared errors with their names and the schemas of their data, for which an Error Object has no place. */
  readonly 'x-errors'?: Readonly<Record<string, ErrorSchema>>;
  /** What the procedure does to the world, where it says so. */
  readonly 'x-effects'?: Effects;
  /** What a stream is beyond its result, which is what it returns at its end; absent: it is none. */
  readonly 'x-stream'?: OpenRpcStream;
  /** The schema of params other than the named ones; absent: no others are allowed. */
  readonly 'x-additional-params'?: JsonSchema;
}

export interface OpenRpcStream extends StreamSchema {
  /** The schema of each value. */
  readonly yields: JsonSchema;
}

export interface ContentDescriptor {
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

/** A procedure as in the introspection document, and what only the router knows of it. */
interface Described {
  readonly schema: ProcedureSchema;
  /** The schema of params other than the named ones. */
  readonly rest: JsonSchema | undefined;
  /** Whether the order of the members is that of positional params. */
  readonly hasOrder: boolean;
}

/** The OpenRPC document of a router's procedures (`tableOf`). */
export function openRpcOf(table: ReadonlyMap<string, Procedure>): OpenRpcDocument {
  return toDocument(
    [...table.values()].map((procedure) => ({
      schema: getProcedureSchema(procedure),
      rest: restOf(procedure),
      hasOrder: procedure.params === undefined || procedure.hasOrder,
    })),
    Number.POSITIVE_INFINITY,
  );
}

/**
 * The OpenRPC document of an introspection document. It has no `x-additional-params`: an introspection document
 * does not say whether a procedure takes params other than the named ones.
 *
 * @param registry may come from a stranger; its shape and depth must have been checked
 * @throws RangeError for a registry that would take too long
 */
export function openRpcOfRegistry(registry: RegistrySchema): OpenRpcDocument {
  const described = Object.values(registry).map((schema) => ({
    schema,
    rest: undefined,
    hasOrder: true,
  }));
  return toDocument(described, 300);
}

function toDocument(described: readonly Described[], maxIds: number): OpenRpcDocument {
  const components = new SchemaComponents(maxIds);
  // Sorted, since a type is named after its first use: the order of registration must not change its name.
  const byName = [...described].sort((a, b) => (a.schema.name < b.schema.name ? -1 : 1));
  const drafts = new Map(byName.map((one) => [one.schema.name, draft(one, components)]));
  const shared = new Map([...drafts].map(([name, one]) => [name, share(one, components)]));
  const methods = described.flatMap(({ schema }) => shared.get(schema.name) ?? []);
  const schemas = components.toJson();
  const content = {
    methods,
    ...(Object.keys(schemas).length === 0 ? {} : { components: { schemas } }),
  };
  return {
    openrpc: '1.4.1',
    info: { title: 'Tandem RPC', version: versionOf(content) },
    ...content,
  };
}

/** A registry has no version number, so its version is a hash: it changes exactly when the content changes. */
function versionOf(content: object): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 12);
}

function draft({ schema, rest, hasOrder }: Described, components: SchemaComponents): OpenRpcMethod {
  const { name, namespace, parameters, return_schema, yield_schema, stream, doc, effects } = schema;
  const named = components.add(
    parameters.map((parameter) => [parameter.schema_, parameter.name] as const),
  );
  const [result = {}] = components.add([[return_schema, `${name} result`]]);
  const [yields = {}] =
    yield_schema === undefined ? [] : components.add([[yield_schema, `${name} value`]]);
  const [additional] = rest === undefined ? [] : components.add([[rest, `${name} params`]]);
  const params = parameters.map((parameter, index) => describe(parameter, named[index] ?? {}));
  const required = params.filter((param) => param.required);
  const optional = params.filter((param) => !param.required);
  const sorted = [...required, ...optional];
  // The specification wants required params first. Where that moves one, the order no longer tells the positions.
  const inOrder = hasOrder && sorted.every((param, index) => param === params[index]);
  const errors = Object.entries(schema.errors ?? {});
  return {
    name,
    ...(doc === null ? {} : { description: doc }),
    ...(namespace === null ? {} : { tags: [{ name: namespace }] }),
    paramStructure: inOrder && !(params.length === 0 && rest !== undefined) ? 'either' : 'by-name',
    params: sorted,
    result: { name: 'result', schema: result },
    ...(errors.length === 0
      ? {}
      : {
          errors: errors.map(([, { code, message }]) => ({ code, message })),
          'x-errors': Object.fromEntries(
            errors.map(([key, error]) => [key, addError(error, `${name} ${key}`, components)]),
          ),
        }),
    ...(effects === undefined ? {} : { 'x-effects': effects }),
    ...(stream === undefined ? {} : { 'x-stream': { yields, ...stream } }),
    ...(additional === undefined ? {} : { 'x-additional-params': additional }),
  };
}

function describe(
  { name, required }: ProcedureSchema['parameters'][number],
  schema: JsonSchema,
): ContentDescriptor {
  const { description } = schema;
  return {
    name,
    ...(typeof description === 'string' ? { description } : {}),
    required,
    schema,
  };
}

function addError(
  { code, message, data }: ErrorSchema,
  hint: string,
  components: SchemaComponents,
): ErrorSchema {
  const [added] = data === undefined ? [] : components.add([[data, hint]]);
  return { code, message, ...(added === undefined ? {} : { data: added }) };
}

/** The second pass, after all uses of each type were counted: replaces shared types by references. */
function share(method: OpenRpcMethod, components: SchemaComponents): OpenRpcMethod {
  const { params, result } = method;
  const errors = method['x-errors'];
  const stream = method['x-stream'];
  const additional = method['x-additional-params'];
  const shareError = ({ data, ...error }: ErrorSchema): ErrorSchema => ({
    ...error,
    ...(data === undefined ? {} : { data: components.shared(data) }),
  });
  return {
    ...method,
    params: params.map((param) => ({ ...param, schema: components.shared(param.schema) })),
    result: { ...result, schema: components.shared(result.schema) },
    ...(errors === undefined
      ? {}
      : {
          'x-errors': Object.fromEntries(
            Object.entries(errors).map(([name, error]) => [name, shareError(error)]),
          ),
        }),
    ...(stream === undefined
      ? {}
      : { 'x-stream': { ...stream, yields: components.shared(stream.yields) } }),
    ...(additional === undefined ? {} : { 'x-additional-params': components.shared(additional) }),
  };
}

function restOf({ params }: Procedure): JsonSchema | undefined {
  if (params === undefined) return {};
  const { additionalProperties } = plainSchema(params);
  if (additionalProperties === true) return {};
  return typeof additionalProperties === 'object' && additionalProperties !== null
    ? (additionalProperties as JsonSchema)
    : undefined;
}

import { defined } from '../../base/defined.ts';
import { doAll, type Steps } from '../../base/timer.ts';
import { anything, type Member, resolved, type SchemaNode, takesMore } from '../../schema/model.ts';
import { type Dialect, type JsonSchema, writeJson } from '../../schema/write-json.ts';
import type { DeclaredError, Effects } from '../declarations.ts';
import type { Procedure } from '../types.ts';
import { type Components, type Documented, gatherComponents, referenceTo } from './components.ts';
import { versionSteps } from './document-text.ts';
import {
  type ErrorSchema,
  namespaceOf,
  type ProcedureSchema,
  type RegistrySchema,
  readDescribed,
  readErrors,
  type StreamSchema,
  streamOf,
} from './introspect.ts';

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
  /** What the procedure does to the world, if it says so. */
  readonly 'x-effects'?: Effects;
  /** What a stream is beyond its result, which is what it returns at its end; absent: it is none. */
  readonly 'x-stream'?: OpenRpcStream;
  /** The schema of params other than the named ones; absent: no others are allowed. */
  readonly 'x-additional-params'?: JsonSchema;
}

export interface OpenRpcStream extends StreamSchema {
  readonly yields: JsonSchema;
}

export interface ContentDescriptor {
  readonly name: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

/** The OpenRPC document of a router's procedures (`tableOf`). */
export function openRpcOf(table: ReadonlyMap<string, Procedure>): OpenRpcDocument {
  return doAll(openRpcSteps(table));
}

/** The same in steps. What is registered meanwhile is not in it. */
export function openRpcSteps(table: ReadonlyMap<string, Procedure>): Steps<OpenRpcDocument> {
  return stepsOf([...table.values()]);
}

/**
 * The OpenRPC document of an introspection document. It has no `x-additional-params`: an introspection document
 * does not say whether a procedure takes params other than the named ones.
 *
 * @param registry may come from a stranger; its shape and depth must have been checked
 * @throws RangeError for a registry that would take too long, RegistrationError for a reference that leads out of a schema
 */
export function openRpcOfRegistry(registry: RegistrySchema): OpenRpcDocument {
  return doAll(stepsOf(Object.values(registry).map(documentedOf), 300));
}

function documentedOf(schema: ProcedureSchema): Documented {
  const { name, parameters, return_schema, yield_schema, stream, doc, effects, errors } = schema;
  const members = parameters.map((parameter) => ({
    name: parameter.name,
    node: readDescribed(parameter.schema_, name),
    isRequired: parameter.required,
  }));
  return {
    name,
    params: {
      kind: 'object',
      members,
      patterns: [],
      rest: { kind: 'never', notes: {} },
      notes: {},
    },
    hasOrder: true,
    returns: readDescribed(return_schema, name),
    stream: stream && {
      notification: stream.notification,
      unsubscribe: stream.unsubscribe,
      collect: stream.collect,
      drain: 'end',
      yields: yield_schema && readDescribed(yield_schema, name),
      value: undefined,
    },
    errors: readErrors(errors, name),
    doc,
    effects,
  };
}

function* stepsOf(procedures: readonly Documented[], maxNames?: number): Steps<OpenRpcDocument> {
  const writer = new OpenRpcWriter(yield* gatherComponents(procedures, maxNames));
  const methods: OpenRpcMethod[] = [];
  for (const procedure of procedures) {
    methods.push(writer.method(procedure));
    yield;
  }
  const schemas = yield* writer.components();
  const content = {
    methods,
    ...(Object.keys(schemas).length === 0 ? {} : { components: { schemas } }),
  };
  return {
    openrpc: '1.4.1',
    info: { title: 'Tandem RPC', version: yield* versionSteps(content) },
    ...content,
  };
}

class OpenRpcWriter {
  readonly #components: Components;
  readonly #dialect: Dialect = (node, usual) => {
    const component = this.#components.of(node);
    if (component !== undefined)
      return referenceTo(node, component, `#/components/schemas/${component.name}`);
    // A type that only refers to itself, in the document of a stranger.
    return node.kind === 'ref' ? usual(resolved(node)) : undefined;
  };

  constructor(components: Components) {
    this.#components = components;
  }

  method(procedure: Documented): OpenRpcMethod {
    const { name, params, hasOrder, returns = anything, doc, effects, errors } = procedure;
    const namespace = namespaceOf(name);
    const given = (params?.members ?? []).map((member) => this.#param(member));
    // The specification wants required params first. If that moves one, the order no longer tells the positions.
    const sorted = given.toSorted((a, b) => Number(b.required) - Number(a.required));
    const rest = params === undefined ? anything : params.rest;
    const hasRest = takesMore(rest);
    const isInOrder = hasOrder && sorted.every((param, index) => param === given[index]);
    const declared = errors && Object.entries(errors.declared);
    const stream = streamOf(procedure);
    const yields = procedure.stream?.yields ?? anything;
    return defined<OpenRpcMethod>({
      name,
      description: doc ?? undefined,
      tags: namespace === null ? undefined : [{ name: namespace }],
      paramStructure: isInOrder && !(given.length === 0 && hasRest) ? 'either' : 'by-name',
      params: sorted,
      result: { name: 'result', schema: this.#schema(returns) },
      errors: declared?.map(([, { code, message }]) => ({ code, message })),
      'x-errors':
        declared && Object.fromEntries(declared.map(([key, error]) => [key, this.#error(error)])),
      'x-effects': effects,
      'x-stream': stream && { yields: this.#schema(yields), ...stream },
      'x-additional-params': hasRest ? this.#schema(rest) : undefined,
    });
  }

  *components(): Steps<Record<string, JsonSchema>> {
    const schemas: [string, JsonSchema][] = [];
    for (const { name, node } of this.#components.all()) {
      schemas.push([name, this.#body(node)]);
      yield;
    }
    return Object.fromEntries(schemas);
  }

  #param({ name, node, isRequired }: Member): ContentDescriptor {
    const schema = this.#schema(node);
    // What describes a named type stands there.
    const isNamed = node.kind === 'ref' || node.name !== undefined;
    const { description } = isNamed ? schema : node.notes;
    return defined<ContentDescriptor>({
      name,
      description: typeof description === 'string' ? description : undefined,
      required: isRequired,
      schema,
    });
  }

  #error({ code, message, data }: DeclaredError): ErrorSchema {
    return defined<ErrorSchema>({ code, message, data: data && this.#schema(data) });
  }

  #schema(node: SchemaNode): JsonSchema {
    return writeJson(node, this.#dialect);
  }

  /** A component as it is written once. */
  #body(type: SchemaNode): JsonSchema {
    const dialect: Dialect = (node, usual) =>
      node === type ? undefined : this.#dialect(node, usual);
    const { $id: _name, default: _ofUse, ...body } = writeJson(type, dialect);
    return body;
  }
}

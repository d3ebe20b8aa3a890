import { cached } from '../../core/base/cached.ts';
import { doAll, type Steps } from '../../core/base/timer.ts';
import type { Config } from '../../core/config/config.ts';
import type { DeclaredError } from '../../core/procedures/declarations.ts';
import { gatherComponents } from '../../core/procedures/document/components.ts';
import {
  type Document,
  makeDocument,
  versionSteps,
} from '../../core/procedures/document/document-text.ts';
import { type ErrorSchema, namespaceOf } from '../../core/procedures/document/introspect.ts';
import { DistinctNames, type NameStyle } from '../../core/procedures/names.ts';
import {
  anything,
  type Member,
  type ObjectNode,
  resolved,
  type SchemaNode,
} from '../../core/schema/model.ts';
import type { JsonSchema } from '../../core/schema/write-json.ts';
import { isNever, OpenApiSchemas } from './dialect.ts';
import type { Operation, Operations } from './operation.ts';

/** An OpenAPI 3.1 document: the members that this package writes. */
export interface OpenApiDocument {
  readonly openapi: '3.1.1';
  readonly info: { readonly title: string; readonly version: string };
  readonly servers?: readonly { readonly url: string }[];
  /** Empty: nobody is asked who calls. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly { readonly name: string }[];
  /** By URL. A procedure has one operation, so that generated code has one function for it. */
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly securitySchemes?: Readonly<Record<string, object>>;
  };
}

type PathItem = Readonly<Partial<Record<'get' | 'post', OperationObject>>>;

interface OperationObject {
  readonly operationId: string;
  /** The procedure's name. */
  readonly summary: string;
  readonly description?: string | undefined;
  readonly tags: readonly string[];
  readonly parameters?: readonly object[] | undefined;
  readonly requestBody?: BodyObject | undefined;
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
  readonly 'x-effects'?: object | undefined;
  readonly 'x-errors'?: Readonly<Record<string, ErrorSchema>> | undefined;
}

interface BodyObject {
  readonly required: boolean;
  readonly content: Content;
  /** The param that the bytes are. */
  readonly 'x-param'?: string;
}

interface ResponseObject {
  readonly description: string;
  readonly content?: Content;
}

type Content = Readonly<Record<string, MediaType>>;

interface MediaType {
  readonly schema: JsonSchema;
  /** The schema is that of one value of a stream of events; of JSON, the array is that of all values. */
  readonly 'x-stream'?: true;
  /** What the stream returns at its end, where that is declared. */
  readonly 'x-result'?: JsonSchema;
}

/** What a document says beside the procedures. */
export interface DocumentFacts extends Pick<Config, 'httpPath' | 'httpAuth' | 'publicUrl'> {
  /** Generators name a client by it. */
  readonly title: string;
  /** Whether the service asks who calls. */
  readonly hasAuth: boolean;
}

export function openApiBytes(operations: Operations, facts: DocumentFacts): Promise<Document> {
  return makeDocument(openApiSteps(operations, facts));
}

export function openApiOf(operations: Operations, facts: DocumentFacts): OpenApiDocument {
  return doAll(openApiSteps(operations, facts));
}

function* openApiSteps(operations: Operations, facts: DocumentFacts): Steps<OpenApiDocument> {
  const { title, httpPath, httpAuth, publicUrl, hasAuth } = facts;
  const procedures = [...operations.procedures.values()];
  const schemas = new OpenApiSchemas(yield* gatherComponents(procedures), ['Problem']);
  const ids = new DistinctNames(operationStyle);
  for (const { name } of procedures) ids.meet(name);
  const items = new Map<string, PathItem>();
  // Sorted, since a type is named after its first use: the order of registration must not change its name.
  for (const { name } of procedures.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const operation = operations.find(name);
    if (operation === undefined) continue;
    const writer = new OperationWriter(operation, schemas);
    const verb = operation.form === 'query' ? 'get' : 'post';
    items.set(name, { [verb]: writer.write(ids.nameOf(name)) });
    yield;
  }
  const tags = new Set([...items.values()].flatMap(({ get, post }) => (get ?? post)?.tags ?? []));
  const content = {
    security: hasAuth ? [{ auth: [] }] : [],
    tags: [...tags].sort().map((name) => ({ name })),
    paths: Object.fromEntries(
      procedures.map(({ name }) => [`${httpPath}/${name}`, items.get(name) ?? {}]),
    ),
    components: {
      schemas: { ...(yield* schemas.components()), Problem: schemas.write(problem) },
      responses: { Problem: problemResponse('An error', reference('schemas', 'Problem')) },
      ...(hasAuth ? { securitySchemes: { auth: securityScheme(httpAuth) } } : {}),
    },
  };
  return {
    openapi: '3.1.1',
    info: { title, version: yield* versionSteps(content) },
    ...(publicUrl === '' ? {} : { servers: [{ url: publicUrl }] }),
    ...content,
  };
}

/**
 * Names for functions in generated code. orval and others take out what is no letter or digit, and do not compare case: two
 * names that differ in these alone would be declared twice.
 */
const operationStyle: NameStyle = {
  plain: (procedure) => procedure.replace(/\W/g, '_'),
  folded: (name) => name.replace(/[^A-Za-z0-9]/g, '').toLowerCase(),
};

/** @param auth as the option `httpAuth` has it */
function securityScheme(auth: string): object {
  const [kind = '', name] = auth.split(':');
  return name === undefined ? { type: 'http', scheme: kind } : { type: 'apiKey', in: kind, name };
}

function problemResponse(description: string, schema: JsonSchema): ResponseObject {
  return { description, content: { 'application/problem+json': { schema } } };
}

function reference(kind: 'schemas' | 'responses', name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/**
 * Statuses with which the service answers calls of procedures that are there. Its errors are not those that a procedure
 * declares, and ogen (Go) has no type for a choice between both.
 */
const sharedStatuses: ReadonlySet<number> = new Set([
  400, 401, 403, 406, 413, 415, 429, 500, 503, 504,
]);

const octets = 'application/octet-stream';

class OperationWriter {
  readonly #operation: Operation;
  readonly #schemas: OpenApiSchemas;
  /** The required ones first. A param that has no value, or is called as a reference is, can't be shown. */
  readonly #params: readonly Member[];
  readonly #errors: readonly (readonly [name: string, error: DeclaredError])[];

  constructor(operation: Operation, schemas: OpenApiSchemas) {
    const { params, errors } = operation.procedure;
    this.#operation = operation;
    this.#schemas = schemas;
    this.#params = (params?.members ?? [])
      .filter(({ name, node }) => name !== '$ref' && !isNever(node))
      .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
    this.#errors = Object.entries(errors?.declared ?? {});
  }

  write(operationId: string): OperationObject {
    const { form, bytesParam, procedure } = this.#operation;
    const { name, doc, effects } = procedure;
    const inQuery = form === 'json' ? [] : this.#params;
    const parameters = inQuery.filter((param) => param.name !== bytesParam?.name);
    return {
      operationId,
      summary: name,
      description: doc ?? undefined,
      tags: [namespaceOf(name) ?? 'default'],
      parameters: parameters.length === 0 ? undefined : parameters.map((one) => this.#query(one)),
      requestBody: form === 'query' ? undefined : this.#body(),
      responses: {
        ...this.#success(),
        ...this.#errorResponses(),
        default: reference('responses', 'Problem'),
      },
      'x-effects': effects,
      'x-errors': this.#errorMember(),
    };
  }

  /** Arrays are repeated members by default, so nothing is said of their style. */
  #query({ name, node, isRequired }: Member): object {
    const { description } = node.notes;
    const schema = this.#schemas.write(node);
    return { name, in: 'query', description, required: isRequired, schema };
  }

  #body(): BodyObject | undefined {
    const { form, bytesParam, others, procedure } = this.#operation;
    const params = this.#params;
    const bytes = params.find(({ name }) => name === bytesParam?.name);
    if (form === 'bytes' && bytes !== undefined) {
      const content = { [octets]: { schema: binary(bytes.node) } };
      return { required: bytes.isRequired, content, 'x-param': bytes.name };
    }
    // Clients send nothing at all then, as the service expects.
    if (params.length === 0 && others === undefined) return undefined;
    const rest = procedure.params === undefined ? anything : procedure.params.rest;
    const schema = this.#schemas.write(object(params, { rest }));
    const required = params.some(({ isRequired }) => isRequired);
    return { required, content: { 'application/json': { schema } } };
  }

  #success(): Record<string, ResponseObject> {
    const { result, stream, procedure } = this.#operation;
    const returns = procedure.returns ?? anything;
    if (stream !== undefined) {
      const value = this.#schemas.write(procedure.stream?.yields ?? anything);
      const atEnd = stream.hasResult ? { 'x-result': this.#schemas.write(returns) } : {};
      // A caller that names no type gets JSON where there is JSON, so generated code must not wait for events then.
      const content: Content = stream.collect
        ? {
            'application/json': {
              schema: { type: 'array', items: value },
              'x-stream': true,
              ...atEnd,
            },
          }
        : { 'text/event-stream': { schema: value, 'x-stream': true, ...atEnd } };
      const description = stream.collect ? 'All values of the stream' : 'The values, as events';
      return { '200': { description, content } };
    }
    if (result.kind === 'nothing') return { '204': { description: 'Done' } };
    const description = 'The result';
    if (result.kind !== 'bytes') {
      const schema = this.#schemas.write(returns);
      return { '200': { description, content: { 'application/json': { schema } } } };
    }
    const { mediaType } = result;
    // A range is no type that an answer can have.
    const types = mediaType?.includes('*') === false ? [mediaType, octets] : [octets];
    const schema = binary(returns);
    const content = Object.fromEntries(types.map((type) => [type, { schema }]));
    return { '200': { description, content } };
  }

  #errorResponses(): Record<string, ResponseObject> {
    const byStatus = new Map<number, (readonly [name: string, error: DeclaredError])[]>();
    for (const one of this.#errors) {
      const errors = cached(byStatus, this.#statusOf(one[1]), () => []);
      errors.push(one);
    }
    const sorted = [...byStatus].sort(([a], [b]) => a - b);
    return Object.fromEntries(
      sorted.map(([status, errors]) => {
        const description = errors.map(([name]) => name).join(', ');
        const variants = errors.map(([name, error]) => declaredProblem(name, error));
        const schema = sharedStatuses.has(status)
          ? reference('schemas', 'Problem')
          : this.#schemas.write({ kind: 'union', variants, notes: {} });
        return [String(status), problemResponse(description, schema)];
      }),
    );
  }

  /** The declared errors by name, as in OpenRPC: a response of a shared status does not tell them. */
  #errorMember(): Record<string, ErrorSchema> | undefined {
    if (this.#errors.length === 0) return undefined;
    const shown = this.#errors.map(([name, error]) => {
      const { code, message, data } = error;
      const ofData = data === undefined ? {} : { data: this.#schemas.write(data) };
      return [name, { code, message, ...ofData, status: this.#statusOf(error) }] as const;
    });
    return Object.fromEntries(shown);
  }

  #statusOf({ code }: DeclaredError): number {
    return this.#operation.errors.get(code)?.status ?? 422;
  }
}

/** Bytes as they are, of a schema of bytes in JSON. */
function binary(node: SchemaNode): JsonSchema {
  const bytes = resolved(node);
  const { maxBytes } = bytes.kind === 'bytes' ? bytes : bytes.notes;
  return {
    type: 'string',
    format: 'binary',
    ...(maxBytes === undefined ? {} : { maxLength: maxBytes }),
  };
}

function object(members: readonly Member[], more: Partial<ObjectNode> = {}): ObjectNode {
  return { kind: 'object', members, patterns: [], rest: undefined, notes: {}, ...more };
}

const text: SchemaNode = { kind: 'string', notes: {} };
const integer: SchemaNode = { kind: 'integer', notes: {} };

function always(name: string, node: SchemaNode): Member {
  return { name, node, isRequired: true };
}

function atTimes(name: string, node: SchemaNode): Member {
  return { name, node, isRequired: false };
}

/** RFC 9457, with the members of an error of JSON-RPC. */
function problemOf(description: string, ...own: readonly Member[]): ObjectNode {
  const members = [always('type', text), always('title', text), always('status', integer), ...own];
  return object(members, { notes: { description } });
}

const problem = problemOf(
  'An error. Its code, and its data, are those of JSON-RPC.',
  always('code', integer),
  atTimes('name', text),
  atTimes('detail', text),
  atTimes('data', anything),
);

function declaredProblem(name: string, { code, message, data }: DeclaredError): ObjectNode {
  return problemOf(
    message,
    always('code', { kind: 'literal', value: code, notes: {} }),
    always('name', { kind: 'literal', value: name, notes: {} }),
    atTimes('detail', text),
    ...(data === undefined ? [] : [always('data', data)]),
  );
}

import { doAll, type Steps } from '../../core/base/timer.ts';
import type { Config } from '../../core/config/config.ts';
import {
  type Document,
  makeDocument,
  versionSteps,
} from '../../core/procedures/document/document-text.ts';
import type { ErrorSchema } from '../../core/procedures/document/introspect.ts';
import {
  type ContentDescriptor,
  type OpenRpcMethod,
  openRpcSteps,
} from '../../core/procedures/document/openrpc.ts';
import { DistinctNames, type NameStyle } from '../../core/procedures/names.ts';
import { defined } from '../../core/schema/schema-tree.ts';
import type { JsonSchema } from '../../core/schema/write-json.ts';
import type { Operation, Operations } from './operation.ts';
import { isNever, Spelling } from './shapes.ts';

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
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly object[];
  readonly requestBody?: BodyObject;
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
  readonly 'x-effects'?: object;
  readonly 'x-errors'?: Readonly<Record<string, ErrorSchema>>;
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
  readonly asksWho: boolean;
}

/** The document as it is sent. */
export function openApiBytes(operations: Operations, facts: DocumentFacts): Promise<Document> {
  return makeDocument(openApiSteps(operations, facts));
}

export function openApiOf(operations: Operations, facts: DocumentFacts): OpenApiDocument {
  return doAll(openApiSteps(operations, facts));
}

function* openApiSteps(operations: Operations, facts: DocumentFacts): Steps<OpenApiDocument> {
  const { methods, components } = yield* openRpcSteps(operations.procedures);
  const { title, httpPath, httpAuth, publicUrl, asksWho } = facts;
  const spelling = new Spelling(components?.schemas ?? {}, ['Problem']);
  const ids = new DistinctNames(operationStyle);
  for (const { name } of methods) ids.meet(name);
  const items = new Map<string, PathItem>();
  // Sorted, since a type is named after its first use: the order of registration must not change its name.
  for (const method of [...methods].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const operation = operations.find(method.name);
    if (operation === undefined) continue;
    const writer = new OperationWriter(method, operation, spelling);
    const verb = operation.form === 'query' ? 'get' : 'post';
    items.set(method.name, { [verb]: writer.write(ids.nameOf(method.name)) });
    yield;
  }
  const tags = new Set([...items.values()].flatMap(({ get, post }) => (get ?? post)?.tags ?? []));
  const content = {
    security: asksWho ? [{ auth: [] }] : [],
    tags: [...tags].sort().map((name) => ({ name })),
    paths: Object.fromEntries(
      methods.map(({ name }) => [`${httpPath}/${name}`, items.get(name) ?? {}]),
    ),
    components: {
      schemas: { ...(yield* spelling.components()), Problem: problem },
      responses: { Problem: problemResponse('An error', reference('schemas', 'Problem')) },
      ...(asksWho ? { securitySchemes: { auth: securityScheme(httpAuth) } } : {}),
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

/** RFC 9457, with the members of an error of JSON-RPC. */
const problemMembers = {
  type: { type: 'string' },
  title: { type: 'string' },
  status: { type: 'integer' },
  code: { type: 'integer' },
  name: { type: 'string' },
  detail: { type: 'string' },
  data: {},
};

const problem: JsonSchema = {
  type: 'object',
  description: 'An error. Its code, and its data, are those of JSON-RPC.',
  properties: problemMembers,
  required: ['type', 'title', 'status', 'code'],
};

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

/** Writes the operation of one procedure. */
class OperationWriter {
  readonly #method: OpenRpcMethod;
  readonly #operation: Operation;
  readonly #spelling: Spelling;
  /** What the document can show: a param that has no value, or is called as a reference is, is left out. */
  readonly #params: readonly ContentDescriptor[];
  readonly #errors: readonly (readonly [name: string, error: ErrorSchema])[];

  constructor(method: OpenRpcMethod, operation: Operation, spelling: Spelling) {
    this.#method = method;
    this.#operation = operation;
    this.#spelling = spelling;
    this.#params = method.params.filter(({ name, schema }) => name !== '$ref' && !isNever(schema));
    this.#errors = Object.entries(method['x-errors'] ?? {});
  }

  write(operationId: string): OperationObject {
    const { name, description, tags } = this.#method;
    const { form, bytesParam } = this.#operation;
    const inQuery = form === 'json' ? [] : this.#params;
    const parameters = inQuery.filter((param) => param.name !== bytesParam?.name);
    return defined<OperationObject>({
      operationId,
      summary: name,
      description,
      tags: [tags?.[0]?.name ?? 'default'],
      parameters: parameters.length === 0 ? undefined : parameters.map((one) => this.#query(one)),
      requestBody: form === 'query' ? undefined : this.#body(),
      responses: {
        ...this.#success(),
        ...this.#errorResponses(),
        default: reference('responses', 'Problem'),
      },
      'x-effects': this.#method['x-effects'],
      'x-errors': this.#errorMember(),
    });
  }

  /** Arrays are repeated members by default, so nothing is said of their style. */
  #query({ name, description, required, schema }: ContentDescriptor): object {
    return defined<object>({
      name,
      in: 'query',
      description,
      required,
      schema: this.#spelling.of(schema),
    } as object);
  }

  #body(): BodyObject | undefined {
    const { form, bytesParam, others, procedure } = this.#operation;
    if (form === 'bytes' && bytesParam !== undefined) {
      const param = this.#params.find(({ name }) => name === bytesParam.name);
      const content = { [octets]: { schema: this.#binary(param?.schema) } };
      return { required: param?.required === true, content, 'x-param': bytesParam.name };
    }
    const params = this.#params;
    // Clients send nothing at all then, as the service expects.
    if (params.length === 0 && others === undefined) return undefined;
    const required = params.filter((param) => param.required).map(({ name }) => name);
    // An object of zod takes members of other names and leaves them out, which its schema says by saying nothing.
    const isSilent = procedure.params !== undefined && procedure.params.rest === undefined;
    const rest = { additionalProperties: this.#method['x-additional-params'] ?? false };
    const schema = this.#spelling.of({
      type: 'object',
      properties: Object.fromEntries(params.map((param) => [param.name, param.schema])),
      ...(required.length === 0 ? {} : { required }),
      ...(isSilent ? {} : rest),
    });
    return { required: required.length > 0, content: { 'application/json': { schema } } };
  }

  #success(): Record<string, ResponseObject> {
    const { result, stream } = this.#operation;
    const declared = this.#spelling.of(this.#method.result.schema);
    if (stream !== undefined) {
      const value = this.#spelling.of(this.#method['x-stream']?.yields ?? {});
      const atEnd = stream.hasResult ? { 'x-result': declared } : {};
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
      return { '200': { description, content: { 'application/json': { schema: declared } } } };
    }
    const { mediaType } = result;
    // A range is no type that an answer can have.
    const types = mediaType?.includes('*') === false ? [mediaType, octets] : [octets];
    const schema = this.#binary(this.#method.result.schema);
    const content = Object.fromEntries(types.map((type) => [type, { schema }]));
    return { '200': { description, content } };
  }

  /** Bytes as they are, of a schema of bytes in JSON. */
  #binary(schema: JsonSchema = {}): JsonSchema {
    const { maxBytes } = this.#spelling.target(schema) ?? schema;
    const limit = typeof maxBytes === 'number' ? { maxLength: maxBytes } : {};
    return { type: 'string', format: 'binary', ...limit };
  }

  /** The declared errors by their statuses. */
  #errorResponses(): Record<string, ResponseObject> {
    const byStatus = new Map<number, [name: string, error: ErrorSchema][]>();
    for (const [name, error] of this.#errors) {
      const status = this.#statusOf(error);
      byStatus.set(status, [...(byStatus.get(status) ?? []), [name, error]]);
    }
    const sorted = [...byStatus].sort(([a], [b]) => a - b);
    return Object.fromEntries(
      sorted.map(([status, errors]) => {
        const description = errors.map(([name]) => name).join(', ');
        const schema = sharedStatuses.has(status)
          ? reference('schemas', 'Problem')
          : this.#spelling.of({
              anyOf: errors.map(([name, error]) => declaredProblem(name, error)),
            });
        return [String(status), problemResponse(description, schema)];
      }),
    );
  }

  /** The declared errors by name, as in OpenRPC: a response of a shared status does not tell them. */
  #errorMember(): Record<string, ErrorSchema> | undefined {
    if (this.#errors.length === 0) return undefined;
    const spelled = this.#errors.map(([name, error]) => {
      const data = error.data === undefined ? {} : { data: this.#spelling.of(error.data) };
      return [name, { ...error, ...data, status: this.#statusOf(error) }] as const;
    });
    return Object.fromEntries(spelled);
  }

  #statusOf({ code }: ErrorSchema): number {
    return this.#operation.errors.get(code)?.status ?? 422;
  }
}

function declaredProblem(name: string, { code, message, data }: ErrorSchema): JsonSchema {
  const { data: _any, ...members } = problemMembers;
  return {
    type: 'object',
    description: message,
    properties: {
      ...members,
      code: { type: 'integer', const: code },
      name: { type: 'string', const: name },
      ...(data === undefined ? {} : { data }),
    },
    required: ['type', 'title', 'status', 'code', 'name', ...(data === undefined ? [] : ['data'])],
  };
}

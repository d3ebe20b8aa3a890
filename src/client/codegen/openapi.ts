import { subscriptionNames } from '../../core/procedures/stream.ts';
import { CodegenError, isObject, type JsonObject, listOf, own, shown, stringOf } from './text.ts';

/** Whether a document is one of OpenAPI, or of its predecessor Swagger. */
export function isOpenApi(document: unknown): document is JsonObject {
  if (!isObject(document)) return false;
  return ['openapi', 'swagger'].some((name) => typeof own(document, name) === 'string');
}

const foreign =
  'this is no OpenAPI document of a Tandem service, the only ones that say which procedures there are';

/**
 * The OpenRPC document of an OpenAPI document that a Tandem service has made. What OpenAPI does not tell is left out: the
 * order of positional params, and what subscriptions are called where that does not follow from the procedure's name. What
 * the document tells wider than it is stays so.
 *
 * @param document may come from a stranger; its depth must have been checked
 * @throws CodegenError for the document of another program
 */
export function openRpcOfOpenApi(document: JsonObject): object {
  const version = stringOf(document, 'openapi');
  if (version === undefined || !/^3\.[12]\./.test(version)) {
    const given = version ?? stringOf(document, 'swagger') ?? 'unknown';
    throw new CodegenError(`${foreign}: its version is ${shown(given)}, that of a service is 3.1`);
  }
  const paths = own(document, 'paths');
  const methods = Object.entries(isObject(paths) ? paths : {}).map(([path, item]) =>
    new OperationReader(path, item).read(),
  );
  const { Problem: _problem, ...schemas } = membersOf(membersOf(document, 'components'), 'schemas');
  return {
    openrpc: '1.4.1',
    info: own(document, 'info'),
    methods,
    components: { schemas },
  };
}

/** The object that a member is; an empty one in place of anything else. */
function membersOf(object: JsonObject, name: string): JsonObject {
  const value = own(object, name);
  return isObject(value) ? value : {};
}

interface Descriptor {
  readonly name: string;
  readonly description: unknown;
  readonly required: boolean;
  readonly schema: unknown;
}

class OperationReader {
  readonly #at: string;
  readonly #operation: JsonObject;
  readonly #name: string;

  /** @throws CodegenError for what is not the operation of a procedure */
  constructor(path: string, item: unknown) {
    this.#at = `paths[${JSON.stringify(path)}]`;
    const [operation, ...more] = isObject(item) ? Object.values(item) : [];
    const name = isObject(operation) ? stringOf(operation, 'summary') : undefined;
    if (
      !isObject(operation) ||
      more.length > 0 ||
      name === undefined ||
      !path.endsWith(`/${name}`)
    ) {
      throw new CodegenError(
        `${foreign}: ${this.#at} has not one operation, whose summary ends the path`,
      );
    }
    this.#operation = operation;
    this.#name = name;
  }

  read(): object {
    const operation = this.#operation;
    const body = this.#bodyParams();
    const params = [...this.#queryParams(), ...body.params];
    const [tag] = listOf(operation, 'tags');
    return {
      name: this.#name,
      description: own(operation, 'description'),
      ...(tag === 'default' ? {} : { tags: [{ name: tag }] }),
      paramStructure: 'by-name',
      // As in OpenRPC.
      params: [...params.filter(isRequired), ...params.filter((param) => !isRequired(param))],
      ...this.#result(),
      ...(body.rest === undefined ? {} : { 'x-additional-params': body.rest }),
      'x-effects': own(operation, 'x-effects'),
      'x-errors': own(operation, 'x-errors'),
    };
  }

  #queryParams(): Descriptor[] {
    return listOf(this.#operation, 'parameters').map((one, index) => {
      const name = isObject(one) ? stringOf(one, 'name') : undefined;
      if (!isObject(one) || name === undefined || own(one, 'in') !== 'query') {
        throw new CodegenError(`${foreign}: ${this.#at}.parameters[${index}] is not of a query`);
      }
      return descriptor(name, own(one, 'required') === true, own(one, 'schema'));
    });
  }

  #bodyParams(): { readonly params: readonly Descriptor[]; readonly rest?: unknown } {
    const body = membersOf(this.#operation, 'requestBody');
    const content = membersOf(body, 'content');
    const param = stringOf(body, 'x-param');
    if (param !== undefined) {
      const schema = bytesOf(content);
      return { params: [descriptor(param, own(body, 'required') === true, schema)] };
    }
    const schema = membersOf(membersOf(content, 'application/json'), 'schema');
    const required = listOf(schema, 'required');
    const params = Object.entries(membersOf(schema, 'properties')).map(([name, one]) =>
      descriptor(name, required.includes(name), one),
    );
    const rest = own(schema, 'additionalProperties');
    return { params, rest: rest === true ? {} : rest === false ? undefined : rest };
  }

  #result(): object {
    const responses = membersOf(this.#operation, 'responses');
    const result = (schema: unknown) => ({ name: 'result', schema });
    if (Object.hasOwn(responses, '204')) return { result: result({ type: 'null' }) };
    const content = membersOf(membersOf(responses, '200'), 'content');
    const [first = {}] = Object.values(content).filter(isObject);
    const schema = own(first, 'schema');
    if (own(first, 'x-stream') === true) {
      const collect = Object.hasOwn(content, 'application/json');
      const yields = collect && isObject(schema) ? (own(schema, 'items') ?? {}) : schema;
      return {
        // A stream whose result is not declared returns anything, or nothing.
        result: result(own(first, 'x-result') ?? {}),
        'x-stream': {
          yields,
          collect,
          ...subscriptionNames({ name: this.#name, stream: undefined }),
        },
      };
    }
    return {
      result: result(Object.hasOwn(content, 'application/json') ? schema : bytesOf(content)),
    };
  }
}

/** The bytes of a body as they are in JSON, where `Type.Base64()` made them a text. */
function bytesOf(content: JsonObject): object {
  const { maxLength } = membersOf(membersOf(content, 'application/octet-stream'), 'schema');
  const limit = typeof maxLength === 'number' ? { maxLength: Math.ceil(maxLength / 3) * 4 } : {};
  return { type: 'string', format: 'byte', contentEncoding: 'base64', ...limit };
}

function descriptor(name: string, required: boolean, schema: unknown): Descriptor {
  const description = isObject(schema) ? own(schema, 'description') : undefined;
  return { name, description, required, schema };
}

function isRequired({ required }: Descriptor): boolean {
  return required;
}

import { isObject, type JsonObject } from '../../client/codegen/text.ts';
import type {
  ErrorSchema,
  ParameterSchema,
  RegistrySchema,
  StreamSchema,
} from '../../core/procedures/document/introspect.ts';

/** Whether a document is one that this service answers to GET. An empty one counts: nothing tells its kind. */
export function isRegistry(document: unknown): document is RegistrySchema {
  return isObject(document) && Object.values(document).every(isProcedure);
}

function isProcedure(value: unknown): boolean {
  if (!isObject(value)) return false;
  const {
    name,
    parameters,
    return_schema: result,
    yield_schema: yields,
    stream,
    doc,
    errors,
  } = value;
  return (
    typeof name === 'string' &&
    Array.isArray(parameters) &&
    parameters.every(isParameter) &&
    isObject(result) &&
    (yields === undefined || isObject(yields)) &&
    (stream === undefined || isStream(stream)) &&
    (doc === null || typeof doc === 'string') &&
    (errors === undefined || (isObject(errors) && Object.values(errors).every(isError)))
  );
}

function isParameter(value: unknown): value is ParameterSchema {
  if (!isObject(value)) return false;
  const { name, schema_: schema, required } = value;
  return typeof name === 'string' && isObject(schema) && typeof required === 'boolean';
}

function isStream(value: unknown): value is StreamSchema {
  if (!isObject(value)) return false;
  const { notification, unsubscribe, collect } = value;
  return (
    typeof notification === 'string' &&
    (unsubscribe === undefined || typeof unsubscribe === 'string') &&
    typeof collect === 'boolean'
  );
}

function isError(value: unknown): value is ErrorSchema {
  if (!isObject(value)) return false;
  const { code, message, data }: JsonObject = value;
  return (
    Number.isSafeInteger(code) &&
    typeof message === 'string' &&
    (data === undefined || isObject(data))
  );
}

import { assertDepth, isObject, type JsonObject, listOf, own, stringOf } from './json.ts';
import { References } from './references.ts';
import { CodegenError, constantName, shown, UniqueNames } from './text.ts';

/** The content of an OpenRPC document, of any origin, that a contract is made of. */
export interface Api {
  /** Sorted by name: the order of registration does not belong to the contract. */
  readonly methods: readonly Method[];
  readonly references: References;
}

export interface Method {
  readonly name: string;
  /** The place of the method in the document, for messages. */
  readonly path: string;
  readonly doc: string | undefined;
  readonly deprecated: boolean;
  /** The params must be sent as an array. */
  readonly byPosition: boolean;
  /** The params may be sent as an array, in the order of `params`. */
  readonly takesPositions: boolean;
  readonly params: readonly Param[];
  /** The schema of params other than the named ones; undefined: there are none. */
  readonly rest: unknown;
  /** The schema of the result; undefined: not declared. */
  readonly result: unknown;
  /** What makes it a stream; undefined: it is none. */
  readonly stream: Stream | undefined;
  readonly errors: readonly DeclaredError[];
  /** What it does to the world, as the document says; undefined: nothing. */
  readonly effects: unknown;
}

export interface Stream {
  /** The schema of each value; undefined: not declared. */
  readonly yields: unknown;
  /** The method of the notifications that bring the values. */
  readonly notification: string | undefined;
  /** The method that ends a subscription, beside `rpc.unsubscribe`. */
  readonly unsubscribe: string | undefined;
  /** Whether a caller that can't read a stream gets an array of all values. */
  readonly collects: boolean;
}

export interface Param {
  readonly name: string;
  readonly required: boolean;
  readonly schema: unknown;
  readonly doc: string | undefined;
}

export interface DeclaredError {
  readonly name: string;
  readonly code: number;
  readonly message: string;
  /** The schema of the error's data; undefined: it has none. */
  readonly data: unknown;
}

/** @throws CodegenError */
export function readDocument(document: unknown): Api {
  if (!isOpenRpc(document)) {
    throw new CodegenError('this is no OpenRPC document: it needs the members openrpc and methods');
  }
  assertDepth(document);
  const references = new References(document);
  const names = new Set<string>();
  const methods = listOf(document, 'methods').map((one, index) => {
    const method = readMethod(one, `methods[${index}]`, references);
    if (names.has(method.name)) {
      throw new CodegenError(`methods[${index}]: the name ${shown(method.name)} is taken already`);
    }
    names.add(method.name);
    return method;
  });
  return { references, methods: methods.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

export function isOpenRpc(document: unknown): document is JsonObject {
  if (!isObject(document) || !Array.isArray(own(document, 'methods'))) return false;
  return typeof own(document, 'openrpc') === 'string';
}

function readMethod(one: unknown, path: string, references: References): Method {
  const { value } = references.follow(one, path);
  const name = isObject(value) ? stringOf(value, 'name') : undefined;
  if (!isObject(value) || name === undefined) {
    throw new CodegenError(`${path}: a method needs a name`);
  }
  const result = references.follow(own(value, 'result'), `${path}.result`).value;
  return {
    name,
    path,
    doc: docOf(value),
    deprecated: own(value, 'deprecated') === true,
    byPosition: own(value, 'paramStructure') === 'by-position',
    takesPositions: own(value, 'paramStructure') !== 'by-name',
    params: readParams(value, path, references),
    rest: own(value, 'x-additional-params'),
    result: isObject(result) ? own(result, 'schema') : undefined,
    stream: readStream(own(value, 'x-stream')),
    errors: readErrors(value, path, references),
    effects: own(value, 'x-effects'),
  };
}

function readStream(value: unknown): Stream | undefined {
  if (!isObject(value)) return undefined;
  return {
    yields: own(value, 'yields'),
    notification: stringOf(value, 'notification'),
    unsubscribe: stringOf(value, 'unsubscribe'),
    collects: own(value, 'collect') === true,
  };
}

function readParams(method: JsonObject, path: string, references: References): Param[] {
  const names = new Set<string>();
  return listOf(method, 'params').map((one, index) => {
    const at = `${path}.params[${index}]`;
    const { value } = references.follow(one, at);
    const name = isObject(value) ? stringOf(value, 'name') : undefined;
    if (!isObject(value) || name === undefined) {
      throw new CodegenError(`${at}: a param needs a name`);
    }
    if (names.has(name)) throw new CodegenError(`${at}: the name ${shown(name)} is taken already`);
    names.add(name);
    const schema = own(value, 'schema');
    return { name, required: own(value, 'required') === true, schema, doc: docOf(value) };
  });
}

function readErrors(method: JsonObject, path: string, references: References): DeclaredError[] {
  const named = own(method, 'x-errors');
  if (isObject(named)) {
    return Object.entries(named).flatMap(([name, error]) => {
      const code = isObject(error) ? own(error, 'code') : undefined;
      if (!isObject(error) || !Number.isSafeInteger(code)) return [];
      const message = stringOf(error, 'message') ?? '';
      return [{ name, code: code as number, message, data: own(error, 'data') }];
    });
  }
  const names = new UniqueNames([]);
  return listOf(method, 'errors').flatMap((one, index) => {
    const { value, name } = references.follow(one, `${path}.errors[${index}]`);
    const code = isObject(value) ? own(value, 'code') : undefined;
    if (!isObject(value) || !Number.isSafeInteger(code)) return [];
    const message = stringOf(value, 'message') ?? '';
    // An Error Object has no schema for its data, so the data may be anything.
    return [
      {
        name: names.take(name ?? constantName(message)),
        code: code as number,
        message,
        data: true,
      },
    ];
  });
}

function docOf(object: JsonObject): string | undefined {
  const [summary, description] = [stringOf(object, 'summary'), stringOf(object, 'description')];
  if (summary === undefined || description === undefined) return description ?? summary;
  return description.startsWith(summary) ? description : `${summary}\n\n${description}`;
}

import { RegistrationError } from '../../core/base/registration-error.ts';
import { shown } from '../../core/base/text.ts';
import { UniqueNames } from '../../core/base/unique-names.ts';
import { isObject } from '../../core/base/value-kinds.ts';
import { readJsonSchemas } from '../../core/schema/json-schema.ts';
import { anything, type ObjectNode, type SchemaNode } from '../../core/schema/model.ts';
import { listOf } from '../../core/schema/reading.ts';
import { placeName, References } from '../../core/schema/references.ts';

/** Thrown for a document that no contract can be made from. The message says in one line what is wrong, and where. */
export class CodegenError extends Error {
  override readonly name = 'CodegenError';
}

/** The content of an OpenRPC document, of any origin, that a contract is made of. */
export interface Api {
  /** Sorted by name: the order of registration does not belong to the contract. */
  readonly methods: readonly Method[];
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
  /** Params other than the named ones; undefined: there are none. */
  readonly rest: SchemaNode | undefined;
  /** undefined: not declared. */
  readonly result: SchemaNode | undefined;
  /** What makes it a stream; undefined: it is none. */
  readonly stream: Stream | undefined;
  readonly errors: readonly DeclaredError[];
  /** What it does to the world, as the document says; undefined: nothing. */
  readonly effects: unknown;
}

export interface Stream {
  /** What each value is; undefined: not declared. */
  readonly yields: SchemaNode | undefined;
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
  readonly node: SchemaNode;
  readonly doc: string | undefined;
}

export interface DeclaredError {
  readonly name: string;
  readonly code: number;
  readonly message: string;
  /** undefined: it has no data. */
  readonly data: SchemaNode | undefined;
}

/**
 * The params of a method as one object.
 *
 * @param nodeOf what stands for a param; by default its schema
 */
export function paramsOf(
  { params, rest }: Pick<Method, 'params' | 'rest'>,
  nodeOf: (param: Param) => SchemaNode = ({ node }) => node,
): ObjectNode {
  return {
    kind: 'object',
    notes: {},
    members: params.map((param) => ({
      name: param.name,
      node: nodeOf(param),
      isRequired: param.required,
    })),
    patterns: [],
    rest: rest ?? { kind: 'never', notes: {} },
  };
}

/** A JSON object as it was parsed. Nothing about its members has been checked. */
type JsonObject = Readonly<Record<string, unknown>>;

/** The object's own member of that name. Inherited ones, such as `constructor`, are not found. */
function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function stringOf(object: JsonObject, name: string): string | undefined {
  const value = own(object, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** @throws CodegenError */
export function readDocument(document: unknown): Api {
  if (!isOpenRpc(document)) {
    throw new CodegenError('this is no OpenRPC document: it needs the members openrpc and methods');
  }
  assertDepth(document);
  const references = new References(document);
  const found = readNamed(document, 'methods', 'method', '', references);
  // Two types of one name get their names in the order in which they are read.
  found.sort((a, b) => (a.name < b.name ? -1 : 1));
  const methods = withNodes(document, (read) =>
    found.map(({ name, value, path }) => readMethod(name, value, path, references, read)),
  );
  return { methods };
}

/** Reads a schema at its place in the document. undefined: there is none. */
type Read = (schema: unknown, path: string) => SchemaNode | undefined;

function withNodes(document: JsonObject, use: (read: Read) => readonly Method[]) {
  try {
    return readJsonSchemas({ strictness: 'document', bytes: true, document }, (read) =>
      use((schema, path) => (schema === undefined ? undefined : read(schema, path))),
    );
  } catch (error) {
    if (!(error instanceof RegistrationError)) throw error;
    throw new CodegenError(error.message, { cause: error });
  }
}

/** The objects in a list, each of which needs a name of its own. */
function readNamed(
  object: JsonObject,
  list: 'methods' | 'params',
  what: string,
  path: string,
  references: References,
): { readonly name: string; readonly value: JsonObject; readonly path: string }[] {
  const names = new Set<string>();
  return listOf<unknown>(own(object, list)).map((one, index) => {
    const at = `${path}${list}[${index}]`;
    const { value } = followed(one, at, references);
    const name = isObject(value) ? stringOf(value, 'name') : undefined;
    if (!isObject(value) || name === undefined) {
      throw new CodegenError(`${at}: a ${what} needs a name`);
    }
    if (names.has(name)) throw new CodegenError(`${at}: the name ${shown(name)} is taken already`);
    names.add(name);
    return { name, value, path: at };
  });
}

/** Most levels of a document. All code that reads a document recurses as deep as the document nests. */
const maxDepth = 200;

/**
 * Checks how deep a document nests, without recursion.
 *
 * @throws CodegenError for a document that nests deeper than `maxDepth`
 */
export function assertDepth(document: unknown): void {
  let level = [document];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) {
      throw new CodegenError(`the document nests deeper than ${maxDepth} levels`);
    }
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      for (const child of Object.values(value)) {
        if (typeof child === 'object' && child !== null) next.push(child);
      }
    }
    level = next;
  }
}

export function isOpenRpc(document: unknown): document is JsonObject {
  if (!isObject(document) || !Array.isArray(own(document, 'methods'))) return false;
  return typeof own(document, 'openrpc') === 'string';
}

function readMethod(
  name: string,
  value: JsonObject,
  path: string,
  references: References,
  read: Read,
): Method {
  const result = followed(own(value, 'result'), `${path}.result`, references).value;
  return {
    name,
    path,
    doc: docOf(value),
    deprecated: own(value, 'deprecated') === true,
    byPosition: own(value, 'paramStructure') === 'by-position',
    takesPositions: own(value, 'paramStructure') !== 'by-name',
    params: readNamed(value, 'params', 'param', `${path}.`, references).map((param) => {
      return {
        name: param.name,
        required: own(param.value, 'required') === true,
        node: read(own(param.value, 'schema'), param.path) ?? anything,
        doc: docOf(param.value),
      };
    }),
    rest: read(own(value, 'x-additional-params'), `${path}.x-additional-params`),
    result: read(isObject(result) ? own(result, 'schema') : undefined, `${path}.result`),
    stream: readStream(own(value, 'x-stream'), `${path}.x-stream`, read),
    errors: readErrors(value, path, references, read),
    effects: own(value, 'x-effects'),
  };
}

function readStream(value: unknown, path: string, read: Read): Stream | undefined {
  if (!isObject(value)) return undefined;
  return {
    yields: read(own(value, 'yields'), `${path}.yields`),
    notification: stringOf(value, 'notification'),
    unsubscribe: stringOf(value, 'unsubscribe'),
    collects: own(value, 'collect') === true,
  };
}

function readErrors(
  method: JsonObject,
  path: string,
  references: References,
  read: Read,
): DeclaredError[] {
  const declared = own(method, 'x-errors');
  if (isObject(declared)) {
    return Object.entries(declared).flatMap(([name, error]) => {
      const known = readError(error);
      const schema = isObject(error) ? own(error, 'data') : undefined;
      const data = read(schema, `${path}.x-errors`);
      return known === undefined ? [] : [{ name, ...known, data }];
    });
  }
  const names = new UniqueNames();
  return listOf<unknown>(own(method, 'errors')).flatMap((one, index) => {
    const { value, name } = followed(one, `${path}.errors[${index}]`, references);
    const known = readError(value);
    if (known === undefined) return [];
    const unique = names.take(name ?? constantName(known.message));
    // An Error Object has no schema for its data, so the data may be anything.
    return [{ name: unique, ...known, data: anything }];
  });
}

/** `Pet not found` to `PET_NOT_FOUND`. */
function constantName(text: string): string {
  const words = text.slice(0, 80).match(/[A-Za-z0-9]+/g) ?? [];
  return words.length === 0 ? 'ERROR' : words.join('_').toUpperCase();
}

function readError(
  error: unknown,
): { readonly code: number; readonly message: string } | undefined {
  const code = isObject(error) ? own(error, 'code') : undefined;
  if (!isObject(error) || !Number.isSafeInteger(code)) return undefined;
  return { code: code as number, message: stringOf(error, 'message') ?? '' };
}

function docOf(object: JsonObject): string | undefined {
  const [summary, description] = [stringOf(object, 'summary'), stringOf(object, 'description')];
  if (summary === undefined || description === undefined) return description ?? summary;
  return description.startsWith(summary) ? description : `${summary}\n\n${description}`;
}

/** Longest chain of references that lead to references. A longer one is a circle. */
const maxChainLength = 100;

/**
 * The value at a place where OpenRPC also allows a reference to it.
 *
 * @throws CodegenError for a reference that leads out of the document, or nowhere
 */
function followed(
  value: unknown,
  path: string,
  references: References,
): { readonly value: unknown; readonly name?: string | undefined } {
  let current = value;
  let name: string | undefined;
  for (let steps = 0; steps < maxChainLength; steps += 1) {
    const $ref = isObject(current) ? own(current, '$ref') : undefined;
    if (typeof $ref !== 'string') return { value: current, name };
    const target = references.targetOf($ref, { json: undefined, where: path });
    if (target === undefined) {
      throw new CodegenError(
        $ref.startsWith('#')
          ? `the $ref ${shown($ref)} at ${path} leads nowhere in the document`
          : `the $ref ${shown($ref)} at ${path} leads out of the document: only references within it (#/...) are followed`,
      );
    }
    current = target.json;
    name = placeName($ref);
  }
  throw new CodegenError(`the $ref at ${path} leads to itself`);
}

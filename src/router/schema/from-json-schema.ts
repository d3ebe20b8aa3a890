import { FormatRegistry, Kind, type TSchema } from '@sinclair/typebox';
import { isObject } from '../../jsonrpc/envelope.ts';
import { RegistrationError } from '../registration-error.ts';
import { registerFormats } from './formats.ts';
import { refId } from './schema-tree.ts';

type Json = Readonly<Record<string, unknown>>;

/** Most parts of a schema, and most levels, as for schemas of TypeBox. */
const maxParts = 10_000;
const maxDepth = 64;

/**
 * A JSON Schema with TypeBox's kinds, so that the same code checks, explains, projects and documents it. A keyword that
 * no kind has stays in the document and is not checked: a library's own validation has the last word.
 *
 * @throws RegistrationError
 */
export function fromJsonSchema(json: unknown, where: string): TSchema {
  registerFormats();
  if (!isObject(json)) throw new RegistrationError(`${where}: its JSON Schema is no object`);
  return new Converter(json, where).convert(json, '#', 0);
}

class Converter {
  readonly #root: Json;
  readonly #where: string;
  /** The places that references lead to and that are being written out, with their names once one is needed. */
  readonly #open = new Map<string, { id: string | undefined }>();
  #parts = 0;

  constructor(root: Json, where: string) {
    this.#root = root;
    this.#where = where;
  }

  convert(json: unknown, pointer: string | undefined, depth: number): TSchema {
    this.#parts += 1;
    if (this.#parts > maxParts || depth > maxDepth) {
      throw new RegistrationError(
        `${this.#where}: its JSON Schema has more than ${maxParts} parts or ${maxDepth} levels, written out`,
      );
    }
    if (json === false) return kind('Never', { not: {} });
    if (!isObject(json)) return kind('Unknown', {});
    if (typeof json.$ref === 'string') return this.#reference(json.$ref, depth);
    if (pointer === undefined) return this.#body(json, depth);
    const open = { id: undefined as string | undefined };
    this.#open.set(pointer, open);
    const body = this.#body(json, depth);
    this.#open.delete(pointer);
    return open.id === undefined ? body : ({ ...body, $id: open.id } as TSchema);
  }

  /** Written out where the reference stands, except within itself. */
  #reference($ref: string, depth: number): TSchema {
    const open = this.#open.get($ref);
    if (open !== undefined) {
      // T and a number, as TypeBox names types without a name: the documents number them anew.
      open.id ??= $ref === '#' ? 'T0' : refId($ref);
      return kind('Ref', { $ref: open.id });
    }
    const target = this.#targetOf($ref);
    if (target === undefined)
      throw new RegistrationError(
        `${this.#where}: its JSON Schema refers to ${JSON.stringify($ref)}, which it does not have`,
      );
    return this.convert(target, $ref, depth + 1);
  }

  #targetOf($ref: string): unknown {
    if (!$ref.startsWith('#')) return undefined;
    let target: unknown = this.#root;
    for (const segment of $ref.split('/').slice(1)) {
      const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name))
        return undefined;
      target = (target as Json)[name];
    }
    return target;
  }

  #body(json: Json, depth: number): TSchema {
    // Definitions are written out where they are used.
    const { $schema: _schema, $defs: _defs, definitions: _definitions, $id: _id, ...rest } = json;
    const inner = (part: unknown): TSchema => this.convert(part, undefined, depth + 1);
    const { type, anyOf, oneOf, allOf, enum: values, ...others } = rest;
    if ('const' in rest) return literal(rest.const, others);
    if (Array.isArray(values))
      return union(
        others,
        values.map((value) => literal(value, {})),
      );
    const parts: TSchema[] = [];
    for (const variants of [anyOf, oneOf])
      if (Array.isArray(variants))
        parts.push(union(parts.length === 0 ? others : {}, variants.map(inner)));
    if (Array.isArray(allOf)) parts.push(...allOf.map(inner));
    if (Array.isArray(type))
      parts.push(
        union(
          others,
          type.map((one: unknown) => inner({ ...others, type: one })),
        ),
      );
    else if (type !== undefined || parts.length === 0) parts.unshift(typed(type, others, inner));
    const [only] = parts;
    return only !== undefined && parts.length === 1
      ? only
      : kind('Intersect', { ...pick(others), allOf: parts });
  }
}

function union(json: Json, anyOf: readonly TSchema[]): TSchema {
  return kind('Union', { ...pick(json), anyOf });
}

/** What describes a schema, whatever its type is. */
function pick(json: Json): Json {
  const { title, description, default: fallback, examples, deprecated } = json;
  const told = { title, description, default: fallback, examples, deprecated };
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined));
}

/** Keywords that hold schemas, and that no kind below has. */
const unread = ['contains', 'not', 'unevaluatedProperties', 'if', 'then', 'else'];

function typed(type: unknown, json: Json, inner: (part: unknown) => TSchema): TSchema {
  const own = { ...json, type } as Record<string, unknown>;
  for (const keyword of unread) delete own[keyword];
  if (type === 'array') return items(own, inner);
  if (type === 'object') return members(own, inner);
  for (const keyword of ['items', 'properties', 'additionalProperties', 'patternProperties'])
    delete own[keyword];
  const name = typeof type === 'string' ? scalarKinds[type] : undefined;
  if (name === undefined) {
    delete own.type;
    return kind('Unknown', own);
  }
  return name === 'String' ? text(own) : kind(name, own);
}

const scalarKinds: Readonly<Record<string, string>> = {
  string: 'String',
  number: 'Number',
  integer: 'Integer',
  boolean: 'Boolean',
  null: 'Null',
};

/** A format says what the pattern beside it says, where it is known here. Others are left out: only their library knows them. */
function text(json: Json): TSchema {
  const { format, pattern, ...others } = json;
  if (typeof format === 'string' && FormatRegistry.Has(format))
    return kind('String', { ...others, format });
  if (typeof pattern !== 'string')
    return kind('String', pattern === undefined ? others : { ...others, pattern });
  // What zod gives for endsWith begins so. It says nothing, and a search for it takes time with the square of the length.
  return kind('String', { ...others, pattern: pattern.replace(/^\.\*/, '') });
}

function items(json: Json, inner: (part: unknown) => TSchema): TSchema {
  const { prefixItems, items: given, additionalItems, ...others } = json;
  const tuple = prefixItems ?? given;
  if (!Array.isArray(tuple)) return kind('Array', { ...others, items: inner(given ?? {}) });
  const rest = prefixItems === undefined ? additionalItems : given;
  if (rest !== undefined && rest !== false) return kind('Array', { ...others, items: inner({}) });
  const { length } = tuple;
  return kind('Tuple', {
    ...others,
    items: tuple.map(inner),
    additionalItems: false,
    minItems: length,
    maxItems: length,
  });
}

function members(json: Json, inner: (part: unknown) => TSchema): TSchema {
  const {
    properties,
    additionalProperties,
    patternProperties: _patterns,
    propertyNames: _names,
    ...others
  } = json;
  const entries = isObject(properties) ? Object.entries(properties) : [];
  const named = Object.fromEntries(entries.map(([name, member]) => [name, inner(member)]));
  const rest = json.patternProperties === undefined ? additionalProperties : true;
  return kind('Object', {
    ...others,
    properties: named,
    ...(rest === undefined ? {} : { additionalProperties: isObject(rest) ? inner(rest) : rest }),
  });
}

function literal(value: unknown, others: Json): TSchema {
  if (value === null) return kind('Null', { ...pick(others), type: 'null' });
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return kind('Literal', { ...pick(others), const: value, type: typeof value });
  return kind('Unknown', pick(others));
}

function kind(name: string, json: Json): TSchema {
  return { ...json, [Kind]: name } as unknown as TSchema;
}

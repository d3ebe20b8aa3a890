import { isDeepStrictEqual } from 'node:util';
import {
  Kind,
  OptionalKind,
  PatternStringExact,
  ReadonlyKind,
  TransformKind,
  type TSchema,
  TypeRegistry,
} from '@sinclair/typebox';
import { registerFormats } from './formats.ts';
import { hasDefault, type Member, type NamePattern, type SchemaNode, unionOf } from './model.ts';
import { expressionOf, unicodeFault } from './pattern-syntax.ts';
import { escapePointer } from './pointer.ts';
import {
  conjunction,
  type Draft,
  type Given,
  maxDepth,
  maxParts,
  Names,
  narrowed,
  nodeOf,
  refuseAt,
} from './reading.ts';
import { bytesKind } from './type.ts';

/** Kinds that TypeBox can check and JSON cannot carry, with what to write instead. */
const foreignKinds = new Map([
  ['Date', "Type.String({ format: 'date-time' })"],
  ['BigInt', "Type.String({ pattern: '^-?[0-9]+$' })"],
  ['Uint8Array', 'Type.Base64()'],
  ['RegExp', 'Type.String({ pattern })'],
  ...['AsyncIterator', 'Constructor', 'Function', 'Iterator', 'Promise', 'Symbol', 'Argument'].map(
    (kind) => [kind, 'a type that JSON has'] as const,
  ),
]);

/** How each kind of TypeBox is read. Its limits are read by `nodeOf`. */
const readers: Readonly<Record<string, (given: Given, reader: Reader, at: Place) => Draft>> = {
  Any: () => ({ kind: 'unknown' }),
  Unknown: () => ({ kind: 'unknown' }),
  Never: () => ({ kind: 'never', reads: ['not'] }),
  Undefined: () => ({ kind: 'undefined', reads: ['type'] }),
  Void: () => ({ kind: 'void', reads: ['type'] }),
  Null: () => ({ kind: 'null', reads: ['type'] }),
  Boolean: () => ({ kind: 'boolean', reads: ['type'] }),
  Integer: () => ({ kind: 'integer', reads: ['type'] }),
  Number: () => ({ kind: 'number', reads: ['type'] }),
  String: () => ({ kind: 'string', reads: ['type'] }),
  TemplateLiteral: () => ({ kind: 'string', reads: ['type'] }),
  [bytesKind]: ({ maxBytes }) => ({
    kind: 'bytes',
    maxBytes,
    reads: ['type', 'format', 'contentEncoding', 'maxBytes', 'maxLength'],
  }),
  Literal: (given) => ({ kind: 'literal', value: given.const, reads: ['type', 'const'] }),
  Array: (given, reader, at) => ({
    kind: 'array',
    prefix: reader.list(given.prefixItems, at, 'key'),
    rest: reader.part(given.items, at.in('/*')),
    contains: reader.optional(given.contains, at.in('/*')),
    reads: ['type', 'items', 'prefixItems', 'contains'],
  }),
  Tuple: (given, reader, at) => ({
    kind: 'array',
    prefix: reader.list(given.items, at, 'key'),
    rest: { kind: 'never', notes: {} },
    reads: ['type', 'items', 'additionalItems'],
  }),
  Object: (given, reader, at) => reader.object(given, at),
  Record: (given, reader, at) => reader.object({ properties: {}, ...given }, at),
  Union: (given, reader, at) => ({
    kind: 'union',
    variants: reader.list(given.anyOf, at, ''),
    reads: ['anyOf'],
  }),
  Intersect: (given, reader, at) => ({
    kind: 'intersection',
    parts: reader.list(given.allOf, at, ''),
    unevaluated: reader.rest(given.unevaluatedProperties, at),
    reads: ['type', 'allOf', 'unevaluatedProperties'],
  }),
  Not: (given, reader, at) => ({
    kind: 'not',
    node: reader.part(given.not, at.inNot()),
    reads: ['not'],
  }),
  Ref: (given, reader) => reader.ref(given.$ref),
  This: (given, reader) => reader.ref(given.$ref),
  Import: (given, reader, at) => {
    // The type that is imported stands among them.
    for (const definition of Object.values((given.$defs ?? {}) as object))
      reader.part(definition, at);
    return { ...reader.ref(given.$ref), reads: ['$ref', '$defs'] };
  },
};

class Place {
  readonly path: string;
  readonly depth: number;
  /** Within `Not`: nothing is filled there, so that a default makes no member optional. */
  readonly isInNot: boolean;

  constructor(path: string, depth: number, isInNot: boolean) {
    this.path = path;
    this.depth = depth;
    this.isInNot = isInNot;
  }

  in(step: string): Place {
    return new Place(this.path + step, this.depth + 1, this.isInNot);
  }

  inNot(): Place {
    return new Place(this.path, this.depth + 1, true);
  }
}

/**
 * Reads a schema of TypeBox.
 *
 * @param fills whether defaults are filled in, as in params: a member with a default is then not required
 * @throws RegistrationError for what JSON can't carry, or what would be published and not checked
 */
export function readTypeBox(schema: TSchema, where: string, fills: boolean): SchemaNode {
  registerFormats();
  const reader = new Reader(where, fills);
  const root = reader.part(schema, top);
  reader.link(root);
  return root;
}

const top = new Place('', 0, false);

class Reader {
  readonly #names = new Names();
  readonly #where: string;
  readonly #fills: boolean;
  /** The schema of each `$id`. */
  readonly #schemas = new Map<string, TSchema>();
  #parts = 0;

  constructor(where: string, fills: boolean) {
    this.#where = where;
    this.#fills = fills;
  }

  refuse({ path }: Place, fault: string): never {
    refuseAt(this.#where, path, fault);
  }

  link(root: SchemaNode): void {
    this.#names.link([root], (fault) => this.refuse(top, fault));
  }

  part(schema: unknown, at: Place): SchemaNode {
    this.#parts += 1;
    if (this.#parts > maxParts) this.refuse(top, tooLarge);
    if (at.depth > maxDepth) this.refuse(at, tooDeep);
    const kind = kindOf(schema);
    const fault = kindFault(schema, kind);
    if (kind === undefined || fault !== undefined) this.refuse(at, fault ?? noSchema);
    const given = schema as TSchema;
    const { $id } = given;
    if (typeof $id !== 'string') return this.#node(given, kind, at);
    const other = this.#schemas.get($id);
    if (other !== undefined) {
      // One check stands for one $id: both would get that of the first.
      if (other !== given && !isSameType(other, given))
        this.refuse(at, `two different schemas have the $id ${JSON.stringify($id)}; rename one`);
      return { kind: 'ref', to: this.#names.shown($id), notes: {} } as SchemaNode;
    }
    this.#schemas.set($id, given);
    this.#names.shown($id);
    return this.#names.add($id, this.#node(given, kind, at));
  }

  optional(schema: unknown, at: Place): SchemaNode | undefined {
    return schema === undefined ? undefined : this.part(schema, at);
  }

  /** @param step `key`: each describes the item at its index; '': the value itself */
  list(schemas: unknown, at: Place, step: 'key' | ''): SchemaNode[] {
    const given = Array.isArray(schemas) ? (schemas as unknown[]) : [];
    return given.map((one, index) => this.part(one, at.in(step === 'key' ? `/${index}` : '')));
  }

  ref($ref: unknown): Draft {
    return { kind: 'ref', to: this.#names.shown(String($ref)), reads: ['$ref'] };
  }

  /** What `additionalProperties` and its like say of the members that nothing else declares. */
  rest(given: unknown, at: Place): SchemaNode | undefined {
    if (given === undefined) return undefined;
    if (typeof given === 'boolean') return { kind: given ? 'unknown' : 'never', notes: {} };
    return this.part(given, at.in('/*'));
  }

  object(given: Given, at: Place): Draft {
    const { properties, patternProperties, dependentRequired } = given;
    // An intersection of one object is that object in TypeBox, with what was said of the whole.
    const { additionalProperties = given.unevaluatedProperties } = given;
    if (typeof properties !== 'object' || properties === null)
      this.refuse(at, 'an object schema needs properties; write Type.Object({ ... })');
    const required = new Set(Array.isArray(given.required) ? (given.required as unknown[]) : []);
    const members = Object.entries(properties).map(([name, schema]): Member => {
      const node = this.part(schema, at.in(`/${escapePointer(name)}`));
      const isFilled = this.#fills && !at.isInNot && hasDefault(node);
      return { name, node, isRequired: required.delete(name) && !isFilled };
    });
    let rest = this.rest(additionalProperties, at);
    // Params of unknown names are refused unless the schema says otherwise.
    if (this.#fills && at === top) rest ??= { kind: 'never', notes: {} };
    const patterns: NamePattern[] = [];
    for (const [pattern, schema] of Object.entries((patternProperties ?? {}) as object)) {
      const node = this.part(schema, at.in('/*'));
      // Type.Record(Type.String(), ...) means every name, and the pattern would leave out those with a line break.
      if (pattern === PatternStringExact && members.length === 0) rest = node;
      else {
        const names = expressionOf(pattern);
        if (names === undefined) this.refuse(at, `patternProperties: ${unicodeFault(pattern)}`);
        patterns.push({ pattern, names, node });
      }
    }
    for (const undeclared of required) {
      const name = String(undeclared);
      const isMatched = patterns.some(({ names }) => names.test(name));
      if (rest?.kind === 'never' && !isMatched)
        this.refuse(
          at,
          `required names ${JSON.stringify(name)}, which properties does not declare; declare it`,
        );
      const node = isMatched ? undefined : this.rest(additionalProperties, at);
      members.push({ name, node: node ?? { kind: 'unknown', notes: {} }, isRequired: true });
    }
    return {
      kind: 'object',
      members,
      patterns,
      rest,
      propertyNames: this.optional(given.propertyNames, at),
      dependentRequired,
      reads: [
        'type',
        'properties',
        'required',
        'patternProperties',
        'additionalProperties',
        'unevaluatedProperties',
        'propertyNames',
        'dependentRequired',
      ],
    };
  }

  #node(given: TSchema, kind: string, at: Place): SchemaNode {
    const own = given as Given;
    const read = Object.hasOwn(readers, kind) ? readers[kind] : undefined;
    if (read === undefined) {
      const check = (value: unknown): boolean => TypeRegistry.Get(kind)?.(given, value) ?? false;
      return { kind: 'custom', notes: { ...own }, check };
    }
    const draft = read(own, this, at);
    const refuse = (fault: string): never => this.refuse(at, fault);
    const node = narrowed(own, nodeOf(own, draft, refuse), refuse);
    return conjunction(node, this.#beside(own, draft, at));
  }

  /** Schemas that stand beside the keywords of a kind, and that a value has to match too. */
  #beside(given: Given, { reads = [] }: Draft, at: Place): SchemaNode[] {
    const isMore = (keyword: string): boolean =>
      given[keyword] !== undefined && !reads.includes(keyword);
    const parts = isMore('allOf') ? this.list(given.allOf, at, '') : [];
    if (isMore('anyOf')) parts.push(unionOf(this.list(given.anyOf, at, '')));
    if (isMore('not'))
      parts.push({ kind: 'not', notes: {}, node: this.part(given.not, at.inNot()) });
    return parts;
  }
}

const noSchema = 'not a TypeBox schema; build it with Type, imported from tandem-rpc';

const tooDeep = `schemas nest at most ${maxDepth} levels; use Type.Recursive for a type that holds itself`;

const tooLarge = `a schema has at most ${maxParts} parts, written out; declare types that it uses again once, with Type.Module`;

function kindFault(schema: unknown, kind: string | undefined): string | undefined {
  if (kind === undefined) return noSchema;
  const substitute = foreignKinds.get(kind);
  if (substitute !== undefined) return `JSON has no ${kind}; use ${substitute}`;
  if (!Object.hasOwn(readers, kind) && !TypeRegistry.Has(kind)) {
    return `the kind ${JSON.stringify(kind)} is not in TypeBox's TypeRegistry; set its check there first`;
  }
  if (TransformKind in (schema as object)) {
    return 'Type.Transform is not applied to calls; declare the JSON type and convert it in the handler';
  }
  return undefined;
}

/** The kind of a schema of TypeBox. The symbol is global, so other copies of TypeBox use the same. */
export function kindOf(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  const kind: unknown = (schema as TSchema)[Kind];
  return typeof kind === 'string' ? kind : undefined;
}

/** Whether two schemas are one type. The marks of Type.Optional and Type.Readonly describe the member, not its type. */
function isSameType(a: TSchema, b: TSchema): boolean {
  const plain = { [OptionalKind]: undefined, [ReadonlyKind]: undefined };
  return isDeepStrictEqual({ ...a, ...plain }, { ...b, ...plain });
}

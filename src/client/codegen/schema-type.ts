import { UniqueNames } from '../../core/base/unique-names.ts';
import type { Located, References, Target } from './document.ts';
import {
  block,
  commentLine,
  docComment,
  enclosed,
  indented,
  intersection,
  isBytes,
  isObject,
  type JsonObject,
  listOf,
  type Member,
  member,
  memberLines,
  memberName,
  objectText,
  own,
  type Piece,
  quoted,
  schemaDoc,
  stringOf,
  taken,
  tight,
  typeName,
  union,
  unknownPiece,
} from './text.ts';

/** A schema's place in the text that is being written. */
interface Place extends Located {
  readonly eager: boolean;
  /** A doc comment above the type names its format. Elsewhere a comment beside the type does. */
  readonly documented: boolean;
  /** Members that schemas around this one require of the same value. */
  readonly required?: Names;
}

/** Writes JSON Schemas (draft 4 to 2020-12) as TypeScript types, as far as TypeScript can express them. */
export class SchemaTypes {
  readonly #names: NamedTypes;
  readonly #inline: boolean;
  readonly #isResult: boolean;

  /**
   * @param options inline: write no doc comments and formats, for text on one line. isResult: the values come from the
   *   client, so that the type of bytes may be narrower than that of bytes in params
   */
  constructor(
    names: NamedTypes,
    {
      inline = false,
      isResult = false,
    }: { readonly inline?: boolean; readonly isResult?: boolean } = {},
  ) {
    this.#names = names;
    this.#inline = inline;
    this.#isResult = isResult;
  }

  /** The type of a schema that stands under a doc comment: of a member, or of a named type. */
  typeOf(at: Located, eager = false): string {
    return this.#write({ ...at, eager, documented: true }).text;
  }

  /** The members of a schema that is only an object with named members; undefined: it is anything else. */
  membersOf(at: Located): Member[] | undefined {
    const { schema } = at;
    if (!isObject(schema) || !isObject(own(schema, 'properties'))) return undefined;
    const more = ['$ref', 'const', 'enum', 'anyOf', 'oneOf', 'allOf', 'not', 'nullable'];
    const type = own(schema, 'type') ?? 'object';
    if (type !== 'object' || more.some((key) => Object.hasOwn(schema, key))) return undefined;
    const members = this.#members(schema, at);
    return members.length === 0 ? undefined : members;
  }

  #write(at: Place): Piece {
    const { schema } = at;
    if (schema === false) return tight('never');
    if (!isObject(schema)) return unknownPiece;
    const piece = this.#writeBody(schema, at);
    return own(schema, 'nullable') === true ? union([piece, tight('null')]) : piece;
  }

  #writeBody(schema: JsonObject, at: Place): Piece {
    if (Object.hasOwn(schema, 'const')) return tight(literal(schema.const));
    const values = own(schema, 'enum');
    if (Array.isArray(values)) return union(values.map((value) => tight(literal(value))));
    const not = own(schema, 'not');
    if (not === true || (isObject(not) && Object.keys(not).length === 0)) return tight('never');

    const $ref = own(schema, '$ref');
    const reference: Piece[] = [];
    if (typeof $ref === 'string') {
      const piece = tight(this.#names.nameFor($ref, at, at.eager, this.#isResult));
      // Beside a $ref only keywords with a shape count, whatever the draft says. Annotations and a type add nothing.
      if (!shapes.some((key) => Object.hasOwn(schema, key))) return piece;
      reference.push(piece);
    }
    const required = requiredOf(schema);
    const inner = { ...at, required: either(required, at.required) };
    const parts = [
      ...reference,
      ...['anyOf', 'oneOf']
        .filter((key) => Array.isArray(own(schema, key)))
        .map((key) => union(this.#each(schema, key, inner))),
      ...this.#each(schema, 'allOf', inner),
      ...demandedOfReferences(schema, required),
    ];
    const known = parts.filter(({ text }) => text !== 'unknown');
    const precise = known.filter(({ text }) => text !== anyObject);
    const some = precise.length > 0 ? precise : known;
    const base = this.#writeTypes(schema, inner);
    // "type: object" beside alternatives that are objects adds nothing.
    const isBare = typeof own(schema, 'type') === 'string' && !hasShape(schema);
    if (some.length > 0 && isBare) return intersection(some);
    return intersection(reference.length > 0 ? [...some, base] : [base, ...some]);
  }

  #each(schema: JsonObject, key: string, at: Place): Piece[] {
    return listOf(schema, key).map((one, index) =>
      this.#write({
        ...at,
        schema: one,
        path: `${at.path}.${key}[${index}]`,
        documented: this.#inline,
      }),
    );
  }

  #writeTypes(schema: JsonObject, at: Place): Piece {
    const type = own(schema, 'type') ?? shapeOf(schema);
    if (!Array.isArray(type)) return this.#writeType(type, schema, at);
    // Each type once: a type that is listed twice would double the text at each level of nesting.
    return union([...new Set(type)].map((one) => this.#writeType(one, schema, at)));
  }

  #writeType(type: unknown, schema: JsonObject, at: Place): Piece {
    switch (type) {
      case 'string':
        if (!isBytes(schema)) return tight(withFormat(type, schema, at));
        return tight(this.#isResult ? this.#names.bytesOfResult() : 'Uint8Array');
      case 'number':
      case 'boolean':
      case 'null':
        return tight(withFormat(type, schema, at));
      case 'integer':
        return tight(withFormat('number', schema, at));
      case 'array':
        return tight(this.#arrayText(schema, at));
      case 'object':
        return tight(this.#objectText(schema, at));
      default:
        return unknownPiece;
    }
  }

  #inner(schema: unknown, at: Located, step: string): Piece {
    const { root, path } = at;
    const documented = this.#inline;
    return this.#write({ schema, root, path: path + step, eager: false, documented });
  }

  #arrayText(schema: JsonObject, at: Place): string {
    const items = own(schema, 'items');
    const prefix = own(schema, 'prefixItems');
    if (Array.isArray(prefix)) return this.#tupleText(prefix, items, schema, at);
    if (Array.isArray(items)) {
      return this.#tupleText(items, own(schema, 'additionalItems'), schema, at);
    }
    if (items === undefined && own(schema, 'maxItems') === 0) return '[]';
    return `${enclosed(this.#inner(items, at, '.items'))}[]`;
  }

  #tupleText(items: readonly unknown[], rest: unknown, schema: JsonObject, at: Place): string {
    const minItems = own(schema, 'minItems');
    const required = typeof minItems === 'number' ? minItems : items.length;
    const texts = items.map((item, index) => {
      const piece = this.#inner(item, at, `.items[${index}]`);
      return index < required ? piece.text.trimStart() : `${enclosed(piece)}?`;
    });
    if (rest === true || isObject(rest)) {
      texts.push(`...${enclosed(this.#inner(rest, at, '.additionalItems'))}[]`);
    }
    return `[${texts.join(', ')}]`;
  }

  #objectText(schema: JsonObject, at: Place): string {
    const members = this.#members(schema, at, at.required);
    if (members.length > 0) return objectText(members);
    return own(schema, 'additionalProperties') === false ? 'Record<string, never>' : anyObject;
  }

  #members(
    schema: JsonObject,
    at: Located,
    required: Names = new Set(listOf(schema, 'required')),
  ): Member[] {
    const properties = own(schema, 'properties');
    const members: Member[] = Object.entries(isObject(properties) ? properties : {}).map(
      ([name, one]) => this.member(name, one, required.has(name), at),
    );
    const rest = this.#rest(schema, at);
    return rest.length === 0 ? members : [...members, indexMember(members, rest)];
  }

  /** A named member with its doc comment. */
  member(name: string, schema: unknown, required: boolean, at: Located, doc?: string): Member {
    const path = `${at.path}.${memberName(name)}`;
    const type = this.typeOf({ schema, root: at.root, path });
    const lines = this.#inline ? [] : schemaDoc(schema, doc);
    return { name: memberName(name), optional: !required, type, doc: lines };
  }

  /** The types of the members that the schema does not name. */
  #rest(schema: JsonObject, at: Located): Piece[] {
    const patterns = own(schema, 'patternProperties');
    const rest = Object.values(isObject(patterns) ? patterns : {}).map((one) =>
      this.#inner(one, at, '.patternProperties'),
    );
    const additional = own(schema, 'additionalProperties');
    if (additional === true && isObject(own(schema, 'properties'))) rest.push(unknownPiece);
    if (isObject(additional)) rest.push(this.#inner(additional, at, '.additionalProperties'));
    return rest;
  }
}

/** Most characters of the named members' types that an index signature repeats. */
const longestRepeated = 400;

/**
 * The index signature of an object: the member for all other names. TypeScript demands that its type covers the named
 * members too. If their types are long, it is `unknown`: nobody would read them twice, and each level of nesting would
 * double them.
 */
export function indexMember(members: readonly Member[], rest: readonly Piece[]): Member {
  const length = members.reduce((sum, { type }) => sum + type.length, 0);
  if (length > longestRepeated) {
    return member('[name: string]', 'unknown');
  }
  const named = members.flatMap(({ type, optional }) => [
    tight(type.startsWith('\n') ? `(${type}\n)` : type),
    ...(optional ? [tight('undefined')] : []),
  ]);
  return member('[name: string]', union([...rest, ...named]).text);
}

const anyObject = 'Record<string, unknown>';

/** Keywords that count beside a `$ref`. */
const shapes = [
  'properties',
  'patternProperties',
  'required',
  'allOf',
  'anyOf',
  'oneOf',
  'const',
  'enum',
];

function hasShape(schema: JsonObject): boolean {
  return shapeOf(schema) !== undefined || stringOf(schema, 'format') !== undefined;
}

/** The type of a schema without `type`, by its other keywords. */
function shapeOf(schema: JsonObject): 'object' | 'array' | undefined {
  const object = ['properties', 'additionalProperties', 'patternProperties'];
  if (object.some((key) => Object.hasOwn(schema, key))) return 'object';
  return ['items', 'prefixItems'].some((key) => Object.hasOwn(schema, key)) ? 'array' : undefined;
}

function withFormat(type: string, schema: JsonObject, { documented }: Place): string {
  const format = stringOf(schema, 'format');
  if (documented || format === undefined) return type;
  return `${type} /* ${commentLine(format).replace(/\s+/g, ' ').slice(0, 80)} */`;
}

function literal(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'number';
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (!isObject(value)) return 'unknown';
  const members = Object.entries(value).map(
    ([name, one]) => `${memberName(name)}: ${literal(one)}`,
  );
  return members.length === 0 ? 'Record<string, never>' : `{ ${members.join('; ')} }`;
}

/** The names of members that a value must have. */
export interface Names {
  has(name: unknown): boolean;
}

/** The union of two sets, without a copy of either: a schema with many required members may have many alternatives. */
function either(some: ReadonlySet<unknown>, others: Names | undefined): Names {
  if (others === undefined) return some;
  if (some.size === 0) return others;
  return { has: (name) => some.has(name) || others.has(name) };
}

/** The names in `required` of a schema and of the parts of its allOf, all of which describe the same value. */
function requiredOf(schema: JsonObject): ReadonlySet<unknown> {
  return new Set(partsOf(schema).flatMap((one) => listOf(one, 'required')));
}

/** An object with the required members that no part of the schema describes: of parts that are references, the types have them. */
function demandedOfReferences(schema: JsonObject, required: ReadonlySet<unknown>): Piece[] {
  const parts = partsOf(schema);
  if (required.size === 0 || !parts.some((one) => Object.hasOwn(one, '$ref'))) return [];
  const described = new Set(
    parts.flatMap((one) => {
      const properties = own(one, 'properties');
      return isObject(properties) ? Object.keys(properties) : [];
    }),
  );
  const members = [...required].flatMap((name) =>
    typeof name !== 'string' || described.has(name) ? [] : [member(memberName(name), 'unknown')],
  );
  return members.length === 0 ? [] : [tight(objectText(members))];
}

function partsOf(schema: JsonObject): JsonObject[] {
  return [schema, ...listOf(schema, 'allOf').filter(isObject)];
}

interface Named {
  readonly name: string;
  readonly target: Target;
  /** Keys of the types that TypeScript must resolve before this one: it refers to them outside of members and items. */
  readonly eager: Set<string>;
  /** Whether it is the type of results alone. In params any bytes are taken. */
  isResult: boolean;
  usesBytes: boolean;
}

/** The types that references lead to. Each type gets its name at its first use, and is written once. */
export class NamedTypes {
  readonly #references: References;
  readonly #named = new Map<string, Named>();
  readonly #names = new UniqueNames(taken);
  #usesBytes = false;
  #writing: Named | undefined;
  /** Types of results that params were found to hold. */
  readonly #outdated = new Set<Named>();
  /** Keys of types that refer only to themselves or to each other (`type A = B; type B = A`): TypeScript refuses them. */
  #circular: ReadonlySet<string> = new Set();

  constructor(references: References) {
    this.#references = references;
  }

  /**
   * @param eager TypeScript must resolve this type to resolve the one that is being written: the reference stands
   *   outside of members and items
   * @param isResult see {@link SchemaTypes}
   * @throws CodegenError for a reference that leads nowhere
   */
  nameFor($ref: string, at: Located, eager: boolean, isResult: boolean): string {
    const target = this.#references.resolve($ref, at);
    let named = this.#named.get(target.key);
    if (named === undefined) {
      const name = this.#names.take(typeName(target.name));
      named = { name, target, eager: new Set(), isResult, usesBytes: false };
      this.#named.set(target.key, named);
    }
    if (named.isResult && !isResult) {
      named.isResult = false;
      this.#outdated.add(named);
    }
    if (!eager || this.#writing === undefined) return named.name;
    this.#writing.eager.add(target.key);
    return this.#circular.has(target.key) ? 'unknown' : named.name;
  }

  /** The type of the bytes in results. */
  bytesOfResult(): string {
    if (this.#writing === undefined) this.#usesBytes = true;
    else this.#writing.usesBytes = true;
    return 'Bytes';
  }

  /** Whether `bytesOfResult()` is in the text, once the declarations are written. */
  get usesBytes(): boolean {
    return this.#usesBytes || [...this.#named.values()].some((named) => named.usesBytes);
  }

  /** The declarations of all named types, and of the types that these refer to, sorted by name. */
  declarations(): string[] {
    const texts = new Map<Named, string>();
    // The loop also visits types that it adds: writing one type names others.
    for (const named of this.#named.values()) texts.set(named, this.#declare(named));
    // A type that params hold was written as one of results. What it refers to may be held by params then, too.
    for (const named of this.#outdated) texts.set(named, this.#declare(named));
    this.#circular = circularOf(this.#named);
    for (const key of this.#circular) {
      const named = this.#named.get(key);
      if (named !== undefined) texts.set(named, this.#declare(named));
    }
    return [...texts]
      .sort(([a], [b]) => (a.name < b.name ? -1 : 1))
      .map(([, declaration]) => declaration);
  }

  #declare(named: Named): string {
    this.#writing = named;
    named.usesBytes = false;
    const { name, target, isResult } = named;
    const types = new SchemaTypes(this, { isResult });
    const doc = docComment(schemaDoc(target.schema));
    const members = types.membersOf(target);
    if (members !== undefined)
      return `${doc}export interface ${name} ${block(memberLines(members))}\n`;
    const text = types.typeOf(target, true);
    return `${doc}export type ${name} =${text.startsWith('\n') ? indented(text) : ` ${text}`};\n`;
  }
}

/**
 * The keys of types that eagerly refer to themselves, directly or through others, and of types that eagerly refer to such
 * a type. Types that refer to nothing are taken out, then those that referred only to them, and so on. The rest is
 * circular.
 */
function circularOf(named: ReadonlyMap<string, Named>): Set<string> {
  const users = new Map<string, string[]>();
  const open = new Map<string, number>();
  for (const [key, { eager }] of named) {
    open.set(key, eager.size);
    for (const other of eager) {
      const list = users.get(other);
      if (list === undefined) users.set(other, [key]);
      else list.push(key);
    }
  }
  const ready = [...open].filter(([, count]) => count === 0).map(([key]) => key);
  for (const key of ready) {
    for (const user of users.get(key) ?? []) {
      const left = (open.get(user) ?? 0) - 1;
      open.set(user, left);
      if (left === 0) ready.push(user);
    }
  }
  return new Set([...open].filter(([, count]) => count > 0).map(([key]) => key));
}

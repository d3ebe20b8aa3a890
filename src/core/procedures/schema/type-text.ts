import { isObject } from '../../protocol/body.ts';
import {
  cached,
  forEachPlain,
  type JsonSchema,
  listOf,
  plainNamesIn,
  refId,
} from './schema-tree.ts';

const unnameable = new Set(
  (
    'any array bigint boolean never null number object string symbol undefined unknown void Array Record ' +
    'break case catch class const continue debugger default delete do else enum export extends false ' +
    'finally for function if import in instanceof new return super switch this throw true try typeof var ' +
    'while with implements interface let package private protected public static yield'
  ).split(' '),
);

/** Most characters of the members' types that the index signature of an object repeats. */
const maxRepeated = 10_000;

/** Most levels of schemas within each other. */
const maxDepth = 64;

/** Most pieces of one text. Types are written out at each reference to them; after so many pieces a part is `unknown`. */
const maxPieces = 20_000;
const maxShortPieces = 200;

interface Piece {
  readonly text: string;
  readonly loose: boolean;
}

interface At {
  /** The recursive schemas that are being written out around it, with the names of their types. */
  readonly open: ReadonlyMap<string, string>;
  readonly depth: number;
}

/**
 * The TypeScript type of a JSON Schema, on one line, e.g. `{ id: string; tags?: string[] }`. A recursive schema is
 * written out once, and refers to itself by its name. No text of the schema can leave its literal: generated code may
 * hold the type in code and in comments. After 20,000 pieces every further part is `unknown`.
 *
 * @param options isShort: for a message, write only the beginning, with `…` instead of the rest. It is then no valid type
 */
export function typeText(
  schema: JsonSchema,
  { isShort = false }: { readonly isShort?: boolean } = {},
): string {
  return new TypeWriter(schema, isShort).write(schema, { open: new Map(), depth: 0 }).text;
}

function tight(text: string): Piece {
  return { text, loose: false };
}

const scalarTypes: ReadonlyMap<unknown, string> = new Map([
  ...['string', 'number', 'boolean', 'null', 'undefined'].map((type) => [type, type] as const),
  ['integer', 'number'],
  // A procedure that returns nothing answers null.
  ['void', 'null'],
]);

class TypeWriter {
  readonly #root: JsonSchema;
  /** What stands for the pieces beyond the limit. */
  readonly #beyond: string;
  #piecesLeft: number;
  /** The named schemas within the root, by id, once one is asked for. */
  #targets: ReadonlyMap<string, JsonSchema> | undefined;
  readonly #recursive = new Map<JsonSchema, boolean>();

  constructor(root: JsonSchema, isShort: boolean) {
    this.#root = root;
    this.#beyond = isShort ? '…' : 'unknown';
    this.#piecesLeft = isShort ? maxShortPieces : maxPieces;
  }

  write(schema: JsonSchema, at: At): Piece {
    if (at.depth > maxDepth) return tight('unknown');
    this.#piecesLeft -= 1;
    if (this.#piecesLeft < 0) return tight(this.#beyond);
    const { $id, $ref } = schema;
    const inside = { ...at, depth: at.depth + 1 };
    if (typeof $ref === 'string') {
      const id = refId($ref);
      const target = at.open.has(id) ? undefined : this.#target(id);
      return target === undefined ? tight(typeName(id)) : this.#named(id, target, inside);
    }
    return typeof $id === 'string' ? this.#named($id, schema, at) : this.#body(schema, inside);
  }

  #named(id: string, schema: JsonSchema, at: At): Piece {
    const name = at.open.get(id);
    if (name !== undefined) return tight(name);
    const open = cached(this.#recursive, schema, () => this.#refersTo(schema, id, new Set()))
      ? new Map(at.open).set(id, typeName(id))
      : at.open;
    return this.#body(schema, { open, depth: at.depth + 1 });
  }

  #target(id: string): JsonSchema | undefined {
    this.#targets ??= plainNamesIn(this.#root);
    return this.#targets.get(id);
  }

  /** Whether writing `schema` out leads to `id` again, directly or through other named schemas. */
  #refersTo(schema: JsonSchema, id: string, seen: Set<JsonSchema>): boolean {
    if (seen.has(schema)) return false;
    seen.add(schema);
    if (typeof schema.$ref !== 'string') {
      let refers = false;
      forEachPlain(schema, (child) => {
        refers ||= this.#refersTo(child, id, seen);
      });
      return refers;
    }
    const next = refId(schema.$ref);
    const target = next === id ? undefined : this.#target(next);
    return next === id || (target !== undefined && this.#refersTo(target, id, seen));
  }

  #body(schema: JsonSchema, at: At): Piece {
    if ('const' in schema) return tight(literal(schema.const));
    if (Array.isArray(schema.enum)) return union(schema.enum.map((value) => tight(literal(value))));
    const variants = [schema.anyOf, schema.oneOf].find(Array.isArray);
    if (variants !== undefined) return union(schemas(variants).map((one) => this.write(one, at)));
    if (Array.isArray(schema.allOf))
      return intersection(schemas(schema.allOf).map((one) => this.write(one, at)));
    const { type, not } = schema;
    if (isObject(not)) return tight(Object.keys(not).length === 0 ? 'never' : 'unknown');
    if (Array.isArray(type)) return union(type.map((one) => this.#type(one, schema, at)));
    return this.#type(type, schema, at);
  }

  #type(type: unknown, schema: JsonSchema, at: At): Piece {
    if (type === 'array') return tight(this.#array(schema, at));
    if (type === 'object') return tight(this.#object(schema, at));
    return tight(scalarTypes.get(type) ?? 'unknown');
  }

  #array({ items, maxItems }: JsonSchema, at: At): string {
    if (Array.isArray(items))
      return `[${schemas(items)
        .map((item) => this.write(item, at).text)
        .join(', ')}]`;
    if (items === undefined && maxItems === 0) return '[]';
    return isObject(items) ? `${enclosed(this.write(items, at))}[]` : 'unknown[]';
  }

  #object(schema: JsonSchema, at: At): string {
    const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
    const required = new Set(listOf<unknown>(schema.required));
    const texts: string[] = [];
    const members = properties.map(([name, member]) => {
      const text = isObject(member) ? this.write(member, at).text : 'unknown';
      const optional = !required.has(name);
      texts.push(text);
      if (optional) texts.push('undefined');
      return `${memberName(name)}${optional ? '?' : ''}: ${text}`;
    });
    const rest = this.#rest(schema, at);
    if (members.length === 0) {
      if (rest.length > 0) return `Record<string, ${union(rest.map(tight)).text}>`;
      return `Record<string, ${schema.additionalProperties === false ? 'never' : 'unknown'}>`;
    }
    // TypeScript demands that an index signature covers the named members too.
    if (rest.length > 0) members.push(`[name: string]: ${indexType([...texts, ...rest])}`);
    return `{ ${members.join('; ')} }`;
  }

  #rest({ additionalProperties, patternProperties }: JsonSchema, at: At): string[] {
    const patterns = isObject(patternProperties) ? Object.values(patternProperties) : [];
    const texts = patterns.filter(isObject).map((member) => this.write(member, at).text);
    if (additionalProperties === true) texts.push('unknown');
    if (isObject(additionalProperties)) texts.push(this.write(additionalProperties, at).text);
    return texts;
  }
}

/** The type of an index signature; `unknown` if it is long, since the text would double at each level of nesting. */
function indexType(texts: readonly string[]): string {
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  return size > maxRepeated ? 'unknown' : union(texts.map(tight)).text;
}

function union(pieces: readonly Piece[]): Piece {
  const texts = [...new Set(pieces.map(({ text }) => text))];
  if (texts.includes('unknown')) return tight('unknown');
  return { text: texts.length === 0 ? 'never' : texts.join(' | '), loose: texts.length > 1 };
}

function intersection(pieces: readonly Piece[]): Piece {
  const [only] = pieces;
  if (only === undefined) return tight('unknown');
  if (pieces.length === 1) return only;
  return { text: pieces.map(enclosed).join(' & '), loose: true };
}

function enclosed(piece: Piece): string {
  return piece.loose ? `(${piece.text})` : piece.text;
}

/** A JSON literal that stays one token in code, in a block comment and in a line comment. */
function quoted(value: string): string {
  return JSON.stringify(value)
    .replaceAll('*/', '*\\/')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}

function literal(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : 'unknown';
}

function memberName(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : quoted(name);
}

/** The identifier that stands for a named schema. */
function typeName(id: string): string {
  const name = id.replace(/[^A-Za-z0-9_$]/g, '_').replace(/^(?=[0-9]|$)/, '_');
  return unnameable.has(name) ? `${name}_` : name;
}

function schemas(list: readonly unknown[]): JsonSchema[] {
  return list.map((one) => (isObject(one) ? one : {}));
}

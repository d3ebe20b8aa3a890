import { cached } from '../base/cached.ts';
import {
  type ArrayNode,
  type Notes,
  type ObjectNode,
  type SchemaNode,
  someWithin,
  takesMore,
} from './model.ts';
import { maxDepth } from './reading.ts';

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

/** Most pieces of one text. Types are written out at each reference to them; after so many pieces a part is `unknown`. */
const maxPieces = 20_000;
const maxShortPieces = 200;

interface Piece {
  readonly text: string;
  readonly loose: boolean;
}

interface At {
  /** The recursive types that are being written out around it. */
  readonly open: ReadonlySet<SchemaNode>;
  readonly depth: number;
}

/**
 * The TypeScript type of a schema, on one line, e.g. `{ id: string; tags?: string[] }`, of the values as JSON has them. A
 * recursive type is written out once, and refers to itself by its name. No text of the schema can leave its literal: generated
 * code may hold the type in code and in comments. After 20,000 pieces every further part is `unknown`.
 *
 * @param options isShort: for a message, write only the beginning, with `…` instead of the rest. It is then no valid type
 */
export function typeText(
  node: SchemaNode,
  { isShort = false }: { readonly isShort?: boolean } = {},
): string {
  return new TypeWriter(isShort).write(node, { open: new Set(), depth: 0 }).text;
}

function tight(text: string): Piece {
  return { text, loose: false };
}

class TypeWriter {
  readonly #isShort: boolean;
  /** What stands for the pieces beyond the limit. */
  readonly #beyond: string;
  #piecesLeft: number;
  readonly #recursive = new Map<SchemaNode, boolean>();

  constructor(isShort: boolean) {
    this.#isShort = isShort;
    this.#beyond = isShort ? '…' : 'unknown';
    this.#piecesLeft = isShort ? maxShortPieces : maxPieces;
  }

  write(node: SchemaNode, at: At): Piece {
    const beyond = this.#count(at);
    if (beyond !== undefined) return beyond;
    const inside = { ...at, depth: at.depth + 1 };
    if (node.kind === 'ref') return this.#named(node.target, inside);
    return node.name === undefined ? this.#body(node, inside) : this.#named(node, at);
  }

  /** Counts a piece. @returns what stands for it if it is one too many */
  #count({ depth }: At): Piece | undefined {
    if (depth > maxDepth) return tight('unknown');
    this.#piecesLeft -= 1;
    return this.#piecesLeft < 0 ? tight(this.#beyond) : undefined;
  }

  #named(node: SchemaNode, at: At): Piece {
    if (at.open.has(node)) return tight(typeName(node.name ?? ''));
    const isRecursive = cached(this.#recursive, node, () => holdsItself(node));
    const open = isRecursive ? new Set(at.open).add(node) : at.open;
    return this.#body(node, { open, depth: at.depth + 1 });
  }

  #body(node: SchemaNode, at: At): Piece {
    switch (node.kind) {
      case 'unknown':
      case 'never':
      case 'null':
      case 'boolean':
      case 'string':
      case 'number':
        return tight(node.kind);
      case 'integer':
        return tight('number');
      case 'bytes':
        return tight('string');
      case 'void':
        // A procedure that returns nothing answers null.
        return tight('null');
      case 'undefined':
        // JSON has none, so that a type of JSON says never. A message is about the value in the handler.
        return tight(this.#isShort ? 'undefined' : 'never');
      case 'literal':
        return tight(this.#literal(node.value, at));
      case 'array':
        return tight(this.#array(node, at));
      case 'object':
        return tight(this.#object(node, at));
      case 'union':
        return union(node.variants.map((one) => this.write(one, at)));
      case 'intersection':
        return intersection(node.parts.map((one) => this.write(one, at)));
      case 'not':
        return tight(node.node.kind === 'unknown' ? 'never' : 'unknown');
      case 'custom':
        return this.#custom(node.notes, at);
      case 'ref':
        return this.#named(node.target, at);
    }
  }

  #array({ prefix, rest, minItems = 0, maxItems = Infinity }: ArrayNode, at: At): string {
    if (prefix.length === 0) {
      if (maxItems === 0 && (rest.kind === 'never' || rest.kind === 'unknown')) return '[]';
      return `${enclosed(this.write(rest, at))}[]`;
    }
    const items = prefix.map((item, index) => {
      const piece = this.write(item, at);
      return index < minItems ? piece.text : `${enclosed(piece)}?`;
    });
    if (rest.kind !== 'never' && maxItems > prefix.length)
      items.push(`...${enclosed(this.write(rest, at))}[]`);
    return `[${items.join(', ')}]`;
  }

  #object({ members: declared, patterns, rest }: ObjectNode, at: At): string {
    const texts: string[] = [];
    const members = declared.map(({ name, node, isRequired }) => {
      const { text } = this.write(node, at);
      texts.push(text);
      if (!isRequired) texts.push('undefined');
      return `${memberName(name)}${isRequired ? '' : '?'}: ${text}`;
    });
    const others = patterns.map(({ node }) => this.write(node, at).text);
    if (takesMore(rest)) others.push(this.write(rest, at).text);
    if (members.length === 0) {
      if (others.length > 0) return `Record<string, ${union(others.map(tight)).text}>`;
      return `Record<string, ${rest === undefined ? 'unknown' : 'never'}>`;
    }
    // TypeScript demands that an index signature covers the named members too.
    if (others.length > 0) members.push(`[name: string]: ${indexType([...texts, ...others])}`);
    return `{ ${members.join('; ')} }`;
  }

  /** What the notes of a program's own kind say of the JSON type of its values. Nothing else is known of them. */
  #custom(notes: Notes, at: At): Piece {
    if ('const' in notes) return tight(this.#literal(notes.const, at));
    if (Array.isArray(notes.enum))
      return union(notes.enum.map((value: unknown) => tight(this.#literal(value, at))));
    const types: readonly unknown[] = Array.isArray(notes.type) ? notes.type : [notes.type];
    return union(types.map((type) => tight(namedTypes.get(type) ?? 'unknown')));
  }

  #literal(value: unknown, at: At): string {
    if (typeof value !== 'object' || value === null) return scalar(value);
    const write = (part: unknown): string => {
      const inside = { ...at, depth: at.depth + 1 };
      return this.#count(inside)?.text ?? this.#literal(part, inside);
    };
    if (Array.isArray(value)) return `[${value.map(write).join(', ')}]`;
    const members = Object.entries(value).map(
      ([name, part]) => `${memberName(name)}: ${write(part)}`,
    );
    return members.length === 0 ? 'Record<string, never>' : `{ ${members.join('; ')} }`;
  }
}

/** The types that a custom kind may name in its notes. */
const namedTypes: ReadonlyMap<unknown, string> = new Map([
  ...['string', 'number', 'boolean', 'null'].map((type) => [type, type] as const),
  ['integer', 'number'],
  ['void', 'null'],
  ['array', 'unknown[]'],
  ['object', 'Record<string, unknown>'],
]);

/** Whether writing a type out leads to it again, directly or through other named types. */
function holdsItself(named: SchemaNode): boolean {
  return someWithin(named, (node) => node.kind === 'ref' && node.target === named);
}

/** The type of an index signature; `unknown` if it is long, since the text would double at each level of nesting. */
function indexType(texts: readonly string[]): string {
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  return size > maxRepeated ? 'unknown' : union(texts.map(tight)).text;
}

function union(pieces: readonly Piece[]): Piece {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) return only;
  const texts = [...new Set(pieces.map(({ text }) => text))];
  if (texts.includes('unknown')) return tight('unknown');
  return { text: texts.length === 0 ? 'never' : texts.join(' | '), loose: texts.length > 1 };
}

function intersection(pieces: readonly Piece[]): Piece {
  // `not` says nothing that TypeScript can say, and what is left must not be hidden by it.
  const telling = pieces.filter(({ text }) => text !== 'unknown');
  const [only] = telling;
  if (only === undefined) return tight('unknown');
  if (telling.length === 1) return only;
  return { text: telling.map(enclosed).join(' & '), loose: true };
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

function scalar(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : 'unknown';
}

function memberName(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : quoted(name);
}

/** The identifier that stands for a named type. */
function typeName(id: string): string {
  const name = id.replace(/[^A-Za-z0-9_$]/g, '_').replace(/^(?=[0-9]|$)/, '_');
  return unnameable.has(name) ? `${name}_` : name;
}

import { cached } from '../base/cached.ts';
import { shortened } from '../base/text.ts';
import { UniqueNames } from '../base/unique-names.ts';
import { base64Length } from './bytes.ts';
import { keywords } from './keywords.ts';
import {
  type ArrayNode,
  anything,
  forEachPart,
  type IntersectionNode,
  isScalar,
  type Member as MemberNode,
  type Notes,
  type ObjectNode,
  resolved,
  type SchemaNode,
  someWithin,
  takesMore,
  typeOfNode,
} from './model.ts';
import { maxDepth } from './reading.ts';
import {
  block,
  commentLine,
  docComment,
  enclosed,
  indented,
  indexMember,
  intersection,
  type Member,
  maxWidth,
  memberLines,
  memberName,
  objectText,
  type Piece,
  type Quote,
  quoted,
  reservedNames,
  tight,
  typeName,
  union,
  unknownPiece,
} from './type-syntax.ts';

/** Most pieces of one text. Types are written out at each reference to them; after so many pieces a part is `unknown`. */
const maxPieces = 20_000;
const maxShortPieces = 200;

/**
 * The TypeScript type of a schema, on one line, e.g. `{ id: string; tags?: string[] }`, of the values as JSON has them. A
 * recursive type is written out once, and refers to itself by its name. No text of the schema can leave its literal: generated
 * code may hold the type in code and in comments. After 20,000 pieces every further part is `unknown`.
 *
 * @param options isShort: for a message, write only the beginning, with `…` instead of the rest. It is then no valid type.
 *   isNamed: write the name of each type that has one
 */
export function typeText(
  node: SchemaNode,
  {
    isShort = false,
    isNamed = false,
  }: { readonly isShort?: boolean; readonly isNamed?: boolean } = {},
): string {
  const form: Form = isNamed ? { ...inline, nameOf: inlineName } : inline;
  const short: Partial<Form> = { absent: 'undefined', beyond: '…', maxPieces: maxShortPieces };
  return new TypeWriter(isShort ? { ...form, ...short } : form).text(node);
}

/**
 * Types of a file, as it holds them: with lines, doc comments, and a declaration of each type that has a name. A type gets its
 * identifier where it is met first.
 */
export class TypeFile {
  readonly #names = new Map<SchemaNode, string>();
  readonly #unique: UniqueNames;
  /** The types that params hold. */
  readonly #sent: ReadonlySet<SchemaNode>;
  /** What callers send. */
  readonly params = this.#writer(() => 'Uint8Array');
  /** What callers get. */
  readonly results = this.#writer(() => {
    this.usesBytes = true;
    return 'Bytes';
  });
  /** Whether `Bytes` is in the text, the type of bytes in results. In params, and in types that params hold, any are taken. */
  usesBytes = false;

  /** @param taken identifiers that the file has for itself */
  constructor(taken: readonly string[], params: readonly SchemaNode[]) {
    this.#unique = new UniqueNames([...reservedNames, ...taken]);
    this.#sent = typesWithin(params);
  }

  #writer(bytes: () => string): TypeWriter {
    const nameOf = (node: SchemaNode): string =>
      cached(this.#names, node, () => this.#unique.take(typeName(node.name ?? '')));
    return new TypeWriter({ ...inline, isBlock: true, quote: "'", width: maxWidth, bytes, nameOf });
  }

  /** The declarations of the types that were named, and of those that they name, sorted by name. */
  declarations(): string[] {
    const texts: (readonly [name: string, text: string])[] = [];
    // The loop also visits types that it adds: writing one type names others.
    for (const [node, name] of this.#names) texts.push([name, this.#declaration(node, name)]);
    return texts.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

  #declaration(node: SchemaNode, name: string): string {
    const writer = this.#sent.has(node) ? this.params : this.results;
    const doc = docComment(schemaDoc(node));
    const members = node.kind === 'object' ? writer.members(node) : [];
    if (members.length > 0)
      return `${doc}export interface ${name} ${block(memberLines(members))}\n`;
    const text = writer.written(node);
    return `${doc}export type ${name} =${text.startsWith('\n') ? indented(text) : ` ${text}`};\n`;
  }
}

/** The types with a name that some nodes hold or refer to. */
function typesWithin(roots: readonly SchemaNode[]): ReadonlySet<SchemaNode> {
  const types = new Set<SchemaNode>();
  const visit = (node: SchemaNode): void => {
    if (node.kind === 'ref') types.add(node.target);
    if (node.name !== undefined) types.add(node);
    forEachPart(node, visit);
  };
  for (const root of roots) visit(root);
  // The loop also visits types that it adds: a chain of types may be long.
  for (const type of types) visit(type);
  return types;
}

interface Form {
  readonly quote: Quote;
  /** Most characters of a union or an object on one line. */
  readonly width: number;
  /** With doc comments, and with formats beside types. */
  readonly isBlock: boolean;
  readonly bytes: () => string;
  /** undefined: a type is written out where it stands. */
  readonly nameOf: ((node: SchemaNode) => string) | undefined;
  /** JSON has no undefined, so that a type of JSON says never. A message is about the value in the handler. */
  readonly absent: 'never' | 'undefined';
  readonly maxPieces: number;
  /** What stands for the pieces beyond the limit. */
  readonly beyond: 'unknown' | '…';
}

const inline: Form = {
  quote: '"',
  width: Number.POSITIVE_INFINITY,
  isBlock: false,
  bytes: () => 'string',
  nameOf: undefined,
  absent: 'never',
  maxPieces,
  beyond: 'unknown',
};

/** Where a type stands. */
interface At {
  /** The recursive types that are being written out around it. */
  readonly open: ReadonlySet<SchemaNode>;
  readonly depth: number;
  /** A doc comment above the type names its format. Elsewhere a comment beside the type does. */
  readonly isDocumented: boolean;
  /** What the intersections around it say of members of the same value. */
  readonly said: Said | undefined;
}

const top: At = { open: new Set(), depth: 0, isDocumented: true, said: undefined };

/** The place of a part of the value. */
function within({ open, depth }: At, isDocumented = false): At {
  return { open, depth, isDocumented, said: undefined };
}

class TypeWriter {
  readonly #form: Form;
  #piecesLeft: number;
  readonly #recursive = new Map<SchemaNode, boolean>();
  readonly #jsonTypes = new Map<SchemaNode, string>();

  constructor(form: Form) {
    this.#form = form;
    this.#piecesLeft = form.maxPieces;
  }

  write(node: SchemaNode, at = top): Piece {
    const beyond = this.#count(at);
    if (beyond !== undefined) return beyond;
    const inside = { ...at, depth: at.depth + 1 };
    if (node.kind === 'ref') return this.#named(node.target, inside);
    return node.name === undefined ? this.#body(node, inside) : this.#named(node, at);
  }

  /** A type that stands under a doc comment: of a member, or of a declaration. */
  text(node: SchemaNode): string {
    return this.write(node).text;
  }

  /** A type with a name, written out. */
  written(node: SchemaNode): string {
    return this.#body(node, top).text;
  }

  member({ name, node, isRequired }: MemberNode, at = top): Member {
    return {
      name: memberName(name, this.#form.quote),
      optional: !isRequired,
      type: this.write(node, within(at, true)).text,
      doc: this.#form.isBlock ? schemaDoc(node) : [],
    };
  }

  members(node: ObjectNode, at = top): Member[] {
    const { members: declared, patterns, rest } = node;
    const { said } = at;
    const members = declared.flatMap((one) => {
      if (isDemand(one) && isSaid(said, 'declared', one.name)) return [];
      const isRequired = one.isRequired || isSaid(said, 'required', one.name);
      return [this.member({ ...one, isRequired }, at)];
    });
    const others = [...patterns.map((one) => one.node), ...(takesMore(rest) ? [rest] : [])];
    if (others.length === 0) return members;
    const pieces = others.map((one) => this.write(one, within(at)));
    return [...members, indexMember(members, pieces, this.#form.width)];
  }

  /** Counts a piece. @returns what stands for it if it is one too many */
  #count({ depth }: At): Piece | undefined {
    if (this.#form.isBlock) return undefined;
    if (depth > maxDepth) return unknownPiece;
    this.#piecesLeft -= 1;
    return this.#piecesLeft < 0 ? tight(this.#form.beyond) : undefined;
  }

  #named(node: SchemaNode, at: At): Piece {
    const { nameOf } = this.#form;
    // A type that holds itself without an end has lost its name.
    if (nameOf !== undefined && node.name !== undefined) return tight(nameOf(node));
    if (at.open.has(node)) return tight(inlineName(node));
    const isRecursive = cached(this.#recursive, node, () => holdsItself(node));
    const open = isRecursive ? new Set(at.open).add(node) : at.open;
    return this.#body(node, { ...at, open, depth: at.depth + 1 });
  }

  #body(node: SchemaNode, at: At): Piece {
    switch (node.kind) {
      case 'unknown':
      case 'never':
      case 'null':
      case 'boolean':
      case 'number':
        return tight(node.kind);
      case 'string':
        return tight(`string${this.#formatBeside(node.format, at)}`);
      case 'integer':
        return tight('number');
      case 'bytes':
        return tight(this.#form.bytes());
      case 'void':
        // A procedure that returns nothing answers null.
        return tight('null');
      case 'undefined':
        return tight(this.#form.absent);
      case 'literal':
        return tight(this.#literal(node.value, at));
      case 'array':
        return tight(this.#array(node, at));
      case 'object':
        return this.#object(node, at);
      case 'union':
        return this.#union(node.variants, at);
      case 'intersection':
        return this.#intersection(node, at);
      case 'not':
        return node.node.kind === 'unknown' ? tight('never') : unknownPiece;
      case 'custom':
        return this.#custom(node.notes, at);
      case 'ref':
        return this.#named(node.target, at);
    }
  }

  #formatBeside(format: string | undefined, { isDocumented }: At): string {
    if (!this.#form.isBlock || isDocumented || format === undefined) return '';
    return ` /* ${commentLine(format).replace(/\s+/g, ' ').slice(0, 80)} */`;
  }

  #array(node: ArrayNode, at: At): string {
    const { rest, maxItems = Infinity } = node;
    const items = (): string => `${enclosed(this.write(rest, within(at)))}[]`;
    if (node.prefix.length === 0)
      return maxItems === 0 && ['never', 'unknown'].includes(rest.kind) ? '[]' : items();
    // Items beyond the greatest length never come.
    const prefix = node.prefix.slice(0, maxItems);
    // Authors who say nothing of the length mean all of them.
    const { minItems = prefix.length } = node;
    const texts = prefix.map((item, index) => {
      const piece = this.write(item, within(at));
      return index < minItems ? piece.text.trimStart() : `${enclosed(piece)}?`;
    });
    if (rest !== anything && rest.kind !== 'never' && maxItems > prefix.length)
      texts.push(`...${items()}`);
    return `[${texts.join(', ')}]`;
  }

  #object(node: ObjectNode, at: At): Piece {
    const { isBlock, width } = this.#form;
    const { rest } = node;
    const members = this.members(node, at);
    const [first, ...more] = members;
    if (first === undefined)
      // What it demands is said elsewhere.
      return node.members.length > 0
        ? unknownPiece
        : tight(`Record<string, ${rest?.kind === 'never' ? 'never' : 'unknown'}>`);
    const isRecord = more.length === 0 && node.members.length === 0;
    if (isRecord && (!isBlock || first.type === 'unknown'))
      return tight(`Record<string, ${first.type}>`);
    return tight(objectText(members, width));
  }

  #union(variants: readonly SchemaNode[], at: At): Piece {
    const plain = new Set(variants.filter(isPlain).map(({ kind }) => kind));
    // All that JSON has, with limits that TypeScript cannot say.
    if (jsonKinds.every((kind) => plain.has(kind))) return unknownPiece;
    const inside = { ...at, isDocumented: false };
    return union(
      variants.map((one) => this.write(one, inside)),
      this.#form.width,
    );
  }

  #intersection(node: IntersectionNode, at: At): Piece {
    const said: Said = { required: new Set(), declared: new Set(), around: at.said };
    for (const part of node.parts) collect(part, said, true);
    const inside = { ...at, isDocumented: false, said };
    const telling = node.parts.filter((part) => !isPlain(part));
    const types = new Set(telling.map((part) => this.#jsonTypeOf(part)));
    // A type beside parts of that type says nothing: documents say of each intersection of objects that it is an object.
    const parts = node.parts.filter((part) => !isPlain(part) || !types.has(this.#jsonTypeOf(part)));
    return intersection(parts.map((part) => this.write(part, inside)));
  }

  /** The type in JSON that all values of a node have; '': they have several, or it is not known. */
  #jsonTypeOf(node: SchemaNode): string {
    return cached(this.#jsonTypes, node, () => {
      switch (node.kind) {
        case 'union': {
          const [type = '', ...others] = new Set(node.variants.map((one) => this.#jsonTypeOf(one)));
          return others.length === 0 ? type : '';
        }
        case 'intersection':
          return node.parts.map((one) => this.#jsonTypeOf(one)).find(Boolean) ?? '';
        case 'ref':
          return this.#jsonTypeOf(resolved(node));
        default:
          return typeOfNode(node) ?? '';
      }
    });
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
    const { quote } = this.#form;
    if (typeof value === 'string') return quoted(value, quote);
    if (typeof value !== 'object' || value === null)
      return typeof value === 'number' && !Number.isFinite(value) ? 'unknown' : String(value);
    const inside = { ...at, depth: at.depth + 1 };
    const write = (part: unknown): string =>
      this.#count(inside)?.text ?? this.#literal(part, inside);
    if (Array.isArray(value)) return `[${value.map(write).join(', ')}]`;
    const members = Object.entries(value).map(
      ([name, part]) => `${memberName(name, quote)}: ${write(part)}`,
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

/** The identifier for a type among types without one. */
function inlineName({ name = '' }: SchemaNode): string {
  const identifier = typeName(name);
  return reservedNames.includes(identifier) ? `${identifier}_` : identifier;
}

const jsonKinds = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const;

/** Whether TypeScript can say no more of a node than its type in JSON. */
function isPlain(node: SchemaNode): boolean {
  switch (node.kind) {
    case 'null':
    case 'boolean':
    case 'number':
    case 'integer':
    case 'string':
      return true;
    case 'array':
      return node.prefix.length === 0 && node.rest.kind === 'unknown';
    case 'object':
      return (
        node.members.length === 0 &&
        node.patterns.length === 0 &&
        (node.rest === undefined || node.rest.kind === 'unknown')
      );
    default:
      return false;
  }
}

/** What the parts of an intersection say of the members of a value, whichever part it is. */
interface Said {
  readonly required: Set<string>;
  readonly declared: Set<string>;
  /** The same of an intersection around it. */
  readonly around: Said | undefined;
}

function isSaid(said: Said | undefined, what: 'required' | 'declared', name: string): boolean {
  for (let one = said; one !== undefined; one = one.around) if (one[what].has(name)) return true;
  return false;
}

/** @param isCertain each value matches the node. A variant of a union only declares */
function collect(node: SchemaNode, said: Said, isCertain: boolean): void {
  if (node.kind === 'object') {
    for (const member of node.members) {
      if (member.isRequired && isCertain) said.required.add(member.name);
      if (!isDemand(member)) said.declared.add(member.name);
    }
  }
  if (node.kind === 'intersection') for (const one of node.parts) collect(one, said, isCertain);
  if (node.kind === 'union') for (const one of node.variants) collect(one, said, false);
}

/** A member that has to be there, of which nothing else is said. */
function isDemand({ node, isRequired }: MemberNode): boolean {
  return isRequired && node.kind === 'unknown';
}

/** Keywords that TypeScript has no type for, and that callers want to know: texts before numbers. */
const constraints = keywords
  .filter(({ isDocumented }) => isDocumented)
  .sort((a, b) => Number(b.takes === 'string') - Number(a.takes === 'string'));

/** Most characters of a value in a doc comment. */
const maxValue = 200;

/** The lines of the doc comment for a member or a type: the description, then the tags. */
function schemaDoc(node: SchemaNode): string[] {
  const { description, title, deprecated, default: preset } = node.notes;
  const lines: string[] = [];
  if (typeof description === 'string' && description !== '') lines.push(description);
  // A title of a single word is a name, and the type has a name already.
  else if (typeof title === 'string' && title.includes(' ')) lines.push(title);
  if (deprecated === true) lines.push('@deprecated');
  const limited = limitedBy(node);
  if (limited.kind === 'integer') lines.push('@integer');
  const held: Notes = { ...limited.notes, ...limited, ...textLimit(limited) };
  const isTuple = limited.kind === 'array' && limited.prefix.length > 0;
  for (const { name } of constraints) {
    const value = name === 'format' && limited.kind === 'bytes' ? 'byte' : held[name];
    // Beside the other types of a union, a format stands as a comment; the type of a tuple tells its length.
    const isTold = name === 'format' ? limited !== node : isTuple && name.endsWith('Items');
    if (value !== undefined && isScalar(value) && !isTold)
      lines.push(tag(name, typeof value === 'string' ? value : JSON.stringify(value)));
  }
  if (preset !== undefined) lines.push(tag('default', JSON.stringify(preset)));
  return lines;
}

/** Of the Base64 text that bytes are in JSON. */
function textLimit(node: SchemaNode): Notes {
  if (node.kind !== 'bytes' || node.maxBytes === undefined) return {};
  return { maxLength: base64Length(node.maxBytes) };
}

/** The node whose limits are those of the values: of a union with null, the other variant. */
function limitedBy(node: SchemaNode): SchemaNode {
  if (node.kind !== 'union') return node;
  const [only = node, ...others] = node.variants.filter(({ kind }) => kind !== 'null');
  return others.length === 0 ? only : node;
}

/** On one line, since a second line would be read as a description or as another tag. */
function tag(name: string, value: string): string {
  const line = value.replace(/\s+/g, ' ');
  return `@${name} ${shortened(line, maxValue, '...')}`;
}

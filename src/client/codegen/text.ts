import { keywords as keywordRows } from '../../core/schema/keywords.ts';

/** Thrown for a document that no contract can be made from. The message says in one line what is wrong, and where. */
export class CodegenError extends Error {
  override readonly name = 'CodegenError';
}

/** A JSON object as it was parsed. Nothing about its members has been checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object's own member of that name. Inherited ones, such as `constructor`, are not found. */
export function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

export function stringOf(object: JsonObject, name: string): string | undefined {
  const value = own(object, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Whether a schema is that of bytes, as `Type.Base64()` writes it. */
export function isBytes(schema: JsonObject): boolean {
  return own(schema, 'format') === 'byte' && own(schema, 'contentEncoding') === 'base64';
}

export function listOf(object: JsonObject, name: string): readonly unknown[] {
  const value = own(object, name);
  return Array.isArray(value) ? value : [];
}

/** JSON text of a value, the same for equal values. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`).join()}}`;
}

// Control characters, format characters (bidirectional marks reorder what a reviewer sees), lone surrogates, and the two
// separators that end a line in some viewers.
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** A string literal. No character of `value` can end it. */
export function quoted(value: string): string {
  const body = value
    .replace(/['\\]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replace(invisible, escaped);
  return `'${body}'`;
}

export function memberName(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : quoted(name);
}

/** `text` for one line of a comment: it can neither end the comment nor be a directive to TypeScript. */
export function commentLine(text: string): string {
  return text
    .replaceAll('\t', ' ')
    .replace(invisible, escaped)
    .replaceAll('*/', '*\\/')
    .replace(/@(?=ts-)/gi, '@ ')
    .trimEnd();
}

/** The doc comment with these lines; '' for none. */
export function docComment(lines: readonly string[]): string {
  const all = lines.flatMap((line) => line.split(/\r\n|[\n\r\u2028\u2029]/)).map(commentLine);
  const isText = (line: string): boolean => line !== '';
  const text = all.slice(Math.max(0, all.findIndex(isText)), all.findLastIndex(isText) + 1);
  if (text.length === 0) return '';
  if (text.length === 1 && (text[0] ?? '').length < 90) return `/** ${text[0]} */\n`;
  return `/**\n${text.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}

/** Indents all lines but the first, which continues a line. */
export function indented(text: string): string {
  return text.replace(/\n(?!\n)/g, '\n  ');
}

const keywords = (
  'break case catch class const continue debugger default delete do else enum export extends false ' +
  'finally for function if import in instanceof new return super switch this throw true try typeof var ' +
  'while with implements interface let package private protected public static yield await'
).split(' ');
// Names that the generated file uses itself, and names that TypeScript allows for no type.
export const taken =
  'Bytes Contract Method Procedures Uint8Array procedures Record any bigint boolean never null number object string symbol undefined unknown void'
    .split(' ')
    .concat(keywords);

/** The label of a tuple's element: TypeScript 7 accepts most keywords for no label. */
export function labelName(name: string): string {
  return keywords.includes(name) ? `${name}_` : name;
}

/** `pet-store.owner` to `PetStoreOwner`. */
export function typeName(text: string): string {
  const words = text.slice(0, 200).match(/[A-Za-z0-9_$]+/g) ?? [];
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return name === '' ? 'Schema' : name.replace(/^(?=[0-9])/, '_');
}

/** `Pet not found` to `PET_NOT_FOUND`. */
export function constantName(text: string): string {
  const words = text.slice(0, 80).match(/[A-Za-z0-9]+/g) ?? [];
  return words.length === 0 ? 'ERROR' : words.join('_').toUpperCase();
}

/** A value of a document as a message shows it. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(typeof value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** A piece of type text. */
export interface Piece {
  /** Has several lines if it is long. Begins with a line break if it can't begin on the line of its name. */
  readonly text: string;
  /** Needs parentheses beside `[]`, `&` or `|`. */
  readonly loose: boolean;
  /** The alternatives, if the piece is a union. */
  readonly parts?: readonly string[];
}

export interface Member {
  /** The name as it is written: in quotes if it needs them. */
  readonly name: string;
  readonly optional: boolean;
  readonly type: string;
  readonly doc: readonly string[];
}

/** A member that is always there. */
export function member(name: string, type: string, doc: readonly string[] = []): Member {
  return { name, optional: false, type, doc };
}

const widest = 76;

export function tight(text: string): Piece {
  return { text, loose: false };
}

export const unknownPiece: Piece = tight('unknown');

export function enclosed({ text, loose }: Piece): string {
  return loose ? `(${indented(text)}${text.startsWith('\n') ? '\n' : ''})` : text;
}

export function union(pieces: readonly Piece[]): Piece {
  const texts = [...new Set(pieces.flatMap(({ text, parts }) => parts ?? [text]))];
  if (texts.includes('unknown')) return unknownPiece;
  const parts = texts.filter((text) => text !== 'never');
  const [only = 'never'] = parts;
  // No part needs parentheses: only unions do beside `|`, and a union was taken apart above.
  if (parts.length < 2) return pieces.find(({ text }) => text === only) ?? tight(only);
  const line = parts.join(' | ');
  const isShort = line.length <= widest && !line.includes('\n');
  const text = isShort ? line : parts.map((part) => `\n| ${indented(part)}`).join('');
  return { text, loose: true, parts };
}

export function intersection(pieces: readonly Piece[]): Piece {
  const some = [...new Map(pieces.map((piece) => [piece.text, piece])).values()].filter(
    ({ text }) => text !== 'unknown',
  );
  const [only] = some;
  if (only === undefined) return unknownPiece;
  if (some.length === 1) return only;
  return { text: some.map(enclosed).join(' & '), loose: true };
}

/** The members of an object type, one on each line. */
export function memberLines(members: readonly Member[]): string {
  return members.map((member) => `${docComment(member.doc)}${memberText(member)};\n`).join('');
}

export function objectText(members: readonly Member[]): string {
  const line = `{ ${members.map(memberText).join('; ')} }`;
  const isShort = line.length <= widest && !line.includes('\n');
  if (isShort && members.every(({ doc }) => doc.length === 0)) return line;
  return block(memberLines(members));
}

/** Puts lines in braces. */
export function block(lines: string): string {
  if (lines === '') return '{}';
  return `{${indented(`\n${lines.trimEnd()}`)}\n}`;
}

function memberText({ name, optional, type }: Member): string {
  const space = type.startsWith('\n') ? '' : ' ';
  return `${name}${optional ? '?' : ''}:${space}${type.startsWith('\n') ? indented(type) : type}`;
}

/** Keywords that TypeScript has no type for, and that callers want to know: texts before numbers. */
const constraints = keywordRows
  .filter(({ isDocumented }) => isDocumented)
  .sort((a, b) => Number(b.takes === 'string') - Number(a.takes === 'string'));

const longestValue = 200;

/** The lines of the doc comment for a member or a type: the description, then the tags. */
export function schemaDoc(schema: unknown, description?: string): string[] {
  if (!isObject(schema)) return description === undefined ? [] : [description];
  const text = description ?? stringOf(schema, 'description') ?? titleOf(schema);
  const lines = text === undefined ? [] : [text];
  if (own(schema, 'deprecated') === true) lines.push('@deprecated');
  if (own(schema, 'type') === 'integer') lines.push('@integer');
  // The type of a tuple already tells its length.
  const isTuple = Array.isArray(own(schema, 'items')) || Array.isArray(own(schema, 'prefixItems'));
  for (const { name } of constraints) {
    if (!(isTuple && name.endsWith('Items'))) addTag(lines, schema, name);
  }
  addTag(lines, schema, 'default');
  return lines;
}

/** The title, unless it is a single word: that is a name, and the type has a name already. */
function titleOf(schema: JsonObject): string | undefined {
  const title = stringOf(schema, 'title');
  return title?.includes(' ') === true ? title : undefined;
}

function addTag(lines: string[], schema: JsonObject, name: string): void {
  const value = own(schema, name);
  if (value === undefined) return;
  if (typeof value === 'object' && value !== null && name !== 'default') return;
  const text =
    typeof value === 'string' && name !== 'default' ? value : (JSON.stringify(value) ?? '');
  // On one line, since a second line would be read as a description or as another tag.
  const line = text.replace(/\s+/g, ' ');
  lines.push(`@${name} ${line.length > longestValue ? `${line.slice(0, longestValue)}...` : line}`);
}

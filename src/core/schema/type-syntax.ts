import { escapeControls } from '../base/escape.ts';
import { capitalized } from '../base/text.ts';

/** Pieces of TypeScript: literals, comments, unions, members. No text of a schema can leave the place where it stands. */

export type Quote = '"' | "'";

/** A string literal that stays one token in code and in comments. */
export function quoted(value: string, quote: Quote = "'"): string {
  const body = escapeControls(JSON.stringify(value).slice(1, -1)).replaceAll('*/', '*\\/');
  return quote === '"' ? `"${body}"` : `'${body.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

export function memberName(name: string, quote?: Quote): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : quoted(name, quote);
}

const keywords = (
  'break case catch class const continue debugger default delete do else enum export extends false ' +
  'finally for function if import in instanceof new return super switch this throw true try typeof var ' +
  'while with implements interface let package private protected public static yield await'
).split(' ');

/** The label of a tuple's element: TypeScript 7 accepts most keywords for no label. */
export function labelName(name: string): string {
  return keywords.includes(name) ? `${name}_` : name;
}

/** Identifiers that mean a type in the texts that are written here. Those of TypeScript begin with a small letter. */
export const reservedNames: readonly string[] = ['Array', 'Record', 'Uint8Array'];

/** The identifier for the name of a type: `PetStoreOwner` for `pet-store.owner`, and for a URL that ends so. */
export function typeName(given: string): string {
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(given);
  const from = isUrl ? Math.max(given.lastIndexOf('/'), given.lastIndexOf('#')) + 1 : 0;
  const words = given.slice(from, from + 200).match(/[A-Za-z0-9_$]+/g) ?? [];
  const name = words.map(capitalized).join('');
  return name === '' ? 'Schema' : name.replace(/^(?=[0-9])/, '_');
}

/** `text` for one line of a comment: it can neither end the comment nor be a directive to TypeScript. */
export function commentLine(text: string): string {
  return escapeControls(text.replaceAll('\t', ' '))
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

/** Most characters of a union or an object on one line. */
export const maxWidth = 76;

export function tight(text: string): Piece {
  return { text, loose: false };
}

export const unknownPiece: Piece = tight('unknown');

export function enclosed({ text, loose }: Piece): string {
  return loose ? `(${indented(text)}${text.startsWith('\n') ? '\n' : ''})` : text;
}

export function union(pieces: readonly Piece[], width = maxWidth): Piece {
  const texts = [...new Set(pieces.flatMap(({ text, parts }) => parts ?? [text]))];
  if (texts.includes('unknown')) return unknownPiece;
  const parts = texts.filter((text) => text !== 'never');
  const [only = 'never'] = parts;
  // No part needs parentheses: only unions do beside `|`, and a union was taken apart above.
  if (parts.length < 2) return pieces.find(({ text }) => text === only) ?? tight(only);
  const line = parts.join(' | ');
  const isShort = line.length <= width && !line.includes('\n');
  const text = isShort ? line : parts.map((part) => `\n| ${indented(part)}`).join('');
  return { text, loose: true, parts };
}

export function intersection(pieces: readonly Piece[]): Piece {
  // `not` says nothing that TypeScript can say, and what is left must not be hidden by it.
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
  return members.map((one) => `${docComment(one.doc)}${memberText(one)};\n`).join('');
}

export function objectText(members: readonly Member[], width = maxWidth): string {
  const line = `{ ${members.map(memberText).join('; ')} }`;
  const isShort = line.length <= width && !line.includes('\n');
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

/** Most characters of the named members' types that an index signature repeats. */
const maxRepeated = 400;

/**
 * The index signature of an object: the member for all other names. TypeScript demands that its type covers the named
 * members too. If their types are long, it is `unknown`: nobody would read them twice, and each level of nesting would
 * double them.
 */
export function indexMember(
  members: readonly Member[],
  rest: readonly Piece[],
  width = maxWidth,
): Member {
  const length = members.reduce((sum, { type }) => sum + type.length, 0);
  if (length > maxRepeated) return member('[name: string]', 'unknown');
  const named = members.flatMap(({ type, optional }) => [
    tight(type.startsWith('\n') ? `(${type}\n)` : type),
    ...(optional ? [tight('undefined')] : []),
  ]);
  return member('[name: string]', union([...rest, ...named], width).text);
}

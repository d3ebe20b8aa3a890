import { docComment, indented } from './text.ts';

/** A piece of type text. */
export interface Piece {
  /** Has several lines where it is long. Begins with a line break where it can't begin on the line of its name. */
  readonly text: string;
  /** Needs parentheses beside `[]`, `&` or `|`. */
  readonly loose: boolean;
  /** The alternatives, where the piece is a union. */
  readonly parts?: readonly string[];
}

export interface Member {
  /** The name as it is written: in quotes where it needs them. */
  readonly name: string;
  readonly optional: boolean;
  readonly type: string;
  readonly doc: readonly string[];
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

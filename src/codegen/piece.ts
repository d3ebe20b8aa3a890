import { docComment, indented } from './text.ts';

/** A piece of type text, and whether it must stand in parentheses beside `[]`, `&` or `|`. */
export interface Piece {
  /** Of several lines where it is long; begins with a line break where it can't begin on its name's line. */
  readonly text: string;
  readonly loose: boolean;
  /** Of a union: what it unites. */
  readonly parts?: readonly string[];
}

export interface Member {
  /** As it is written: quoted where it must be. */
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
  // What is loose beside | is a union, and that came as its parts.
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

/** The members of an object type, one a line, behind each other. */
export function memberLines(members: readonly Member[]): string {
  return members.map((member) => `${docComment(member.doc)}${memberText(member)};\n`).join('');
}

export function objectText(members: readonly Member[]): string {
  const line = `{ ${members.map(memberText).join('; ')} }`;
  const isShort = line.length <= widest && !line.includes('\n');
  if (isShort && members.every(({ doc }) => doc.length === 0)) return line;
  return block(memberLines(members));
}

/** Lines in braces. */
export function block(lines: string): string {
  if (lines === '') return '{}';
  return `{${indented(`\n${lines.trimEnd()}`)}\n}`;
}

function memberText({ name, optional, type }: Member): string {
  const space = type.startsWith('\n') ? '' : ' ';
  return `${name}${optional ? '?' : ''}:${space}${type.startsWith('\n') ? indented(type) : type}`;
}

import { type Codes, matches, wordOf } from '../codes.ts';
import { isBlank, quickLength } from './plain.ts';

/** Finds the tokens of plain.ts in the codes of a text instead of the text. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const SMALL_N = 0x6e;

/** The members of a request, as a client writes them. */
export const jsonrpcName = wordOf('"jsonrpc"');
export const idName = wordOf('"id"');
export const methodName = wordOf('"method"');
export const paramsName = wordOf('"params"');
export const version = wordOf('"2.0"');
const nullWord = wordOf('null');

/** Index after a plain string: ASCII without escapes and control characters; -1: there is none. */
export function endOfPlainString(codes: Codes, start: number): number {
  if (codes[start] !== QUOTE) return -1;
  const limit = start + 2 + quickLength;
  for (let i = start + 1; i < limit; i++) {
    const c = codes[i] as number;
    if (c === QUOTE) return i + 1;
    if (c < 0x20 || c === BACKSLASH || c >= 0x7f) return -1;
  }
  return -1;
}

/** Index after an id that is a plain string, null, or an integer without exponent; -1: there is none. */
export function endOfPlainId(codes: Codes, start: number): number {
  const first = codes[start];
  if (first === QUOTE) return endOfPlainString(codes, start);
  if (first === SMALL_N) return matches(codes, start, nullWord) ? start + nullWord.length : -1;
  const digits = first === MINUS ? start + 1 : start;
  let i = digits;
  while (isDigit(codes[i] as number)) i++;
  const count = i - digits;
  // No leading zero. A fraction or an exponent is left to the exact reader: the caller expects `,` or `}` here.
  if (count === 0 || count > quickLength - 1) return -1;
  if (count > 1 && codes[digits] === ZERO) return -1;
  return i;
}

/** Index of the value of the member whose name ends at `end`; -1: no colon follows the name. */
export function valueAfter(codes: Codes, end: number): number {
  const colon = skipBlanks(codes, end);
  return codes[colon] === COLON ? skipBlanks(codes, colon + 1) : -1;
}

function isDigit(c: number): boolean {
  return c >= ZERO && c <= NINE;
}

export function skipBlanks(codes: Codes, start: number): number {
  // Usually there is no blank: every other character of JSON is above the space.
  if ((codes[start] as number) > 0x20) return start;
  let i = start;
  while (isBlank(codes[i] as number)) i++;
  return i;
}

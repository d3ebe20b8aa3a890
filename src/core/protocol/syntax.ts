import { endianness } from 'node:os';
import { maxNameLength } from './body.ts';

/** Finds the parts of JSON (RFC 8259) in a text without parsing it: no object is made, and each unit is looked at once or twice. */

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const MINUS = 0x2d;
const ZERO = 0x30;
export const NINE = 0x39;
const SMALL_E = 0x65;
export const SMALL_N = 0x6e;
const SMALL_U = 0x75;

/** The characters of a text as UTF-16 code units, or as the bytes of its UTF-8. */
export type Units = Uint16Array | Uint8Array;

/** Texts of up to so many characters share one kept buffer. A longer text gets a buffer of its own. */
const keptLength = 32 * 1024;

/**
 * Holds the code units of one text at a time, followed by a 0:
 *
 *     text   { "id":1}
 *     units  7b 22 69 64 22 3a 31 7d 00
 *
 * A loop over these numbers takes a third of the time of a loop over `charCodeAt`, which looks up for each
 * character how the engine stores the string. Writing the units costs 50 ns per thousand characters.
 */
export class UnitBuffer {
  readonly #kept = new Uint16Array(keptLength + 1);
  readonly #bytes = bytesOf(this.#kept);

  /** @returns the units of `text`, valid until the next call of `write` */
  write(text: string): Uint16Array {
    const isKept = text.length <= keptLength;
    const units = isKept ? this.#kept : new Uint16Array(text.length + 1);
    const bytes = isKept ? this.#bytes : bytesOf(units);
    const written = bytes.write(text, 0, 'utf16le');
    if (isBigEndian) bytes.subarray(0, written).swap16();
    units[text.length] = 0;
    return units;
  }
}

const isBigEndian = endianness() === 'BE';

function bytesOf(units: Uint16Array): Buffer {
  return Buffer.from(units.buffer, units.byteOffset, units.byteLength);
}

/** The units of a word of ASCII, for `matches`. */
export function wordOf(text: string): Uint16Array {
  return Uint16Array.from(text, (character) => character.charCodeAt(0));
}

/** Whether the word stands at `start`. */
export function matches(units: Units, start: number, word: Uint16Array): boolean {
  for (let i = 0; i < word.length; i++) if (units[start + i] !== word[i]) return false;
  return true;
}

export function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

export function isDigit(unit: number): boolean {
  return unit >= ZERO && unit <= NINE;
}

/** Index of the first unit from `start` that is not JSON white space. */
export function skipBlanks(units: Units, start: number, end: number): number {
  let i = start;
  while (i < end) {
    const unit = units[i] as number;
    // Usually there is no blank: every other character of JSON is above the space.
    if (unit > 0x20 || !isBlank(unit)) break;
    i++;
  }
  return i;
}

/** The same in a text. */
export function skipTextBlanks(text: string, start: number): number {
  // Usually there is no blank: every other character of JSON is above the space.
  if (text.charCodeAt(start) > 0x20) return start;
  let i = start;
  while (isBlank(text.charCodeAt(i))) i++;
  return i;
}

/** Index after a plain string: ASCII without escapes and control characters; -1: there is none. */
export function endOfPlainString(text: string, start: number): number {
  if (text.charCodeAt(start) !== QUOTE) return -1;
  const limit = Math.min(text.length, start + 2 + maxNameLength);
  for (let i = start + 1; i < limit; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) return i + 1;
    if (c < 0x20 || c === BACKSLASH || c >= 0x7f) return -1;
  }
  return -1;
}

/** Index after an id that is a plain string, null, or an integer without exponent; -1: there is none. */
export function endOfPlainId(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfPlainString(text, start);
  if (first === SMALL_N) return text.startsWith('null', start) ? start + 4 : -1;
  let i = first === MINUS ? start + 1 : start;
  const digits = i;
  while (isDigit(text.charCodeAt(i))) i++;
  const count = i - digits;
  // No leading zero. A fraction or an exponent is left to the exact reader: the caller expects `,` or `}` here.
  if (count === 0 || count > maxNameLength - 1) return -1;
  if (count > 1 && text.charCodeAt(digits) === ZERO) return -1;
  return i;
}

/** The opening bracket of each array and object that is open. The option maxDepth allows at most 1000 levels. */
const open = new Uint8Array(1024);

/**
 * Index after the JSON value that starts at `start`; -1: there is none, or it nests deeper than `maxDepth`.
 * `JSON.parse`, which creates objects, takes up to a hundred times as long for arrays of small objects.
 */
export function endOfValue(units: Units, start: number, end: number, maxDepth: number): number {
  let depth = 0;
  let i = start;
  for (;;) {
    // Here a value begins.
    if (i >= end) return -1;
    const first = units[i] as number;
    if (first === OPEN_BRACE || first === OPEN_BRACKET) {
      if (depth >= maxDepth) return -1;
      open[depth++] = first;
      i = skipBlanks(units, i + 1, end);
      if (i >= end) return -1;
      if (units[i] !== closingOf(first)) {
        if (first === OPEN_BRACE) i = endOfMemberName(units, i, end);
        if (i === -1) return -1;
        continue;
      }
      depth--;
      i++;
    } else {
      i = endOfPrimitive(units, i, end, first);
      if (i === -1) return -1;
    }
    // Here a value has ended, and with it perhaps what it stands in.
    for (;;) {
      if (depth === 0) return i;
      let unit = unitAt(units, i, end);
      if (unit <= 0x20) {
        i = skipBlanks(units, i, end);
        unit = unitAt(units, i, end);
      }
      i++;
      const around = open[depth - 1] as number;
      if (unit === closingOf(around)) {
        depth--;
        continue;
      }
      if (unit !== COMMA) return -1;
      i = skipBlanks(units, i, end);
      if (around === OPEN_BRACE) i = endOfMemberName(units, i, end);
      if (i === -1) return -1;
      break;
    }
  }
}

/** `]` for `[`, `}` for `{`: in ASCII the closing bracket is two places behind the opening one. */
function closingOf(bracket: number): number {
  return bracket + 2;
}

function endOfPrimitive(units: Units, start: number, end: number, first: number): number {
  switch (first) {
    case QUOTE:
      return endOfString(units, start, end);
    case 0x74:
      return endOfWord(units, start, end, trueWord);
    case 0x66:
      return endOfWord(units, start, end, falseWord);
    case SMALL_N:
      return endOfWord(units, start, end, nullWord);
    default:
      return endOfNumber(units, start, end, first);
  }
}

/** Index of the value of the member whose name starts at `start`; -1: there is no name, or no colon behind it. */
export function endOfMemberName(units: Units, start: number, end: number): number {
  const nameEnd = endOfString(units, start, end);
  if (nameEnd === -1) return -1;
  const colon = skipBlanks(units, nameEnd, end);
  return colon < end && units[colon] === COLON ? skipBlanks(units, colon + 1, end) : -1;
}

/** Index after the string whose opening quote stands at `start`; -1: it is not valid, or does not end. */
function endOfString(units: Units, start: number, end: number): number {
  if (start >= end || units[start] !== QUOTE) return -1;
  for (let i = start + 1; i < end; i++) {
    const unit = units[i] as number;
    if (unit === QUOTE) return i + 1;
    if (unit < 0x20) return -1;
    if (unit !== BACKSLASH) continue;
    i++;
    if (i >= end) return -1;
    const letter = units[i] as number;
    if (letter === SMALL_U) {
      if (i + 4 >= end || hexAt(units, i + 1) === -1) return -1;
      i += 4;
    } else if (letter > 0x7f || isEscape[letter] !== 1) {
      return -1;
    }
  }
  return -1;
}

const isEscape = new Uint8Array(0x80);
for (const unit of wordOf('"\\/bfnrt')) isEscape[unit] = 1;

/** The number that four hexadecimal digits mean; -1: there are no four. */
function hexAt(units: Units, start: number): number {
  let value = 0;
  for (let i = start; i < start + 4; i++) {
    const unit = units[i] as number;
    const letter = unit | 0x20;
    if (isDigit(unit)) value = value * 16 + unit - ZERO;
    else if (letter >= 0x61 && letter <= 0x66) value = value * 16 + letter - 0x57;
    else return -1;
  }
  return value;
}

/**
 * Whether the valid string at `start` is `text`. Escapes are decoded: `"\u0069d"` is id. No text is made of a name, since a
 * request may have a million members.
 *
 * @param text letters and other characters of which JSON knows no escape but \uXXXX
 */
export function isString(units: Units, start: number, text: string): boolean {
  let i = start + 1;
  for (let n = 0; n < text.length; n++) {
    let unit = units[i++] as number;
    if (unit === BACKSLASH) {
      if (units[i] !== SMALL_U) return false;
      unit = hexAt(units, i + 1);
      i += 5;
    }
    // The closing quote is no character of the text.
    if (unit !== text.charCodeAt(n)) return false;
  }
  return units[i] === QUOTE;
}

/** @param first the unit at `start` */
function endOfNumber(units: Units, start: number, end: number, first: number): number {
  const whole = first === MINUS ? start + 1 : start;
  // A digit behind a leading zero belongs to nothing, and the caller refuses it.
  const isZero = (first === MINUS ? unitAt(units, whole, end) : first) === ZERO;
  let i = isZero ? whole + 1 : endOfDigits(units, whole, end);
  if (i === whole) return -1;
  let unit = unitAt(units, i, end);
  if (unit === 0x2e) {
    const fraction = i + 1;
    i = endOfDigits(units, fraction, end);
    if (i === fraction) return -1;
    unit = unitAt(units, i, end);
  }
  if ((unit | 0x20) === SMALL_E) {
    const sign = unitAt(units, i + 1, end);
    const power = sign === 0x2b || sign === MINUS ? i + 2 : i + 1;
    i = endOfDigits(units, power, end);
    if (i === power) return -1;
  }
  return i;
}

function endOfDigits(units: Units, start: number, end: number): number {
  let i = start;
  // One comparison: what is below '0' becomes a large number.
  while (i < end && ((units[i] as number) - ZERO) >>> 0 < 10) i++;
  return i;
}

/** 0, which stands in no JSON, behind the end. */
function unitAt(units: Units, at: number, end: number): number {
  return at < end ? (units[at] as number) : 0;
}

const trueWord = wordOf('true');
const falseWord = wordOf('false');
const nullWord = wordOf('null');

function endOfWord(units: Units, start: number, end: number, word: Uint16Array): number {
  const after = start + word.length;
  return after <= end && matches(units, start, word) ? after : -1;
}

/**
 * Whether arrays and objects nest deeper than `maxDepth` anywhere in JSON text. Call it before JSON.parse,
 * which holds the thread for half a second on a million `[`. Never throws. For text that is not JSON the
 * answer means nothing: the parse that follows refuses the text.
 */
export function exceedsDepth(text: string, maxDepth: number): boolean {
  // JSON that nests n deep has at least 2n characters.
  if (text.length < 2 * (maxDepth + 1)) return false;
  if (!hasMoreBracketsThan(text, maxDepth)) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = closingQuote(text, i);
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      if (++depth > maxDepth) return true;
    } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      depth--;
    }
  }
  return false;
}

/** Counts opening brackets with the engine's native search. Most bodies have too few to nest too deep. */
function hasMoreBracketsThan(text: string, limit: number): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let i = text.indexOf(bracket); i !== -1; i = text.indexOf(bracket, i + 1)) {
      if (++count > limit) return true;
    }
  }
  return false;
}

/**
 * Index of the quote that closes the string at `start`, found by the engine's native search; index of the last character
 * of the text: there is none.
 */
export function closingQuote(text: string, start: number): number {
  let i = start;
  for (;;) {
    i = text.indexOf('"', i + 1);
    if (i === -1) return text.length - 1;
    let backslashes = 0;
    while (text.charCodeAt(i - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return i;
  }
}

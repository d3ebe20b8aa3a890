import { matches, wordOf } from '../codes.ts';
import type { Units } from './syntax.ts';

/** The members of a request that the protocol defines. */
export type MemberName = 'jsonrpc' | 'id' | 'method' | 'params';

const BACKSLASH = 0x5c;
const SMALL_U = 0x75;

/** Room for the longest of the names and one letter more, which shows that a name is longer. */
const letters = new Uint16Array(8);

const names = (['id', 'method', 'params', 'jsonrpc'] as const).map((name) => ({
  name,
  word: wordOf(name),
}));

/**
 * Which member the name from `start` to `end` (without its quotes) is; undefined: none of the four. Escapes
 * are decoded before the comparison: `"\u0069d"` is id. No text is made of a name, since a request may have a
 * million members.
 */
export function memberName(units: Units, start: number, end: number): MemberName | undefined {
  let count = 0;
  for (let i = start; i < end; count++) {
    if (count === letters.length) return undefined;
    const unit = units[i] as number;
    if (unit !== BACKSLASH) {
      letters[count] = unit;
      i++;
    } else {
      // The only escape of a letter is \uXXXX.
      if (units[i + 1] !== SMALL_U) return undefined;
      letters[count] = hexAt(units, i + 2);
      i += 6;
    }
  }
  for (const { name, word } of names) {
    if (word.length === count && matches(letters, 0, word)) return name;
  }
  return undefined;
}

/** The value of four units that are known to be hexadecimal digits. */
function hexAt(units: Units, start: number): number {
  let value = 0;
  for (let i = start; i < start + 4; i++) {
    const unit = units[i] as number;
    value = value * 16 + (unit <= 0x39 ? unit - 0x30 : (unit | 0x20) - 0x57);
  }
  return value;
}

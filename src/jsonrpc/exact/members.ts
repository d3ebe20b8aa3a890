import type { Readable } from './read-exactly.ts';
import { endOfString, endOfValue, skipBlanks } from './syntax.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const CLOSE_BRACE = 0x7d;
const BACKSLASH = 0x5c;

/** The value of a member stands from `start` to `end`. */
export interface MemberPlace {
  readonly start: number;
  readonly end: number;
}

/** An escape takes at most six units for one character. */
const longestEscape = 6;

/**
 * Where the members of an object stand that have one of the names. Their values are not parsed: one may be megabytes.
 *
 * @param start of an object that is known to be valid JSON
 * @param names without characters that JSON must escape
 * @returns undefined where one of the names stands twice: two readers could take different ones
 */
export function membersAt<Name extends string>(
  readable: Readable,
  start: number,
  end: number,
  names: readonly Name[],
): Partial<Record<Name, MemberPlace>> | undefined {
  const { units } = readable;
  const found: Partial<Record<Name, MemberPlace>> = {};
  let at = skipBlanks(units, start + 1, end);
  while (units[at] !== CLOSE_BRACE) {
    const nameEnd = endOfString(units, at, end);
    const name = nameAt(at, nameEnd);
    // The colon stands between blanks.
    const valueStart = skipBlanks(units, skipBlanks(units, nameEnd, end) + 1, end);
    const valueEnd = endOfValue(units, valueStart, end, Number.POSITIVE_INFINITY);
    if (name !== undefined) {
      if (found[name] !== undefined) return undefined;
      found[name] = { start: valueStart, end: valueEnd };
    }
    at = skipBlanks(units, valueEnd, end);
    if (units[at] === COMMA) at = skipBlanks(units, at + 1, end);
  }
  return found;

  function nameAt(from: number, to: number): Name | undefined {
    const length = to - from - 2;
    let isEscaped = false;
    for (let i = from + 1; i < to - 1 && !isEscaped; i++) isEscaped = units[i] === BACKSLASH;
    for (const name of names) {
      if (isEscaped ? length > name.length * longestEscape : length !== name.length) continue;
      const written = readable.textOf(from, to);
      if ((isEscaped ? JSON.parse(written) : written.slice(1, -1)) === name) return name;
    }
    return undefined;
  }
}

/** The string at a place; undefined: the value is none, or is written longer than `longest` units. */
export function stringAt(
  readable: Readable,
  place: MemberPlace | undefined,
  longest: number,
): string | undefined {
  if (place === undefined || readable.units[place.start] !== QUOTE) return undefined;
  if (place.end - place.start > longest) return undefined;
  const written = readable.textOf(place.start, place.end);
  return written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1);
}

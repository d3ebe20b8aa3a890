import { endOfString } from './depth.ts';
import { endOfPlainId, endOfPlainString, skipBlanks } from './plain.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Where the parts of a request stand in a text. Filled anew for each request. */
export class Found {
  method = '';
  /** -1: none. */
  idStart = -1;
  idEnd = -1;
  /** -1: none. Its brackets are balanced; whether it is JSON is not known yet. */
  paramsStart = -1;
  paramsEnd = -1;

  reset(): this {
    this.method = '';
    this.idStart = -1;
    this.idEnd = -1;
    this.paramsStart = -1;
    this.paramsEnd = -1;
    return this;
  }
}

/**
 * Matches one plain request: each member at most once and without escapes, nothing unknown.
 *
 * @param maxDepth of its params
 * @returns index after its closing brace; -1: not plain
 */
export function scanRequest(
  text: string,
  start: number,
  found: Found,
  maxDepth: number,
  strict: boolean,
): number {
  let hasVersion = false;
  let i = start;
  if (text.charCodeAt(i) !== OPEN_BRACE) return -1;
  do {
    const name = skipBlanks(text, i + 1);
    let end: number;
    if (text.startsWith('"jsonrpc"', name)) {
      const value = valueAfter(text, name + 9);
      if (hasVersion || value === -1 || !text.startsWith('"2.0"', value)) return -1;
      hasVersion = true;
      end = value + 5;
    } else if (text.startsWith('"id"', name)) {
      const value = valueAfter(text, name + 4);
      end = value === -1 || found.idStart !== -1 ? -1 : endOfPlainId(text, value);
      found.idStart = value;
      found.idEnd = end;
    } else if (text.startsWith('"method"', name)) {
      const value = valueAfter(text, name + 8);
      end = value === -1 || found.method !== '' ? -1 : endOfPlainString(text, value);
      if (end === -1) return -1;
      found.method = text.slice(value + 1, end - 1);
      // An empty one is none, and below it would pass for one that has not come yet.
      if (found.method === '') return -1;
    } else if (text.startsWith('"params"', name)) {
      const value = valueAfter(text, name + 8);
      const isRepeated = found.paramsStart !== -1;
      end = value === -1 || isRepeated ? -1 : endOfBrackets(text, value, maxDepth);
      found.paramsStart = value;
      found.paramsEnd = end;
    } else {
      return -1;
    }
    if (end === -1) return -1;
    i = skipBlanks(text, end);
  } while (text.charCodeAt(i) === COMMA);
  const isWhole = found.method !== '' && (hasVersion || !strict);
  return isWhole && text.charCodeAt(i) === CLOSE_BRACE ? i + 1 : -1;
}

/** Index of the value behind a member's name that ends at `end`; -1: no colon. */
function valueAfter(text: string, end: number): number {
  const colon = skipBlanks(text, end);
  return text.charCodeAt(colon) === COLON ? skipBlanks(text, colon + 1) : -1;
}

/** Index after the array or object that opens at `start`; -1: none, deeper than `maxDepth`, or no end. */
export function endOfBrackets(text: string, start: number, maxDepth: number): number {
  const first = text.charCodeAt(start);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return -1;
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = endOfShortString(text, i) - 1;
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      if (++depth > maxDepth) return -1;
    } else if ((c === CLOSE_BRACE || c === CLOSE_BRACKET) && --depth === 0) {
      return i + 1;
    }
  }
  return -1;
}

/** A native search costs as much as a look at ten characters: names are shorter. */
const shortLength = 10;

function endOfShortString(text: string, start: number): number {
  for (let i = start + 1; i < start + shortLength; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) return i + 1;
    if (c === BACKSLASH) break;
  }
  return endOfString(text, start);
}

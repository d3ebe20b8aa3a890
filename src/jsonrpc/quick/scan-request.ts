import { type Codes, matches } from '../codes.ts';
import { endOfString } from '../depth.ts';
import {
  endOfPlainId,
  endOfPlainString,
  idName,
  jsonrpcName,
  methodName,
  paramsName,
  skipBlanks,
  valueAfter,
  version,
} from './plain-codes.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Where the parts of a request stand in a text. One object is filled again for each request. */
export class Found {
  method = '';
  /** -1: none. */
  idStart = -1;
  idEnd = -1;
  /** -1: none. The brackets of the params are balanced; whether they are JSON is not known yet. */
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
 * Matches one plain request: each member at most once, no escapes, no unknown member.
 *
 * @param found is filled with the places of the parts
 * @param maxDepth most levels of the params
 * @returns index after the closing brace of the request; -1: the request is not plain
 */
export function scanRequest(
  text: string,
  codes: Codes,
  start: number,
  found: Found,
  maxDepth: number,
  strict: boolean,
): number {
  let hasVersion = false;
  let i = start;
  if (codes[i] !== OPEN_BRACE) return -1;
  do {
    const name = skipBlanks(codes, i + 1);
    let end: number;
    if (matches(codes, name, jsonrpcName)) {
      const value = valueAfter(codes, name + jsonrpcName.length);
      if (hasVersion || value === -1 || !matches(codes, value, version)) return -1;
      hasVersion = true;
      end = value + version.length;
    } else if (matches(codes, name, idName)) {
      const value = valueAfter(codes, name + idName.length);
      end = value === -1 || found.idStart !== -1 ? -1 : endOfPlainId(codes, value);
      found.idStart = value;
      found.idEnd = end;
    } else if (matches(codes, name, methodName)) {
      const value = valueAfter(codes, name + methodName.length);
      end = value === -1 || found.method !== '' ? -1 : endOfPlainString(codes, value);
      if (end === -1) return -1;
      found.method = text.slice(value + 1, end - 1);
      // An empty method is invalid, and `found.method === ''` means that no method was seen yet.
      if (found.method === '') return -1;
    } else if (matches(codes, name, paramsName)) {
      const value = valueAfter(codes, name + paramsName.length);
      const isRepeated = found.paramsStart !== -1;
      end = value === -1 || isRepeated ? -1 : endOfBrackets(text, codes, value, maxDepth);
      found.paramsStart = value;
      found.paramsEnd = end;
    } else {
      return -1;
    }
    if (end === -1) return -1;
    i = skipBlanks(codes, end);
  } while (codes[i] === COMMA);
  const isWhole = found.method !== '' && (hasVersion || !strict);
  return isWhole && codes[i] === CLOSE_BRACE ? i + 1 : -1;
}

/** Index after the array or object at `start`; -1: none opens there, it nests deeper, or it does not end. */
export function endOfBrackets(text: string, codes: Codes, start: number, maxDepth: number): number {
  const first = codes[start];
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return -1;
  let depth = 0;
  for (let i = start; ; i++) {
    const c = codes[i] as number;
    if (c === QUOTE) {
      i = endOfShortString(text, codes, i) - 1;
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      if (++depth > maxDepth) return -1;
    } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      if (--depth === 0) return i + 1;
    } else if (c === 0) {
      return -1;
    }
  }
}

/** A loop over this many characters costs as much as one native search. */
const shortLength = 64;

function endOfShortString(text: string, codes: Codes, start: number): number {
  for (let i = start + 1; i < start + shortLength; i++) {
    const c = codes[i] as number;
    if (c === QUOTE) return i + 1;
    if (c === BACKSLASH || c === 0) break;
  }
  return endOfString(text, start);
}

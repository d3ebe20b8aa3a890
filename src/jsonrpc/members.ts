import { endOfString } from './depth.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Where the members of a request object stand in the text it was parsed from. Needed because a parsed
 * value no longer shows how a number was written, nor that a member came twice.
 */
export interface MemberOffsets {
  /** -1 where absent. */
  idStart: number;
  idEnd: number;
  paramsStart: number;
  paramsEnd: number;
  /** A jsonrpc, method or params came twice. */
  repeated: boolean;
  idRepeated: boolean;
  /** Index after the object's closing brace. */
  end: number;
}

/** Index of the first character that is no JSON white space. */
export function skipSpace(text: string, start: number): number {
  let i = start;
  // JSON text was accepted by JSON.parse, so everything up to the space is one of its four blanks.
  while (text.charCodeAt(i) <= SPACE) i++;
  return i;
}

/** Offsets in text that is known to be JSON, of the object whose brace opens at `start`. */
export function scanMembers(text: string, start: number): MemberOffsets {
  const found: MemberOffsets = {
    idStart: -1,
    idEnd: -1,
    paramsStart: -1,
    paramsEnd: -1,
    repeated: false,
    idRepeated: false,
    end: start,
  };
  let sawMethod = false;
  let sawVersion = false;
  let i = skipSpace(text, start + 1);
  while (text.charCodeAt(i) === QUOTE) {
    const keyEnd = endOfString(text, i);
    const key = memberName(text, i + 1, keyEnd - 1);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    if (key === 'id') {
      if (found.idStart !== -1) found.idRepeated = true;
      found.idStart = valueStart;
      found.idEnd = valueEnd;
    } else if (key === 'params') {
      if (found.paramsStart !== -1) found.repeated = true;
      found.paramsStart = valueStart;
      found.paramsEnd = valueEnd;
    } else if (key === 'method') {
      if (sawMethod) found.repeated = true;
      sawMethod = true;
    } else if (key === 'jsonrpc') {
      if (sawVersion) found.repeated = true;
      sawVersion = true;
    }
    i = skipSpace(text, valueEnd);
    if (text.charCodeAt(i) === COMMA) i = skipSpace(text, i + 1);
  }
  found.end = i + 1;
  return found;
}

type MemberName = 'jsonrpc' | 'id' | 'method' | 'params' | undefined;

function memberName(text: string, start: number, end: number): MemberName {
  switch (end - start) {
    case 2:
      return text.startsWith('id', start) ? 'id' : undefined;
    case 6:
      if (text.startsWith('method', start)) return 'method';
      return text.startsWith('params', start) ? 'params' : undefined;
    case 7:
      if (text.startsWith('jsonrpc', start)) return 'jsonrpc';
      return escapedName(text, start, end);
    default:
      return escapedName(text, start, end);
  }
}

/** A name written with escapes (`"\u0069d"` is id) is longer than the name; 42 covers `jsonrpc` all escaped. */
function escapedName(text: string, start: number, end: number): MemberName {
  const length = end - start;
  if (length < 7 || length > 42) return undefined;
  const written = text.slice(start, end);
  if (!written.includes('\\')) return undefined;
  const name: unknown = JSON.parse(`"${written}"`);
  return name === 'id' || name === 'method' || name === 'params' || name === 'jsonrpc'
    ? name
    : undefined;
}

/** Index after the value that starts at `start`, in text that is known to be JSON. */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNested(text, start);
  let i = start;
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === COMMA || c === CLOSE_BRACE || c === CLOSE_BRACKET || c <= SPACE) break;
  }
  return i;
}

function endOfNested(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = endOfString(text, i) - 1;
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      depth++;
    } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
      if (--depth === 0) return i + 1;
    }
  }
  return text.length;
}

import { endOfPlainId, endOfPlainString, isBlank, skipBlanks } from './plain.ts';

/**
 * What the quick reader of a single call found. The reader matches the members before `params` forwards and
 * those after `params` backwards, and does not look into the params:
 *
 *     {"jsonrpc":"2.0","method":"add","params":[ ... megabytes ... ],"id":1}
 *     head, read forwards -------------------->                     <-- tail, read backwards
 *                                              start                end
 *
 * A large body is read through two windows: `head` is the beginning of the body and `tail` its end.
 *
 * The reading is exact in this sense: when the text from `start` to `end` is one JSON value, the body is JSON
 * and this is its envelope, since JSON's grammar leaves no other reading. When that text is not a JSON value, or
 * when the reader returns undefined, `readBody` decides.
 */
export interface ScannedEnvelope {
  /** Without escapes: a method with one is left to `readBody`. */
  readonly method: string;
  /** JSON text of the id; undefined: none. */
  readonly id: string | undefined;
  /** Where the params stand in the body; -1: none. */
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACE = 0x7b;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/**
 * @param head the body, or its beginning
 * @param tail the body, or its end
 * @param tailOffset where `tail` begins in the body
 * @param strict demand the jsonrpc member
 */
export function scanEnvelope(
  head: string,
  tail: string,
  tailOffset: number,
  strict: boolean,
): ScannedEnvelope | undefined {
  let method: string | undefined;
  let id: string | undefined;
  let hasVersion = false;
  let i = skipBlanks(head, 0);
  if (head.charCodeAt(i) !== OPEN_BRACE) return undefined;
  for (;;) {
    i = skipBlanks(head, i + 1);
    if (head.charCodeAt(i) !== QUOTE) return undefined;
    const nameStart = i + 1;
    const nameEnd = head.indexOf('"', nameStart);
    if (nameEnd === -1) return undefined;
    i = skipBlanks(head, nameEnd + 1);
    if (head.charCodeAt(i) !== COLON) return undefined;
    const start = skipBlanks(head, i + 1);
    const length = nameEnd - nameStart;
    if (length === 6 && head.startsWith('params', nameStart)) {
      if (method === undefined || (strict && !hasVersion)) return undefined;
      return scanTail(tail, tailOffset, { method, id, start, hasVersion });
    }
    let end: number;
    if (length === 6 && method === undefined && head.startsWith('method', nameStart)) {
      end = endOfPlainString(head, start);
      if (end === -1) return undefined;
      method = head.slice(start + 1, end - 1);
    } else if (length === 2 && id === undefined && head.startsWith('id', nameStart)) {
      end = endOfPlainId(head, start);
      if (end === -1) return undefined;
      id = head.slice(start, end);
    } else if (length === 7 && !hasVersion && head.startsWith('jsonrpc', nameStart)) {
      if (!head.startsWith('"2.0"', start)) return undefined;
      hasVersion = true;
      end = start + 5;
    } else {
      return undefined;
    }
    i = skipBlanks(head, end);
    const c = head.charCodeAt(i);
    if (c === COMMA) continue;
    if (c !== CLOSE_BRACE || method === undefined || (strict && !hasVersion)) return undefined;
    // The object ends here: only blanks may follow it, and the head must be the whole body.
    return skipBlanks(head, i + 1) === head.length && tailOffset + tail.length === head.length
      ? { method, id, start: -1, end: -1 }
      : undefined;
  }
}

/** Reads the members behind the params backwards: many clients send the id last. */
function scanTail(
  tail: string,
  tailOffset: number,
  head: { method: string; id: string | undefined; start: number; hasVersion: boolean },
): ScannedEnvelope | undefined {
  const { method, start } = head;
  let { id, hasVersion } = head;
  let end = skipBlanksBack(tail, tail.length - 1);
  if (tail.charCodeAt(end) !== CLOSE_BRACE) return undefined;
  for (;;) {
    // `end`: index of what ends the params so far: first the closing brace, then the comma before a member.
    const member = memberBefore(tail, end);
    if (member === undefined) break;
    if (member.name === 'id') {
      if (id !== undefined || endOfPlainId(tail, member.start) !== member.end) return undefined;
      id = tail.slice(member.start, member.end);
    } else if (hasVersion || !tail.startsWith('"2.0"', member.start)) {
      return undefined;
    } else {
      hasVersion = true;
    }
    end = member.comma;
  }
  return start < end + tailOffset ? { method, id, start, end: end + tailOffset } : undefined;
}

/** The id or jsonrpc member that ends just before `close`; undefined: something else ends there. */
function memberBefore(
  text: string,
  close: number,
): { name: 'id' | 'jsonrpc'; start: number; end: number; comma: number } | undefined {
  const last = skipBlanksBack(text, close - 1);
  const c = text.charCodeAt(last);
  let start: number;
  if (c === QUOTE) {
    start = text.lastIndexOf('"', last - 1);
    if (start < 0) return undefined;
  } else if ((c >= ZERO && c <= NINE) || c === 0x6c /* null */) {
    start = last;
    while (isWordOrNumber(text.charCodeAt(start - 1))) start--;
  } else {
    return undefined;
  }
  let i = skipBlanksBack(text, start - 1);
  if (text.charCodeAt(i) !== COLON) return undefined;
  i = skipBlanksBack(text, i - 1);
  let name: 'id' | 'jsonrpc';
  if (text.endsWith('"id"', i + 1)) {
    name = 'id';
  } else if (text.endsWith('"jsonrpc"', i + 1)) {
    name = 'jsonrpc';
  } else {
    return undefined;
  }
  i = skipBlanksBack(text, i - name.length - 2);
  if (text.charCodeAt(i) !== COMMA) return undefined;
  return { name, start, end: last + 1, comma: i };
}

function isWordOrNumber(c: number): boolean {
  return (c >= ZERO && c <= NINE) || c === MINUS || (c >= 0x61 && c <= 0x7a);
}

function skipBlanksBack(text: string, start: number): number {
  let i = start;
  while (i >= 0 && isBlank(text.charCodeAt(i))) i--;
  return i;
}

import { isUtf8 } from 'node:buffer';
import { isObject } from '../base/value-kinds.ts';
import {
  type Body,
  type Envelope,
  emptyBatch,
  type InvalidEnvelope,
  invalidEnvelope,
  invalidParams,
  largeBatch,
  largeBody,
  maxNameLength,
  type ReadLimits,
  tooLongBatch,
  unreadableBody,
} from './body.ts';
import { readableBytes, readableText, readExactly } from './exact.ts';
import { scanBatch } from './quick-batch.ts';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  endOfPlainId,
  endOfPlainString,
  isBlank,
  isDigit,
  MINUS,
  OPEN_BRACE,
  QUOTE,
  skipTextBlanks,
} from './syntax.ts';

/**
 * Who reads a body, and why:
 *
 *     reader         reads                        called by              why it exists
 *     scanEnvelope   one call, params untouched   the kernel             the usual body: no parse at all,
 *                                                                        a large one through two windows
 *     scanBatch      a batch of plain requests    readBody               one JSON.parse for all params: half of the
 *                                                                        CPU time of a batch of small calls
 *     readExactly    any body, text or bytes      readBody, readBytes    decides everything that the quick
 *                                                                        readers leave, and every refusal
 *     readPayload    a parsed payload             the kernel             a caller within the program
 *
 * A quick reader returns undefined for whatever is unusual. So only the exact reader decides which error a caller gets.
 */

/** A byte order mark is not JSON: the decoder keeps it in the text, and the readers refuse it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of UTF-8 bytes; undefined where they are not UTF-8, instead of a silent replacement character. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    // One crossing into C++. A check and Buffer's toString would be two, and take three times as long for small bodies.
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A small body as text, which is all that is kept of it, since its bytes are lent; undefined: it is not UTF-8. */
export function toSource(body: string | Uint8Array): string | Uint8Array | undefined {
  if (typeof body === 'string') return body;
  if (body.byteLength <= largeBody) return decodeUtf8(body);
  return isUtf8(body) ? body : undefined;
}

/** Reads a whole body: no call of it runs before all of it is known to be JSON. */
export function readBody(text: string, limits: ReadLimits): Body {
  // The quick reader parses the params of all calls here. The params of a large batch are parsed where each call runs.
  const entries = text.length <= largeBatch ? scanBatch(text, limits) : undefined;
  if (entries !== undefined) return { kind: 'batch', entries };
  return readExactly(readableText(text), limits);
}

/** Reads a whole body from its UTF-8 bytes: decoding a large body into a text takes longer than reading its bytes. */
export function readBytes(bytes: Uint8Array, limits: ReadLimits): Body {
  return isUtf8(bytes) ? readExactly(readableBytes(bytes), limits) : unreadableBody();
}

/**
 * Reads a payload that the caller has parsed already. There is no JSON text, so a reply writes the id's value.
 * The payload may be any object that code can make: one that throws while it is read is an invalid request.
 */
export function readPayload(payload: unknown, limits: ReadLimits): Body {
  try {
    if (!Array.isArray(payload)) {
      return { kind: 'single', entry: readEntry(payload, limits.strict) };
    }
    if (payload.length === 0) return emptyBatch();
    if (payload.length > limits.maxBatch) return tooLongBatch(limits.maxBatch);
    // Array.from visits the holes of a sparse array too, so each hole is answered as an invalid request.
    const entries = Array.from(payload, (value) => readEntry(value, limits.strict));
    return { kind: 'batch', entries };
  } catch {
    return { kind: 'single', entry: invalidEnvelope('null') };
  }
}

function readEntry(value: unknown, strict: boolean): Envelope | InvalidEnvelope {
  try {
    if (!isObject(value)) return invalidEnvelope('null');
    // Each member is read once: a getter could return another value the second time.
    const { jsonrpc, id, method, params } = value;
    const idText = isId(id) ? JSON.stringify(id) : undefined;
    const isValid =
      (id === undefined || idText !== undefined) &&
      (jsonrpc === '2.0' || (jsonrpc === undefined && !strict));
    if (!isValid || !isName(method)) return invalidEnvelope(idText ?? 'null');
    const hasParams = params === undefined || (typeof params === 'object' && params !== null);
    return hasParams
      ? { method, id: idText, params, paramsStart: -1, paramsEnd: -1 }
      : invalidParams(idText);
  } catch {
    return invalidEnvelope('null');
  }
}

function isId(id: unknown): boolean {
  if (typeof id === 'string') return id.length <= maxNameLength;
  return id === null || Number.isFinite(id);
}

function isName(method: unknown): method is string {
  return typeof method === 'string' && method !== '' && method.length <= maxNameLength;
}

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
  let i = skipTextBlanks(head, 0);
  if (head.charCodeAt(i) !== OPEN_BRACE) return undefined;
  for (;;) {
    i = skipTextBlanks(head, i + 1);
    if (head.charCodeAt(i) !== QUOTE) return undefined;
    const nameStart = i + 1;
    const nameEnd = head.indexOf('"', nameStart);
    if (nameEnd === -1) return undefined;
    i = skipTextBlanks(head, nameEnd + 1);
    if (head.charCodeAt(i) !== COLON) return undefined;
    const start = skipTextBlanks(head, i + 1);
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
    i = skipTextBlanks(head, end);
    const c = head.charCodeAt(i);
    if (c === COMMA) continue;
    if (c !== CLOSE_BRACE || method === undefined || (strict && !hasVersion)) return undefined;
    // The object ends here: only blanks may follow it, and the head must be the whole body.
    return skipTextBlanks(head, i + 1) === head.length && tailOffset + tail.length === head.length
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
  } else if (isDigit(c) || c === 0x6c /* null */) {
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
  return isDigit(c) || c === MINUS || (c >= 0x61 && c <= 0x7a);
}

function skipBlanksBack(text: string, start: number): number {
  let i = start;
  while (i >= 0 && isBlank(text.charCodeAt(i))) i--;
  return i;
}

/** The members around the params must stand within so many bytes, or characters, of either end. */
const windowLength = 2048;

/**
 * The quick envelope of a large body, read from its two ends only. Latin-1 keeps one character per byte,
 * so the offsets are the body's own; the quick reader refuses what is not ASCII.
 *
 * One without an id may have it behind the params, where the quick reader does not see it: only the exact
 * one can tell. A search for it in all of the body may take longer than that.
 */
export function scanLargeEnvelope(
  body: string | Uint8Array,
  strict: boolean,
): ScannedEnvelope | undefined {
  const offset = body.length - windowLength;
  if (typeof body === 'string') {
    return scanEnvelope(body.slice(0, windowLength), body.slice(offset), offset, strict);
  }
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const head = buffer.toString('latin1', 0, windowLength);
  const quick = scanEnvelope(head, buffer.toString('latin1', offset), offset, strict);
  return quick !== undefined && isUtf8(buffer) ? quick : undefined;
}

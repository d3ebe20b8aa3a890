import type { Envelope, ReadLimits } from './body.ts';
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  closingQuote,
  endOfPlainId,
  endOfPlainString,
  matches,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipBlanks,
  skipTextBlanks,
  UnitBuffer,
  wordOf,
} from './syntax.ts';

/** The array of the batch and the object of the request. */
const levelsAboveParams = 2;

const buffer = new UnitBuffer();

/**
 * The quick reader of a batch of plain requests: matches every envelope, then parses the params of all
 * requests at once, as one array.
 *
 *     body    [{"method":"add","params":[1,2],"id":1}, {"method":"add","params":[3,4],"id":2}]
 *     parsed                           [[1,2],                                  [3,4]]
 *
 * The result is exact. The params of a request open with a bracket and end where their brackets are balanced,
 * outside of strings. So the joined array is JSON only where the params of each request are one JSON value, and
 * then the body is JSON too. This is cheaper than parsing the body and then looking for the members of each request.
 *
 * @returns undefined where `readBody` must decide: any unusual batch, and every batch that is refused
 */
export function scanBatch(text: string, limits: ReadLimits): Envelope[] | undefined {
  const maxDepth = limits.maxDepth - levelsAboveParams;
  let i = skipTextBlanks(text, 0);
  if (text.charCodeAt(i) !== OPEN_BRACKET) return undefined;
  const units = buffer.write(text);
  let found = new Found();
  const entries: Envelope[] = [];
  let shape: Shape | undefined;
  let params = '';
  do {
    if (entries.length === limits.maxBatch) return undefined;
    const start = skip(units, i + 1);
    i = shape === undefined ? -1 : matchShape(text, units, start, shape, found, maxDepth);
    if (i === -1) {
      found = new Found();
      i = scanRequest(text, units, start, found, maxDepth, limits.strict);
      if (i === -1) return undefined;
      shape = shapeOf(start, i, found);
    }
    const { method, idStart, idEnd, paramsStart, paramsEnd } = found;
    const id = idStart === -1 ? undefined : text.slice(idStart, idEnd);
    entries.push({ method, id, params: undefined, paramsStart, paramsEnd });
    if (paramsStart !== -1) {
      const one = text.slice(paramsStart, paramsEnd);
      params = params === '' ? one : `${params},${one}`;
    }
    i = skip(units, i);
  } while (units[i] === COMMA);
  if (units[i] !== CLOSE_BRACKET) return undefined;
  if (skip(units, i + 1) !== text.length) return undefined;
  return withParams(entries, params);
}

function withParams(
  entries: { -readonly [Member in keyof Envelope]: Envelope[Member] }[],
  params: string,
): Envelope[] | undefined {
  if (params === '') return entries;
  let values: unknown[];
  try {
    values = JSON.parse(`[${params}]`) as unknown[];
  } catch {
    return undefined;
  }
  let next = 0;
  for (const entry of entries) if (entry.paramsStart !== -1) entry.params = values[next++];
  return entries;
}

/**
 * The text of a request without its id and its params. One program wrote the whole batch, so its requests
 * usually differ in nothing but those two: the next request is compared with this text instead of read.
 *
 *     {"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}
 *     |------- head -------| |------- middle --------|     | tail
 *
 * Where `idFirst` is false, the params stand before the id.
 */
interface Shape {
  readonly method: string;
  readonly idFirst: boolean;
  /** Index in the text of the request that the shape was taken from; the same for `middle` and `tail`. */
  readonly head: number;
  readonly headLength: number;
  readonly middle: number;
  readonly middleLength: number;
  readonly tail: number;
  readonly tailLength: number;
}

/** undefined: the request has no id or no params, and is cheap to read. */
function shapeOf(start: number, end: number, found: Found): Shape | undefined {
  const { method, idStart, idEnd, paramsStart, paramsEnd } = found;
  if (idStart === -1 || paramsStart === -1) return undefined;
  const idFirst = idStart < paramsStart;
  const middle = idFirst ? idEnd : paramsEnd;
  const tail = idFirst ? paramsEnd : idEnd;
  return {
    method,
    idFirst,
    head: start,
    headLength: (idFirst ? idStart : paramsStart) - start,
    middle,
    middleLength: (idFirst ? paramsStart : idStart) - middle,
    tail,
    tailLength: end - tail,
  };
}

/** Index after the request at `start`; -1: the request has another shape. */
function matchShape(
  text: string,
  units: Uint16Array,
  start: number,
  shape: Shape,
  found: Found,
  maxDepth: number,
): number {
  const { idFirst, headLength, middleLength, tailLength } = shape;
  if (!isSame(units, start, shape.head, headLength)) return -1;
  const first = start + headLength;
  const firstEnd = idFirst
    ? endOfPlainId(text, first)
    : endOfBrackets(text, units, first, maxDepth);
  if (firstEnd === -1 || !isSame(units, firstEnd, shape.middle, middleLength)) return -1;
  const second = firstEnd + middleLength;
  const secondEnd = idFirst
    ? endOfBrackets(text, units, second, maxDepth)
    : endOfPlainId(text, second);
  if (secondEnd === -1 || !isSame(units, secondEnd, shape.tail, tailLength)) return -1;
  found.method = shape.method;
  found.idStart = idFirst ? first : second;
  found.idEnd = idFirst ? firstEnd : secondEnd;
  found.paramsStart = idFirst ? second : first;
  found.paramsEnd = idFirst ? secondEnd : firstEnd;
  return secondEnd + tailLength;
}

/** Where the parts of a request stand in a text. One object is filled again for each request of the same shape. */
class Found {
  method = '';
  /** -1: none. */
  idStart = -1;
  idEnd = -1;
  /** -1: none. The brackets of the params are balanced; whether they are JSON is not known yet. */
  paramsStart = -1;
  paramsEnd = -1;
}

/**
 * Matches one plain request: each member at most once, no escapes, no unknown member.
 *
 * @param found is filled with the places of the parts
 * @param maxDepth most levels of the params
 * @returns index after the closing brace of the request; -1: the request is not plain
 */
function scanRequest(
  text: string,
  units: Uint16Array,
  start: number,
  found: Found,
  maxDepth: number,
  strict: boolean,
): number {
  let hasVersion = false;
  let i = start;
  if (units[i] !== OPEN_BRACE) return -1;
  do {
    const name = skip(units, i + 1);
    let end: number;
    if (matches(units, name, jsonrpcName)) {
      const value = valueAfter(units, name + jsonrpcName.length);
      if (hasVersion || value === -1 || !matches(units, value, version)) return -1;
      hasVersion = true;
      end = value + version.length;
    } else if (matches(units, name, idName)) {
      const value = valueAfter(units, name + idName.length);
      end = value === -1 || found.idStart !== -1 ? -1 : endOfPlainId(text, value);
      found.idStart = value;
      found.idEnd = end;
    } else if (matches(units, name, methodName)) {
      const value = valueAfter(units, name + methodName.length);
      end = value === -1 || found.method !== '' ? -1 : endOfPlainString(text, value);
      if (end === -1) return -1;
      found.method = text.slice(value + 1, end - 1);
      // An empty method is invalid, and `found.method === ''` means that no method was seen yet.
      if (found.method === '') return -1;
    } else if (matches(units, name, paramsName)) {
      const value = valueAfter(units, name + paramsName.length);
      const isRepeated = found.paramsStart !== -1;
      end = value === -1 || isRepeated ? -1 : endOfBrackets(text, units, value, maxDepth);
      found.paramsStart = value;
      found.paramsEnd = end;
    } else {
      return -1;
    }
    if (end === -1) return -1;
    i = skip(units, end);
  } while (units[i] === COMMA);
  const isWhole = found.method !== '' && (hasVersion || !strict);
  return isWhole && units[i] === CLOSE_BRACE ? i + 1 : -1;
}

/** Index after the array or object at `start`; -1: none opens there, it nests deeper, or it does not end. */
function endOfBrackets(text: string, units: Uint16Array, start: number, maxDepth: number): number {
  const first = units[start];
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return -1;
  let depth = 0;
  for (let i = start; ; i++) {
    const c = units[i] as number;
    if (c === QUOTE) {
      i = closingShortQuote(text, units, i);
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

function closingShortQuote(text: string, units: Uint16Array, start: number): number {
  for (let i = start + 1; i < start + shortLength; i++) {
    const c = units[i] as number;
    if (c === QUOTE) return i;
    if (c === BACKSLASH || c === 0) break;
  }
  return closingQuote(text, start);
}

/** The members of a request, as a client writes them. */
const jsonrpcName = wordOf('"jsonrpc"');
const idName = wordOf('"id"');
const methodName = wordOf('"method"');
const paramsName = wordOf('"params"');
const version = wordOf('"2.0"');

/** Index of the value of the member whose name ends at `end`; -1: no colon follows the name. */
function valueAfter(units: Uint16Array, end: number): number {
  const colon = skip(units, end);
  return units[colon] === COLON ? skip(units, colon + 1) : -1;
}

/** Whether the `length` units at `one` equal those at `other`. */
function isSame(units: Uint16Array, one: number, other: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (units[one + i] !== units[other + i]) return false;
  return true;
}

/** The 0 behind the text stops it, too. */
function skip(units: Uint16Array, start: number): number {
  // Usually there is no blank.
  return (units[start] as number) > 0x20 ? start : skipBlanks(units, start, units.length);
}

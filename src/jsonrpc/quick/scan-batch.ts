import { CodeBuffer, type Codes, isSame } from '../codes.ts';
import type { Envelope } from '../envelope.ts';
import { skipBlanks as skipSpace } from './plain.ts';
import { endOfPlainId, skipBlanks } from './plain-codes.ts';
import { endOfBrackets, Found, scanRequest } from './scan-request.ts';

const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** The array of the batch and the object of the request. */
const levelsAboveParams = 2;

const buffer = new CodeBuffer();

export interface BatchLimits {
  readonly maxDepth: number;
  readonly maxBatch: number;
  /** Demand the jsonrpc member. */
  readonly strict: boolean;
}

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
export function scanBatch(text: string, limits: BatchLimits): Envelope[] | undefined {
  const maxDepth = limits.maxDepth - levelsAboveParams;
  let i = skipSpace(text, 0);
  if (text.charCodeAt(i) !== OPEN_BRACKET) return undefined;
  const codes = buffer.write(text);
  const found = new Found();
  const entries: Envelope[] = [];
  let shape: Shape | undefined;
  let params = '';
  do {
    if (entries.length === limits.maxBatch) return undefined;
    const start = skipBlanks(codes, i + 1);
    i = shape === undefined ? -1 : matchShape(text, codes, start, shape, found, maxDepth);
    if (i === -1) {
      i = scanRequest(text, codes, start, found.reset(), maxDepth, limits.strict);
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
    i = skipBlanks(codes, i);
  } while (codes[i] === COMMA);
  if (codes[i] !== CLOSE_BRACKET) return undefined;
  if (skipBlanks(codes, i + 1) !== text.length) return undefined;
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
  codes: Codes,
  start: number,
  shape: Shape,
  found: Found,
  maxDepth: number,
): number {
  const { idFirst, headLength, middleLength, tailLength } = shape;
  if (!isSame(codes, start, shape.head, headLength)) return -1;
  const first = start + headLength;
  const firstEnd = idFirst
    ? endOfPlainId(codes, first)
    : endOfBrackets(text, codes, first, maxDepth);
  if (firstEnd === -1 || !isSame(codes, firstEnd, shape.middle, middleLength)) return -1;
  const second = firstEnd + middleLength;
  const secondEnd = idFirst
    ? endOfBrackets(text, codes, second, maxDepth)
    : endOfPlainId(codes, second);
  if (secondEnd === -1 || !isSame(codes, secondEnd, shape.tail, tailLength)) return -1;
  found.method = shape.method;
  found.idStart = idFirst ? first : second;
  found.idEnd = idFirst ? firstEnd : secondEnd;
  found.paramsStart = idFirst ? second : first;
  found.paramsEnd = idFirst ? secondEnd : firstEnd;
  return secondEnd + tailLength;
}

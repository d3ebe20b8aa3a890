import type { Envelope } from './envelope.ts';
import { endOfPlainId, skipBlanks } from './plain.ts';
import { endOfBrackets, Found, scanRequest } from './scan-request.ts';

const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;

/** The batch and the request. */
const levelsAboveParams = 2;

export interface BatchLimits {
  readonly maxDepth: number;
  readonly maxBatch: number;
  /** Demand the jsonrpc member. */
  readonly strict: boolean;
}

/**
 * The quick reader of a batch of plain requests: matches every envelope, then parses the params of all
 * of them at once, as one array. That is exact: a stretch of params opens with a bracket and ends where
 * its brackets are balanced, outside of strings, so the array is JSON only where each stretch is one value
 * on its own, and then the body is JSON too. Cheaper than to parse the body and to look for its members
 * after that.
 *
 * @returns undefined where `readBody` must decide: anything unusual, and whatever is refused
 */
export function scanBatch(text: string, limits: BatchLimits): Envelope[] | undefined {
  const maxDepth = limits.maxDepth - levelsAboveParams;
  const found = new Found();
  const entries: Envelope[] = [];
  let shape: Shape | undefined;
  let params = '';
  let i = skipBlanks(text, 0);
  if (text.charCodeAt(i) !== OPEN_BRACKET) return undefined;
  do {
    if (entries.length === limits.maxBatch) return undefined;
    const start = skipBlanks(text, i + 1);
    i = shape === undefined ? -1 : matchShape(text, start, shape, found, maxDepth);
    if (i === -1) {
      i = scanRequest(text, start, found.reset(), maxDepth, limits.strict);
      if (i === -1) return undefined;
      shape = shapeOf(text, start, i, found);
    }
    const { method, idStart, idEnd, paramsStart, paramsEnd } = found;
    const id = idStart === -1 ? undefined : text.slice(idStart, idEnd);
    entries.push({ method, id, params: undefined, paramsStart, paramsEnd });
    if (paramsStart !== -1) {
      const stretch = text.slice(paramsStart, paramsEnd);
      params = params === '' ? stretch : `${params},${stretch}`;
    }
    i = skipBlanks(text, i);
  } while (text.charCodeAt(i) === COMMA);
  if (text.charCodeAt(i) !== CLOSE_BRACKET) return undefined;
  if (skipBlanks(text, i + 1) !== text.length) return undefined;
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
 * A request with its id and its params left out. Those of one batch come from one program: mostly they
 * differ in nothing else, so the next one is compared with the one before instead of read.
 */
interface Shape {
  readonly method: string;
  readonly idFirst: boolean;
  readonly head: string;
  readonly middle: string;
  readonly tail: string;
}

/** undefined: one without id or params, cheap to read as it is. */
function shapeOf(text: string, start: number, end: number, found: Found): Shape | undefined {
  const { method, idStart, idEnd, paramsStart, paramsEnd } = found;
  if (idStart === -1 || paramsStart === -1) return undefined;
  const idFirst = idStart < paramsStart;
  return {
    method,
    idFirst,
    head: text.slice(start, idFirst ? idStart : paramsStart),
    middle: idFirst ? text.slice(idEnd, paramsStart) : text.slice(paramsEnd, idStart),
    tail: text.slice(idFirst ? paramsEnd : idEnd, end),
  };
}

/** Index after a request of that shape; -1: it is of another. */
function matchShape(
  text: string,
  start: number,
  shape: Shape,
  found: Found,
  maxDepth: number,
): number {
  const { head, middle, tail, idFirst } = shape;
  if (!text.startsWith(head, start)) return -1;
  const first = start + head.length;
  const firstEnd = idFirst ? endOfPlainId(text, first) : endOfBrackets(text, first, maxDepth);
  if (firstEnd === -1 || !text.startsWith(middle, firstEnd)) return -1;
  const second = firstEnd + middle.length;
  const secondEnd = idFirst ? endOfBrackets(text, second, maxDepth) : endOfPlainId(text, second);
  if (secondEnd === -1 || !endsWith(text, secondEnd, tail)) return -1;
  found.method = shape.method;
  found.idStart = idFirst ? first : second;
  found.idEnd = idFirst ? firstEnd : secondEnd;
  found.paramsStart = idFirst ? second : first;
  found.paramsEnd = idFirst ? secondEnd : firstEnd;
  return secondEnd + tail.length;
}

/** Mostly the brace alone, which needs no call. */
function endsWith(text: string, start: number, tail: string): boolean {
  if (tail.length === 1) return text.charCodeAt(start) === CLOSE_BRACE;
  return text.startsWith(tail, start);
}

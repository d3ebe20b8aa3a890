import { exceedsDepth } from './depth.ts';
import {
  type Envelope,
  hasValidMembers,
  type InvalidEnvelope,
  invalidEnvelope,
  isId,
  isObject,
  maxNameLength,
} from './envelope.ts';
import { ErrorCode } from './errors.ts';
import { endOfValue, scanMembers, skipSpace } from './members.ts';
import { errorReply } from './reply.ts';
import { scanBatch } from './scan-batch.ts';

export interface ReadLimits {
  readonly maxDepth: number;
  readonly maxBatch: number;
  /** Demand `"jsonrpc": "2.0"`. */
  readonly strict: boolean;
}

/** A body read whole: one reply that ends it, one request, or a batch of them. */
export type Body =
  | EndedBody
  | { readonly kind: 'single'; readonly entry: Envelope | InvalidEnvelope }
  | { readonly kind: 'batch'; readonly entries: readonly (Envelope | InvalidEnvelope)[] };

/** A body that is answered as a whole, without a look at its calls. */
export interface EndedBody {
  readonly kind: 'reply';
  readonly code: ErrorCode;
  readonly reply: string;
}

/** A byte order mark is no JSON: it stays in the text. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of UTF-8 bytes, undefined where they are not UTF-8: never a silent replacement character. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    // One crossing into C++, where a check and Buffer's toString are two: a third of the time for small ones.
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function endedBody(code: ErrorCode, data?: unknown): EndedBody {
  return { kind: 'reply', code, reply: errorReply('null', code, data) };
}

/** What is not JSON. */
export function unreadableBody(): EndedBody {
  return endedBody(ErrorCode.ParseError);
}

/**
 * Reads a whole body: all of it is known to be JSON before any of it may run. The exact reader behind
 * the quick ones of scan.ts and scan-batch.ts, and the only one for whatever is refused.
 */
export function readBody(text: string, limits: ReadLimits): Body {
  const entries = scanBatch(text, limits);
  if (entries !== undefined) return { kind: 'batch', entries };
  if (exceedsDepth(text, limits.maxDepth)) return unreadableBody();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unreadableBody();
  }
  if (Array.isArray(value)) return readBatch(text, value, limits);
  const start = skipSpace(text, 0);
  return { kind: 'single', entry: readEntry(text, start, value, limits.strict).entry };
}

function readBatch(text: string, values: readonly unknown[], limits: ReadLimits): Body {
  const refusal = batchRefusal(values.length, limits.maxBatch);
  if (refusal !== undefined) return refusal;
  const entries: (Envelope | InvalidEnvelope)[] = [];
  let i = skipSpace(text, 0) + 1;
  for (const value of values) {
    i = skipSpace(text, i);
    const { entry, end } = readEntry(text, i, value, limits.strict);
    entries.push(entry);
    i = skipSpace(text, end) + 1;
  }
  return { kind: 'batch', entries };
}

/** The one reply to a batch of a length that is not served, undefined where it is. */
export function batchRefusal(length: number, maxBatch: number): EndedBody | undefined {
  if (length === 0) return endedBody(ErrorCode.InvalidRequest);
  if (length > maxBatch) return endedBody(ErrorCode.LimitExceeded, { limit: maxBatch });
  return undefined;
}

function readEntry(
  text: string,
  start: number,
  value: unknown,
  strict: boolean,
): { entry: Envelope | InvalidEnvelope; end: number } {
  if (!isObject(value)) return { entry: invalidEnvelope('null'), end: endOfValue(text, start) };
  const at = scanMembers(text, start);
  const hasId = at.idStart !== -1;
  const idIsValid =
    !at.idRepeated &&
    (!hasId ||
      (isId(value.id) && (typeof value.id !== 'number' || at.idEnd - at.idStart <= maxNameLength)));
  const id = hasId && idIsValid ? text.slice(at.idStart, at.idEnd) : undefined;
  if (!idIsValid || at.repeated || !hasValidMembers(value, strict)) {
    return { entry: invalidEnvelope(id ?? 'null'), end: at.end };
  }
  const entry: Envelope = {
    method: value.method as string,
    id,
    params: value.params,
    paramsStart: at.paramsStart,
    paramsEnd: at.paramsEnd,
  };
  return { entry, end: at.end };
}

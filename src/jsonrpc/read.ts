import { isUtf8 } from 'node:buffer';
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

export interface ReadLimits {
  readonly maxDepth: number;
  readonly maxBatch: number;
  /** Demand `"jsonrpc": "2.0"`. */
  readonly strict: boolean;
}

/** A body read whole: one reply that ends it, one request, or a batch of them. */
export type Body =
  | { readonly kind: 'reply'; readonly reply: string }
  | { readonly kind: 'single'; readonly entry: Envelope | InvalidEnvelope }
  | { readonly kind: 'batch'; readonly entries: readonly (Envelope | InvalidEnvelope)[] };

/** The text of UTF-8 bytes, undefined where they are not UTF-8: never a silent replacement character. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

export function parseErrorReply(): string {
  return errorReply('null', ErrorCode.ParseError);
}

/**
 * Reads a whole body: all of it is known to be JSON before any of it may run. The exact reader behind
 * the quick one of scan.ts, and the only one for batches and for whatever is refused.
 */
export function readBody(text: string, limits: ReadLimits): Body {
  if (exceedsDepth(text, limits.maxDepth)) return { kind: 'reply', reply: parseErrorReply() };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'reply', reply: parseErrorReply() };
  }
  if (Array.isArray(value)) return readBatch(text, value, limits);
  const start = skipSpace(text, 0);
  return { kind: 'single', entry: readEntry(text, start, value, limits.strict).entry };
}

function readBatch(text: string, values: readonly unknown[], limits: ReadLimits): Body {
  const refusal = batchRefusal(values.length, limits.maxBatch);
  if (refusal !== undefined) return { kind: 'reply', reply: refusal };
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
export function batchRefusal(length: number, maxBatch: number): string | undefined {
  if (length === 0) return errorReply('null', ErrorCode.InvalidRequest);
  if (length > maxBatch) return errorReply('null', ErrorCode.LimitExceeded, { limit: maxBatch });
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

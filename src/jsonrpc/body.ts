import type { Envelope, InvalidEnvelope } from './envelope.ts';
import { ErrorCode } from './errors.ts';
import { errorReply } from './reply.ts';

/**
 * Above so many bytes, or characters, a body or a reply stays bytes, and crosses threads as shared or transferred
 * bytes. Up to here a string crosses faster; above, the thread that reads a cloned string stalls.
 */
export const largeBody = 64 * 1024;

/**
 * Batches above so many bytes, or characters, are looked at and not parsed: to parse the worst one of this
 * size takes up to 15 ms, of the largest two seconds. Usual ones of a thousand calls are shorter, and take
 * half the time if the params of all of them are parsed at once.
 */
export const largeBatch = 128 * 1024;

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

/** What is not JSON. */
export function unreadableBody(): EndedBody {
  return endedBody(ErrorCode.ParseError);
}

/** `[]` */
export function emptyBatch(): EndedBody {
  return endedBody(ErrorCode.InvalidRequest);
}

export function tooLongBatch(maxBatch: number): EndedBody {
  return endedBody(ErrorCode.LimitExceeded, { limit: maxBatch });
}

function endedBody(code: ErrorCode, data?: unknown): EndedBody {
  return { kind: 'reply', code, reply: errorReply('null', code, data) };
}

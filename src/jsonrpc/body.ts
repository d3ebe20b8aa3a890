import type { Envelope, InvalidEnvelope } from './envelope.ts';
import { ErrorCode } from './errors.ts';
import { errorReply } from './reply.ts';

/**
 * A body or a reply of more bytes (or characters) than this stays bytes, and crosses threads as shared or
 * transferred bytes. A smaller one crosses faster as a string. A larger string would be cloned, and the thread
 * that reads the clone would stall.
 */
export const largeBody = 64 * 1024;

/**
 * The front end parses no batch of more bytes (or characters) than this; it only finds where each call's params
 * stand. Parsing the worst batch of this size takes up to 15 ms, the worst of the largest size two seconds. A usual
 * batch of a thousand calls is smaller, and takes half the time when the params of all calls are parsed at once.
 */
export const largeBatch = 128 * 1024;

export interface ReadLimits {
  readonly maxDepth: number;
  readonly maxBatch: number;
  /** Demand `"jsonrpc": "2.0"`. */
  readonly strict: boolean;
}

/** A body that has been read: answered by one reply as a whole, one request, or a batch of requests. */
export type Body =
  | EndedBody
  | { readonly kind: 'single'; readonly entry: Envelope | InvalidEnvelope }
  | { readonly kind: 'batch'; readonly entries: readonly (Envelope | InvalidEnvelope)[] };

/** A body that gets one error reply as a whole; none of its calls runs. */
export interface EndedBody {
  readonly kind: 'reply';
  readonly code: ErrorCode;
  readonly reply: string;
}

/** The body is not JSON. */
export function unreadableBody(): EndedBody {
  return endedBody(ErrorCode.ParseError);
}

/** The body is `[]`. */
export function emptyBatch(): EndedBody {
  return endedBody(ErrorCode.InvalidRequest);
}

export function tooLongBatch(maxBatch: number): EndedBody {
  return endedBody(ErrorCode.LimitExceeded, { limit: maxBatch });
}

function endedBody(code: ErrorCode, data?: unknown): EndedBody {
  return { kind: 'reply', code, reply: errorReply('null', code, data) };
}

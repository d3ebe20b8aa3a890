import { ErrorCode } from './errors.ts';
import { errorReply } from './reply.ts';

/**
 * A body or a reply of more bytes (or characters) than this stays bytes, and crosses threads as shared or
 * transferred bytes. A smaller one crosses faster as a string. A larger string would be cloned, and the thread
 * that reads the clone would stall.
 */
export const largeBody = 64 * 1024;

/** The body as it may be kept: a transport lends a small body only until `handle` returns. */
export function keepBody(body: string | Uint8Array): string | Uint8Array {
  return typeof body === 'string' || body.byteLength > largeBody ? body : new Uint8Array(body);
}

/**
 * The main thread parses no batch of more bytes (or characters) than this; it only finds where each call's params
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

export function unreadableBody(): EndedBody {
  return endedBody(ErrorCode.ParseError);
}

export function emptyBatch(): EndedBody {
  return endedBody(ErrorCode.InvalidRequest);
}

export function tooLongBatch(maxBatch: number): EndedBody {
  return endedBody(ErrorCode.LimitExceeded, { limit: maxBatch });
}

function endedBody(code: ErrorCode, data?: unknown): EndedBody {
  return { kind: 'reply', code, reply: errorReply('null', code, data) };
}

/** Longest method name and longest id, in characters: UTF-16 units of a string, a number as it is written. */
export const maxNameLength = 256;

/** Stands for params that are not parsed yet, but are known to be one JSON value in the body. */
export const verified: unique symbol = Symbol('verified params');

/** Most members of a request. Only four members mean something, but reading each of the others takes time too. */
export const maxMembers = 256;

/** A valid request. Of its params only the kind (object or array) has been checked. */
export interface Envelope {
  readonly method: string;
  /** JSON text of the id, exactly as it was written; undefined: a notification. */
  readonly id: string | undefined;
  /** undefined (none), an object, an array, or `verified`: not parsed, see `paramsStart`. */
  readonly params: unknown;
  /** Where the params stand in the body, -1 where there are none. */
  readonly paramsStart: number;
  readonly paramsEnd: number;
}

/** An entry that is not a valid request. Its error reply has its id where the id is valid, else `null`. */
export interface InvalidEnvelope {
  readonly code: typeof ErrorCode.InvalidRequest;
  readonly id: string;
  /** What its caller is told to send instead; undefined: nothing. */
  readonly data?: { readonly reason: string };
}

export function invalidEnvelope(id: string): InvalidEnvelope {
  return { code: ErrorCode.InvalidRequest, id };
}

/** A request that is valid but for its params: a common mistake, so its caller is told. */
export function invalidParams(id: string | undefined): InvalidEnvelope {
  const data = { reason: 'params must be an object or an array' };
  return { code: ErrorCode.InvalidRequest, id: id ?? 'null', data };
}

/** The reply to an invalid request. */
export function invalidReply({ id, code, data }: InvalidEnvelope): string {
  return errorReply(id, code, data);
}

export function isInvalid(entry: Envelope | InvalidEnvelope): entry is InvalidEnvelope {
  return 'code' in entry;
}

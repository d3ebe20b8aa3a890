import { noMemory, retryForMemoryMs } from '../../dispatch/limit.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { errorReply } from '../../jsonrpc/reply.ts';

/** A reply that is no JSON-RPC reply, as plain data. Each transport writes it and adds the CORS headers. */
export interface Answer {
  readonly status: number;
  /** Flat: name, value, name, value. Holds nothing that a client sent. */
  readonly headers: readonly string[];
  /**
   * Undefined: the reply has no body. A reply to HEAD has one here, for its length. Bytes exist once, however many
   * clients are answered with them.
   */
  readonly body: string | Uint8Array | undefined;
  /** Whether to close the connection after this reply, since it is not certain where the next request begins. */
  readonly close: boolean;
}

const jsonType = ['content-type', 'application/json'];

export function bodyless(status: number, headers: readonly string[]): Answer {
  return { status, headers, body: undefined, close: false };
}

export function jsonAnswer(
  status: number,
  body: string | Uint8Array,
  headers: readonly string[] = [],
): Answer {
  return { status, headers: [...jsonType, ...headers], body, close: false };
}

export function textAnswer(body: Uint8Array, type: string, headers: readonly string[]): Answer {
  return { status: 200, headers: ['content-type', type, ...headers], body, close: false };
}

/**
 * Refuses a request below JSON-RPC: an error object of the same shape, with the id null. `reason` says what to
 * change.
 */
export function rejection(
  status: number,
  reason: string,
  { headers = [], close = false }: { headers?: readonly string[]; close?: boolean } = {},
): Answer {
  const body = errorReply('null', ErrorCode.InvalidRequest, { reason });
  return { ...jsonAnswer(status, body, headers), close };
}

/** Refuses a body over the limit. */
export function tooLarge(limit: number, close: boolean): Answer {
  const body = errorReply('null', ErrorCode.LimitExceeded, { limit });
  return { ...jsonAnswer(413, body), close };
}

/** Refuses a body that did not arrive in time. What arrives later is not read. */
export const lateBody: Answer = rejection(
  408,
  'the body did not arrive in time: 1 s for each 64 KiB, and what the server allows beyond that',
  { close: true },
);

/**
 * Refuses a body that does not fit into the memory for bodies now. The body is not read, so the connection closes.
 */
export const outOfMemory: Answer = {
  ...jsonAnswer(503, noMemory, ['retry-after', String(retryForMemoryMs / 1000)]),
  close: true,
};

/** Answers where this server is at fault: code behind it broke its contract, or the mount can't work. */
export function failure(reason: string): Answer {
  return jsonAnswer(500, errorReply('null', ErrorCode.InternalError, { reason }));
}

/** Answers a request under which the service broke its contract, which is never to throw and never to reject. */
export const serviceFailed: Answer = failure('the service failed');

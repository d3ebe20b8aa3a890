import { ErrorCode } from '../../jsonrpc/errors.ts';
import { errorReply } from '../../jsonrpc/reply.ts';

/** A reply that is no JSON-RPC reply, as plain data: each transport writes it and adds the CORS lines. */
export interface Answer {
  readonly status: number;
  /** Flat: name, value, name, value. Nothing that a client sent. */
  readonly headers: readonly string[];
  /**
   * Undefined: the reply has no body. A reply to HEAD keeps it, for its length. Bytes are there once, however
   * many are answered with them.
   */
  readonly body: string | Uint8Array | undefined;
  /** Close the connection after it: where the next request begins is not certain. */
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

/** A rejection below JSON-RPC: the same error shape, id null. `reason` says what to change. */
export function rejection(
  status: number,
  reason: string,
  { headers = [], close = false }: { headers?: readonly string[]; close?: boolean } = {},
): Answer {
  const body = errorReply('null', ErrorCode.InvalidRequest, { reason });
  return { ...jsonAnswer(status, body, headers), close };
}

/** A body over the limit. */
export function tooLarge(limit: number, close: boolean): Answer {
  const body = errorReply('null', ErrorCode.LimitExceeded, { limit });
  return { ...jsonAnswer(413, body), close };
}

/** A body that did not arrive in time. What comes of it now is not read. */
export const lateBody: Answer = rejection(
  408,
  'the body did not arrive in time: 1 s for each 64 KiB, and what the server allows beyond that',
  { close: true },
);

/** How long a caller should stay away from a service that has no memory for its body. */
const retryAfterMs = 1000;

/** A body that does not fit into the memory for bodies now. It is not read, so the connection ends. */
export const outOfMemory: Answer = {
  ...jsonAnswer(503, errorReply('null', ErrorCode.Overloaded, { retryAfterMs }), [
    'retry-after',
    String(retryAfterMs / 1000),
  ]),
  close: true,
};

/** Where this server is at fault: a contract broken behind it, or a mount that can't work. */
export function failure(reason: string): Answer {
  return jsonAnswer(500, errorReply('null', ErrorCode.InternalError, { reason }));
}

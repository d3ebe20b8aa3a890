import { ErrorCode } from '../jsonrpc/errors.ts';
import { errorReply } from '../jsonrpc/reply.ts';

/** A reply that is no JSON-RPC reply, as plain data: each transport writes it and adds the CORS lines. */
export interface Answer {
  readonly status: number;
  /** Flat: name, value, name, value. Nothing that a client sent. */
  readonly headers: readonly string[];
  /** Undefined: the reply has no body. A reply to HEAD keeps it, for its length. */
  readonly body: string | undefined;
  /** Close the connection after it: where the next request begins is not certain. */
  readonly close: boolean;
}

const jsonType = ['content-type', 'application/json'];

export function bodyless(status: number, headers: readonly string[]): Answer {
  return { status, headers, body: undefined, close: false };
}

export function jsonAnswer(status: number, body: string, headers: readonly string[] = []): Answer {
  return { status, headers: [...jsonType, ...headers], body, close: false };
}

export function textAnswer(body: string, type: string, headers: readonly string[]): Answer {
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

/** Where this server is at fault: a contract broken behind it, or a mount that can't work. */
export function failure(reason: string): Answer {
  return jsonAnswer(500, errorReply('null', ErrorCode.InternalError, { reason }));
}

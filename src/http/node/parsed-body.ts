import type { IncomingMessage } from 'node:http';
import { isPlain } from '../../jsonrpc/json-value.ts';
import { failure } from '../edge/answer.ts';

/** Answers a call whose body was read before this handler got it, and was not kept. */
export const unusableBody = failure(
  'the body was read before this handler, and what the parser left is no JSON: ' +
    'mount the handler before that parser, or have it leave the JSON value, its text or its bytes',
);

/** Whether somebody has read the body of the request. */
export function isRead(req: IncomingMessage): boolean {
  return req.readableDidRead || req.readableEnded;
}

/**
 * The body of a request that a parser of the framework has read: `request.body` of Express and of Fastify.
 *
 * The value of a JSON text is written as text again, so that it passes the same readers and the same limits as any
 * other body. A text is taken as the body itself.
 *
 * @returns null where the parser left nothing, or what no JSON text can have become
 */
export function parsedBody(left: unknown): string | Uint8Array | null {
  if (typeof left === 'string' || left instanceof Uint8Array) return left;
  if (typeof left === 'object' && left !== null && !Array.isArray(left) && !isPlain(left))
    return null;
  try {
    // undefined for a function, a symbol, undefined itself.
    return (JSON.stringify(left) as string | undefined) ?? null;
  } catch (error) {
    // JSON.stringify fails on some thousand levels, where JSON.parse does not. A body that is too deep is answered as one
    // that is not JSON, and so is an empty one.
    if (error instanceof RangeError) return '';
    return null; // a BigInt, a cycle, a getter or toJSON that throws
  }
}

import type { Procedure } from '../procedures/types.ts';
import { verified } from '../protocol/body.ts';
import { exceedsByLength } from '../protocol/reply.ts';
import type { RequestScope } from './scope.ts';
import type { StreamSink } from './streams/contract.ts';
import type { CallTrace } from './trace.ts';

/**
 * Params of which nothing is known yet, not even that they are JSON: they stand in `source` between `start`
 * and `end`. Those that are known to be JSON, and not parsed either, are `verified`.
 */
export const unparsed: unique symbol = Symbol('unparsed params');

/** One call of a procedure that exists, ready to be placed. Plain data. */
export interface Call {
  readonly procedure: Procedure;
  /** JSON text of the id, exactly as it was written; undefined: a notification. */
  readonly id: string | undefined;
  /** undefined (none), an object, an array, `unparsed` or `verified`. */
  readonly params: unknown;
  /** The body the params stand in, where there is one: bytes for a large one. */
  readonly source: string | Uint8Array | undefined;
  /** -1: no params. */
  readonly start: number;
  readonly end: number;
  readonly scope: RequestScope;
  /** Its span, where the request is traced. */
  readonly trace?: CallTrace | undefined;
  /** Who reads the values, where the procedure streams. */
  readonly sink?: StreamSink | undefined;
}

/** Characters or bytes of the params as they came; 0 where they did not come as text. */
export function paramsLength(call: Call): number {
  return call.end - call.start;
}

/** The params of a call that is no longer `unparsed`. */
export function parsedParams({ params, source, start, end }: Call): unknown {
  if (params !== verified || source === undefined) return params;
  return JSON.parse(textBetween(source, start, end));
}

/** The text of a body from `start` to `end`: bytes of UTF-8 are decoded. */
export function textBetween(source: string | Uint8Array, start: number, end: number): string {
  if (typeof source === 'string') return source.slice(start, end);
  const { buffer, byteOffset, byteLength } = source;
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8', start, end);
}

/** Whether the params, as they came, are more than so many bytes. */
export function exceedsBytes(call: Call, limit: number): boolean {
  const { source, start, end } = call;
  if (typeof source !== 'string') return paramsLength(call) > limit;
  return (
    exceedsByLength(paramsLength(call), limit) ??
    Buffer.byteLength(source.slice(start, end)) > limit
  );
}

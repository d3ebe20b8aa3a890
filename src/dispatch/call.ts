import type { Procedure } from '../router/types.ts';
import type { RequestScope } from './scope.ts';
import type { CallTrace } from './trace.ts';

/** Params that have not been parsed: they stand in `source` between `start` and `end`. */
export const unparsed: unique symbol = Symbol('unparsed params');

/** One call of a procedure that exists, ready to be placed. Plain data. */
export interface Call {
  readonly procedure: Procedure;
  /** JSON text of the id, exactly as it was written; undefined: a notification. */
  readonly id: string | undefined;
  /** undefined (none), an object, an array, or `unparsed`. */
  readonly params: unknown;
  /** The body the params stand in, where there is one: bytes for a large one. */
  readonly source: string | Uint8Array | undefined;
  /** -1: no params. */
  readonly start: number;
  readonly end: number;
  readonly scope: RequestScope;
  /** Its span, where the request is traced. */
  readonly trace?: CallTrace | undefined;
}

/** Characters or bytes of the params as they came; 0 where they did not come as text. */
export function paramsLength(call: Call): number {
  return call.end - call.start;
}

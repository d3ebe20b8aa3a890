import type { ReadLimits } from '../jsonrpc/body.ts';
import type { Procedure } from '../router/types.ts';
import type { Executor } from './executor.ts';
import type { OpenStreams } from './streams/open-streams.ts';

/** The procedures and executors one request uses from its first call to its last. */
export interface Routing {
  readonly table: ReadonlyMap<string, Procedure>;
  /** Whether it depends on the length of its params, too, where a call runs. */
  readonly placesByLength: boolean;
  /** Whether procedures may exist that the table lacks: other machines have not told yet what they serve. */
  readonly isIncomplete: boolean;
  /** The streams that calls of this routing have opened. */
  readonly streams: OpenStreams;
  /**
   * Where a call runs now.
   *
   * @param paramsLength characters or bytes of its params as they came
   */
  executorFor(procedure: Procedure, paramsLength: number): Executor;
}

export interface KernelLimits extends ReadLimits {
  readonly maxReplyBytes: number;
  /** Of the params of a call that runs on this thread, as they came. */
  readonly maxInlineParamsBytes: number;
  /** Whether `rpc.discover` is answered. */
  readonly introspection: boolean;
  /** Calls of one batch that run at a time; 1: strictly one after another. */
  readonly batchConcurrency: number;
  /** Whether neighbours in a batch that are readOnly run at the same time. */
  readonly overlapReads: boolean;
}

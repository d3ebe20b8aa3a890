import { noPlace } from '../base/place.ts';
import type { Procedure } from '../procedures/types.ts';
import type { ReadLimits } from '../protocol/body.ts';
import type { Reply } from '../protocol/reply.ts';
import type { Call } from './call.ts';
import { CallEnding } from './call-ending.ts';
import type { Executor } from './executor.ts';
import { cancelled } from './limit.ts';
import type { CallObserver } from './observer.ts';
import type { OpenStreams } from './streams/open-streams.ts';

/** The procedures and executors one request uses from its first call to its last. */
export interface Routing {
  readonly table: ReadonlyMap<string, Procedure>;
  /** Whether procedures may exist that the table lacks: other machines have not told yet what they serve. */
  readonly isIncomplete: boolean;
  /** The streams that calls of this routing have opened. */
  readonly streams: OpenStreams;
  /** Where calls of the procedure run now. */
  executorFor(procedure: Procedure): Executor;
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

/** The executor of a service that has ended: nothing runs, each call is answered as cancelled before it ran. */
export class ClosedExecutor implements Executor {
  readonly place = noPlace;
  readonly takesUnparsed = true;
  readonly #ending: CallEnding;

  constructor(observer: CallObserver | undefined) {
    // A refusal is short: no bound on replies is near it.
    this.#ending = new CallEnding(noPlace, Number.POSITIVE_INFINITY, observer);
  }

  execute(call: Call): Reply {
    return this.#ending.refuse(call, cancelled);
  }
}

/** What a service serves after its end. */
export function closedRouting(
  table: ReadonlyMap<string, Procedure>,
  streams: OpenStreams,
  observer: CallObserver | undefined,
): Routing {
  const executor = new ClosedExecutor(observer);
  return {
    table,
    isIncomplete: false,
    streams,
    executorFor: () => executor,
  };
}

import type { Place } from '../base/place.ts';
import type { FaultReporter } from '../procedures/fault.ts';
import { capped } from '../procedures/invoke.ts';
import { finishedReply, type Outcome, type Reply } from '../protocol/reply.ts';
import type { Call } from './call.ts';
import { errorFor, type Refusal } from './limit.ts';
import { type CallObserver, neverRan, type Timing } from './observer.ts';

/**
 * How the calls of one place end: each method makes a call's reply, reports the call to the observer, and gives the
 * reply back. Nobody else calls `onCall`. Whoever ends a call does it here, once; see {@link Executor}.
 *
 * Times are microseconds. `runUs`: in the handler, `neverRan` or `notTimed`. `waitUs`: see {@link CallObserver.onCall}.
 */
export class CallEnding {
  readonly place: Place;
  readonly maxReplyBytes: number;
  readonly observer: CallObserver | undefined;

  readonly #onFault: FaultReporter | undefined;

  /** @param onFault told of results that are too large; undefined: nobody is */
  constructor(
    place: Place,
    maxReplyBytes: number,
    observer: CallObserver | undefined,
    onFault?: FaultReporter,
  ) {
    this.#onFault = onFault;
    this.place = place;
    this.maxReplyBytes = maxReplyBytes;
    this.observer = observer;
  }

  get timing(): Timing {
    return this.observer?.timing ?? 'none';
  }

  /** A handler has come to `outcome`: its reply, or a -32004 in its place where the reply is too large. */
  finish(call: Call, outcome: Outcome, runUs: number, waitUs = 0): Reply {
    const { id, procedure } = call;
    if (id === undefined) return this.pass(call, undefined, outcome.code, runUs, waitUs);
    const kept = capped(procedure, id, outcome, this.maxReplyBytes, this.#onFault);
    return this.pass(call, finishedReply(id, kept), kept.code, runUs, waitUs);
  }

  /** A call ends with a standard error: it is not run, or not waited for any longer. */
  refuse(call: Call, refusal: Refusal, runUs = neverRan, waitUs = 0): Reply {
    if (refusal.overload !== undefined) this.observer?.onOverloaded?.(refusal.overload, call.scope);
    return this.pass(call, errorFor(call, refusal), refusal.code, runUs, waitUs);
  }

  /**
   * A reply that was made, and capped, where the call ran.
   *
   * @param code of its error; 0: a result
   */
  pass(call: Call, reply: Reply, code: number, runUs: number, waitUs = 0): Reply {
    this.observer?.onCall(call, code, this.place, waitUs, runUs, reply);
    return reply;
  }
}

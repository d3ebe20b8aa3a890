import type { Place } from '../base/place.ts';
import type { Reply, ReplySink } from '../protocol/reply.ts';
import type { Call } from './call.ts';

/**
 * Something that runs calls: this thread, worker threads, other machines. `test/dispatch/executors/` holds each executor to
 * this contract, clause by clause.
 *
 * - **One report.** The observer hears of each call once, under the name of the place, with the code of the reply.
 *   `CallEnding` makes the reply and the report in one step.
 * - **One answer.** Each call gets exactly one reply with its own id, after the report. Nothing throws, nothing rejects: an
 *   unforeseen fault is a -32603.
 * - **Synchronous if possible.** A promise costs a small call more than the call itself: the sink is called before `execute`
 *   returns where the call was synchronous.
 * - **Notifications** run and are reported like other calls. Their reply is `undefined`.
 * - **Reply cap.** A reply of more than `maxReplyBytes` bytes is replaced by -32004, in the report too.
 * - **Deadline.** A call may run for its procedure's `timeoutMs`, else for the service's, and no longer than its request's
 *   time (`RequestScope.expiresAt`). Then it is answered with -32001, its signal is aborted, and what its handler gives
 *   later is dropped. Without any time left it is not run. Only an executor that can stop a thread ends synchronous code.
 * - **Cancellation.** If the caller leaves (`RequestScope.cancel`), a call that has not started gets -32003 and never runs.
 *   The signal of a running call is aborted; the call is answered when its handler ends, or at its deadline.
 * - **Close.** New calls and calls that have not started get -32003. A running call may end within the grace; after it the
 *   call gets -32002 (`shutdown`). When the close has resolved, every call has its answer.
 * - **Loss.** If a thread or machine is lost, its started calls get -32002. Calls that had not started run elsewhere.
 * - **Batches.** Calls of a batch procedure that come at the same time run together. Each keeps its own validation, signal,
 *   answer and report; what ends the run ends all its calls.
 * - **Streams.** A call with a sink is answered when its handler has given an iterator, with what the sink says. Then its
 *   values come in order, as many as were granted, and one end that says why; after a cancel nothing comes. After a loss,
 *   the values that were yielded come before the end.
 */
export interface Executor {
  /** The name under which calls here are reported. */
  readonly place: Place;
  /**
   * Whether calls may come with params that nobody has parsed (`unparsed`): this executor has them read where the call
   * runs. All others are given params that are values, or known to be JSON (`verified`).
   */
  readonly takesUnparsed: boolean;
  /** Runs one call. Never throws. */
  execute(call: Call, sink: ReplySink): void;
  /**
   * Runs calls of one request one after another: each begins when the one before has its answer. The replies come together, in
   * the order of the calls. An executor has this only where handing over several calls at a time saves something. Never throws.
   */
  executeInOrder?(calls: readonly Call[], sink: ReplySink<readonly Reply[]>): void;
}

/** What a service shows of the executors in one place. */
export interface ExecutorFigures {
  readonly place: Place;
  /** Calls that have begun there, or were sent there, and have not ended. */
  readonly inFlight: number;
}

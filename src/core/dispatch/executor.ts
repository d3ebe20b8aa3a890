import type { Place } from '../base/place.ts';
import type { GoesToSink, Reply, ReplySink } from '../protocol/reply.ts';
import type { Call } from './call.ts';

/**
 * Something that runs calls: this thread, worker threads, other machines. Every executor keeps the same contract;
 * `test/dispatch/executors/` holds each one to it, clause by clause.
 *
 * - **One report.** The executor tells the observer of each call exactly once (`CallObserver.onCall`), under the name
 *   of its place, with the code that the reply carries. It does so through its `CallEnding`, which makes the reply and
 *   the report in one step.
 * - **One answer.** Each call gets exactly one reply, which carries the call's own id. The report comes first.
 * - **Nothing throws, nothing rejects.** Whatever goes wrong is an error reply: -32603 where nobody foresaw it.
 * - **Synchronous or not.** An executor may answer in the same turn, and must where it can: a promise costs a small call
 *   more than the call itself. Callers take both.
 * - **Notifications** run and are reported like other calls. Their reply is `undefined`, whatever became of them.
 * - **Reply cap.** A reply of more than `maxReplyBytes` bytes is replaced by -32004, in the report too.
 * - **Deadline.** A call may run for its procedure's `timeoutMs`, else for the service's, and no longer than its
 *   request's time (`RequestScope.expiresAt`). Then it is answered with -32001, and its signal is aborted. What its
 *   handler gives later is dropped. A call whose request has no time left is answered with -32001 without being run.
 *   Only an executor that can stop a thread ends synchronous code at its deadline.
 * - **Cancellation.** When the caller leaves (`RequestScope.cancel`), a call that has not started is answered with -32003
 *   and never runs. The signal of a call that runs is aborted; the call is answered when its handler ends, or at its
 *   deadline.
 * - **Close.** From the close on, a call that comes is answered with -32003 and never runs. A call that runs may end within
 *   the grace; after the grace it is answered with -32002 (`shutdown`). A call that has not started by then gets -32003.
 *   When the close has resolved, every call has its answer.
 * - **Loss.** Where what runs a call can be lost (a thread that dies), a call that had started is answered with -32002 and
 *   is not run again. A call that had not started runs elsewhere.
 * - **Streams.** A call with a sink is answered when its handler has given an iterator, with what the sink says (`StreamSink`).
 *   Then its values come in order, as many as were granted, and one end that says why; after a cancel nothing comes. A failure
 *   before that is an ordinary reply. Where what runs it is lost, the values that were yielded come before the end.
 */
export interface Executor {
  /** The name under which calls here are reported. */
  readonly place: Place;
  /**
   * Whether calls may come with params that nobody has parsed (`unparsed`): this executor has them read where the call
   * runs. All others are given params that are values, or known to be JSON (`verified`).
   */
  readonly takesUnparsed: boolean;
  /** Runs one call. Never throws, never rejects. Synchronous where the call was. */
  execute(call: Call): Reply | Promise<Reply>;
  /**
   * As `execute`, for a call that is alone in its request: the reply is returned, or goes to the sink. An executor has this
   * only where its calls are answered later. Never throws.
   */
  executeInto?(call: Call, sink: ReplySink): Reply | GoesToSink;
  /**
   * Runs calls of one request one after another: each begins when the one before has its answer. The replies come in the
   * order of the calls. An executor has this only where handing over several calls at a time saves something. Never
   * throws, never rejects.
   */
  executeInOrder?(calls: readonly Call[]): Reply[] | Promise<Reply[]>;
}

/** What a service shows of the executors in one place. */
export interface ExecutorFigures {
  readonly place: Place;
  /** Calls that have begun there, or were sent there, and have not ended. */
  readonly inFlight: number;
}

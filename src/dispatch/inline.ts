import { ErrorCode, standardError } from '../jsonrpc/errors.ts';
import { cappedReply, type Outcome, type Reply } from '../jsonrpc/reply.ts';
import { type InvokeOptions, invoke } from '../router/invoke.ts';
import { LazyContext } from '../router/lazy-context.ts';
import type { Call } from './call.ts';
import type { Deadline, DeadlineSweep } from './deadline.ts';
import type { Executor, RunObserver } from './executor.ts';

import { errorFor, refusalBeforeStart, type TimeLimit, timeLimit } from './limit.ts';
import type { CancelListener } from './scope.ts';

export interface InlineOptions extends InvokeOptions {
  readonly timeoutMs: number;
  readonly maxReplyBytes: number;
}

/** Runs calls on this thread: right for the cheap ones, and for those that wait for I/O. */
export class InlineExecutor implements Executor {
  readonly takesUnparsed = false;
  readonly #options: InlineOptions;
  readonly #deadlines: DeadlineSweep;
  readonly #onRun: RunObserver | undefined;
  #closed = false;

  /** @param onRun where given, synchronous runs are timed for it */
  constructor(options: InlineOptions, deadlines: DeadlineSweep, onRun?: RunObserver) {
    this.#options = options;
    this.#deadlines = deadlines;
    this.#onRun = onRun;
  }

  /** From here on nothing starts; what waits is ended through its deadline. */
  close(): void {
    this.#closed = true;
  }

  execute(call: Call): Reply | Promise<Reply> {
    if (this.#closed) return errorFor(call, ErrorCode.Cancelled);
    const now = Date.now();
    const refusal = refusalBeforeStart(call.scope, now);
    if (refusal !== undefined) return errorFor(call, refusal.code, refusal.data);
    const limit = timeLimit(call, this.#options.timeoutMs, now);
    const context = new LazyContext(call.procedure, call.id, call.scope, limit.at);
    const began = this.#onRun === undefined ? 0 : performance.now();
    const outcome = invoke(call.procedure, call.params, context, this.#options);
    if (this.#onRun !== undefined && !(outcome instanceof Promise) && outcome.ok) {
      this.#onRun(call, (performance.now() - began) * 1000);
    }
    return outcome instanceof Promise
      ? this.#supervise(call, context, outcome, limit)
      : this.#reply(call, outcome);
  }

  executeInOrder(calls: readonly Call[]): Reply[] | Promise<Reply[]> {
    return this.#continue(calls, []);
  }

  /** Goes on synchronously until a reply is a promise. */
  #continue(calls: readonly Call[], replies: Reply[]): Reply[] | Promise<Reply[]> {
    while (replies.length < calls.length) {
      const reply = this.execute(calls[replies.length] as Call);
      if (reply instanceof Promise) {
        return reply.then((value) => {
          replies.push(value);
          return this.#continue(calls, replies);
        });
      }
      replies.push(reply);
    }
    return replies;
  }

  #reply(call: Call, outcome: Outcome): Reply {
    return call.id === undefined
      ? undefined
      : cappedReply(call.id, outcome, this.#options.maxReplyBytes);
  }

  /** A call that waits: answered when it ends or at its deadline, its signal aborted when nobody waits. */
  #supervise(
    call: Call,
    context: LazyContext,
    outcome: Promise<Outcome>,
    limit: TimeLimit,
  ): Promise<Reply> {
    return new Promise((resolve) => {
      const settle = (reply: Reply): void => {
        this.#deadlines.delete(deadline);
        call.scope.removeListener(cancel);
        resolve(reply);
      };
      const deadline: Deadline = {
        at: limit.at,
        expire: () => {
          const data = { timeoutMs: limit.timeoutMs };
          context.abort(standardError(ErrorCode.DeadlineExceeded, data));
          settle(errorFor(call, ErrorCode.DeadlineExceeded, data));
        },
        shutdown: () => {
          const data = { reason: 'shutdown' };
          context.abort(standardError(ErrorCode.WorkerLost, data));
          settle(errorFor(call, ErrorCode.WorkerLost, data));
        },
      };
      const cancel: CancelListener = {
        onCancelled: () => context.abort(standardError(ErrorCode.Cancelled)),
      };
      this.#deadlines.add(deadline);
      call.scope.addListener(cancel);
      // Its own synchronous part may have ended the caller's wait.
      if (call.scope.cancelled) cancel.onCancelled();
      // An outcome never rejects; one that comes after the deadline resolves a promise that is resolved.
      void outcome.then((value) => settle(this.#reply(call, value)));
    });
  }
}

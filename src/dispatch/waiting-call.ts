import { clockMs } from '../base/clock.ts';
import { ErrorCode, standardError } from '../jsonrpc/errors.ts';
import type { Outcome, Reply } from '../jsonrpc/reply.ts';
import { sourceOf } from '../router/invoke.ts';
import type { LazyContext } from '../router/lazy-context.ts';
import type { Call } from './call.ts';
import type { Deadline } from './deadline.ts';
import { deadlineExceeded, lostCall, type Refusal, type TimeLimit } from './limit.ts';
import type { CancelListener } from './scope.ts';

/** The executor in which a call waits. */
export interface WaitingOwner {
  /** Called when the call has ended. */
  finish(waiting: WaitingCall, outcome: Outcome): Reply;
  /** Called when the call must be answered before it has ended. */
  giveUp(waiting: WaitingCall, refusal: Refusal): Reply;
}

/**
 * An inline call that waits. It is answered when it ends or at its deadline; its signal is aborted when nobody waits
 * for it any more.
 */
export class WaitingCall implements Deadline, CancelListener {
  readonly call: Call;
  readonly at: number;
  /** When the call began, by `clockMs`; undefined: the call is not timed. */
  readonly began: number | undefined;
  readonly context: LazyContext;
  readonly #timeoutMs: number;
  readonly #owner: WaitingOwner;
  readonly #resolve: (reply: Reply) => void;
  #isAnswered = false;

  constructor(
    call: Call,
    began: number | undefined,
    context: LazyContext,
    limit: TimeLimit,
    owner: WaitingOwner,
    resolve: (reply: Reply) => void,
  ) {
    this.call = call;
    this.at = limit.at;
    this.began = began;
    this.context = context;
    this.#timeoutMs = limit.timeoutMs;
    this.#owner = owner;
    this.#resolve = resolve;
  }

  /** Milliseconds since the call began, computed from its deadline. */
  get waitedMs(): number {
    return Math.max(0, clockMs() - (this.at - this.#timeoutMs));
  }

  /** Ends the call with what its handler came to. Does nothing where the call was answered at its deadline. */
  end(outcome: Outcome): void {
    if (this.#isAnswered) {
      // A stream that nobody waits for any more.
      void sourceOf(outcome)?.close();
      return;
    }
    this.#isAnswered = true;
    this.#resolve(this.#owner.finish(this, outcome));
  }

  expire(): void {
    this.#giveUp(deadlineExceeded(this.#timeoutMs));
  }

  shutdown(): void {
    this.#giveUp(lostCall(this.call, 'shutdown'));
  }

  onCancelled(): void {
    this.context.abort(standardError(ErrorCode.Cancelled));
  }

  #giveUp(refusal: Refusal): void {
    this.context.abort(standardError(refusal.code, refusal.data));
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#resolve(this.#owner.giveUp(this, refusal));
  }
}

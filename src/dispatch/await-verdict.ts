import { ErrorCode } from '../jsonrpc/errors.ts';
import { errorOutcome, type Outcome } from '../jsonrpc/reply.ts';
import type { Verdict } from './authenticate.ts';
import type { Deadline, DeadlineSweep } from './deadline.ts';
import type { CancelListener, RequestScope } from './scope.ts';

/**
 * Waits for the verdict on the caller of a request: until the request's deadline, until the caller leaves, or until the
 * service ends.
 *
 * @returns why nothing of the request runs; undefined: it may run, and its scope knows who calls. Synchronous where
 *   the verdict is there. Never rejects.
 */
export function awaitVerdict(
  scope: RequestScope,
  verdict: Verdict | Promise<Verdict>,
  deadlines: DeadlineSweep,
): Outcome | undefined | Promise<Outcome | undefined> {
  if (!(verdict instanceof Promise)) return read(scope, verdict);
  return new Promise((resolve) => {
    const settle = (refusal: Outcome | undefined): void => {
      deadlines.delete(deadline);
      scope.removeListener(cancel);
      resolve(refusal);
    };
    const deadline: Deadline = {
      at: scope.expiresAt,
      expire: () => {
        settle(errorOutcome(ErrorCode.DeadlineExceeded, { timeoutMs: scope.timeoutMs }));
      },
      shutdown: () => settle(errorOutcome(ErrorCode.Cancelled)),
    };
    const cancel: CancelListener = {
      onCancelled: () => settle(errorOutcome(ErrorCode.Cancelled)),
    };
    deadlines.add(deadline);
    scope.addListener(cancel);
    if (scope.cancelled) cancel.onCancelled();
    void verdict.then((value) => settle(read(scope, value)));
  });
}

function read(scope: RequestScope, verdict: Verdict): Outcome | undefined {
  if (verdict.refusal !== undefined) return verdict.refusal;
  scope.admit(verdict.authText);
  return undefined;
}

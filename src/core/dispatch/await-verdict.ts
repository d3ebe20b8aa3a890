import { ErrorCode } from '../protocol/errors.ts';
import { errorOutcome, type Outcome } from '../protocol/reply.ts';
import type { Verdict } from './authenticate.ts';
import type { Deadline, DeadlineSweep } from './deadline.ts';
import { cancelledOutcome } from './limit.ts';
import type { CancelListener, RequestScope } from './scope.ts';

/**
 * Waits for the verdict on the caller of a request, as `refusalWithin` waits.
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
  const refusal = verdict.then((value) => read(scope, value));
  return refusalWithin(scope, refusal, deadlines);
}

/**
 * Waits for what must be known before a request may run: until the request's deadline, until the caller leaves, or until
 * the service ends.
 *
 * @returns why nothing of the request runs; undefined: it may run. Rejects where `refusal` rejects first
 */
export function refusalWithin(
  scope: RequestScope,
  refusal: Promise<Outcome | undefined>,
  deadlines: DeadlineSweep,
): Promise<Outcome | undefined> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      deadlines.delete(deadline);
      scope.removeListener(cancel);
    };
    const settle = (found: Outcome | undefined): void => {
      leave();
      resolve(found);
    };
    const deadline: Deadline = {
      at: scope.expiresAt,
      expire: () => {
        settle(errorOutcome(ErrorCode.DeadlineExceeded, { timeoutMs: scope.timeoutMs }));
      },
      shutdown: () => settle(cancelledOutcome),
    };
    const cancel: CancelListener = {
      onCancelled: () => settle(cancelledOutcome),
    };
    deadlines.add(deadline);
    scope.addListener(cancel);
    if (scope.cancelled) cancel.onCancelled();
    refusal.then(settle, (error: unknown) => {
      leave();
      reject(error);
    });
  });
}

function read(scope: RequestScope, verdict: Verdict): Outcome | undefined {
  if (verdict.refusal !== undefined) return verdict.refusal;
  scope.admit(verdict.authText);
  return undefined;
}

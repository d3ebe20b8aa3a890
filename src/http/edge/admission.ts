import type { Verdict } from '../../dispatch/authenticate.ts';
import type { RequestScope } from '../../dispatch/scope.ts';
import type { Service } from '../../dispatch/service.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { cappedReply, type Outcome } from '../../jsonrpc/reply.ts';
import { type Answer, jsonAnswer } from './answer.ts';

/**
 * Answers a request that is no call when it is known who calls.
 *
 * @param scope the request's own: cancelled when its client goes
 * @param verdict what the hook says of the request
 * @param answer what the request gets where the hook lets it through
 */
export function admitted<Let extends Answer | undefined>(
  service: Service,
  scope: RequestScope,
  verdict: Verdict | Promise<Verdict>,
  answer: () => Let | Promise<Let>,
): Answer | Let | Promise<Answer | Let> {
  scope.verdict = verdict;
  const refusal = service.admit(scope);
  const settle = (value: Outcome | undefined): Answer | Let | Promise<Let> =>
    value === undefined ? answer() : refused(value);
  return refusal instanceof Promise ? refusal.then(settle) : settle(refusal);
}

const noStore = ['cache-control', 'no-store'];

function refused(refusal: Outcome): Answer {
  const body = cappedReply('null', refusal, Number.POSITIVE_INFINITY);
  // 403 in place of 401: a 401 must name a scheme to log in with (RFC 9110, 15.5.2), which only the hook knows.
  return jsonAnswer(statusOfService(refusal.code) ?? 403, body, noStore);
}

/** The status of a refusal whose cause is the service; undefined: `authenticate` has refused the caller. */
export function statusOfService(code: number): 500 | 503 | undefined {
  switch (code) {
    case ErrorCode.InternalError:
      return 500;
    case ErrorCode.Overloaded:
    case ErrorCode.DeadlineExceeded:
    case ErrorCode.Cancelled:
      return 503;
    default:
      return undefined;
  }
}

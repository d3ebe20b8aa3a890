import type { Authenticator, Verdict } from '../../../core/dispatch/authenticate.ts';
import type { RequestScope } from '../../../core/dispatch/scope.ts';
import type { Service } from '../../../core/dispatch/service.ts';
import { ErrorCode } from '../../../core/protocol/errors.ts';
import { cappedReply, type Outcome } from '../../../core/protocol/reply.ts';
import { type Answer, jsonAnswer } from './answer.ts';

/** What is known of an HTTP request before its body arrives. */
export interface AuthRequest {
  /** All headers: names in lower case, repeated headers joined with ", " (cookies with "; "). Read only. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The caller's address as the connection has it; undefined where the connection has gone. */
  readonly remoteAddress: string | undefined;
  /** In capitals: POST for calls; GET or HEAD for the introspection document. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

/**
 * Decides who calls. What the hook returns, a JSON value or nothing, is `context.auth` of each call of the request.
 * To refuse, the hook throws an RpcError, which the caller gets as it is. Anything else that it throws is a -32603.
 * Called once per request, when the headers are there; may be asynchronous.
 */
export type Authenticate = (request: AuthRequest) => unknown;

/** The hook `authenticate` as the HTTP servers call it. */
export type HttpAuthenticator = Authenticator<AuthRequest>;

/** The request as the hook sees it. Made only where there is a hook, since making it reads every header. */
export function authRequest(
  headers: AuthRequest['headers'] | undefined,
  remoteAddress: string | undefined,
  method: string,
  path: string,
): AuthRequest {
  return Object.freeze({ headers: Object.freeze(headers ?? {}), remoteAddress, method, path });
}

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

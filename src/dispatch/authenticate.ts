import { jsonTextOf } from '../jsonrpc/json-value.ts';
import type { Outcome } from '../jsonrpc/reply.ts';
import { isThenable, toErrorOutcome } from '../router/invoke.ts';

/** What is known of a request before its body is there. */
export interface AuthRequest {
  /** All of them: names in lower case, repeated ones joined with ", " (cookies with "; "). Read only. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The caller's address as the connection has it; undefined where it is not known any more. */
  readonly remoteAddress: string | undefined;
  /** In capitals: POST for calls; GET or HEAD for the introspection document. */
  readonly method: string;
  /** Without its query. */
  readonly path: string;
}

/**
 * Says who is calling. What it returns, a JSON value or nothing, is `context.auth` of each call of the
 * request. To refuse, it throws an RpcError, which the caller gets as it is; anything else thrown is a
 * -32603. Called once per request, when its headers are there; may be asynchronous.
 */
export type Authenticate = (request: AuthRequest) => unknown;

/** Whether a request may go on. */
export type Verdict =
  | { readonly refusal: undefined; readonly authText: string | undefined }
  | { readonly refusal: Outcome };

/** The hook as transports call it: it never throws and never rejects. */
export type Authenticator = (request: AuthRequest) => Verdict | Promise<Verdict>;

/** @param onFault told of what is no refusal; the caller gets only the ref */
export function createAuthenticator(
  authenticate: Authenticate,
  onFault: (fault: { readonly ref: string; readonly detail: string }) => void,
): Authenticator {
  const refuse = (error: unknown): Verdict => ({
    refusal: toErrorOutcome(error, 'authenticate', onFault),
  });
  const settle = async (result: PromiseLike<unknown>): Promise<Verdict> => {
    try {
      return admit(await result);
    } catch (error) {
      return refuse(error);
    }
  };
  return (request) => {
    try {
      const result = authenticate(request);
      return isThenable(result) ? settle(result) : admit(result);
    } catch (error) {
      return refuse(error);
    }
  };
}

/** @throws TypeError for what is no JSON value */
function admit(auth: unknown): Verdict {
  const authText = auth === undefined ? undefined : jsonTextOf(auth, 'the result of authenticate');
  return { refusal: undefined, authText };
}

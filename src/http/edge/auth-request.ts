import type { Authenticator } from '../../dispatch/authenticate.ts';

/** What is known of an HTTP request before its body is there. */
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

/** The hook as the HTTP servers call it. */
export type HttpAuthenticator = Authenticator<AuthRequest>;

/** The request as the hook sees it. Made only where there is a hook: it takes every header. */
export function authRequest(
  headers: AuthRequest['headers'] | undefined,
  remoteAddress: string | undefined,
  method: string,
  path: string,
): AuthRequest {
  return Object.freeze({ headers: Object.freeze(headers ?? {}), remoteAddress, method, path });
}

import type { Authenticator } from '../../dispatch/authenticate.ts';

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

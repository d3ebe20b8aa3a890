import { isLocalName } from '../../base/loopback.ts';
import type { Answer } from '../edge/answer.ts';
import type { HttpOptions } from '../edge/http-options.ts';
import { authorityOf } from '../edge/origin.ts';
import type { RequestHead } from '../edge/request-head.ts';
import { mcpRejection } from './rejection.ts';

/**
 * Why a request on the path of MCP is refused for where it comes from; undefined: it is not.
 *
 * @param isLocal whether only this machine can reach the server
 */
export type CheckCaller = (head: RequestHead, isLocal: boolean) => Answer | undefined;

/**
 * Agents run tools with the rights of the person before them, so pages are kept out unless the operator lets them in: a
 * page must not reach a local server by a name of its own (DNS rebinding), nor any server from another origin. Where the
 * Host is not checked by `allowedHosts`, which every route asks, a server that only this machine can reach answers to local
 * names alone.
 */
export function createCallerCheck({
  allowedHosts,
  corsOrigin,
}: Pick<HttpOptions, 'allowedHosts' | 'corsOrigin'>): CheckCaller {
  // `*` lets pages call procedures. Nobody has said that it lets them drive an agent's tools.
  const listed = new Set(corsOrigin === '*' ? [] : corsOrigin);
  const hasHosts = allowedHosts.length > 0;
  const foreignHost = mcpRejection(
    403,
    'the Host header names no local host; allowedHosts lists others',
  );
  const foreignOrigin = mcpRejection(
    403,
    'the Origin header names an origin whose pages may not call; corsOrigin lists those that may',
  );
  return ({ host, origin }, isLocal) => {
    if (!hasHosts && isLocal && !isLocalName(host)) return foreignHost;
    if (origin === undefined || listed.has(origin)) return undefined;
    const authority = authorityOf(origin);
    if (authority === undefined) return foreignOrigin;
    if (isLocal && isLocalName(authority)) return undefined;
    // A Host that nobody has verified may be the page's own name.
    const isVerified = hasHosts || isLocal;
    return isVerified && authority === host?.toLowerCase() ? undefined : foreignOrigin;
  };
}

import { serviceName } from '../../core/base/package-files.ts';
import { type Config, mcpPath, resourceMetadataPath } from '../../core/config/config.ts';
import { jsonAnswer, preflight, rejection } from '../../server/http/edge/answer.ts';
import type { Route } from '../../server/http/edge/route.ts';

/** How long clients may keep the metadata, seconds. */
const maxAge = 3600;

const methods = 'GET, HEAD, OPTIONS';

/**
 * How a host of agents learns where to sign in: the metadata of this server as a protected resource (RFC 9728), and the headers of
 * a refusal that lead there (RFC 6750, 3).
 */
export class SignIn {
  /** The metadata, at the well-known path alone, with the path of MCP behind it, and with a proxy's prefix before that path. */
  readonly routes: readonly Route[];
  /** Of a 403: the token lacks a scope. */
  readonly scopeLines: readonly string[];
  readonly #withoutToken: readonly string[];
  readonly #withToken: readonly string[];

  constructor({
    publicUrl,
    mcpAuthorizationServers,
    mcpScopes,
  }: Pick<Config, 'publicUrl' | 'mcpAuthorizationServers' | 'mcpScopes'>) {
    const resource = publicUrl + mcpPath;
    const { origin, pathname } = new URL(resource);
    const metadata = {
      resource,
      authorization_servers: mcpAuthorizationServers,
      scopes_supported: mcpScopes.length === 0 ? undefined : mcpScopes,
      bearer_methods_supported: ['header'],
      resource_name: serviceName(),
    };
    const cache = ['cache-control', `public, max-age=${maxAge}`];
    const answers = {
      GET: jsonAnswer(200, JSON.stringify(metadata), cache),
      // The version is the only header that clients send here for which a browser asks first.
      OPTIONS: preflight({
        allow: methods,
        headers: ['mcp-protocol-version', 'content-type', 'authorization'],
      }),
      others: rejection(405, 'use GET', { headers: ['allow', methods] }),
      readers: 'any page',
    } as const;
    const behind = new Set(['', mcpPath, pathname]);
    this.routes = [...behind].map((path) => ({ path: resourceMetadataPath + path, ...answers }));
    // RFC 9728, 3.1 puts the well-known part between host and path:
    //     https://example.com/mcp         https://example.com/.well-known/oauth-protected-resource/mcp
    // If a proxy takes a prefix off, only what stands below that prefix is sure to come here (RFC 9728, 5.1 allows any URL
    // in a challenge):
    //     https://example.com/tools/mcp   https://example.com/tools/.well-known/oauth-protected-resource/mcp
    const prefix = pathname.slice(0, -mcpPath.length);
    const at = `resource_metadata="${origin}${prefix}${resourceMetadataPath}${mcpPath}"`;
    const scope = mcpScopes.length === 0 ? '' : `, scope="${mcpScopes.join(' ')}"`;
    this.#withoutToken = challenge(`${at}${scope}`);
    this.#withToken = challenge(`${at}${scope}, error="invalid_token"`);
    this.scopeLines = challenge(`error="insufficient_scope"${scope}, ${at}`);
  }

  /** Of a 401. Who has sent no token is told of no error (RFC 6750, 3.1). */
  challengeLines(hasToken: boolean): readonly string[] {
    return hasToken ? this.#withToken : this.#withoutToken;
  }
}

/** Pages may read the header only if it is named. */
function challenge(parameters: string): readonly string[] {
  return [
    'www-authenticate',
    `Bearer ${parameters}`,
    'access-control-expose-headers',
    'www-authenticate',
  ];
}

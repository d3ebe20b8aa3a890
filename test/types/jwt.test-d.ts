/** `jwt`: what its hook gives, and where the hook fits. */
import type { IncomingMessage } from 'node:http';
import { type JwtAuth, jwt } from '../../src/extras/jwt/jwt.ts';
import { Router, RpcApp } from '../../src/index.ts';

const options = { issuer: 'https://auth.example.com', audience: 'https://tools.example.com/mcp' };

const authenticate = jwt(options);
const optional = jwt({ ...options, optional: true });
const unknown = jwt({ ...options, optional: Math.random() > 1 });

type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const always: Same<Awaited<ReturnType<typeof authenticate>>, JwtAuth> = true;
const perhaps: Same<Awaited<ReturnType<typeof optional>>, JwtAuth | undefined> = true;
const either: Same<Awaited<ReturnType<typeof unknown>>, JwtAuth | undefined> = true;
void [always, perhaps, either];

const router = new Router<{ auth: JwtAuth }>();
router.rpc({ name: 'who' }, (_params, { auth }) => [auth.sub, auth.scopes[0], auth.claims.tenant]);

const app = new RpcApp({
  router,
  authenticate,
  mcp: true,
  mcpAuthorizationServers: options.issuer,
});
app.nodeHandler<IncomingMessage>({ auth: jwt(options) });
app.upgradeHandler({ auth: jwt(options) });

jwt({ ...options, audience: ['a', 'b'], algorithms: ['RS256'], clockToleranceSeconds: 5 });
// @ts-expect-error: whoever checks a token with a shared secret could make it
jwt({ ...options, algorithms: ['HS256'] });
// @ts-expect-error: without an audience tokens for other services would be taken
jwt({ issuer: options.issuer });

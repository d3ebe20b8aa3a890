/** `jwt`: what its hook gives, and where the hook fits. */
import type { IncomingMessage } from 'node:http';
import { type JwtAuth, jwt } from '../../src/extras/jwt/jwt.ts';
import { Router, RpcApp } from '../../src/index.ts';
import { same } from './same.ts';

const options = { issuer: 'https://auth.example.com', audience: 'https://tools.example.com/mcp' };

const authenticate = jwt(options);
const optional = jwt({ ...options, optional: true });
const unknown = jwt({ ...options, optional: Math.random() > 1 });

same<Awaited<ReturnType<typeof authenticate>>, JwtAuth>(true);
same<Awaited<ReturnType<typeof optional>>, JwtAuth | undefined>(true);
same<Awaited<ReturnType<typeof unknown>>, JwtAuth | undefined>(true);

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

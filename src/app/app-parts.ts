import { type Authenticator, createAuthenticator } from '../dispatch/authenticate.ts';
import type { HttpOptions } from '../http/edge/http-options.ts';
import { callerHeaderOf } from '../http/edge/peer.ts';
import type { NatsFacts } from '../nats/caller.ts';
import type { AnyRouter } from '../router/router-state.ts';
import { Dispatcher } from '../service/dispatcher.ts';
import { logHookFault } from '../service/worker-log.ts';
import { type AppOptions, toOptions } from './app-options.ts';
import { assertHook } from './hooks.ts';
import { createMcpServer } from './mcp.ts';
import { RefusedConnections } from './refused-connections.ts';

/** What an app is made of before it listens anywhere. */
export interface AppParts {
  readonly dispatcher: Dispatcher;
  /** Those of its HTTP servers and mounts. */
  readonly http: HttpOptions;
  readonly refused: RefusedConnections;
  /** Asks the operator's hook who calls over NATS; undefined: there is no hook. */
  readonly natsAuth: Authenticator<NatsFacts> | undefined;
  /** Whether the console was asked for: behind a mount, and on a socket for a proxy, it is never there by itself. */
  readonly asksConsole: boolean;
}

/** How long the last replies may take to reach their clients after the grace has ended. */
const lastRepliesMs = 1000;

/** @throws StartupError for options that can't be; its one line names the option */
export function createAppParts(routerOrOptions: AnyRouter | AppOptions): AppParts {
  const { authenticate, ...options } = toOptions(routerOrOptions);
  assertHook(authenticate, 'option authenticate');
  const dispatcher = new Dispatcher(options);
  const { config, log } = dispatcher;
  const asks =
    authenticate &&
    createAuthenticator(
      'authenticate',
      dispatcher.watched('(authenticate)', authenticate),
      logHookFault(log, 'authenticate'),
    );
  const refused = new RefusedConnections(log, config.maxConnections);
  const http: HttpOptions = {
    ...config,
    authenticate: asks,
    callerHeader: callerHeaderOf(config.fairBy),
    mcp: config.mcp ? { path: config.mcpPath, server: createMcpServer(dispatcher) } : undefined,
    sharedPort: false,
    console: undefined,
    serves: 'all',
    onConnectionRefused: () => refused.note(),
    shutdownGraceMs: config.shutdownGraceMs + lastRepliesMs,
    warn: (message) => log.warn({ event: 'http-warning' }, message),
  };
  return { dispatcher, http, refused, natsAuth: asks, asksConsole: options.console === true };
}

import { type Config, mcpPath } from '../../core/config/config.ts';
import type { Log } from '../../core/observe/log.ts';
import { provideCluster } from '../../core/service/cluster.ts';
import type { Dispatcher } from '../../core/service/dispatcher.ts';
import type { ConsoleOptions, TakeProfile } from '../../extras/console/console.ts';
import type { HttpOptions } from '../http/edge/http-options.ts';

/** NATS, MCP and the console are loaded by the services that use them. */

provideCluster(async () => (await import('../../extras/nats/transport.ts')).connectServices);

export interface SiteOptions {
  /** Whether only this machine can reach the server. */
  readonly isLocal: boolean;
  /** Whether its page may have profiles taken. */
  readonly acts: boolean;
}

/** What a service serves beside its calls. */
export interface Facades {
  readonly served: Pick<HttpOptions, 'routes' | 'openApi'>;
  /** Why the console that was asked for has no page; undefined: it has one, or nobody asked. */
  readonly consoleAbsence: string | undefined;
  /**
   * Once something is served: says which patterns of `mcpTools` and `httpProcedures` name no procedure, which procedures have no
   * URL, and that agents need not sign in although they are told where.
   *
   * @throws StartupError for a procedure that must not be served as it is declared
   */
  readonly check: (log: Log) => Promise<void>;
}

/**
 * @param site of the console; undefined: nobody asked for it
 * @param hasAuth whether somebody is asked who calls
 */
export async function loadFacades(
  dispatcher: Dispatcher,
  http: HttpOptions,
  site: SiteOptions | undefined,
  hasAuth: boolean,
): Promise<Facades> {
  const { mcp: hasMcp, httpPath } = dispatcher.config;
  const [mcp, api, console] = await Promise.all([
    hasMcp ? loadMcp(dispatcher, http, hasAuth) : undefined,
    httpPath === '' ? undefined : loadApi(dispatcher, http, hasAuth),
    site && loadConsole(dispatcher, site),
  ]);
  return {
    served: {
      // No path of one is one of another's (see `resolveConfig`).
      routes: (serves) => [
        ...(serves === 'operations' ? [] : [...(mcp?.routes ?? []), ...(api?.routes ?? [])]),
        ...(console?.routes(serves) ?? []),
      ],
      openApi: api?.document,
    },
    consoleAbsence: console?.absence,
    async check(log) {
      await mcp?.check(log);
      await api?.check(log);
    },
  };
}

async function loadApi(dispatcher: Dispatcher, http: HttpOptions, hasAuth: boolean) {
  const { HttpApi } = await import('../../extras/openapi/http-api.ts');
  const api = new HttpApi(dispatcher, http, hasAuth);
  return {
    routes: api.routes(dispatcher.config.httpPath),
    document: () => api.document(),
    check: (log: Log) => api.check(log),
  };
}

const asksNobody =
  'mcpAuthorizationServers: there is no authenticate, so every agent may call without signing in; give one, such as jwt of tandem-rpc/jwt';

async function loadSignIn(config: Config) {
  const { SignIn } = await import('../../extras/mcp/sign-in.ts');
  return new SignIn(config);
}

async function loadMcp(dispatcher: Dispatcher, http: HttpOptions, hasAuth: boolean) {
  const [{ McpServer }, { mcpRoute }] = await Promise.all([
    import('../../extras/mcp/server.ts'),
    import('../../extras/mcp/endpoint.ts'),
  ]);
  const server = new McpServer(dispatcher);
  const { config } = dispatcher;
  const signIn = config.mcpAuthorizationServers.length === 0 ? undefined : await loadSignIn(config);
  return {
    routes: [mcpRoute(mcpPath, server, http, signIn), ...(signIn?.routes ?? [])],
    check: async (log: Log) => {
      await server.warnOfTools(log);
      if (signIn !== undefined && !hasAuth) log.warn({ event: 'mcp-sign-in' }, asksNobody);
    },
  };
}

const profileOf =
  (dispatcher: Dispatcher): TakeProfile =>
  async (order, left) => {
    const { ProfileError, takeProfile } = await import('../../extras/insight/profile.ts');
    try {
      return JSON.stringify(await takeProfile(dispatcher.profiled, order, left));
    } catch (error) {
      if (!(error instanceof ProfileError)) throw error;
      const status = { order: 400, busy: 409, left: 503, denied: 503 } as const;
      return { status: status[error.reason], refusal: error.message };
    }
  };

async function loadConsole(dispatcher: Dispatcher, { isLocal, acts }: SiteOptions) {
  const { consoleRoutes, isBuilt, notBuilt } = await import('../../extras/console/console.ts');
  const { path, httpPath, introspection, allowedHosts } = dispatcher.config;
  const { metrics } = dispatcher;
  const options: ConsoleOptions = {
    path,
    httpPath,
    introspection,
    served: () => dispatcher.served(),
    localOnly: isLocal && allowedHosts.length === 0,
    takeProfile: acts ? profileOf(dispatcher) : undefined,
    figures: metrics && {
      get state() {
        return dispatcher.state;
      },
      snapshots: () => metrics.inTurns(),
      names: () => dispatcher.router.list(),
      placementOf: (name) =>
        dispatcher.state === 'starting' ? undefined : dispatcher.placementOf(name),
    },
  };
  return {
    routes: consoleRoutes(options),
    absence: isBuilt() ? undefined : notBuilt,
  };
}

/** A handler whose requests wait until it is loaded. */
export function handlerOf<Args extends readonly unknown[], Answer>(
  loading: Promise<(...args: Args) => Answer | Promise<Answer>>,
): (...args: Args) => Answer | Promise<Answer> {
  let loaded: ((...args: Args) => Answer | Promise<Answer>) | undefined;
  void loading.then((handler) => {
    loaded = handler;
  });
  return (...args) =>
    loaded === undefined ? loading.then((handler) => handler(...args)) : loaded(...args);
}

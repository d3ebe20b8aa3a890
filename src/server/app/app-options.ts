import { StartupError } from '../../core/base/startup-error.ts';
import { resolveConfig } from '../../core/config/config.ts';
import { type Authenticator, createAuthenticator } from '../../core/dispatch/authenticate.ts';
import { type AnyRouter, defaultRouter, Router } from '../../core/procedures/router.ts';
import { aFunction, anything, optionsCheck, yesOrNo } from '../../core/schema/options.ts';
import type { DispatcherOptions } from '../../core/service/context.ts';
import type { Dispatcher } from '../../core/service/dispatcher.ts';
import { logHookFault } from '../../core/service/worker-log.ts';
import type { MountedRequest } from '../http/node/mount.ts';
import type { Hooks } from './hooks.ts';

/** Options of the dispatcher and of HTTP. */
export interface AppOptions extends Omit<DispatcherOptions, 'nats'>, Pick<Hooks, 'authenticate'> {
  /** Servers of NATS, as in the table of options, or what of these options an app has that is one of several. */
  readonly nats?: string | readonly string[] | NatsOptions | undefined;
}

/** Where a server is to listen. */
export interface ListenOptions {
  /** In place of the option `host`. */
  readonly host?: string | undefined;
  /** In place of the option `port`. */
  readonly port?: number | undefined;
  /** In place of the option `socket`. */
  readonly socket?: string | undefined;
  /**
   * Lets other processes of the same user listen on the same port too: the system shares the connections out
   * (SO_REUSEPORT). Needs Linux and uWebSockets.js. Whoever sets it must keep strangers off the port.
   */
  readonly sharedPort?: boolean | undefined;
}

const checkListenOptions = optionsCheck<keyof ListenOptions>(
  { host: anything, port: anything, socket: anything, sharedPort: yesOrNo },
  { expected: 'an object, such as { port: 8000 }', Failure: StartupError },
);

/**
 * @throws StartupError for what can't be the options of `listen`: a server must not come up elsewhere than it was told to
 */
export function assertListenOptions(at: ListenOptions): void {
  checkListenOptions(at, 'listen');
  const { host, port, socket } = at;
  resolveConfig({ host, port, socket });
}

/** Where a server listens. */
export interface Address {
  /** Empty on a Unix socket. */
  readonly host: string;
  /** 0 on a Unix socket. */
  readonly port: number;
  /** The path of the Unix socket; undefined: it listens on a port. */
  readonly socket: string | undefined;
  /** The URL of the JSON-RPC path, as a client on this machine writes it; `http+unix://%2Frun%2Frpc.sock/rpc`. */
  readonly url: string;
  /** The URL at which agents find the procedures as tools; undefined where the option `mcp` is off. */
  readonly mcpUrl: string | undefined;
  /** The URL of /metrics; undefined where the option `metrics` is off. */
  readonly metricsUrl: string | undefined;
  /**
   * The URL of the console; undefined where the option `console` is off, the page is not built, or the server listens on a
   * Unix socket.
   */
  readonly consoleUrl: string | undefined;
}

/** The options of the dispatcher and of HTTP that an app was made with. */
export function toOptions(
  routerOrOptions: AnyRouter | AppOptions,
): DispatcherOptions & Pick<Hooks, 'authenticate'> {
  if (Router.is(routerOrOptions)) return { router: routerOrOptions };
  const { nats, ...rest } = routerOrOptions;
  const options: DispatcherOptions & Pick<Hooks, 'authenticate'> = { ...rest, ...flattened(nats) };
  const { modules, router, natsRole } = options;
  // A gateway needs no procedures of its own.
  if (natsRole === 'gateway' && router === undefined && !modules?.length) {
    return { ...options, modules: undefined, router: new Router() };
  }
  return modules === undefined && router === undefined
    ? { ...options, router: defaultRouter }
    : options;
}

/** How a process is one of several that share a NATS. */
interface NatsOptions {
  /** `nats://host:4222`, and others of the same cluster. */
  readonly servers: string | readonly string[];
  /** As in the table of options. */
  readonly role?: 'member' | 'gateway' | 'both' | undefined;
  readonly service?: string | readonly string[] | undefined;
  readonly serviceVersion?: string | undefined;
}

const checkNatsOptions = optionsCheck<keyof NatsOptions>(
  { servers: anything, role: anything, service: anything, serviceVersion: anything },
  { Failure: StartupError },
);

/**
 * The options as the table of options has them.
 *
 * @throws StartupError for an option that is none
 */
function flattened(nats: string | readonly string[] | NatsOptions | undefined): object {
  if (nats === undefined) return {};
  if (typeof nats !== 'object' || Array.isArray(nats)) return { nats };
  checkNatsOptions(nats, 'option nats');
  const { servers, role, service, serviceVersion } = nats as NatsOptions;
  return {
    nats: servers,
    ...(role === undefined ? {} : { natsRole: role }),
    ...(service === undefined ? {} : { service }),
    ...(serviceVersion === undefined ? {} : { serviceVersion }),
  };
}

/**
 * Options of one mount.
 *
 * @typeParam Request the framework's request: that of Express, of Fastify, or Node's
 */
export interface MountOptions<Request extends MountedRequest = MountedRequest> {
  /**
   * Says who calls, by what the framework knows: a session, `request.user`. What it returns, a JSON value or nothing,
   * is `context.auth` of each call of the request. It takes the place of the option `authenticate` at this mount: that
   * hook is not asked there. Throws an RpcError to refuse; may be asynchronous. Called once for each request that is a
   * call or asks for the document.
   */
  readonly auth?: ((request: Request) => unknown) | undefined;
}

/**
 * Options of {@link RpcApp.fetchHandler}.
 *
 * @typeParam Request the framework's request, such as Next.js's `NextRequest`
 */
export interface FetchOptions<Request extends globalThis.Request = globalThis.Request> {
  /** As {@link MountOptions.auth}. */
  readonly auth?: ((request: Request) => unknown) | undefined;
}

const checkMountOptions = optionsCheck<keyof MountOptions>(
  { auth: aFunction },
  { expected: 'an object, such as { auth }', Failure: StartupError },
);

/**
 * The option `auth` of a mount.
 *
 * @param method of the app, which an error names
 * @throws StartupError for an `auth` that is no function, and for a name that is no option: a misspelt `auth` would let
 *   everybody in
 */
export function toMountAuth<Request, Own extends Request>(
  options: { readonly auth?: ((request: Own) => unknown) | undefined },
  dispatcher: Dispatcher,
  method: 'nodeHandler' | 'fetchHandler' | 'upgradeHandler',
): Authenticator<Request> | undefined {
  checkMountOptions(options, method);
  const { auth } = options;
  // A mount gets the requests of its framework.
  return auth && toAuthenticator('auth', (request) => auth(request as Own), dispatcher);
}

/** A hook that says who calls, as transports call it: it never throws and never rejects. */
export function toAuthenticator<Facts>(
  name: 'auth' | 'authenticate',
  hook: (facts: Facts) => unknown,
  dispatcher: Dispatcher,
): Authenticator<Facts> {
  const watched = dispatcher.watched(`(${name})`, hook);
  return createAuthenticator(name, watched, logHookFault(dispatcher.log, name));
}

import { assertOptionNames } from '../base/option-names.ts';
import { resolveConfig } from '../config/config.ts';
import { defaultRouter } from '../router/default.ts';
import { Router } from '../router/router.ts';
import type { AnyRouter } from '../router/router-state.ts';
import type { DispatcherOptions } from '../service/dispatcher-options.ts';
import type { Hooks } from './hooks.ts';
import { flattened, type NatsOptions } from './nats-options.ts';

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

const listenNames = [
  'host',
  'port',
  'socket',
  'sharedPort',
] as const satisfies readonly (keyof ListenOptions)[];

/**
 * @throws StartupError for what can't be the options of `listen`: a server must not come up elsewhere than it was told to
 */
export function assertListenOptions(at: ListenOptions): void {
  assertOptionNames('listen', at, listenNames, '{ port: 8000 }');
  const { host, port, socket } = at;
  resolveConfig({ host, port, socket });
}

/** Where a server listens. Without the option `http` its texts are empty, and its port is 0. */
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
  /** The URL of /metrics; undefined where the option `metrics` is off, or nobody listens. */
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

import type { IncomingMessage } from 'node:http';
import { clockMs } from '../../core/base/clock.ts';
import { isLoopback } from '../../core/base/loopback.ts';
import { messageOf } from '../../core/base/message-of.ts';
import type { Place } from '../../core/base/place.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { assertMainSide } from '../../core/base/thread-role.ts';
import { isDoneWithin } from '../../core/base/timer.ts';
import type { Config } from '../../core/config/config.ts';
import { coresHere, oneCoreNote } from '../../core/config/machine.ts';
import type { Authenticator } from '../../core/dispatch/authenticate.ts';
import type { Log } from '../../core/observe/log.ts';
import type { BroadcastOptions, BroadcastResult } from '../../core/procedures/broadcast.ts';
import { type AnyRouter, defaultRouter, Router } from '../../core/procedures/router.ts';
import { Dispatcher } from '../../core/service/dispatcher.ts';
import { type ModuleWatch, watchModules } from '../../core/service/watch.ts';
import type { NatsFacts } from '../../extras/nats/connection/connection.ts';
import type { Membership } from '../../extras/nats/member/member.ts';
import { type HttpOptions, socketIdleMs, startupNotes } from '../http/edge/http-options.ts';
import { callerHeaderOf } from '../http/edge/peer.ts';
import { createFetchHandler, type FetchHandler } from '../http/fetch/handler.ts';
import { createNodeHandler, type NodeHandler } from '../http/node/handler.ts';
import type { MountedRequest } from '../http/node/mount.ts';
import { createUpgrades, type NodeUpgrades, type UpgradeHandler } from '../http/node/upgrade.ts';
import {
  type Address,
  type AppOptions,
  assertListenOptions,
  type FetchOptions,
  type ListenOptions,
  type MountOptions,
  toAuthenticator,
  toMountAuth,
  toOptions,
} from './app-options.ts';
import { type Facades, handlerOf, loadFacades, type SiteOptions } from './extras.ts';
import { assertHook } from './hooks.ts';
import {
  addressOf,
  fittingConnections,
  listenForAll,
  RefusedConnections,
  type Servers,
} from './listening.ts';

/**
 * A JSON-RPC server: a dispatcher behind HTTP. It is made from a router (by default the default router), or from
 * options with `modules`, which its workers load too. The constructor starts nothing.
 */
export class RpcApp {
  readonly #given: AnyRouter | AppOptions;
  #made: AppParts | undefined;
  #watch: ModuleWatch | undefined;
  #membership: Membership | undefined;
  /** How far `listen()` has come. It is new again where no server could listen at the address. */
  #stage: 'new' | 'listening' | 'failed' = 'new';
  /** The servers, from the moment that they are asked for: `close()` waits for them, and closes them. */
  #listening: Promise<Servers> | undefined;
  #transport: 'uws' | 'node' | undefined;
  #closing: Promise<void> | undefined;
  /** The service is mounted in a server of somebody else, and its workers were told to start. */
  #isMounted = false;
  readonly #mounted: NodeUpgrades[] = [];

  /** @throws StartupError for options that can't be; its one line names the option */
  constructor(routerOrOptions: AnyRouter | AppOptions = defaultRouter) {
    this.#given = routerOrOptions;
    // No mistake can be in a router alone. Its app is made at its first use: each thread that imports the package has one, and few use it.
    if (!Router.is(routerOrOptions)) this.#made = createAppParts(routerOrOptions);
  }

  get #parts(): AppParts {
    this.#made ??= createAppParts(this.#given);
    return this.#made;
  }

  get #log(): Log {
    return this.dispatcher.log;
  }

  /** The service behind HTTP, which transports of your own can use as well. */
  get dispatcher(): Dispatcher {
    return this.#parts.dispatcher;
  }

  /** See {@link Dispatcher.router}. */
  get router(): AnyRouter {
    return this.dispatcher.router;
  }

  /**
   * The server that carries the requests.
   *
   * @throws Error before `listen()`
   */
  get transport(): 'uws' | 'node' {
    if (this.#transport === undefined) throw new Error('not listening: await listen() first');
    return this.#transport;
  }

  /**
   * Where a procedure runs now.
   *
   * @throws Error for a name that is not registered
   */
  placementOf(name: string): Place {
    const decision = this.dispatcher.placementOf(name);
    if (decision === undefined) throw new Error(`no procedure is registered as ${name}`);
    return decision.place;
  }

  /**
   * Listens at once, and resolves when the workers are ready too. Until then /readyz answers 503 and calls wait. Where
   * the address is taken, another one may be tried with the same app.
   *
   * @throws StartupError, or the operating system's error (EADDRINUSE and others) with one line
   */
  async listen(at: ListenOptions = {}): Promise<Address> {
    assertMainSide('listen');
    assertListenOptions(at);
    this.#assertOpen();
    if (this.#stage === 'failed') {
      throw new StartupError('this app could not start: make a new one');
    }
    if (this.#stage === 'listening') throw new StartupError('this app listens already');
    const { host, port, socket, sharedPort } = this.#parts.http;
    const { dispatcher } = this;
    const { config, metrics } = dispatcher;
    const { maxConnections, note: filesNote } = fittingConnections(config);
    this.#parts.refused.maxConnections = maxConnections;
    const place = { host: at.host ?? host, port: at.port ?? port, socket: at.socket ?? socket };
    const hasSite = config.console && (place.socket === '' || this.#parts.asksConsole);
    const wanted = {
      ...this.#parts.http,
      ...place,
      sharedPort: at.sharedPort ?? sharedPort,
      maxConnections,
    };
    const began = clockMs();
    this.#log.info({ event: 'start', node: process.version }, 'starting');
    const isLocal = isLoopback(place.host);
    const isOpen = isLocal && place.socket === '' && isForDeveloper(config);
    const site = hasSite ? { isLocal, acts: isOpen } : undefined;
    const { listening, options, facades } = await this.#openServers(wanted, site);
    const { calls } = listening;
    this.#transport = calls.transport;
    this.#tellConnections(listening);
    try {
      await dispatcher.ready();
      await facades.check(this.#log);
      await this.#joinMembers();
    } catch (error) {
      this.#stage = 'failed';
      await calls.close();
      await listening.operations.close();
      throw error;
    }
    const hasConsole = site !== undefined && facades.consoleAbsence === undefined;
    for (const note of startupNotes(options)) options.warn(note);
    if (filesNote !== undefined) options.warn(filesNote);
    if (facades.consoleAbsence !== undefined) {
      this.#log.info({ event: 'console-absent' }, facades.consoleAbsence);
    }
    const coreNote = dispatcher.stats().pool && oneCoreNote(coresHere());
    if (coreNote !== undefined) this.#log.warn({ event: 'one-core' }, coreNote);
    if (config.watch) this.#watch = await watchModules(dispatcher, this.#log);
    const address = addressOf(listening, {
      hasMcp: config.mcp,
      hasMetrics: metrics !== undefined,
      hasConsole,
    });
    const { url, mcpUrl, metricsUrl, consoleUrl } = address;
    const { transport } = calls;
    const ms = Math.round(clockMs() - began);
    this.#log.info({ event: 'ready', url, mcpUrl, metricsUrl, consoleUrl, transport, ms }, 'ready');
    return address;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StartupError('this app is closed: make a new one');
  }

  /** @throws whatever keeps the app from listening; no server listens then */
  async #openServers(wanted: HttpOptions, site: SiteOptions | undefined) {
    const { dispatcher } = this;
    // From this turn on, so that a second call made in it makes no second server.
    this.#stage = 'listening';
    let facades: Facades;
    try {
      // What is behind a gateway must be in reach before anybody calls.
      await dispatcher.cluster?.connect();
      facades = await loadFacades(dispatcher, wanted, site, wanted.authenticate !== undefined);
    } catch (error) {
      this.#stage = 'failed';
      throw error;
    }
    // A server that listened from here on would be one that close() did not see.
    this.#assertOpen();
    const options = { ...wanted, ...facades.served };
    try {
      this.#listening = listenForAll(dispatcher, options, dispatcher.config);
      return { listening: await this.#listening, options, facades };
    } catch (error) {
      // Nothing has started, so that another address may be tried.
      this.#listening = undefined;
      this.#stage = 'new';
      throw error;
    }
  }

  /**
   * The same service as a handler for a server of your own: node:http, Express, Fastify. Starts the workers; calls
   * that come before the workers are ready wait.
   *
   * @throws StartupError for options that can't be
   */
  nodeHandler<Request extends MountedRequest = MountedRequest>(
    options: MountOptions<Request> = {},
  ): NodeHandler<Request> {
    const auth = toMountAuth<MountedRequest, Request>(options, this.dispatcher, 'nodeHandler');
    this.#startMounted();
    // What it returns while facades load is nobody's to wait for.
    const handler: (...args: Parameters<NodeHandler>) => unknown = this.#mount(
      auth !== undefined,
      (http) => createNodeHandler(this.dispatcher, http, auth),
    );
    return handler;
  }

  /**
   * The same service as a function from a standard `Request` to a `Response`: for a route of Next.js, Hono, SvelteKit, Astro. The
   * first request starts the workers, since such frameworks import their routes for a build, too; `dispatcher.ready()` starts
   * them earlier.
   *
   * A request does not tell its caller's address: callers whom `auth` does not name count as one.
   *
   * @throws StartupError for options that can't be
   */
  fetchHandler<Request extends globalThis.Request = globalThis.Request>(
    options: FetchOptions<Request> = {},
  ): FetchHandler<Request> {
    const { dispatcher } = this;
    const auth = toMountAuth<globalThis.Request, Request>(options, dispatcher, 'fetchHandler');
    const start = () => {
      this.#startMounted();
      return this.#mount(auth !== undefined, (http) => createFetchHandler(dispatcher, http, auth));
    };
    let handler: ReturnType<typeof start> | undefined;
    return async (request) => {
      handler ??= start();
      return handler(request);
    };
  }

  /**
   * A handler for a server of somebody else. With facades its requests wait until they are loaded.
   *
   * @param asksOther whether code of the framework says who calls
   */
  #mount<Args extends readonly unknown[], Answer>(
    asksOther: boolean,
    make: (options: HttpOptions) => (...args: Args) => Answer | Promise<Answer>,
  ): (...args: Args) => Answer | Promise<Answer> {
    const { http, asksConsole } = this.#parts;
    const { dispatcher } = this;
    const { mcp, httpPath } = dispatcher.config;
    if (!asksConsole && !mcp && httpPath === '') return make(http);
    const hasAuth = asksOther || http.authenticate !== undefined;
    const site = asksConsole ? { isLocal: false, acts: false } : undefined;
    const loading = loadFacades(dispatcher, http, site, hasAuth);
    // Nobody waits for this: what must not be served as it is declared is served so that it does no harm.
    loading
      .then(({ check }) => check(this.#log))
      .catch((error: unknown) => this.#log.warn({ event: 'http-api' }, messageOf(error)));
    return handlerOf(loading.then(({ served }) => make({ ...http, ...served })));
  }

  /**
   * The listener for `server.on('upgrade', ...)` of the server that `nodeHandler()` is mounted in: WebSockets at the
   * option `path`. Starts the workers. `close()` ends the sockets, once their messages are answered.
   *
   * Where `auth` says who calls, a page of another origin is refused, unless `corsOrigin` lists it: a browser would
   * send the session of the person before it along.
   *
   * @throws StartupError for options that can't be
   */
  upgradeHandler(options: MountOptions<IncomingMessage> = {}): UpgradeHandler {
    const auth = toMountAuth<MountedRequest, IncomingMessage>(
      options,
      this.dispatcher,
      'upgradeHandler',
    );
    this.#startMounted();
    const upgrades = createUpgrades(this.dispatcher, this.#parts.http, auth);
    if (this.#closing !== undefined) {
      // close() may have asked the others already. This one has no socket yet, and will have none.
      void upgrades.close();
      return upgrades.handle;
    }
    this.#mounted.push(upgrades);
    if (this.dispatcher.metrics?.connections === undefined) this.#tellConnections(undefined);
    return upgrades.handle;
  }

  /** Nobody awaits this start, and callers hear only that their calls are cancelled: a failure is told in the log, once. */
  #startMounted(): void {
    if (this.#isMounted) return;
    this.#isMounted = true;
    this.dispatcher.ready().catch((error: unknown) => {
      if (this.#closing !== undefined) return;
      this.#log.error({ event: 'start-failed' }, `not started: ${messageOf(error)}`);
    });
  }

  /**
   * Has the figures tell of connections.
   *
   * @param listening the app's own servers; undefined: it has none. Of servers that it is mounted in, the sockets are known
   */
  #tellConnections(listening: Servers | undefined): void {
    const { metrics } = this.dispatcher;
    if (metrics === undefined) return;
    metrics.connections = () => {
      const { refused } = this.#parts;
      const mounted = this.#mounted.reduce((sum, { size }) => sum + size, 0);
      const servers = new Set(
        listening === undefined ? [] : [listening.calls, listening.operations],
      );
      const open = Array.from(servers, ({ connections }) => connections);
      return {
        open: open.reduce((sum, connections) => sum + connections, mounted),
        sockets: (listening?.calls.sockets ?? 0) + mounted,
        counts: refused.counts,
      };
    };
  }

  /** See {@link Dispatcher.broadcast}. */
  broadcast(
    name: string,
    params?: unknown,
    options?: BroadcastOptions,
  ): Promise<BroadcastResult[]> {
    return this.dispatcher.broadcast(name, params, options);
  }

  /** See {@link Dispatcher.reload}. */
  reload(): Promise<boolean> {
    return this.dispatcher.reload();
  }

  /** Serves gateways and other clients of NATS, where that is what the process is for. */
  async #joinMembers(): Promise<void> {
    const { cluster, config } = this.dispatcher;
    if (cluster === undefined || config.natsRole === 'gateway') return;
    const connection = await cluster.connect();
    const nats = await import('../../extras/nats/member/member.ts');
    this.#membership = await nats.Membership.join(
      this.dispatcher,
      connection,
      this.#parts.natsAuth,
    );
  }

  /** Stops accepting connections, answers what was accepted, and ends the workers. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * Drains. The dispatcher goes on serving while the server answers what it has accepted, requests whose bodies still
   * arrive included. At the end of the grace the dispatcher's own close answers what is left.
   */
  async #close(): Promise<void> {
    const { dispatcher } = this;
    dispatcher.drain();
    await this.#watch?.close();
    const listening = await this.#listening?.catch(() => undefined);
    const mounted = this.#mounted.map((upgrades) => upgrades.close());
    const graceMs = callGraceMs(dispatcher.config);
    const left = this.#membership?.drain(graceMs);
    if (listening === undefined) {
      await left;
      // Perhaps the app is a handler in another server.
      await Promise.all([dispatcher.close(graceMs), ...mounted]);
      return;
    }
    const began = clockMs();
    const { inFlight } = dispatcher.stats();
    this.#log.info({ event: 'drain-begins', inFlight }, 'draining: no new connections');
    void dispatcher.endStreams(graceMs);
    const answered = Promise.all([listening.calls.close(), left, ...mounted]);
    await isDoneWithin(answered, graceMs);
    await dispatcher.close(0);
    await answered;
    await listening.operations.close();
    this.#parts.refused.close();
    this.#log.info({ event: 'drain-ends', ms: Math.round(clockMs() - began) }, 'drained');
  }
}

/** What an app is made of before it listens anywhere. */
interface AppParts {
  readonly dispatcher: Dispatcher;
  readonly http: HttpOptions;
  readonly refused: RefusedConnections;
  /** Asks the operator's hook who calls over NATS; undefined: there is no hook. */
  readonly natsAuth: Authenticator<NatsFacts> | undefined;
  /** Whether the console was asked for: behind a mount, and on a socket for a proxy, it is never there by itself. */
  readonly asksConsole: boolean;
}

/** How long the last replies may take to reach their clients after the calls have had their time. */
const lastRepliesMs = 1000;

/** What the end itself takes at most: the last replies, the ends of the threads, teardowns. */
const endMs = 2000;

/** How long calls may finish, so that all has ended when the grace is over. */
function callGraceMs({ shutdownGraceMs }: Pick<Config, 'shutdownGraceMs'>): number {
  return shutdownGraceMs - Math.min(endMs, shutdownGraceMs / 4);
}

/** Whether whoever calls from this machine is the developer. An unset NODE_ENV says nothing: it is so in many deployments. */
function isDeveloping({ watch }: Config): boolean {
  const { NODE_ENV } = process.env;
  return NODE_ENV !== 'production' && (watch || NODE_ENV === 'development');
}

/**
 * Whether who reaches a loopback address is the developer: not where a proxy stands before it, or names of others than this machine
 * lead to it.
 */
function isForDeveloper({ allowedHosts, trustedProxies }: Config): boolean {
  return (
    process.env.NODE_ENV !== 'production' &&
    allowedHosts.length === 0 &&
    trustedProxies.length === 0
  );
}

const foreignNotes = {
  host: 'a request was refused (403): its host is not in allowedHosts',
  origin: 'a page may not read the answer: its origin is not in corsOrigin',
} as const;

/** @throws StartupError for options that can't be; its one line names the option */
function createAppParts(routerOrOptions: AnyRouter | AppOptions): AppParts {
  const { authenticate, ...options } = toOptions(routerOrOptions);
  assertHook(authenticate, 'option authenticate');
  const dispatcher = new Dispatcher(options);
  const { config, log } = dispatcher;
  const asks = authenticate && toAuthenticator('authenticate', authenticate, dispatcher);
  const refused = new RefusedConnections(log, config.maxConnections);
  const http: HttpOptions = {
    ...config,
    authenticate: asks,
    showsFaults: isDeveloping(config) && config.trustedProxies.length === 0,
    callerHeader: callerHeaderOf(config.fairBy),
    routes: () => [],
    openApi: undefined,
    sharedPort: false,
    socketIdleMs,
    serves: 'all',
    onConnectionRefused: (denial) => refused.note(denial),
    shutdownGraceMs: callGraceMs(config) + lastRepliesMs,
    onForeign: (header, value = '') =>
      log.warn({ event: 'request-foreign', [header]: value.slice(0, 256) }, foreignNotes[header]),
    warn: (message) => log.warn({ event: 'http-warning' }, message),
    tellTransport: (level, message) => log[level]({ event: 'transport' }, message),
  };
  return { dispatcher, http, refused, natsAuth: asks, asksConsole: options.console === true };
}

/** A server of the default router, with default options. Its first use starts it; importing it starts nothing. */
export const rpcApp = new RpcApp(defaultRouter);

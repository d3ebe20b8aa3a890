import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import type { HttpServer } from './http/http-server.ts';
import { createNodeHandler, type NodeHandler } from './http/node.ts';
import { type HttpOptions, startupNotes } from './http/options.ts';
import { listen } from './http/server.ts';
import type { Log } from './observe/log.ts';
import { assertMainSide } from './pool/thread-role.ts';
import { defaultRouter } from './router/default.ts';
import { Router } from './router/router.ts';
import { StartupError } from './startup-error.ts';
import { type ModuleWatch, watchModules } from './watch.ts';

export type AppOptions = DispatcherOptions;

/** Where a server listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
  /** Of the JSON-RPC path, as a client on this machine writes it. */
  readonly url: string;
}

/**
 * A JSON-RPC server: a dispatcher behind HTTP. Made from a router (the default one when nothing is
 * given), or from options with `modules`, which its workers load too. Making one starts nothing.
 */
export class RpcApp {
  readonly dispatcher: Dispatcher;
  readonly #options: HttpOptions;
  readonly #log: Log;
  #watch: ModuleWatch | undefined;
  #server: Promise<HttpServer> | undefined;
  #transport: 'uws' | 'node' | undefined;
  #closing: Promise<void> | undefined;

  /** @throws StartupError for options that can't be, one line that names the option */
  constructor(routerOrOptions: Router | AppOptions = defaultRouter) {
    const options = toOptions(routerOrOptions);
    this.dispatcher = new Dispatcher(options);
    this.#log = this.dispatcher.log;
    const { config } = this.dispatcher;
    this.#options = {
      ...config,
      shutdownGraceMs: config.shutdownGraceMs + lastRepliesMs,
      warn: (message) => this.#log.warn({}, message),
    };
  }

  /** See {@link Dispatcher.router}. */
  get router(): Router {
    return this.dispatcher.router;
  }

  /** What carries the requests. @throws Error before `listen()` */
  get transport(): 'uws' | 'node' {
    if (this.#transport === undefined) throw new Error('not listening: await listen() first');
    return this.#transport;
  }

  /** Where a procedure runs now. @throws Error for a name that is not registered */
  placementOf(name: string): 'inline' | 'worker' {
    const decision = this.dispatcher.placementOf(name);
    if (decision === undefined) throw new Error(`no procedure is registered as ${name}`);
    return decision.place;
  }

  /**
   * Listens, and resolves when the replicas are ready too. Until then /readyz says 503 and calls wait.
   *
   * @param at in place of the options `host` and `port`
   * @throws StartupError, or the operating system's error (EADDRINUSE and others) with one line
   */
  async listen(at: { host?: string; port?: number } = {}): Promise<Address> {
    assertMainSide('listen');
    if (this.#closing !== undefined) throw new StartupError('this app is closed: make a new one');
    if (this.#server !== undefined) throw new StartupError('this app listens already');
    const options = { ...this.#options, ...at };
    this.#server = listen(this.dispatcher, options, this.dispatcher.config.transport);
    const server = await this.#server;
    this.#transport = server.transport;
    try {
      await this.dispatcher.ready();
    } catch (error) {
      await server.close();
      throw error;
    }
    for (const note of startupNotes(options)) options.warn(note);
    if (this.dispatcher.config.watch) this.#watch = await watchModules(this.dispatcher, this.#log);
    return server.address;
  }

  /**
   * The same service as a handler for a server of your own: node:http, Express, Fastify. Starts the
   * workers; calls that come before they are ready wait.
   */
  nodeHandler(): NodeHandler {
    // Whoever calls learns of a failed start by its answer; here it must not be an unhandled rejection.
    this.dispatcher.ready().catch(() => {});
    return createNodeHandler(this.dispatcher, this.#options);
  }

  /** See {@link Dispatcher.reload}. */
  reload(): Promise<boolean> {
    return this.dispatcher.reload();
  }

  /** Stops accepting, answers what was accepted, ends the workers. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /**
   * The dispatcher serves on while the server answers what it has accepted, bodies that still arrive
   * included. What is left at the end of the grace is answered by the dispatcher's own end.
   */
  async #close(): Promise<void> {
    this.dispatcher.drain();
    await this.#watch?.close();
    const server = await this.#server?.catch(() => undefined);
    if (server === undefined) return this.dispatcher.close(); // a handler, perhaps, in another's server
    const answered = server.close();
    await within(answered, this.dispatcher.config.shutdownGraceMs);
    await this.dispatcher.close(0);
    await answered;
  }
}

/** What the end of the grace leaves the last replies to reach their clients. */
const lastRepliesMs = 1000;

/** Resolves with `done`, or after `ms`. */
async function within(done: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([done, late]);
  clearTimeout(timer);
}

function toOptions(routerOrOptions: Router | AppOptions): AppOptions {
  if (Router.is(routerOrOptions)) return { router: routerOrOptions };
  const options: AppOptions = routerOrOptions;
  return options.modules === undefined && options.router === undefined
    ? { ...options, router: defaultRouter }
    : options;
}

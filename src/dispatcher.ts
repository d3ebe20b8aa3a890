import { type Config, type ConfigOptions, resolveConfig } from './config.ts';
import { DeadlineSweep } from './dispatch/deadline.ts';
import { openRpcText } from './dispatch/discover.ts';
import { type Generation, Kernel } from './dispatch/kernel.ts';
import type { PlacementDecision } from './dispatch/placement.ts';
import { refusingGeneration } from './dispatch/refusing.ts';
import { RequestScope, type ScopeFacts } from './dispatch/scope.ts';
import type { Document, DocumentFormat, Service, ServiceState } from './dispatch/service.ts';
import { documentOf } from './document.ts';
import type { ServedGeneration } from './generation.ts';
import { ErrorCode } from './jsonrpc/errors.ts';
import { errorReply, type Reply } from './jsonrpc/reply.ts';
import { createLog, type Log } from './observe/log.ts';
import type { PoolStats } from './pool/stats.ts';
import { assertMainSide } from './pool/thread-role.ts';
import { getRegistrySchema } from './router/introspect.ts';
import { type Router, tableOf, versionOf } from './router/router.ts';
import { toServable } from './servable.ts';
import { Serving } from './serving.ts';
import { StartupError } from './startup-error.ts';

export interface DispatcherOptions extends ConfigOptions {
  /** Procedure modules: paths or file URLs, loaded here and in every worker. */
  readonly modules?: readonly string[] | undefined;
  /** In place of modules: a router of this thread. It has no replicas, so all its calls run inline. */
  readonly router?: Router | undefined;
  /** Where log lines go; the default writes them to stderr at `logLevel`. */
  readonly log?: Log | undefined;
}

/** What a caller says of one request. */
export interface DispatchOptions extends ScopeFacts {
  /** Cancels: what has not started is dropped, the signals of what runs abort. */
  readonly signal?: AbortSignal | undefined;
}

export interface DispatcherStats {
  readonly state: ServiceState;
  /** Requests that have not been answered. */
  readonly inFlight: number;
  /** undefined where a router without modules is served. */
  readonly pool: PoolStats | undefined;
  /** Where each procedure runs, and why. */
  readonly placement: Readonly<Record<string, PlacementDecision>>;
}

/**
 * Runs JSON-RPC requests, whatever brought them: worker threads for what burns CPU, this thread for the
 * rest. Nothing of HTTP is near it. The first call, or `ready()`, starts it; `close()` ends it, and until
 * then its workers keep the process alive.
 */
export class Dispatcher implements Service {
  readonly config: Config;
  readonly log: Log;
  readonly #serving: Serving;
  readonly #deadlines = new DeadlineSweep();
  readonly #kernel: Kernel;
  #isReady = false;
  #isDraining = false;
  #isClosed = false;
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #ended: Generation | undefined;
  readonly #documents = new Map<DocumentFormat, CachedDocument>();

  /** @throws StartupError for options that can't be, one line that names the option */
  constructor(options: DispatcherOptions = {}) {
    const { modules, router, log, ...rest } = options;
    const source = toServable(modules, router);
    this.config = resolveConfig(rest, {}, ['modules', 'router', 'log']);
    this.log = log ?? createLog({ level: this.config.logLevel });
    const context = { config: this.config, log: this.log, deadlines: this.#deadlines };
    this.#serving = new Serving(source, context);
    this.#kernel = new Kernel(this.config, () => this.#generation());
  }

  get state(): ServiceState {
    if (this.#isClosed) return 'closed';
    if (this.#isDraining) return 'draining';
    return this.#isReady ? 'ready' : 'starting';
  }

  /**
   * The procedures that are served: one object through all reloads. Where modules are served it is filled
   * by `ready()`, and its `reloadModule` reloads the service.
   */
  get router(): Router {
    return this.#serving.router;
  }

  /**
   * Resolves when every worker has loaded the modules; starts that where nothing has.
   *
   * @throws StartupError
   */
  ready(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /**
   * Handles a payload that is parsed already: a request or an array of them. Gives the response object,
   * an array of them, or undefined where there is nothing to answer. Ids are echoed by value.
   */
  async dispatch(payload: unknown, options: DispatchOptions = {}): Promise<unknown> {
    const reply = await this.#withScope(options, (scope) => {
      return this.#track(() => this.#kernel.handlePayload(payload, scope));
    });
    return reply === undefined ? undefined : (JSON.parse(textOf(reply)) as unknown);
  }

  /** Handles JSON text, or its UTF-8 bytes. Gives the reply's text; undefined: nothing to answer. */
  async dispatchText(
    body: string | Uint8Array,
    options: DispatchOptions = {},
  ): Promise<string | undefined> {
    const reply = await this.#withScope(options, (scope) => {
      return this.#track(() => this.#kernel.handle(body, scope));
    });
    return reply === undefined ? undefined : textOf(reply);
  }

  /** For transports: see {@link Service}. Synchronous where the calls were. */
  handle(body: string | Uint8Array, scope: RequestScope): Reply | Promise<Reply> {
    if (!this.#isReady && this.#closing === undefined) {
      return this.ready().then(
        () => this.handle(body, scope),
        () => errorReply('null', ErrorCode.Cancelled),
      );
    }
    scope.limitTo(this.config.maxRequestMs);
    return this.#track(() => this.#kernel.handle(body, scope));
  }

  /** For transports: see {@link Service}. */
  introspect(format: DocumentFormat): Document | undefined {
    const of = this.#serving.current;
    if (of === undefined) return undefined;
    const version = versionOf(of.router);
    let cached = this.#documents.get(format);
    if (cached?.of !== of || cached.version !== version) {
      cached = { of, version, document: documentOf(documentText(of.router, format)) };
      this.#documents.set(format, cached);
    }
    return cached.document;
  }

  /** Where a procedure runs now, and why; undefined for a name that is not registered. @throws Error before `ready()` */
  placementOf(name: string): PlacementDecision | undefined {
    const generation = this.#running();
    const procedure = generation.table.get(name);
    return procedure && generation.placementOf(procedure);
  }

  stats(): DispatcherStats {
    const generation = this.#serving.current;
    const placement: Record<string, PlacementDecision> = Object.create(null);
    if (generation !== undefined) {
      for (const procedure of generation.table.values()) {
        placement[procedure.name] = generation.placementOf(procedure);
      }
    }
    return {
      state: this.state,
      inFlight: generation?.inFlight ?? 0,
      pool: generation?.pool?.stats(),
      placement,
    };
  }

  /** The files that the served modules were loaded from, theirs and what they import. */
  get files(): readonly string[] {
    return [...(this.#serving.current?.files?.keys() ?? [])];
  }

  /**
   * Loads the modules anew where they or anything they import have changed: in fresh workers beside the
   * old ones, then swapped in one step. Calls in flight finish on the old generation.
   *
   * @returns false when nothing has changed
   * @throws StartupError; the old generation then goes on serving
   */
  reload(): Promise<boolean> {
    return this.#serving.reload();
  }

  /** Says `draining` from now on, for health checks, and serves on until `close()`. */
  drain(): void {
    this.#isDraining = true;
  }

  /**
   * Drains: finishes what it has, for `graceMs` at most (the option `shutdownGraceMs`), and ends the
   * workers. Then what never started is answered -32003, what still ran -32002. Idempotent.
   */
  close(graceMs: number = this.config.shutdownGraceMs): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #start(): Promise<void> {
    assertMainSide('start a Dispatcher');
    if (this.#closing !== undefined) throw new StartupError('the dispatcher is closed');
    await this.#serving.start();
    this.#isReady = true;
  }

  #generation(): Generation {
    return this.#serving.current ?? this.#ended ?? refusingGeneration(new Map());
  }

  #running(): ServedGeneration {
    const generation = this.#serving.current;
    if (generation === undefined) throw new Error('not running: await ready() first');
    return generation;
  }

  /** Counts the request in the generation that serves it. */
  #track(run: () => Reply | Promise<Reply>): Reply | Promise<Reply> {
    const generation = this.#serving.current;
    const reply = run();
    return generation === undefined ? reply : generation.track(reply);
  }

  async #withScope(
    { signal, ...facts }: DispatchOptions,
    run: (scope: RequestScope) => Reply | Promise<Reply>,
  ): Promise<Reply> {
    const scope = new RequestScope(facts);
    scope.limitTo(this.config.maxRequestMs);
    if (!this.#isReady && this.#closing === undefined) await this.ready();
    if (signal === undefined) return run(scope);
    const onAbort = (): void => scope.cancel();
    if (signal.aborted) scope.cancel();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await run(scope);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #close(graceMs: number): Promise<void> {
    const until = Date.now() + graceMs;
    const generation = this.#serving.current;
    this.#isDraining = true;
    if (generation !== undefined) {
      await this.#serving.idle(graceMs);
      this.#ended = refusingGeneration(generation.table);
    }
    const ended = this.#serving.close(Math.max(0, until - Date.now()));
    this.#deadlines.close();
    try {
      await ended;
    } finally {
      this.#isClosed = true;
    }
  }
}

interface CachedDocument {
  readonly of: ServedGeneration;
  readonly version: number;
  readonly document: Document;
}

function documentText(router: Router, format: DocumentFormat): string {
  return format === 'openrpc'
    ? openRpcText(tableOf(router))
    : JSON.stringify(getRegistrySchema(router));
}

function textOf(reply: string | Uint8Array): string {
  if (typeof reply === 'string') return reply;
  return Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength).toString();
}

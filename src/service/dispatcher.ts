import { clockMs } from '../base/clock.ts';
import { StartupError } from '../base/startup-error.ts';
import { assertMainSide } from '../base/thread-role.ts';
import { type Config, resolveConfig } from '../config/config.ts';
import { passGate } from '../dispatch/await-verdict.ts';
import { BodyMemory } from '../dispatch/body-memory.ts';
import { createCallerScope } from '../dispatch/caller-facts.ts';
import { closedRouting } from '../dispatch/closed-executor.ts';
import { DeadlineSweep } from '../dispatch/deadline.ts';
import { FrontEndWatch } from '../dispatch/front-end-watch.ts';
import { Kernel } from '../dispatch/kernel.ts';
import { keepBody } from '../dispatch/large-body.ts';
import type { PlacementDecision } from '../dispatch/placement.ts';
import { ReplyMemory } from '../dispatch/reply-memory.ts';
import type { GoesToSink, ReplySink } from '../dispatch/reply-sink.ts';
import type { Routing } from '../dispatch/routing.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import type { Document, DocumentFormat, Service, ServiceState } from '../dispatch/service.ts';
import { OpenStreams } from '../dispatch/streams/open-streams.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { errorReply, type Outcome, type Reply, textOfReply } from '../jsonrpc/reply.ts';
import { toObservers } from '../observe/call-event.ts';
import { createLog, type LazyLog, type Log } from '../observe/log.ts';
import { CountersByGroup, type PoolStats } from '../pool/stats.ts';
import type { AnyRouter } from '../router/router-state.ts';
import { Admission } from './admission.ts';
import { configOfCallers, createCallers } from './callers.ts';
import type { DispatcherOptions, DispatcherStats, DispatchOptions } from './dispatcher-options.ts';
import { Documents } from './documents.ts';
import { FrontEndBlockers } from './front-end-blockers.ts';
import type { LoadedService } from './loaded-service.ts';
import { createFetch, type LocalFetch } from './local-fetch.ts';
import { readStream } from './local-stream.ts';
import { Metrics } from './metrics.ts';
import { Observation } from './observation.ts';
import { BodyRequest, PayloadRequest } from './request.ts';
import { runScope } from './run-scope.ts';
import { toServable } from './servable.ts';
import { Serving } from './serving.ts';
import { loadTracing, type Tracing } from './tracing.ts';

/** Options that are not in the table. */
const otherOptions = ['modules', 'router', 'log', 'onCall', 'weightOf'];

/**
 * Runs JSON-RPC requests, whatever brought them: in worker threads what burns CPU, on this thread the rest. A
 * dispatcher knows no transport. The constructor starts nothing: the first call, or `ready()`, starts the workers,
 * and they keep the process alive until `close()`.
 */
export class Dispatcher implements Service {
  readonly config: Config;
  readonly log: Log;
  /** For transports: see {@link Service}. */
  readonly bodyMemory: BodyMemory;
  readonly replyMemory: ReplyMemory;
  readonly tracing: Tracing | undefined;
  /**
   * The standard `fetch` for this service, for clients in the same process: `createClient({ url: 'http://local/rpc',
   * fetch: dispatcher.fetch })`. Any absolute URL will do. Nobody is asked who calls: `context.auth` is undefined.
   */
  readonly fetch: LocalFetch;
  readonly #ownLog: LazyLog | undefined;
  readonly #serving: Serving;
  readonly #observation: Observation;
  readonly #admission: Admission;
  readonly #metrics: Metrics | undefined;
  readonly #watch = new FrontEndWatch();
  readonly #blockers: FrontEndBlockers;
  readonly #deadlines = new DeadlineSweep();
  readonly #kernel: Kernel;
  #isReady = false;
  #isDraining = false;
  #isClosed = false;
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #ended: Routing | undefined;
  readonly #documents = new Documents();

  /** @throws StartupError for options that can't be; its one line names the option */
  constructor(options: DispatcherOptions = {}) {
    const { modules, router, log, onCall, fairBy, rateLimit, weightOf, ...rest } = options;
    const source = toServable(modules, router);
    const own = configOfCallers({ fairBy, rateLimit });
    this.config = resolveConfig({ ...rest, ...own }, {}, otherOptions);
    if (this.config.hooks !== '') {
      throw new StartupError(
        'option hooks: it is for tandem serve; in code give authenticate and onCall themselves',
      );
    }
    this.#ownLog = log === undefined ? createLog({ level: this.config.logLevel }) : undefined;
    this.log = log ?? (this.#ownLog as Log);
    const { config, log: ownLog } = this;
    const observers = toObservers(onCall, 'option onCall');
    const { shares, gate } = createCallers(config, { fairBy, rateLimit, weightOf }, ownLog);
    const onRun =
      config.rateLimit.costMs === 0
        ? undefined
        : (scope: RequestScope, us: number) => gate?.noteRun(scope, us);
    this.#observation = new Observation({ ...config, log: ownLog, onCall: observers, onRun });
    this.#blockers = new FrontEndBlockers(ownLog);
    this.bodyMemory = new BodyMemory(config.maxBodyMemory, config.maxBodyBytes);
    this.replyMemory = new ReplyMemory(config.maxReplyMemory);
    this.tracing = config.tracing ? loadTracing() : undefined;
    const context = {
      config,
      log: ownLog,
      deadlines: this.#deadlines,
      observation: this.#observation,
      poolCounters: new CountersByGroup(),
      bodies: this.bodyMemory,
      replies: this.replyMemory,
      watch: this.#watch,
      blockers: this.#blockers,
      shares,
      streamCount: { open: 0 },
    };
    this.fetch = createFetch(
      (body, facts) => this.dispatchText(body, facts),
      this.config.forwardHeaders,
    );
    this.#serving = new Serving(source, context);
    this.#metrics = config.metrics
      ? new Metrics({ ...context, serving: this.#serving })
      : undefined;
    const onBatch = gate && ((scope: RequestScope, calls: number) => gate.noteBatch(scope, calls));
    this.#kernel = new Kernel(config, () => this.#routing(), this.#observation, onBatch);
    this.#admission = new Admission({
      maxInFlight: config.maxInFlight,
      serving: this.#serving,
      observer: this.#observation,
      deadlines: this.#deadlines,
      gate,
    });
  }

  get state(): ServiceState {
    if (this.#isClosed) return 'closed';
    if (this.#isDraining) return 'draining';
    return this.#isReady ? 'ready' : 'starting';
  }

  /**
   * The procedures that are served, as one object that stays the same through all reloads. Where modules are served,
   * `ready()` fills it and its `reloadModule` reloads the service.
   */
  get router(): AnyRouter {
    return this.#serving.router;
  }

  /**
   * Resolves when every worker has loaded the modules. The first call starts the service.
   *
   * @throws StartupError
   */
  ready(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /**
   * Handles a payload that is parsed already: a request or an array of requests. Ids are echoed by value.
   *
   * @returns the response object, or an array of them; undefined where there is nothing to answer
   * @throws TypeError (rejects) for options that can't be, such as an `auth` that is no JSON value; nothing has run
   *   then
   */
  async dispatch(payload: unknown, options: DispatchOptions = {}): Promise<unknown> {
    const reply = await this.#withScope(options, (scope) =>
      this.#admission.enter(new PayloadRequest(this.#kernel, this.config, payload, scope)),
    );
    const text = textOfReply(reply);
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  }

  /**
   * Handles JSON text, or its UTF-8 bytes.
   *
   * @returns the reply's text; undefined where there is nothing to answer
   * @throws TypeError as `dispatch` does
   */
  async dispatchText(
    body: string | Uint8Array,
    options: DispatchOptions = {},
  ): Promise<string | undefined> {
    const reply = await this.#withScope(options, (scope) =>
      this.#admission.enter(new BodyRequest(this.#kernel, this.config, body, scope)),
    );
    return textOfReply(reply);
  }

  /**
   * Handles one request of a streaming procedure: yields its values, and returns what the procedure returned. Leaving the
   * loop ends the stream. A procedure that does not stream yields nothing.
   *
   * @param payload a request with an id; values of a notification would have no reader
   * @throws RpcError (rejects) where the call fails or the stream ends with an error
   */
  stream(
    payload: unknown,
    options: DispatchOptions = {},
  ): AsyncGenerator<unknown, unknown, undefined> {
    return readStream(
      (reader) =>
        this.#withScope(options, (scope) => {
          scope.streams = reader;
          return this.#admission.enter(
            new PayloadRequest(this.#kernel, this.config, payload, scope),
          );
        }),
      options.signal,
    );
  }

  handle(body: string | Uint8Array, scope: RequestScope): Reply | Promise<Reply>;
  handle(
    body: string | Uint8Array,
    scope: RequestScope,
    sink: ReplySink | undefined,
  ): Reply | Promise<Reply> | GoesToSink;
  /** For transports: see {@link Service}. Synchronous where all calls of the request were synchronous. */
  handle(
    body: string | Uint8Array,
    scope: RequestScope,
    sink?: ReplySink,
  ): Reply | Promise<Reply> | GoesToSink {
    if (!this.#isReady && this.#closing === undefined) {
      const kept = keepBody(body);
      return this.ready().then(
        () => this.handle(kept, scope),
        () => errorReply('null', ErrorCode.Cancelled),
      );
    }
    if (this.tracing !== undefined && scope.trace === undefined) this.tracing.join(scope);
    scope.limitTo(this.config.maxRequestMs);
    const request = new BodyRequest(this.#kernel, this.config, body, scope);
    return sink === undefined
      ? this.#admission.enter(request)
      : this.#admission.enterInto(request, sink);
  }

  /** For transports: see {@link Service}. */
  admit(scope: RequestScope): Outcome | undefined | Promise<Outcome | undefined> {
    if (scope.verdict === undefined) return undefined;
    scope.limitTo(this.config.maxRequestMs);
    return passGate(scope, scope.verdict, this.#deadlines);
  }

  /** For transports: see {@link Service}. */
  introspect(format: DocumentFormat): Document | undefined {
    const loaded = this.#serving.current;
    return loaded && this.#documents.of(loaded.router, format);
  }

  /**
   * Where a procedure runs now, and why; undefined for a name that is not registered.
   *
   * @throws Error before `ready()`
   */
  placementOf(name: string): PlacementDecision | undefined {
    const loaded = this.#running();
    const procedure = loaded.table.get(name);
    return procedure && loaded.placementOf(procedure);
  }

  stats(): DispatcherStats {
    const loaded = this.#serving.current;
    const placement: Record<string, PlacementDecision> = Object.create(null);
    if (loaded !== undefined) {
      for (const procedure of loaded.table.values()) {
        placement[procedure.name] = loaded.placementOf(procedure);
      }
    }
    const groups: Record<string, PoolStats> = Object.create(null);
    for (const [group, pool] of loaded?.pools ?? []) {
      if (group !== undefined) groups[group] = pool.stats();
    }
    return {
      state: this.state,
      inFlight: loaded?.inFlight ?? 0,
      pool: loaded?.pools.get(undefined)?.stats(),
      groups,
      bodies: this.bodyMemory.stats(),
      replies: this.replyMemory.stats(),
      placement,
      blocked: this.#blockers.figures,
    };
  }

  /** The same function: a call of it that holds this thread for too long is told of under `name`. */
  watched<A extends unknown[], R>(name: string, run: (...args: A) => R): (...args: A) => R {
    const watch = this.#watch;
    const owner = {
      onBlocked: (ms: number) => this.#blockers.note(name, ms, 'it runs for every request'),
    };
    return (...args) => {
      const began = clockMs();
      const lag = watch.lagAt(began);
      const claimed = watch.claimedMs;
      try {
        return run(...args);
      } finally {
        watch.ended(owner, began, lag, claimed);
      }
    };
  }

  /**
   * What /metrics shows of this process and of the other processes of its service; undefined where the option
   * `metrics` is off.
   */
  get metrics(): Metrics | undefined {
    return this.#metrics;
  }

  /** The files that the served modules were loaded from: the modules themselves and what they import. */
  get files(): readonly string[] {
    return [...(this.#serving.current?.sources?.files.keys() ?? [])];
  }

  /**
   * Loads the modules anew where they, or anything they import, have changed. Fresh workers load beside the old ones;
   * one step then swaps the two. Calls in flight finish on the old modules.
   *
   * @returns false when nothing has changed
   * @throws StartupError; the old modules then go on serving
   */
  reload(): Promise<boolean> {
    return this.#serving.reload();
  }

  /** Makes `state` say `draining` from now on, for health checks. The service goes on serving until `close()`. */
  drain(): void {
    this.#isDraining = true;
  }

  /**
   * Ends the streams, for whoever closes its transports before the dispatcher: each ends at its next yield, and those that
   * may finish have `graceMs`. No stream opens from here on.
   */
  endStreams(graceMs: number = this.config.shutdownGraceMs): Promise<void> {
    return this.#serving.endStreams(graceMs);
  }

  /**
   * Finishes the requests in flight, for `graceMs` at most (default: the option `shutdownGraceMs`), and ends the
   * workers. After the grace, a call that never started is answered -32003, and a call that still runs -32002. Later
   * calls of `close` return the first one's promise.
   */
  close(graceMs: number = this.config.shutdownGraceMs): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  async #start(): Promise<void> {
    assertMainSide('start a Dispatcher');
    if (this.#closing !== undefined) throw new StartupError('the dispatcher is closed');
    this.#ownLog?.open();
    this.#metrics?.start();
    this.#watch.start();
    await this.#serving.start();
    this.#isReady = true;
  }

  #routing(): Routing {
    return this.#serving.current ?? this.#ended ?? this.#closedRouting(new Map());
  }

  #closedRouting(table: LoadedService['table']): Routing {
    const streams = new OpenStreams(this.config, this.#deadlines, { open: 0 }, this.#observation);
    return closedRouting(table, streams, this.#observation);
  }

  #running(): LoadedService {
    const loaded = this.#serving.current;
    if (loaded === undefined) throw new Error('not running: await ready() first');
    return loaded;
  }

  async #withScope(
    { signal, ...facts }: DispatchOptions,
    run: (scope: RequestScope) => Reply | Promise<Reply>,
  ): Promise<Reply> {
    const scope = createCallerScope(facts);
    scope.limitTo(this.config.maxRequestMs);
    if (!this.#isReady && this.#closing === undefined) await this.ready();
    this.tracing?.join(scope);
    return runScope(scope, signal, run);
  }

  async #close(graceMs: number): Promise<void> {
    const until = clockMs() + graceMs;
    const loaded = this.#serving.current;
    this.#isDraining = true;
    if (loaded !== undefined) {
      await Promise.all([this.#serving.idle(graceMs), this.#serving.endStreams(graceMs)]);
      this.#ended = this.#closedRouting(loaded.table);
    }
    const ended = this.#serving.close(Math.max(0, until - clockMs()));
    this.#deadlines.close();
    try {
      await ended;
    } finally {
      this.#isClosed = true;
      this.bodyMemory.close();
      this.#observation.close();
      this.#watch.close();
      this.#blockers.close();
      this.#metrics?.close();
    }
  }
}

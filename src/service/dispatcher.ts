import type { Config } from '../config/config.ts';
import { awaitVerdict, refusalWithin } from '../dispatch/await-verdict.ts';
import type { BodyMemory } from '../dispatch/body-memory.ts';
import { createCallerScope } from '../dispatch/caller-facts.ts';
import { Kernel } from '../dispatch/kernel.ts';
import { cancelledOutcome } from '../dispatch/limit.ts';
import type { PlacementDecision } from '../dispatch/placement.ts';
import type { ReplyMemory } from '../dispatch/reply-memory.ts';
import type { GoesToSink, ReplySink } from '../dispatch/reply-sink.ts';
import type { RequestScope } from '../dispatch/scope.ts';
import type {
  Document,
  DocumentFormat,
  ServedProcedures,
  Service,
  ServiceState,
} from '../dispatch/service.ts';
import { type Outcome, type Reply, textOfReply } from '../jsonrpc/reply.ts';
import type { Log } from '../observe/log.ts';
import { versionOf } from '../router/router.ts';
import type { AnyRouter } from '../router/router-state.ts';
import type { Admission } from './admission.ts';
import type { Cluster } from './cluster.ts';
import type { DispatcherOptions, DispatcherStats, DispatchOptions } from './dispatcher-options.ts';
import { Documents } from './documents.ts';
import { watchRuns } from './front-end-blockers.ts';
import { Lifecycle } from './lifecycle.ts';
import type { LoadedService } from './loaded-service.ts';
import { createFetch, type LocalFetch } from './local-fetch.ts';
import { readStream } from './local-stream.ts';
import type { Metrics } from './metrics.ts';
import { createParts, type Parts } from './parts.ts';
import { BodyRequest, PayloadRequest, type ServiceRequest } from './request.ts';
import { runScope } from './run-scope.ts';
import type { Serving } from './serving.ts';
import { statsOf } from './stats.ts';
import type { Tracing } from './tracing.ts';

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
  /** The other processes that share a NATS; undefined: there are none. */
  readonly cluster: Cluster | undefined;
  readonly #parts: Parts;
  readonly #serving: Serving;
  readonly #admission: Admission;
  readonly #kernel: Kernel;
  readonly #lifecycle: Lifecycle;
  readonly #documents = new Documents();

  /** @throws StartupError for options that can't be; its one line names the option */
  constructor(options: DispatcherOptions = {}) {
    const parts = createParts(options);
    const { config, observation } = parts;
    this.#parts = parts;
    this.config = config;
    this.log = parts.log;
    this.bodyMemory = parts.bodies;
    this.replyMemory = parts.replies;
    this.tracing = parts.tracing;
    this.cluster = parts.cluster;
    this.#serving = parts.serving;
    this.#admission = parts.admission;
    const lifecycle = new Lifecycle(parts);
    this.#lifecycle = lifecycle;
    this.#kernel = new Kernel(config, () => lifecycle.routing(), observation, parts.onBatch);
    this.fetch = createFetch(
      (body, facts) => this.dispatchText(body, facts),
      config.forwardHeaders,
    );
  }

  get state(): ServiceState {
    return this.#lifecycle.state;
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
    return this.#lifecycle.start();
  }

  /**
   * Handles a payload that is parsed already: a request or an array of requests. Ids are echoed by value.
   *
   * @returns the response object, or an array of them; undefined where there is nothing to answer
   * @throws TypeError (rejects) for options that can't be, such as an `auth` that is no JSON value; nothing has run
   *   then
   * @throws StartupError (rejects) where the call had the service start, and it could not
   */
  async dispatch(payload: unknown, options: DispatchOptions = {}): Promise<unknown> {
    const reply = await this.#withScope(options, (scope) =>
      this.#enter(new PayloadRequest(this.#kernel, this.config, payload, scope)),
    );
    const text = textOfReply(reply);
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  }

  /**
   * Handles JSON text, or its UTF-8 bytes.
   *
   * @returns the reply's text; undefined where there is nothing to answer
   * @throws TypeError, StartupError as `dispatch` does
   */
  async dispatchText(
    body: string | Uint8Array,
    options: DispatchOptions = {},
  ): Promise<string | undefined> {
    const reply = await this.#withScope(options, (scope) =>
      this.#enter(new BodyRequest(this.#kernel, this.config, body, scope)),
    );
    return textOfReply(reply);
  }

  /**
   * Handles one request of a streaming procedure: yields its values, and returns what the procedure returned. Leaving the
   * loop ends the stream. A procedure that does not stream yields nothing.
   *
   * @param payload a request with an id; values of a notification would have no reader
   * @throws RpcError (rejects) where the call fails or the stream ends with an error
   * @throws TypeError, StartupError as `dispatch` does
   */
  stream(
    payload: unknown,
    options: DispatchOptions = {},
  ): AsyncGenerator<unknown, unknown, undefined> {
    return readStream(
      (reader) =>
        this.#withScope(options, (scope) => {
          scope.streams = reader;
          return this.#enter(new PayloadRequest(this.#kernel, this.config, payload, scope));
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
    if (this.tracing !== undefined && scope.trace === undefined) this.tracing.join(scope);
    scope.limitTo(this.config.maxRequestMs);
    const request = new BodyRequest(this.#kernel, this.config, body, scope);
    if (!this.#lifecycle.isReady) return this.#enterEarly(request, () => cancelledOutcome);
    return sink === undefined
      ? this.#admission.enter(request)
      : this.#admission.enterInto(request, sink);
  }

  /** For transports: see {@link Service}. */
  admit(scope: RequestScope): Outcome | undefined | Promise<Outcome | undefined> {
    if (scope.verdict === undefined) return undefined;
    scope.limitTo(this.config.maxRequestMs);
    return awaitVerdict(scope, scope.verdict, this.#parts.deadlines);
  }

  /** For transports: see {@link Service}. */
  introspect(format: DocumentFormat): Document | undefined {
    const loaded = this.#serving.current;
    return loaded && this.#documents.of(loaded.served, format);
  }

  /** For transports: see {@link Service}. */
  served(): ServedProcedures | undefined | Promise<ServedProcedures | undefined> {
    const loaded = this.#serving.current;
    if (!this.#lifecycle.isBeforeStart) {
      return loaded && { table: loaded.table, version: versionOf(loaded.served) };
    }
    return this.ready().then(
      () => this.served(),
      () => undefined,
    );
  }

  /**
   * Where a procedure runs now, and why; undefined for a name that is not registered.
   *
   * @throws Error before `ready()` and after `close()`
   */
  placementOf(name: string): PlacementDecision | undefined {
    const loaded = this.#running();
    const procedure = loaded.table.get(name);
    return procedure && loaded.placementOf(procedure);
  }

  stats(): DispatcherStats {
    return statsOf(this.state, this.#parts);
  }

  /** The same function: a call of it that holds this thread for too long is told of under `name`. */
  watched<A extends unknown[], R>(name: string, run: (...args: A) => R): (...args: A) => R {
    return watchRuns(this.#parts, name, run);
  }

  /**
   * What /metrics shows of this process and of the other processes of its service; undefined where the option
   * `metrics` is off.
   */
  get metrics(): Metrics | undefined {
    return this.#parts.metrics;
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
    this.#lifecycle.drain();
  }

  /**
   * Ends the streams, for whoever closes its transports before the dispatcher: each ends at its next yield, and those that
   * may finish have `graceMs`. No stream opens from here on.
   *
   * @throws TypeError for a grace that is no number
   */
  endStreams(graceMs: number = this.config.shutdownGraceMs): Promise<void> {
    assertGrace('endStreams', graceMs);
    return this.#serving.endStreams(graceMs);
  }

  /**
   * Finishes the requests in flight, for `graceMs` at most (default: the option `shutdownGraceMs`), and ends the
   * workers. After the grace, a call that never started is answered -32003, and a call that still runs -32002. Later
   * calls of `close` return the first one's promise.
   *
   * @throws TypeError for a grace that is no number
   */
  close(graceMs: number = this.config.shutdownGraceMs): Promise<void> {
    assertGrace('close', graceMs);
    return this.#lifecycle.close(graceMs);
  }

  #running(): LoadedService {
    const loaded = this.#serving.current;
    if (loaded !== undefined) return loaded;
    const why = this.#lifecycle.isBeforeStart ? 'await ready() first' : 'it is closed';
    throw new Error(`the dispatcher is not running: ${why}`);
  }

  async #withScope(
    { signal, ...facts }: DispatchOptions,
    run: (scope: RequestScope) => Reply | Promise<Reply>,
  ): Promise<Reply> {
    const scope = createCallerScope(facts);
    scope.limitTo(this.config.maxRequestMs);
    this.tracing?.join(scope);
    return runScope(scope, signal, run);
  }

  /** A request of a program, which hears why the service could not start. */
  #enter(request: ServiceRequest): Reply | Promise<Reply> {
    if (this.#lifecycle.isReady) return this.#admission.enter(request);
    return this.#enterEarly(request, (error) => {
      if (this.#lifecycle.isBeforeStart) throw error;
      return cancelledOutcome;
    });
  }

  /**
   * A request that comes before the start has ended waits for that. Where the service is closed first, the request is
   * refused as a whole: nobody knows which procedures there would have been.
   *
   * @param onFailure says what becomes of the request where the start fails
   */
  #enterEarly(
    request: ServiceRequest,
    onFailure: (error: unknown) => Outcome,
  ): Reply | Promise<Reply> {
    if (!this.#lifecycle.isBeforeStart) return request.refuse(cancelledOutcome);
    request.keep();
    const started = this.ready().then(() => undefined, onFailure);
    return refusalWithin(request.scope, started, this.#parts.deadlines).then((refusal) =>
      refusal === undefined ? this.#admission.enter(request) : request.refuse(refusal),
    );
  }
}

function assertGrace(where: string, graceMs: unknown): void {
  if (typeof graceMs === 'number' && !Number.isNaN(graceMs)) return;
  throw new TypeError(`${where}: the grace must be milliseconds, not ${String(graceMs)}`);
}

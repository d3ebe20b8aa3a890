import { clockMs } from '../base/clock.ts';
import { nodeFault } from '../base/node-version.ts';
import { StartupError } from '../base/startup-error.ts';
import { assertMainSide } from '../base/thread-role.ts';
import type { Config } from '../config/config.ts';
import type { BodyMemory } from '../dispatch/body-memory.ts';
import { documentOf } from '../dispatch/built-in.ts';
import { cancelledOutcome } from '../dispatch/call.ts';
import { awaitVerdict, refusalWithin } from '../dispatch/deadline.ts';
import { closedRouting, Kernel, type Routing } from '../dispatch/kernel.ts';
import type { PlacementDecision } from '../dispatch/placement.ts';
import type { ReplyMemory } from '../dispatch/reply-memory.ts';
import { createCallerScope, type RequestScope } from '../dispatch/scope.ts';
import type {
  Document,
  DocumentFormat,
  ServedProcedures,
  Service,
  ServiceState,
} from '../dispatch/service.ts';
import type { Log } from '../observe/log.ts';
import {
  type BroadcastOptions,
  type BroadcastResult,
  toBroadcastRequest,
} from '../procedures/broadcast.ts';
import { type AnyRouter, versionOf } from '../procedures/router.ts';
import { type Outcome, type Reply, type ReplySink, textOfReply } from '../protocol/reply.ts';
import type { PoolStats, WorkerStack } from '../workers/options.ts';
import { describeSight, lookInto } from '../workers/stack.ts';
import { Admission, ServiceRequest } from './admission.ts';
import type { Cluster } from './cluster.ts';
import {
  createContext,
  type DispatcherOptions,
  type DispatcherStats,
  type DispatchOptions,
  type ServiceContext,
} from './context.ts';
import { type NamedWorker, workersOf } from './deployment.ts';
import { Deployments } from './deployments.ts';
import { type HeapFile, type HeapOrder, HeapSnapshots } from './heap-snapshots.ts';
import { createFetch, type LocalFetch, readStream, runScope } from './local.ts';
import { watchRuns } from './main-thread-blockers.ts';
import { Metrics } from './metrics.ts';
import { toServable } from './servable.ts';
import { Tracing } from './tracing.ts';

/** The threads of a process that a profile covers, beside its main thread. */
export interface ProfiledThreads {
  /** `group` undefined: a worker of the procedures without a group. */
  readonly workers: readonly { readonly threadId: number; readonly group: string | undefined }[];
  /** Whether the service ends, and should not wait for a profile. */
  isEnding(): boolean;
}

/** How long a thread may take to show its stack, milliseconds. */
const stackMs = 250;

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
  /**
   * The procedures that are served, as one object that stays the same through all reloads. If modules are served,
   * `ready()` fills it and its `reloadModule` reloads the service.
   */
  readonly router: AnyRouter;
  /**
   * What /metrics shows of this process and of the other processes of its service; undefined if the option
   * `metrics` is off.
   */
  readonly metrics: Metrics | undefined;
  readonly #context: ServiceContext;
  readonly #deployments: Deployments;
  readonly #admission: Admission;
  readonly #heaps: HeapSnapshots;
  /** The start has ended well, once: calls have a routing from then on, after the end too. */
  #isReady = false;
  #isDraining = false;
  #isClosed = false;
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  /** Answers what comes when nothing serves any more. */
  #ended: Routing | undefined;

  /** @throws StartupError for options that can't be; its one line names the option */
  constructor(options: DispatcherOptions = {}) {
    const fault = nodeFault();
    if (fault !== undefined) throw new StartupError(fault);
    const source = toServable(options);
    const context = createContext(options);
    const { config, gate, observation } = context;
    this.#context = context;
    this.#heaps = new HeapSnapshots(config, context.poolCounters);
    this.config = config;
    this.log = context.log;
    this.bodyMemory = context.bodies;
    this.replyMemory = context.replies;
    this.cluster = context.cluster;
    this.#deployments = new Deployments(source, context);
    this.router = this.#deployments.router;
    this.metrics = config.metrics ? new Metrics(context, this.#deployments) : undefined;
    this.tracing = config.tracing ? Tracing.load() : undefined;
    const onBatch = gate && ((scope: RequestScope, calls: number) => gate.noteBatch(scope, calls));
    const kernel = new Kernel(config, () => this.#routing(), context.turns, observation, onBatch);
    this.#admission = new Admission(context, this.#deployments, kernel);
    this.fetch = createFetch(
      (body, facts) => this.dispatchText(body, facts),
      config.forwardHeaders,
    );
  }

  get state(): ServiceState {
    if (this.#isClosed) return 'closed';
    if (this.#isDraining) return 'draining';
    if (!this.#isReady) return 'starting';
    return this.cluster?.state ?? 'ready';
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
   * @returns the response object, or an array of them; undefined if there is nothing to answer
   * @throws TypeError (rejects) for options that can't be, such as an `auth` that is no JSON value; nothing has run
   *   then
   * @throws StartupError (rejects) if the call had the service start, and it could not
   */
  async dispatch(payload: unknown, options: DispatchOptions = {}): Promise<unknown> {
    const reply = await this.#withScope(options, (scope) => this.#send(scope, undefined, payload));
    const text = textOfReply(reply);
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  }

  /**
   * Handles JSON text, or its UTF-8 bytes.
   *
   * @returns the reply's text; undefined if there is nothing to answer
   * @throws TypeError, StartupError as `dispatch` does
   */
  async dispatchText(
    body: string | Uint8Array,
    options: DispatchOptions = {},
  ): Promise<string | undefined> {
    const reply = await this.#withScope(options, (scope) => this.#send(scope, body));
    return textOfReply(reply);
  }

  /**
   * Handles one request of a streaming procedure: yields its values, and returns what the procedure returned. Leaving the
   * loop ends the stream. A procedure that does not stream yields nothing.
   *
   * @param payload a request with an id; values of a notification would have no reader
   * @throws RpcError (rejects) if the call fails or the stream ends with an error
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
          return this.#send(scope, undefined, payload);
        }),
      options.signal,
    );
  }

  /** For transports: see {@link Service}. */
  handle(body: string | Uint8Array, scope: RequestScope, sink: ReplySink): void {
    if (this.tracing !== undefined && scope.trace === undefined) this.tracing.join(scope);
    scope.limitTo(this.config.maxRequestMs);
    const request = new ServiceRequest(scope, sink, body);
    if (this.#isReady) this.#admission.enter(request);
    else void this.#enterEarly(request, () => cancelledOutcome);
  }

  /** For transports: see {@link Service}. */
  admit(scope: RequestScope): Outcome | undefined | Promise<Outcome | undefined> {
    if (scope.verdict === undefined) return undefined;
    scope.limitTo(this.config.maxRequestMs);
    return awaitVerdict(scope, scope.verdict, this.#context.deadlines);
  }

  /** For transports: see {@link Service}. */
  introspect(format: DocumentFormat): Promise<Document> | undefined {
    const deployment = this.#deployments.current;
    return deployment && documentOf(deployment.table, format);
  }

  /** For transports: see {@link Service}. */
  served(): ServedProcedures | undefined | Promise<ServedProcedures | undefined> {
    if (!this.#isBeforeStart) {
      const deployment = this.#deployments.current;
      return deployment && { table: deployment.table, version: versionOf(deployment.served) };
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
    const deployment = this.#deployments.current;
    if (deployment === undefined) {
      const why = this.#isBeforeStart ? 'await ready() first' : 'it is closed';
      throw new Error(`the dispatcher is not running: ${why}`);
    }
    const procedure = deployment.table.get(name);
    return procedure && deployment.placementOf(procedure);
  }

  stats(): DispatcherStats {
    const { bodies, replies, blockers } = this.#context;
    const deployment = this.#deployments.current;
    const placement: Record<string, PlacementDecision> = Object.create(null);
    if (deployment !== undefined) {
      for (const procedure of deployment.table.values()) {
        placement[procedure.name] = deployment.placementOf(procedure);
      }
    }
    const groups: Record<string, PoolStats> = Object.create(null);
    for (const [group, pool] of deployment?.pools ?? []) {
      if (group !== undefined) groups[group] = pool.stats();
    }
    return {
      state: this.state,
      inFlight: this.#deployments.inFlight,
      pool: deployment?.pools.get(undefined)?.stats(),
      groups,
      bodies: bodies.stats(),
      replies: replies.stats(),
      remote: this.cluster?.stats(),
      placement,
      blocked: blockers.figures,
    };
  }

  /** What a profile of this process covers, beside its main thread. */
  get profiled(): ProfiledThreads {
    return {
      workers: this.#workers.map(({ worker: { threadId }, group }) => ({ threadId, group })),
      isEnding: () => this.#isDraining || this.#isClosed,
    };
  }

  /**
   * What each worker thread does now. Nothing is paused and no port is opened; a thread in native code is waited for 250 ms.
   *
   * @throws Error (rejects) if this process may not use the inspector: by Node's permission model, for example
   */
  async stacks(): Promise<WorkerStack[]> {
    const now = clockMs();
    const workers = this.#workers.map((one) => ({ ...one, running: one.worker.runningAt(now) }));
    const threads = workers.map(({ worker }) => worker);
    const sights = await lookInto(threads, stackMs);
    return workers.flatMap(({ worker, number, group, running }) => {
      const sight = sights.get(worker);
      if (sight === undefined) return []; // it has ended meanwhile
      const { threadId, inFlight } = worker;
      return [{ worker: number, threadId, group, inFlight, running, stack: describeSight(sight) }];
    });
  }

  /**
   * Writes a snapshot of the heap of one worker into the folder of the option `heapDir`, after the last call and stream of that
   * worker, which a fresh one replaces. No call is lost; the file can be read by this user alone.
   *
   * @throws Error (rejects) with one line: without `heapDir`, for a worker that is not there, or where the memory does not suffice
   */
  heapSnapshot(order: HeapOrder = {}): Promise<HeapFile> {
    return this.#heaps.write(this.#deployments.current?.pools ?? new Map(), order);
  }

  /** The same function: a call of it that holds this thread for too long is told of under `name`. */
  watched<A extends unknown[], R>(name: string, run: (...args: A) => R): (...args: A) => R {
    const { watch, blockers } = this.#context;
    return watchRuns(watch, blockers, name, run);
  }

  /** The files that the served modules were loaded from: the modules themselves and what they import. */
  get files(): readonly string[] {
    return [...(this.#deployments.current?.sources.files.keys() ?? [])];
  }

  /**
   * Loads the modules anew if they, or anything they import, have changed. Fresh workers load beside the old ones;
   * one step then swaps the two. Calls in flight finish on the old modules.
   *
   * @returns false when nothing has changed
   * @throws StartupError; the old modules then go on serving
   */
  reload(): Promise<boolean> {
    return this.#deployments.reload();
  }

  /** Tells whether `reload` will be called soon: until then it is no fault that files differ from what was loaded. */
  expectReload(isComing: boolean): void {
    this.#context.reloads.isComing = isComing;
  }

  /**
   * Runs a function of the served modules' exports `broadcasts` once on this thread and once in each worker, spares and
   * workers that load among them. A busy worker runs it between two calls. Other processes and members are not reached.
   *
   * Calls of one name reach each thread in their order, and run there one after another. A reload that is in progress runs
   * it in what it loads, too; what an earlier reload has replaced, and only finishes its calls, does not run it.
   *
   * @param params a JSON value; each thread gets a copy
   * @returns what it came to in each thread that serves, the main thread first
   * @throws TypeError, StartupError (rejects) for an argument that can't be; nothing has run then
   * @throws Error (rejects) for a name that no module exports, for a group without workers, and after `close()`
   */
  async broadcast(
    name: string,
    params?: unknown,
    options?: BroadcastOptions,
  ): Promise<BroadcastResult[]> {
    const request = toBroadcastRequest(name, params, options);
    if (this.#isBeforeStart) await this.ready();
    return this.#deployments.send(request);
  }

  /** Makes `state` say `draining` from now on, for health checks. The service goes on serving until `close()`. */
  drain(): void {
    this.#isDraining = true;
  }

  /**
   * Ends the streams, for whoever closes its transports before the dispatcher: each ends at its next yield, and those that
   * may finish have `graceMs`. No stream opens from here on.
   *
   * @throws TypeError for a grace that is no number
   */
  endStreams(graceMs: number = this.config.shutdownGraceMs): Promise<void> {
    assertGrace('endStreams', graceMs);
    return this.#deployments.endStreams(graceMs);
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
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  get #workers(): NamedWorker[] {
    const { poolCounters } = this.#context;
    return this.#deployments.all.flatMap(({ pools }) => workersOf(pools, poolCounters));
  }

  /** Whether a request has to wait for the start. */
  get #isBeforeStart(): boolean {
    return !this.#isReady && this.#closing === undefined;
  }

  /**
   * Who runs the calls now.
   *
   * @throws Error before the start has ended well
   */
  #routing(): Routing {
    const routing = this.#deployments.current ?? this.#ended;
    if (routing === undefined) throw new Error('a call came before the start');
    return routing;
  }

  async #start(): Promise<void> {
    assertMainSide('start a Dispatcher');
    this.#assertOpen();
    this.#context.ownLog?.open();
    this.metrics?.start();
    this.#context.watch.start();
    // The modules load in this same turn where nothing comes before them: `close` can give their loading up.
    if (this.cluster !== undefined) {
      await this.cluster.connect();
      this.#assertOpen();
    }
    await this.#deployments.start();
    this.#isReady = true;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StartupError('the dispatcher is closed');
  }

  async #close(graceMs: number): Promise<void> {
    const until = clockMs() + graceMs;
    const deployments = this.#deployments;
    const { deadlines, observation, bodies, watch, blockers } = this.#context;
    const loaded = deployments.current;
    this.#isDraining = true;
    if (loaded !== undefined) {
      await Promise.all([deployments.idle(graceMs), deployments.endStreams(graceMs)]);
      this.#ended = closedRouting(loaded.table, loaded.streams, observation);
    }
    const ended = deployments.close(Math.max(0, until - clockMs()));
    deadlines.close();
    const left = this.cluster?.close(Math.max(0, until - clockMs()));
    try {
      await Promise.all([ended, left]);
    } finally {
      this.#isClosed = true;
      bodies.close();
      observation.close();
      watch.close();
      blockers.close();
      this.metrics?.close();
    }
  }

  async #withScope(
    { signal, ...facts }: DispatchOptions,
    run: (scope: RequestScope) => Promise<Reply>,
  ): Promise<Reply> {
    const scope = createCallerScope(facts);
    scope.limitTo(this.config.maxRequestMs);
    this.tracing?.join(scope);
    return runScope(scope, signal, run);
  }

  /** A request of a program, which hears why the service could not start. */
  #send(
    scope: RequestScope,
    body: string | Uint8Array | undefined,
    payload?: unknown,
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const request = new ServiceRequest(scope, { onReply: resolve }, body, payload);
      if (this.#isReady) {
        this.#admission.enter(request);
        return;
      }
      const onFailure = (error: unknown): Outcome => {
        if (this.#isBeforeStart) throw error;
        return cancelledOutcome;
      };
      this.#enterEarly(request, onFailure).catch(reject);
    });
  }

  /**
   * A request that comes before the start has ended waits for that. If the service is closed first, the request is
   * refused as a whole: nobody knows which procedures there would have been.
   *
   * @param onFailure says what becomes of the request if the start fails; what it throws rejects this
   */
  async #enterEarly(
    request: ServiceRequest,
    onFailure: (error: unknown) => Outcome,
  ): Promise<void> {
    if (!this.#isBeforeStart) {
      this.#admission.refuse(request, cancelledOutcome);
      return;
    }
    request.keep();
    const started = this.ready().then(() => undefined, onFailure);
    const refusal = await refusalWithin(request.scope, started, this.#context.deadlines);
    if (refusal === undefined) this.#admission.enter(request);
    else this.#admission.refuse(request, refusal);
  }
}

function assertGrace(where: string, graceMs: unknown): void {
  if (typeof graceMs === 'number' && !Number.isNaN(graceMs)) return;
  throw new TypeError(`${where}: the grace must be milliseconds, not ${String(graceMs)}`);
}
